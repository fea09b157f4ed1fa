"""The bootstrap core against resampling and recomputing, SciPy's intervals, and a distribution with a known mean."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenkeel.indices import LossTable, Settings
from evenkeel.indices.audits import AUDITED
from evenkeel.indices.bootstrap import bca, counts, jackknife, percentile, repeat
from evenkeel.indices.sample import Room, Sample, evaluate, plan
from tests.indices.index_oracles import of_accuracies, of_losses


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    return LossTable.of(
        loss=np.round(rng.exponential(size=n), 2),  # rounded: ties
        accuracy=np.round(rng.random(n), 1),
        size=rng.integers(1, 50, n),
    )


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("draw", range(5))
def test_a_draw_is_the_table_resampled_and_recomputed_with_the_same_counts(n, draw):
    asked = Settings(alpha=0.15, beta=0.35, phi=0.3, worst=0.25)
    t, chosen = table(n), plan(AUDITED, asked, accuracy=True)
    sample, times = Sample.of(t), counts(n, 3, draw)
    rows = np.repeat(sample.place, times.astype(int))
    expected = of_losses(t.loss[rows].tolist(), alpha=0.15, beta=0.35, phi=0.3, worst=0.25)
    expected |= of_accuracies(t.accuracy[rows].tolist(), worst=0.25)
    for name, value in zip(chosen, evaluate(chosen, sample.times(times, Room.of(n))), strict=True):
        assert value == pytest.approx(expected[name], rel=1e-10, abs=1e-10), name


@pytest.mark.parametrize("draw", range(3))
def test_a_draw_weighted_by_size_repeats_each_drawn_client_by_its_size(draw):
    t, chosen = table(12), plan(AUDITED, Settings(), accuracy=True)
    sample, times = Sample.of(t, "size"), counts(12, 3, draw)
    rows = np.repeat(sample.place, times.astype(int) * t.size[sample.place].astype(int))
    expected = of_losses(t.loss[rows].tolist()) | of_accuracies(t.accuracy[rows].tolist())
    for name, value in zip(chosen, evaluate(chosen, sample.times(times)), strict=True):
        assert value == pytest.approx(expected[name], rel=1e-10, abs=1e-10), name


def test_the_jackknife_leaves_each_client_out_once():
    t, chosen = table(9), plan(("gini", "R", "worst20_accuracy"), Settings(), accuracy=True)
    sample = Sample.of(t)
    for i, row in enumerate(jackknife(lambda keep: evaluate(chosen, sample.times(keep)), 9)):
        kept = np.delete(np.arange(9), sample.place[i])
        expected = of_losses(t.loss[kept].tolist()) | of_accuracies(t.accuracy[kept].tolist())
        assert row.tolist() == pytest.approx([expected[name] for name in chosen], rel=1e-10)


@given(n=st.integers(1, 300), seed=st.integers(0, 2**63 - 1), draw=st.integers(0, 10**6))
def test_counts_sum_to_the_number_of_clients_and_repeat_for_the_same_seed_and_draw(n, seed, draw):
    first = counts(n, seed, draw)
    assert first.sum() == n
    assert first.min() >= 0
    assert (first == counts(n, seed, draw)).all()


def test_counts_differ_between_draws_seeds_and_streams():
    seen = [counts(50, 1, 0), counts(50, 1, 1), counts(50, 2, 0), counts(50, 1, 0, stream=1)]
    assert all((a != b).any() for i, a in enumerate(seen) for b in seen[:i])


def test_counts_drawn_in_blocks_are_as_spread_as_a_resample_must_be():
    n = 200_000  # more than three blocks
    times = counts(n, 0, 0)
    assert times.sum() == n
    # Multinomial: mean 1, variance 1 − 1/n, and the first half holds n/2 ± √(n/4). Six standard errors.
    assert abs(times.var() - 1) < 6 * math.sqrt(3 / n)
    assert abs(times[: n // 2].sum() - n / 2) < 6 * math.sqrt(n / 4)
    expected = n * stats.poisson(1).pmf(np.arange(6))
    assert np.bincount(times.astype(int), minlength=6)[:6] == pytest.approx(expected, rel=0.15)


def test_the_number_of_threads_does_not_change_the_draws():
    n, chosen = 30_000, plan(AUDITED, Settings(), accuracy=True)
    sample = Sample.of(table(n))

    def worker():
        room = Room.of(n)
        return lambda draw: evaluate(chosen, sample.times(counts(n, 5, draw, room=room.counts), room))

    one = repeat(worker, 7, n, threads=1)
    assert (one == repeat(worker, 7, n, threads=2)).all()
    assert (one == repeat(worker, 7, n, threads=3)).all()


def test_percentile_takes_order_statistics_even_where_draws_are_infinite():
    values = np.append(np.arange(1.0, 39.0), math.inf)  # 39 draws: the first and the last
    assert percentile(values, 0.95) == (1.0, math.inf)
    assert percentile(np.full(99, 2.0), 0.95) == (2.0, 2.0)


def test_bca_falls_back_to_percentile_where_it_has_no_value():
    draws, left_out = np.arange(100.0), np.arange(10.0)
    for point, jack in ((-5.0, left_out), (500.0, left_out), (math.inf, left_out), (50.0, np.full(10, math.inf))):
        assert bca(draws, point, jack, 0.9) == percentile(draws, 0.9)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
@pytest.mark.parametrize("statistic", [np.mean, np.var])
def test_intervals_of_the_same_draws_agree_with_those_of_scipy(method, statistic):
    x = np.sort(np.random.default_rng(1).exponential(size=30))
    theirs = stats.bootstrap((x,), statistic, n_resamples=4999, method=method, rng=0, confidence_level=0.9)
    draws = theirs.bootstrap_distribution
    left_out = jackknife(lambda keep: [statistic(np.repeat(x, keep.astype(int)))], 30)[:, 0]
    low, high = percentile(draws, 0.9) if method == "percentile" else bca(draws, statistic(x), left_out, 0.9)
    # They interpolate between neighbouring order statistics, we round outwards: the ranks are near.
    for ours, end in ((low, theirs.confidence_interval.low), (high, theirs.confidence_interval.high)):
        assert abs(np.searchsorted(np.sort(draws), ours) - np.searchsorted(np.sort(draws), end)) <= 2


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_cover_the_true_mean_about_as_often_as_they_say(method):
    covered, n, tries = 0, 60, 200
    for trial in range(tries):
        x = np.random.default_rng(trial).exponential(size=n)
        draws = np.array([counts(n, trial, draw) @ x / n for draw in range(199)])
        left_out = (x.sum() - x) / (n - 1)
        low, high = percentile(draws, 0.9) if method == "percentile" else bca(draws, x.mean(), left_out, 0.9)
        covered += low <= 1 <= high
    # Nominal .90, truly about .88 for 60 skewed values; a standard error is .022.
    assert 0.80 <= covered / tries <= 0.96
