"""Exact projections against a quadratic programme over (a, b), written here by itself."""

import clarabel
import numpy as np
import pytest
from scipy import sparse

from evenkeel.sets import CVaR, Integrated, Point, Simplex, TVBall, WeightedCVaR
from evenkeel.sets.permutahedron import project_isotonic


def qp(z, cap_a, cap_b, phi):
    """min ‖(a − φb)/(1−φ) − z‖² over 0 ≤ a ≤ cap_a, 0 ≤ b ≤ cap_b, Σa = Σb = 1, scaled to the size of z."""
    n, scale = z.size, max(1.0, float(np.abs(z).max()))
    unit = sparse.eye(n)
    zero = sparse.csc_matrix((n, n))
    ones, none = np.ones((1, n)), np.zeros((1, n))
    make = sparse.hstack([unit, -phi * unit, -(1 - phi) * unit])
    sums = sparse.csc_matrix(np.vstack([np.hstack([ones, none, none]), np.hstack([none, ones, none])]))
    box = sparse.vstack(
        [
            sparse.hstack([-unit, zero, zero]),
            sparse.hstack([zero, -unit, zero]),
            sparse.hstack([unit, zero, zero]),
            sparse.hstack([zero, unit, zero]),
        ]
    )
    caps = np.concatenate([np.broadcast_to(cap_a, n), np.broadcast_to(cap_b, n)])
    A = sparse.vstack([make, sums, box], format="csc")
    b = np.concatenate([np.zeros(n), [1.0, 1.0], np.zeros(2 * n), caps])
    weight = 1e3 / scale
    P = sparse.block_diag([sparse.csc_matrix((2 * n, 2 * n)), unit], format="csc") * weight
    q = np.concatenate([np.zeros(2 * n), -z * weight])
    cones = [clarabel.ZeroConeT(n + 2), clarabel.NonnegativeConeT(4 * n)]
    answers = []
    for tol in (1e-15, 1e-14, 1e-13, 1e-12):  # the tightest may stall; the answer with the least error counts
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
        settings.max_iter = 300
        settings.equilibrate_enable = tol < 1e-13
        answer = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
        answers.append((answer.r_prim + answer.r_dual + abs(answer.obj_val - answer.obj_val_dual), answer.x))
    inside = np.array(min(answers, key=lambda a: a[0])[1])
    return polished(inside[: 2 * n], z, caps, phi)


def polished(ab, z, caps, phi):
    """The interior point's active bounds taken as exact and the rest solved as a linear system, where that is better.

    An interior point method finds a degenerate vertex only to the root of its tolerance.
    """
    n = z.size
    make = np.hstack([np.eye(n), -phi * np.eye(n)]) / (1 - phi)
    best = np.minimum(np.maximum(ab, 0.0), caps)
    for near in (1e-4, 1e-5, 1e-6, 1e-7):
        x = np.where(ab < near, 0.0, np.where(ab > caps - near, caps, ab))
        free = (ab >= near) & (ab <= caps - near)
        sums = np.kron(np.eye(2), np.ones(n))
        M, E = make[:, free], sums[:, free]
        kkt = np.block([[M.T @ M, E.T], [E, np.zeros((2, 2))]])
        right = np.concatenate([M.T @ (z - make @ np.where(free, 0, x)), 1 - sums @ np.where(free, 0, x)])
        x[free] = np.linalg.lstsq(kkt, right)[0][: free.sum()]
        feasible = (x >= -1e-13).all() and (x <= caps + 1e-13).all() and np.abs(sums @ x - 1).max() < 1e-13
        if feasible and np.sum((make @ x - z) ** 2) <= np.sum((make @ best - z) ** 2) + 1e-15:
            best = x
    return make @ best


