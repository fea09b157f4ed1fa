"""The solutions that convergence is measured against: other solvers, other formulas, brute force."""

import cvxpy as cp
import numpy as np
import pytest
import torch

from evenkeel.engine import Loop
from evenkeel.paper.theory import monotone
from evenkeel.paper.theory.problems import PROBLEMS, digits, penguins, quadratic
from evenkeel.paper.theory.rows import Rows
from evenkeel.paper.theory.saddle import solve
from evenkeel.protocol import Ask, Key
from evenkeel.sets import CVaR, Integrated
from evenkeel.theory import closed_form, largest_phi
from tests.phi.oracle import Clients, solution


def stated(rows, k):
    """min over θ of the mean of the k largest losses, as CVXPY states it: second-order and exponential cones."""
    theta = cp.Variable(rows.d)
    losses = [
        cp.sum(cp.logistic(x @ theta) - cp.multiply(y, x @ theta)) / len(y)
        if rows.binary
        else cp.sum_squares(x @ theta - y) / len(y)
        for x, y in zip(rows.xs, rows.ys, strict=True)
    ]
    cost = cp.sum_largest(cp.hstack(losses), k) / k + rows.l2 / 2 * cp.sum_squares(theta)
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL, tol_gap_abs=1e-8, tol_gap_rel=1e-8, tol_feas=1e-8)
    return np.asarray(theta.value)


def small_logistic(l2=0.5):
    rng = np.random.default_rng(4)
    xs = [np.column_stack([rng.normal(size=(20, 2)) + rng.normal(size=2), np.ones(20)]) for _ in range(6)]
    return Rows(xs=xs, ys=[(x @ rng.normal(size=3) > 0) * 1.0 for x in xs], l2=l2, binary=True)


@pytest.mark.parametrize(("rows", "k"), [(quadratic().rows, 2), (penguins().rows, 1), (small_logistic(), 2)])
def test_without_phi_it_is_the_solution_of_another_statement(rows, k):
    a = CVaR(rows.n, k / rows.n)
    found = solve(rows, Integrated(a, a, 0.0))
    assert found.theta == pytest.approx(stated(rows, k), abs=2e-4)
    assert found.certain


@pytest.mark.parametrize("phi", [0.05, 0.3])
@pytest.mark.parametrize(("rows", "k"), [(quadratic().rows, 2), (small_logistic(), 2)])
def test_with_negative_weights_it_is_what_sequential_quadratic_programming_finds(rows, k, phi):
    a = CVaR(rows.n, k / rows.n)
    found = solve(rows, Integrated(a, a, phi))
    clients = Clients(list(rows.xs), list(rows.ys), rows.l2, rows.binary)
    assert found.lam.min() < 0
    assert found.theta == pytest.approx(solution(clients, phi, k, np.zeros(rows.d)), abs=1e-5)
    assert found.certain


@pytest.mark.parametrize("rows", [quadratic().rows, small_logistic()])
def test_the_certificate_bounds_the_distance_to_any_better_point(rows):
    """Its bound, at points that are not solutions, is never below the true distance."""
    from evenkeel.paper.theory.saddle import _proven

    ambiguity = Integrated(CVaR(rows.n, 1 / 3), CVaR(rows.n, 1 / 3), 0.2)
    true = solve(rows, ambiguity)
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-2, 1e-4):
        for _ in range(20):
            theta = true.theta + scale * rng.normal(size=rows.d)
            lam = ambiguity.project(true.lam + scale * rng.normal(size=rows.n))
            bound = _proven(rows, ambiguity, theta, lam)[-1]
            assert bound >= np.square(theta - true.theta).sum() * (1 - 1e-6)


def test_no_point_nearby_or_far_is_better():
    problem = quadratic()
    ambiguity = problem.ambiguity(0.3)
    found = solve(problem.rows, ambiguity)
    least, rng = ambiguity.support(found.losses), np.random.default_rng(1)
    for scale in (1e-6, 1e-3, 1.0, 30.0):
        for step in rng.normal(size=(50, problem.rows.d)) * scale:
            assert ambiguity.support(problem.rows.losses(found.theta + step)) >= least - 1e-12


def test_where_convexity_cannot_be_shown_nothing_is_certified():
    """With l2 = .02 negative weights bend Σλf downwards somewhere; without them l2 alone keeps it convex."""
    rows, half = small_logistic(0.02), CVaR(6, 1 / 3)
    assert solve(rows, Integrated(half, half, 0.0)).certain
    found = solve(rows, Integrated(half, half, 0.5))
    assert found.convexity < 0
    assert found.squared_error == np.inf


@pytest.mark.parametrize("problem", [quadratic(), penguins(), digits()], ids=lambda p: p.name)
def test_the_engines_clients_are_the_same_clients(problem):
    theta = np.random.default_rng(2).normal(size=problem.rows.d)
    loop, shared = Loop(problem.task, problem.federation), {"theta": torch.from_numpy(theta)}
    losses = loop.answer(Ask("probe", shared), Key(0, 0))["loss"]
    gradients = loop.answer(Ask("gradient", shared, config={"batch": 0, "dropout": False}), Key(0, 0))["grad"]
    np.testing.assert_allclose(losses, problem.rows.losses(theta))
    np.testing.assert_allclose(gradients.numpy(), problem.rows.gradients(theta), atol=1e-12)


@pytest.mark.parametrize("binary", [False, True])
def test_hessians_and_convexity_are_those_of_differences(binary):
    rows = small_logistic() if binary else quadratic().rows
    rng, h = np.random.default_rng(3), 1e-5
    theta = rng.normal(size=rows.d)
    by_difference = np.stack(
        [(rows.gradients(theta + h * e) - rows.gradients(theta - h * e)) / (2 * h) for e in np.eye(rows.d)], axis=1
    )
    np.testing.assert_allclose(rows.hessians(theta), by_difference, atol=1e-6)
    lam = rng.normal(size=rows.n)
    lam /= lam.sum()
    for point in rng.normal(size=(20, rows.d)) * 3:
        mixed = np.tensordot(lam, rows.hessians(point), 1)
        assert np.linalg.eigvalsh(mixed)[0] >= rows.convexity(lam) - 1e-9


def test_the_proof_covers_the_phi_that_rates_are_measured_at():
    for chosen in PROBLEMS.values():
        problem = chosen.build()
        within = largest_phi(closed_form(problem.task, problem.federation))[2]
        assert max(chosen.phis) < within < chosen.beyond


def test_two_clients_on_a_line_stay_equal_while_the_strict_theorems_assumption_holds():
    """By hand: θ = 1 from φ = 1/4 on, both losses 4; before that (2 − 6φ)/(1 − 2φ) minimises f₂ − φf₁."""
    for phi in (0.1, 0.2):
        theta = (2 - 6 * phi) / (1 - 2 * phi)
        point, found = monotone.at(monotone.line(), phi)
        assert found == pytest.approx([theta], abs=1e-7)
        assert point["R"] == pytest.approx((0.5 * (theta - 2) ** 2 + 3.5) / (theta - 3) ** 2)
    later = [monotone.at(monotone.line(), phi)[0] for phi in (0.3, 0.5, 0.8)]
    for point in later:
        assert point["R"] == pytest.approx(1, abs=1e-9)
        assert point["still"] == pytest.approx(1, abs=1e-3)  # the nearer end of [−4, −1]
    assert len(monotone.flats(later)) == 2
