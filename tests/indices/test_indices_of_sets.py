"""R, discrepancy, absolute unfairness, negative utility and their bounds for any ambiguity sets."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel import indices
from evenkeel.errors import InputError
from evenkeel.sets import CVaR, Hull, Integrated, Point, Simplex

losses_of = st.lists(st.floats(0.01, 100), min_size=5, max_size=20)
phis = st.floats(0, 0.99)


def test_r_over_all_distributions_is_max_over_min():
    assert indices.relative_unfairness([2.0, 3.0, 8.0], Simplex(3), Simplex(3)) == pytest.approx(4.0)


def test_r_over_groups_compares_the_worst_with_the_best_group():
    groups = Hull([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    # group means 2 and 7; the largest and smallest client do not matter
    assert indices.relative_unfairness([1.0, 3.0, 4.0, 10.0], groups, groups) == pytest.approx(3.5)


@given(losses_of, phis)
def test_discrepancy_is_the_support_of_the_integrated_set_times_one_less_phi(losses, phi):
    a, b = CVaR(len(losses), 0.4), CVaR(len(losses), 0.3)
    support = Integrated(a, b, phi).support(losses)
    assert indices.discrepancy(losses, a, b, phi) == pytest.approx((1 - phi) * support, rel=1e-9, abs=1e-9)


@given(losses_of, phis)
def test_ratio_bounds_hold_and_tighten_as_phi_grows(losses, phi):
    a, b = CVaR(len(losses), 0.4), CVaR(len(losses), 0.3)
    g = indices.best_weighting(losses, b)
    r = indices.relative_unfairness(losses, a, b)
    lower, upper = indices.ratio_bounds(losses, a, b, phi, low=g / 3, high=2 * g)
    loose = indices.ratio_bounds(losses, a, b, phi / 2, low=g / 3, high=2 * g)
    assert lower <= r * (1 + 1e-12)
    assert upper >= r * (1 - 1e-12)
    assert loose[0] <= lower * (1 + 1e-12)
    assert loose[1] >= upper * (1 - 1e-12)
    assert indices.ratio_bounds(losses, a, b, phi, low=g, high=g) == pytest.approx((r, r))


@given(losses_of)
def test_negative_utility_is_the_root_of_absolute_times_relative(losses):
    a, b = CVaR(len(losses), 0.4), Point(np.full(len(losses), 1 / len(losses)))
    absolute, relative = indices.absolute_unfairness(losses, a), indices.relative_unfairness(losses, a, b)
    assert indices.negative_utility(losses, a, b) == pytest.approx(math.sqrt(absolute * relative))


def test_zero_losses_have_the_stated_answers():
    simplex = Simplex(2)
    assert indices.relative_unfairness([0.0, 0.0], simplex, simplex) == 1.0
    assert indices.relative_unfairness([0.0, 1.0], simplex, simplex) == math.inf
    assert indices.negative_utility([0.0, 0.0], simplex, simplex) == 0.0
    assert indices.negative_utility([0.0, 1.0], simplex, simplex) == math.inf


def test_a_negative_denominator_is_refused_with_the_remedy():
    b = Integrated(Simplex(2), Simplex(2), 0.5)  # 2a − b: weights from −1 to 2
    with pytest.raises(InputError, match="to -2: both must be >= 0; use sets without negative weights"):
        indices.relative_unfairness([1.0, 4.0], Simplex(2), b)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: indices.relative_unfairness([1.0, -2.0], s, s), "losses: entry 1 is -2.0"),
        (lambda s: indices.relative_unfairness([1.0, math.nan], s, s), "losses: entry 1 is nan"),
        (lambda s: indices.relative_unfairness([1.0, math.inf], s, s), "losses: entry 1 is inf"),
        (lambda s: indices.relative_unfairness([1.0, 2.0, 3.0], s, s), "3"),
        (lambda s: indices.discrepancy([1.0, 2.0], s, s, 1.0), r"phi = 1.0: must lie in \[0, 1\)"),
        (lambda s: indices.ratio_bounds([1.0, 2.0], s, s, 0.5, low=0.0, high=2.0), "need 0 < low <= min_B = 1"),
        (lambda s: indices.ratio_bounds([1.0, 2.0], s, s, 0.5, low=1.5, high=2.0), "need 0 < low <= min_B = 1"),
    ],
)
def test_bad_input_is_one_clear_line(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call(Simplex(2))
    assert "\n" not in str(caught.value)
