"""What every registered set must satisfy, by Hypothesis. A softmax passes «sums to one»; it fails these."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evenkeel.errors import InputError
from evenkeel.sets import SETS, ChiSquareBall, CVaR, Integrated, KLBall, Simplex, TVBall
from tests.sets.strategies import by_conic_solver, sets, vectors

every_set = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _tolerance(s, *vs):
    scale = max([1.0, *(float(np.abs(v).max()) for v in vs)])
    norm = max(1.0, s.l1_norm)
    return (2e-5 if by_conic_solver(s) else 1e-9) * scale * norm


def test_the_strategies_reach_every_registered_set():
    from hypothesis import find

    once = settings(max_examples=20_000, phases=[Phase.generate])  # any example will do: none is made smaller
    for name in SETS:
        assert find(sets(), lambda s, name=name: type(s).__name__ == name, settings=once)


def test_a_member_on_a_face_of_a_cone_is_its_own_projection():
    """Here the solver stops with «almost solved» on the squared distance, a thousandth away."""
    for s in (
        Integrated(TVBall(9, 2.892871964683682), KLBall(9, 2.892871964683682), 0.9),
        Integrated(KLBall(4, 1.0), TVBall(4, 0.0), 0.421875),
        Integrated(KLBall(4, 2.2), KLBall(4, 2.2), 0.29),
    ):
        a = s.argmax(np.arange(s.n) >= s.n // 2)
        np.testing.assert_allclose(s.project(a), a, atol=1e-6)


@every_set
@given(st.data())
def test_projection_meets_the_certificate(data):
    s = data.draw(sets())
    v = data.draw(vectors(s.n))
    p, tol = s.project(v), _tolerance(s, v)
    assert s.contains(p, max(tol, 1e-9))
    assert s.support(v - p) <= float((v - p) @ p) + tol


@every_set
@given(st.data())
def test_argmax_is_a_member_and_attains_the_support(data):
    s = data.draw(sets())
    v = data.draw(vectors(s.n))
    a = s.argmax(v)
    assert s.contains(a, max(1e-7, _tolerance(s, v)))
    assert abs(float(a @ v) - s.support(v)) <= 1e-9 * max(1, np.abs(v).max()) * s.l1_norm


@every_set
@given(st.data())
def test_no_member_beats_the_support(data):
    s = data.draw(sets())
    u, v = data.draw(vectors(s.n)), data.draw(vectors(s.n))
    tol = _tolerance(s, u, v)
    assert float(s.project(u) @ v) <= s.support(v) + tol
    assert float(s.argmax(u) @ v) <= s.support(v) + tol


@every_set
@given(st.data())
def test_projection_is_idempotent_and_does_not_expand(data):
    s = data.draw(sets())
    u, v = data.draw(vectors(s.n)), data.draw(vectors(s.n))
    p, q, tol = s.project(u), s.project(v), _tolerance(s, u, v)
    assert np.linalg.norm(s.project(p) - p) <= max(tol, 1e-3 if by_conic_solver(s) else tol)
    assert np.linalg.norm(p - q) <= np.linalg.norm(u - v) + max(tol, 1e-3 if by_conic_solver(s) else tol)


@every_set
@given(st.data())
def test_norms_bound_every_member_found(data):
    s = data.draw(sets())
    a = s.argmax(data.draw(vectors(s.n)))
    assert np.abs(a).sum() <= s.l1_norm + 1e-7
    assert s.n * np.square(a - 1 / s.n).sum() + 1 <= s.skewness + 1e-6


@every_set
@given(st.data())
def test_symmetric_sets_permute_with_their_argument(data):
    s = data.draw(sets().filter(lambda s: s.symmetric))
    v = data.draw(vectors(s.n))
    order = np.array(data.draw(st.permutations(range(s.n))))
    slack = 1e-4 if by_conic_solver(s) else 1e-9
    np.testing.assert_allclose(s.project(v[order]), s.project(v)[order], atol=slack * max(1, np.abs(v).max()))


@pytest.mark.parametrize("method", ["support", "argmax", "project", "contains"])
def test_a_wrong_length_is_refused_in_one_line(method):
    for s in (Simplex(3), CVaR(3, 0.5), Integrated(CVaR(3, 0.5), Simplex(3), 0.1)):
        with pytest.raises(InputError, match=r"shape \(2,\), but the set has 3 clients"):
            getattr(s, method)([1.0, 2.0])


def test_uniform_weighted_cvar_is_cvar():
    from evenkeel.sets import WeightedCVaR

    v = np.random.default_rng(0).normal(size=10)
    one, other = CVaR(10, 0.25), WeightedCVaR(np.full(10, 0.1), 0.25)
    assert one.support(v) == pytest.approx(other.support(v), abs=1e-14)
    np.testing.assert_allclose(one.project(v), other.project(v), atol=1e-14)


def test_norms_of_the_papers_set_have_their_closed_forms():
    s = Integrated(CVaR(100, 0.2), CVaR(100, 0.2), 0.2)
    assert s.l1_norm == pytest.approx((1 + 0.2) / (1 - 0.2))
    assert s.skewness == pytest.approx((1 + 0.2**2) / ((1 - 0.2) ** 2 * 0.2))  # n·Σw² at a vertex, Σw = 1
    assert s.norms_are_exact


def test_losses_that_hardly_differ_overflow_nothing():
    assert ChiSquareBall(2, 1.0).support(np.array([0.0, -1.506513996007821e-155])) == pytest.approx(0.0, abs=1e-150)