def case(rng):
    """A random pair of sets and a random vector: ties, n = 1, αn not whole, A ≠ B, scales 1e±6."""
    n = int(rng.integers(1, 25))

    def share():
        return 1.0 if rng.random() < 0.1 else float(rng.uniform(1 / n, 1.0))

    def one():
        kind = rng.integers(5)
        if kind == 0:
            return Simplex(n)
        if kind == 1:
            return Point.uniform(n)
        if kind == 2:
            return WeightedCVaR(rng.dirichlet(np.ones(n)), float(rng.uniform(0.05, 1.0)))
        return CVaR(n, share())

    z = rng.normal(size=n)
    if rng.random() < 0.3:
        z = np.round(z)  # ties
    z *= 10.0 ** rng.choice([-6, -3, -1, 0, 0, 0, 1, 3, 6])
    if rng.random() < 0.5:
        z += 1 / n
    phi = 0.0 if rng.random() < 0.1 else float(rng.uniform(0, 0.95))
    return Integrated(one(), one(), phi), z


def test_projection_agrees_with_a_quadratic_programme_on_2400_random_cases():
    rng = np.random.default_rng(20261118)
    worst = 0.0
    for _ in range(2400):
        s, z = case(rng)
        reference = qp(z, s.A.caps, s.B.caps, s.phi)
        worst = max(worst, float(np.abs(s.project(z) - reference).max()) / max(1.0, float(np.abs(z).max())))
    assert worst <= 1e-8


def test_certificate_gap_of_the_projection_is_at_most_1e_10_relative():
    rng = np.random.default_rng(7)
    for _ in range(6000):
        s, z = case(rng)
        p = s.project(z)
        gap = s.support(z - p) - float((z - p) @ p)
        scale = max(1.0, float(np.abs(z).max())) * max(1.0, float(np.abs(p).sum()))
        assert gap <= 1e-10 * scale
        assert s.contains(p, 1e-10)


def test_two_clipped_shifts_equal_the_isotonic_form():
    rng = np.random.default_rng(3)
    for _ in range(3000):
        n = int(rng.integers(1, 40))
        s = Integrated(
            CVaR(n, float(rng.uniform(1 / n, 1))), CVaR(n, float(rng.uniform(1 / n, 1))), rng.uniform(0, 0.9)
        )
        z = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
        scale = max(1.0, float(np.abs(z).max()))
        np.testing.assert_allclose(s.project(z), project_isotonic(z, s.spectrum), atol=1e-12 * scale, rtol=0)


@pytest.mark.parametrize("n", [20_000, 60_001])
def test_large_n_takes_the_sampled_start_and_stays_exact(n):
    rng = np.random.default_rng(n)
    s = Integrated(CVaR(n, 0.2), CVaR(n, 0.3), 0.4)
    for z in (rng.normal(size=n), rng.exponential(size=n) ** 4, np.sort(rng.normal(size=n)), np.repeat(1.0, n)):
        np.testing.assert_allclose(s.project(z), project_isotonic(z, s.spectrum), atol=1e-12 * np.abs(z).max(), rtol=0)


def test_projected_weights_sum_to_one_even_for_a_million_clients():
    n = 1_000_000
    lam = Integrated(CVaR(n, 0.2), CVaR(n, 0.2), 0.2).project(np.random.default_rng(0).normal(size=n))
    assert abs(lam.sum() - 1) <= 1e-10


def test_total_variation_ball_agrees_with_the_conic_solver():
    from evenkeel.sets.conic import project_blocks

    rng = np.random.default_rng(5)
    for _ in range(60):
        s, z = TVBall(int(rng.integers(1, 12)), float(rng.uniform(0, 1))), rng.normal(size=0)
        z = rng.normal(size=s.n)
        np.testing.assert_allclose(s.project(z), project_blocks(z, [(s.block(), 1.0)]), atol=1e-7)


def test_budgets_far_below_the_resolution_of_the_vector_are_met():
    """At 1e10 neighbouring floats are 2e-6 apart, as wide as the whole floor that φ = 1e-6 leaves."""
    s = Integrated(Point([0.01, 0.98, 0.01]), Simplex(3), 1e-6)
    lam = s.project([2472222729.642351, -18475609683.18374, -11147798960.975578])
    assert abs(lam.sum() - 1) <= 1e-12
    assert s.contains(lam, 1e-12)
