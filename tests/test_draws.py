"""Draws are values: the same in any order, for any subset, after any restart; and they look random."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenkeel import draws
from evenkeel.protocol import Key

KEY = Key(seed=7, round=3)


def test_a_subset_draws_what_the_whole_does():
    whole = draws.bits(KEY, "local", np.arange(50)[:, None], np.arange(8))
    some = draws.bits(KEY, "local", np.array([3, 41])[:, None], np.arange(8))
    np.testing.assert_array_equal(whole[[3, 41]], some)
    assert whole[41, 5] == draws.bits(KEY, "local", 41, 5)


@pytest.mark.parametrize("other", [Key(8, 3), Key(7, 4), Key(-7, 3)])
def test_seed_and_round_change_every_draw(other):
    assert not (draws.bits(KEY, "local", np.arange(1000)) == draws.bits(other, "local", np.arange(1000))).any()


def test_phases_and_counters_do_not_collide():
    n = 40
    cells = [
        draws.bits(Key(s, r), phase, np.arange(n)[:, None], np.arange(n)).ravel()
        for s in range(3)
        for r in range(3)
        for phase in ("local", "gradient/0", "gradient/1")
    ]
    values = np.concatenate(cells)
    assert len(np.unique(values)) == len(values)  # 43,200 of 2^64: a collision would be a defect


def test_every_bit_is_fair_and_neighbours_are_uncorrelated():
    b = draws.bits(KEY, "test", np.arange(500)[:, None], np.arange(400))
    ones = ((b[..., None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).mean(axis=(0, 1))
    assert np.abs(ones - 0.5).max() < 6 * 0.5 / np.sqrt(b.size)
    u = draws.uniform(KEY, "test", np.arange(500)[:, None], np.arange(400))
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-4
    for shifted in (u[1:, :].ravel(), u[:, 1:].ravel()):
        base = (u[:-1, :] if shifted.size == 499 * 400 else u[:, :-1]).ravel()
        assert abs(np.corrcoef(base, shifted)[0, 1]) < 6 / np.sqrt(base.size)


def test_first_values_are_the_same_on_every_machine():
    """SplitMix64's finaliser by plain integers, so that NumPy's types and byte order play no part."""

    def mix(h):
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) % 2**64
        return h ^ (h >> 31)

    h = 7
    for counter in (3, int(draws.label("local")), 5, 11):
        h = mix((h + 0x9E3779B97F4A7C15 + mix((counter + 0x9E3779B97F4A7C15) % 2**64)) % 2**64)
    assert int(draws.bits(KEY, "local", 5, 11)) == h


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(0, 12), st.integers(1, 3))
def test_epochs_visit_every_row_once_a_pass(sizes, batch, epochs):
    b = draws.batches(KEY, "local", np.arange(len(sizes)), sizes, batch=batch, epochs=epochs)
    for i, n in enumerate(sizes):
        visited = b.rows[i][b.weight[i] > 0]
        assert np.bincount(visited, minlength=n).tolist() == [epochs] * n
        assert b.steps[i] == epochs * -(-n // (min(batch, n) or n))
        sums = b.weight[i].sum(axis=-1)
        np.testing.assert_allclose(sums[: b.steps[i]], 1)
        assert not sums[b.steps[i] :].any()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(1, 12), st.integers(1, 9))
def test_steps_are_the_first_slices_of_the_epochs(sizes, batch, steps):
    some = draws.batches(KEY, "local", np.arange(len(sizes)), sizes, batch=batch, steps=steps)
    whole = draws.batches(KEY, "local", np.arange(len(sizes)), sizes, batch=batch, epochs=steps)
    for i in range(len(sizes)):
        assert some.steps[i] == steps
        for j in range(steps):
            mine = some.rows[i, j][some.weight[i, j] > 0]
            np.testing.assert_array_equal(mine, whole.rows[i, j][whole.weight[i, j] > 0])


def test_a_clients_batches_do_not_depend_on_who_else_is_asked():
    whole = draws.batches(KEY, "local", [0, 1, 2], [9, 4, 7], batch=3, epochs=2)
    alone = draws.batches(KEY, "local", [1], [4], batch=3, epochs=2)
    np.testing.assert_array_equal(
        whole.rows[1][whole.weight[1] > 0],
        alone.rows[0][alone.weight[0] > 0],
    )


def test_cohorts_are_uniform():
    times = np.zeros(20)
    for r in range(2000):
        times[draws.cohort(Key(0, r), "cohort", 20, 5)] += 1
    assert stats.chisquare(times).pvalue > 1e-4
