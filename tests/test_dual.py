"""The dual step against its own definition, and the schedules against the lemmas they come from."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.dual import Constant, Theorem, conditions, dual_step, extrapolate
from evenkeel.errors import InputError
from evenkeel.sets import CVaR, Integrated, Simplex


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 12), st.floats(0, 0.8), st.floats(1e-3, 5), st.floats(0, 3), st.integers(0, 2**32 - 1))
def test_dual_step_minimises_the_regularised_objective(n, phi, sigma, psi, seed):
    rng = np.random.default_rng(seed)
    s = Integrated(CVaR(n, rng.uniform(1 / n, 1)), CVaR(n, rng.uniform(1 / n, 1)), phi)
    lam, losses = s.project(rng.normal(size=n)), rng.exponential(size=n)

    def objective(x):
        penalty = psi * n / 2 * np.sum((x - 1 / n) ** 2)
        return penalty - losses @ x + np.sum((x - lam) ** 2) / (2 * sigma)

    best = dual_step(s, lam, losses, sigma, psi)
    for _ in range(20):
        other = s.project(best + rng.normal(size=n) * rng.choice([0.01, 0.1, 1]))
        assert objective(best) <= objective(other) + 1e-9


def test_unregularised_step_is_the_projection():
    rng = np.random.default_rng(0)
    s = Integrated(CVaR(10, 0.2), CVaR(10, 0.2), 0.2)
    lam, losses = np.full(10, 0.1), rng.exponential(size=10)
    np.testing.assert_array_equal(dual_step(s, lam, losses, 0.1), s.project(lam + 0.1 * losses))


def test_extrapolation_with_equal_losses_is_the_loss():
    losses = np.array([1.0, 4.0])
    np.testing.assert_array_equal(extrapolate(losses, losses, 0.7), losses)


def test_theorem_schedule_obeys_lemma_b3():
    t = Theorem(tau_0=0.05, gamma_0=2.0, kappa=0.2, J=5, beta=2.0)
    rates = [t.rates(r) for r in range(2000)]
    products = [r.tau * r.sigma for r in rates]
    np.testing.assert_allclose(products, 0.05**2 * 2.0, rtol=1e-10)  # τσ = τ₀²γ₀
    for before, after in pairwise(rates):
        assert after.varsigma == pytest.approx(before.sigma / after.sigma)
        assert after.eta == pytest.approx(after.tau / 10)
    gamma = np.array([r.sigma / r.tau for r in rates])
    slope = np.polyfit(np.log(np.arange(1000, 2000)), np.log(gamma[1000:]), 1)[0]
    assert 1.5 < slope <= 2.05  # γ = Ω(r²): the slope rises to 2


def test_conditions_are_ordered_from_weak_to_strong():
    for phi in np.linspace(0, 0.5, 26):
        c = conditions(Integrated(Simplex(5), Simplex(5), phi), m=1.0, M=4.0)
        assert c.unique >= c.theorem >= c.appendix
        assert c.appendix == (c.kappa > 0)


def test_negative_step_sizes_are_refused():
    with pytest.raises(InputError, match="sigma = -1"):
        Constant(sigma=-1, tau=1, eta=1)
    with pytest.raises(InputError, match="tau_0"):
        Theorem(tau_0=0, gamma_0=1, kappa=1)
