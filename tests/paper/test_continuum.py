"""The solution over the box: against closed forms, a convex solver, the whole grid and random points."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.paper import continuum
from evenkeel.paper.penguins import HIGH, LOW, design

BOX = np.full(3, -3.0), np.full(3, 3.0)


def objective(rows, phi, theta):
    f = np.square(rows @ np.append(theta, 1.0)).sum(axis=-1)
    return f.max() - phi * f.min()


def test_without_phi_it_is_the_convex_minimax_of_another_solver():
    rows = design("model")
    theta, t = cp.Variable(3), cp.Variable()
    losses = [cp.sum_squares(r[:, :3] @ (theta + np.array([-30, 0.5, 0.35])) + r[:, 3]) for r in rows]
    shift = np.array([-30, 0.5, 0.35])
    walls = [theta >= np.array(LOW) - shift, theta <= np.array(HIGH) - shift]
    value = cp.Problem(cp.Minimize(t), [f <= t for f in losses] + walls).solve(solver="CLARABEL")
    found = continuum.solve(rows, np.array(LOW), np.array(HIGH), 0.0)
    assert found.value == pytest.approx(value, rel=1e-6)
    assert found.certified


def test_two_spheres_meet_half_way():
    # |θ − 2e₁|² and |θ + 2e₁|²: equal on θ₁ = 0, least at 0, where both are 4
    eye = np.eye(3)
    rows = np.stack([np.column_stack([eye, [-2.0, 0, 0]]), np.column_stack([eye, [2.0, 0, 0]])])
    for phi in (0.0, 0.3, 0.9):
        found = continuum.solve(rows, *BOX, phi)
        assert found.theta == pytest.approx([0, 0, 0], abs=1e-5)
        assert found.value == pytest.approx(4 * (1 - phi), rel=1e-6)


def test_the_wall_holds_where_the_minimum_is_outside():
    # one centre for both clients, outside the box: the nearest corner, and R = 1
    rows = np.stack([np.column_stack([np.eye(3), [-5.0, -6.0, 7.0]])] * 2)
    found = continuum.solve(rows, *BOX, 0.5)
    assert found.theta == pytest.approx([3, 3, -3], abs=1e-6)
    assert found.certified


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(0, 0.9))
def test_no_point_of_the_box_is_below_the_bound_nor_the_value_below_it(seed, phi):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3, 5, 4))
    found = continuum.solve(rows, *BOX, phi)
    assert found.bound <= found.value * (1 + 1e-9)
    assert ((found.theta >= BOX[0]) & (found.theta <= BOX[1])).all()
    for theta in rng.uniform(*BOX, size=(300, 3)):
        assert objective(rows, phi, theta) >= found.bound - 1e-9


@pytest.mark.parametrize("phi", [0.0, 0.012, 0.05])
def test_the_penguins_solution_cannot_be_improved_nearby(phi):
    rows = design("model")
    found = continuum.solve(rows, np.array(LOW), np.array(HIGH), phi)
    assert found.certified
    rng = np.random.default_rng(0)
    for scale in (1e-1, 1e-3, 1e-5):
        for step in rng.normal(size=(200, 3)) * [1, 0.05, 0.005] * scale:
            theta = np.clip(found.theta + step, LOW, HIGH)
            assert objective(rows, phi, theta) >= found.bound
