"""Conjugate gradients on products alone, against dense linear algebra; the expansion against direct minimisation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from evenkeel.errors import InputError
from evenkeel.phi import Expansion, solve

positive = st.floats(1e-3, 1e3)


def hessian(eigenvalues, seed=0):
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))[0]
    return (q * eigenvalues) @ q.T


@given(positive, positive, positive)
def test_root_minimises_the_predicted_utility(a, b, c):
    e = Expansion(a, b, c)
    found = minimize_scalar(e.predicted, bounds=(0, 4 * e.root), method="bounded", options={"xatol": 1e-9})
    assert e.predicted(e.root) <= found.fun * (1 + 1e-9)
    assert 0.75 * c * e.root**2 + b * e.root == pytest.approx(a / 2)  # the printed root is this equation's


def test_root_survives_where_the_printed_form_cancels():
    e = Expansion(1.0, 1.0, 1e-17)
    assert e.root == pytest.approx(0.5)  # a/(2b)
    assert (np.sqrt(1 + 1.5e-17) - 1) / 1.5e-17 == 0  # the printed form loses every digit


def test_root_at_zero_losses_is_settled():
    assert Expansion(0.0, 0.0, 0.0).root == 0
    assert Expansion(1.0, 0.0, 0.0).root == np.inf
    with pytest.raises(InputError, match="at least 0"):
        _ = Expansion(1.0, -1.0, 1.0).root


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(0, 1000))
def test_positive_hessian_is_solved_without_damping(d, seed):
    rng = np.random.default_rng(seed)
    H, g = hessian(rng.uniform(0.1, 10, d), seed), rng.normal(size=d)
    found = solve(lambda v: H @ v, g, rtol=1e-10)
    np.testing.assert_allclose(found.x, np.linalg.solve(H, g), rtol=1e-6, atol=1e-8)
    assert found.converged
    assert found.damping == 0
    assert found.products <= 2 * d + 3


def test_indefinite_hessian_is_damped_and_the_damping_told():
    H, g = hessian([-0.5, 0.2, 1.0, 3.0]), np.ones(4)
    found = solve(lambda v: H @ v, g, rtol=1e-10)
    assert found.damping > 0.5
    np.testing.assert_allclose(found.x, np.linalg.solve(H + found.damping * np.eye(4), g), rtol=1e-6)
    assert found.x @ g > 0


def test_singular_hessian_with_a_gradient_outside_its_range_is_damped():
    H, g = hessian([0.0, 0.0, 1.0, 3.0]), np.ones(4)
    found = solve(lambda v: H @ v, g)
    assert found.damping > 0
    np.testing.assert_allclose(found.x, np.linalg.solve(H + found.damping * np.eye(4), g), rtol=1e-4)


def test_zero_hessian_ends():
    assert np.isfinite(solve(lambda v: 0 * v, np.ones(3), damping=0.1).x).all()
    with pytest.raises(InputError, match="no curvature"):
        solve(lambda v: 0 * v, np.ones(3))


def test_cut_off_solves_bound_c_from_below_and_rise():
    eigenvalues = np.geomspace(1e-3, 1, 40)
    H, g = hessian(eigenvalues), np.ones(40)
    exact = g @ np.linalg.solve(H, g)
    cut = [solve(lambda v: H @ v, g, most=k) for k in (1, 3, 8, 20)]
    values = [s.x @ g for s in cut]
    assert values == sorted(values)
    assert values[-1] <= exact
    assert not cut[0].converged
    assert cut[0].residual > 1e-3


def test_no_gradient_needs_no_products():
    assert solve(lambda v: v, np.zeros(3)).products == 0
