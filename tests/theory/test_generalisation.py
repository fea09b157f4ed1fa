"""Skewness, covering numbers and the bound, against direct evaluation."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.errors import InputError
from evenkeel.sets import ChiSquareBall, CVaR, Integrated, Point, Simplex, vertices
from evenkeel.theory import cvar_skewness, gap, log_covering, printed_skewness, skewness

phis = st.floats(0, 0.9)


def both(n, alpha, phi, beta=None):
    return Integrated(CVaR(n, alpha), CVaR(n, beta or alpha), phi)


@given(st.integers(1, 20), st.integers(1, 20), phis)
def test_exact_skewness_of_whole_shares_is_that_of_a_corner_of_the_set(j, k, phi):
    """A corner by hand: losses in order, the top j clients full in a, the bottom k full in b."""
    n = 20
    a, b = np.zeros(n), np.zeros(n)
    a[:j], b[n - k :] = 1 / j, 1 / k
    corner = (a - phi * b) / (1 - phi)
    assert cvar_skewness(j / n, phi, k / n) == pytest.approx(n * np.sum(corner**2))
    assert skewness(corner) == pytest.approx(n * np.sum(corner**2))
    assert both(n, j / n, phi, k / n).skewness == pytest.approx(n * np.sum(corner**2))


@given(st.integers(1, 10), phis)
def test_printed_skewness_leaves_out_the_clients_of_weight_zero(j, phi):
    alpha = j / 20
    exact = (1 + phi**2) / ((1 - phi) ** 2 * alpha)
    assert cvar_skewness(alpha, phi) == pytest.approx(exact)
    assert exact - printed_skewness(alpha, phi) == pytest.approx(1 - 2 * alpha)


def test_skewness_by_hand():
    """n = 10, α = 0.2, φ = 0.2: weights 0.625, 0.625, six zeros, −0.125, −0.125; 10·(2·0.390625 + 2·0.015625)."""
    lam = [0.625, 0.625, 0, 0, 0, 0, 0, 0, -0.125, -0.125]
    assert skewness(lam) == pytest.approx(8.125)
    assert cvar_skewness(0.2, 0.2) == pytest.approx(8.125)
    assert printed_skewness(0.2, 0.2) == pytest.approx(7.525)


def test_skewness_of_broken_shares_differs_by_one_over_n():
    errors = [abs(both(n, 0.237, 0.3).skewness - cvar_skewness(0.237, 0.3)) * n for n in (11, 101, 1001, 10001)]
    assert max(errors) < 30


def test_no_member_is_more_skewed_than_the_set():
    rng, s = np.random.default_rng(0), both(12, 0.3, 0.4)
    assert all(skewness(s.project(rng.normal(size=12) * 3)) <= s.skewness + 1e-9 for _ in range(200))


SETS = [Simplex(3), CVaR(3, 0.5), both(3, 0.5, 0.2), both(3, 1 / 3, 0.6), ChiSquareBall(3, 0.5)]


@pytest.mark.parametrize("s", SETS, ids=str)
@pytest.mark.parametrize("eps", [0.1, 0.3, 1.0])
def test_covering_bound_is_above_every_packing(s, eps):
    """Points more than 2ε apart need a centre each, so any such set is at most a covering number."""
    rng, packed = np.random.default_rng(1), []
    for v in rng.normal(size=(400, 3)) * 2:
        x = s.project(v)
        if all(np.abs(x - y).sum() > 2 * eps for y in packed):
            packed.append(x)
    assert math.log(len(packed)) <= log_covering(s, eps) + 1e-12


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 4), st.floats(0.3, 1.5), st.floats(0, 0.6), st.integers(0, 2**32 - 1))
def test_rounded_points_of_the_enlarged_simplex_do_cover(n, eps, phi, seed):
    """The construction behind the bound: every centre listed, every member near one of them."""
    s = Integrated(Simplex(n), Simplex(n), phi)
    t = 1 + n * phi / (1 - phi)  # the least weight is −φ/(1−φ)
    k = math.ceil(n * t / (2 * eps))
    if k > 30:
        return
    counts = np.array([np.bincount(c, minlength=n) for c in combinations_with_replacement(range(n), k)]) / k
    centres = 1 / n + t * (counts - 1 / n)
    assert log_covering(s, eps) <= math.log(len(centres)) + 1e-9
    for v in np.random.default_rng(seed).normal(size=(30, n)) * 3:
        assert np.abs(centres - s.project(v)).sum(1).min() <= eps + 1e-9


def test_papers_comparison_with_the_simplex_fails():
    """It scales the simplex to Λ's radius in ‖·‖₁; a hexagon of that radius has more area, so needs more balls."""

    def area(corners):
        x, y = (corners @ np.linalg.qr(np.array([[1.0, 0], [-1, 1], [0, -1]]))[0]).T
        return abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2

    s = Integrated(Simplex(3), Simplex(3), 0.5)
    radius = np.abs(vertices(s) - 1 / 3).sum(1).max()
    scale = radius / (2 * (3 - 1) / 3)
    assert area(vertices(s)) > 1.5 * scale**2 * area(vertices(Simplex(3)))


def test_a_single_weighting_costs_no_covering():
    assert log_covering(Point.uniform(7), 1e-6) == 0
    assert log_covering(Simplex(7), 2.0) == 0


@pytest.mark.parametrize("phi", [0.0, 0.2, 0.5])
def test_gap_is_the_theorems_right_hand_side(phi):
    n, N, vc, eps, delta, M = 100, 600, 51, 0.05, 0.1, 2.0
    s = both(n, 0.2, phi)
    log_cover = log_covering(s, eps)
    first = 2 * math.sqrt(2 * s.skewness * vc / (N * n) * (1 + math.log(N * n / vc)))  # 2·Rademacher, formal version
    second = M * math.sqrt(s.skewness / (2 * N * n) * (log_cover + math.log(1 / delta)))
    assert gap(s, N=N, vc=vc, eps=eps, delta=delta, M=M) == pytest.approx(M * eps + first + second)


def test_gap_rises_with_phi_and_falls_with_rows():
    values = [gap(both(100, 0.2, phi), N=600, vc=50) for phi in (0, 0.1, 0.2, 0.4)]
    assert values == sorted(values)
    assert gap(both(100, 0.2, 0.2), N=2400, vc=50) < 0.6 * values[2]


def test_impossible_settings_are_refused():
    for wrong in ({"vc": 0}, {"vc": 10**6}, {"vc": 5, "delta": 0.0}, {"vc": 5, "delta": 1.0}, {"vc": 5, "M": 0.0}):
        with pytest.raises(InputError, match="need 0 < vc"):
            gap(Simplex(10), N=100, **wrong)
    with pytest.raises(InputError, match="eps = 0"):
        log_covering(Simplex(10), 0.0)
