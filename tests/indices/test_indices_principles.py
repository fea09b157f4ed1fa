"""What every measure of inequality must obey, for all: order, copies, weights, scale, transfers, Lorenz."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenkeel import indices
from evenkeel.indices import INDICES

losses_of = st.lists(st.floats(0.01, 100), min_size=2, max_size=20)
with_zeros = st.lists(st.one_of(st.just(0.0), st.floats(0.01, 100)), min_size=1, max_size=20)
# How an index grows when every loss is multiplied by c: by c to this power.
DEGREE = dict.fromkeys(("mean", "min", "max", "discrepancy", "absolute", "worst20_loss", "best20_loss"), 1.0)
DEGREE |= {"negative_utility": 0.5, "variance": 2.0}
OF_LOSS = [name for name in INDICES if INDICES[name].of == "loss"]
INEQUALITY = [name for name in OF_LOSS if DEGREE.get(name, 0.0) == 0]
# A cancelling difference under a root loses half of the digits for clients that are almost equal.
SLACK = {"rel": 1e-9, "abs": 1e-7}


def values(name, xs):
    return np.array(xs) / 100 if INDICES[name].of == "accuracy" else np.array(xs)


@given(xs=with_zeros, seed=st.integers(0, 2**32 - 1))
def test_the_order_of_clients_does_not_matter(xs, seed):
    shuffled = np.random.default_rng(seed).permutation(xs)
    for name, index in INDICES.items():
        assert index.function(values(name, shuffled)) == index.function(values(name, xs)), name


@given(xs=with_zeros, copies=st.integers(2, 5))
def test_copies_of_the_whole_population_change_nothing(xs, copies):
    for name, index in INDICES.items():
        once = values(name, xs)
        assert index.function(np.tile(once, copies)) == pytest.approx(index.function(once), **SLACK), name


@given(rows=st.lists(st.tuples(st.one_of(st.just(0.0), st.floats(1e-9, 100)), st.integers(0, 6)), min_size=1))
def test_a_weight_of_k_is_k_clients(rows):
    assume(any(k > 0 for _, k in rows))
    losses, copies = [x for x, _ in rows], [k for _, k in rows]
    for name, index in INDICES.items():
        xs = values(name, losses)
        assert index.function(xs, copies) == pytest.approx(index.function(np.repeat(xs, copies)), **SLACK), name


@given(xs=with_zeros, weight=st.floats(1e-6, 1e6))
def test_equal_weights_are_exactly_no_weights(xs, weight):
    for name, index in INDICES.items():
        once = values(name, xs)
        assert index.function(once, np.full(len(xs), weight)) == index.function(once), name


@given(xs=losses_of, factor=st.floats(1e-6, 1e6))
def test_scaling_all_losses_scales_the_index_by_its_degree(xs, factor):
    for name in OF_LOSS:
        growth = factor ** DEGREE.get(name, 0.0)
        expected = INDICES[name].function(xs) * growth
        scaled = INDICES[name].function(np.array(xs) * factor)
        assert scaled == pytest.approx(expected, rel=1e-9, abs=1e-7 * growth), name


@given(xs=losses_of, pair=st.tuples(st.integers(0, 19), st.integers(0, 19)), part=st.floats(0, 1))
def test_moving_loss_from_a_worse_off_to_a_better_off_client_never_raises_unfairness(xs, pair, part):
    i, j = pair[0] % len(xs), pair[1] % len(xs)
    after = np.array(xs)
    high, low = (i, j) if after[i] >= after[j] else (j, i)
    moved = part * (after[high] - after[low]) / 2
    after[high] -= moved
    after[low] += moved
    for name in INEQUALITY:
        sign = 1 if INDICES[name].lower_is_better else -1
        before = sign * INDICES[name].function(xs)
        assert sign * INDICES[name].function(after) <= before + 1e-7 + 1e-9 * abs(before), name


@pytest.mark.parametrize("name", ["gini", "theil", "generalised_entropy", "cv", "atkinson", "variance"])
def test_a_transfer_between_two_middle_clients_lowers_the_indices_of_the_whole_distribution(name):
    before, after = [1.0, 2.0, 4.0, 9.0], [1.0, 2.5, 3.5, 9.0]
    assert INDICES[name].function(after) < INDICES[name].function(before)


@given(with_zeros)
def test_the_lorenz_curve_rises_from_0_to_1_is_convex_and_its_area_gives_gini(xs):
    x, share = indices.lorenz(xs)
    assert (x[0], share[0], x[-1], share[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert (np.diff(share) >= 0).all()
    assert (np.diff(np.diff(share) / np.diff(x)) >= -1e-9).all()
    assert 1 - 2 * np.trapezoid(share, x) == pytest.approx(indices.gini(xs), abs=1e-12)
    assert -2 * np.trapezoid(indices.lorenz_gap(xs)[1], x) == pytest.approx(indices.gini(xs), abs=1e-12)


def test_the_lorenz_curve_is_the_share_of_the_best_off_by_a_plain_sum():
    xs = [4.0, 1.0, 0.0, 5.0]
    x, share = indices.lorenz(xs)
    assert x.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert share.tolist() == pytest.approx([sum(sorted(xs)[:k]) / sum(xs) for k in range(5)])


def test_thinned_lorenz_points_lie_on_the_full_curve():
    xs = np.random.default_rng(0).exponential(size=1000)
    thinned = indices.lorenz_points(xs)
    running = np.concatenate([[0.0], np.cumsum(np.sort(xs))]) / xs.sum()
    assert len(thinned) == 101
    for k, (x, share) in enumerate(thinned):
        assert x == pytest.approx(k / 100)
        assert share == pytest.approx(running[10 * k], rel=1e-12)  # 1000 clients: each x is a corner
    assert len(indices.lorenz_points(xs[:100])) == 101
    assert len(indices.lorenz_points(xs[:7])) == 8


@pytest.mark.parametrize("name", OF_LOSS)
@pytest.mark.parametrize("xs", [[0.1], [0.1, 0.1, 0.1], [0.7] * 49, [0.0], [0.0] * 6])
def test_equal_clients_have_the_stated_value(name, xs):
    level = xs[0]
    equal = dict.fromkeys(("R", "palma", "ratio_20_20", "atkinson_inf", "jain"), 1.0)
    equal |= {"negative_utility": math.sqrt(level), **{n: level for n, degree in DEGREE.items() if degree == 1}}
    rounds = name in ("negative_utility", "theil", "generalised_entropy", "atkinson")
    expected = equal.get(name, 0.0)
    assert INDICES[name].function(xs) == (pytest.approx(expected, abs=1e-12) if rounds else expected)


@pytest.mark.parametrize("n", [2, 5, 40])
def test_one_client_with_all_the_loss_reaches_the_stated_extremes(n):
    xs = [0.0] * (n - 1) + [3.0]
    expected = {
        "R": math.inf,
        "gini": 1 - 1 / n,
        "atkinson_inf": n,
        "atkinson": 1 - 1 / n,
        "jain": 1 / n,
        "theil": math.log(n),
        "generalised_entropy": (n - 1) / 2,
        "cv": math.sqrt(n - 1),
        "palma": math.inf,
        "ratio_20_20": math.inf,
        "negative_utility": math.inf,
    }
    for name, value in expected.items():
        assert INDICES[name].function(xs) == pytest.approx(value, rel=1e-12), name
    assert indices.atkinson(xs, epsilon=1.0) == 1.0
    assert indices.generalised_entropy(xs, a=-1.0) == math.inf


@given(xs=with_zeros, name=st.sampled_from(INEQUALITY))
def test_no_index_of_inequality_leaves_its_range(xs, name):
    value, n = INDICES[name].function(xs), len(xs)
    low, high = {
        "gini": (0, 1 - 1 / n),
        "jain": (1 / n, 1),
        "theil": (0, math.log(n)),
        "generalised_entropy": (0, (n - 1) / 2),
        "cv": (0, math.sqrt(n - 1)),
        "atkinson": (0, 1),
        "atkinson_inf": (1, n),
    }.get(name, (1, math.inf))
    assert low - (0 if low in (0, 1) else 1e-12) <= value <= high + 1e-9


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e150])
def test_very_small_and_very_large_losses_give_the_same_shape(scale):
    xs = np.array([1.0, 2.0, 5.0, 9.0])
    for name in INEQUALITY:
        assert INDICES[name].function(xs * scale) == pytest.approx(INDICES[name].function(xs), rel=1e-9), name
