"""The theorem's schedule and rates on quadratic clients written in plain torch, with a solution by Clarabel."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
import torch

from evenkeel.algorithms import ScaffPDIA, Work
from evenkeel.draws import uniform
from evenkeel.errors import InputError
from evenkeel.protocol import Replies
from evenkeel.sets import CVaR, Integrated
from evenkeel.theory import PRACTICAL, Constants, error_curve, lipschitz, slope, theorem_schedule

N, D, PHI, NOISE = 6, 4, 0.1, 3.0
CONSTANTS = Constants(smallest=np.ones(N), largest=np.ones(N), everywhere=True)
AMBIGUITY = Integrated(CVaR(N, 1 / 3), CVaR(N, 1 / 3), PHI)
RNG = np.random.default_rng(5)
CENTRES, FLOORS = RNG.normal(size=(N, D)), RNG.uniform(1, 2, N)


@dataclass(frozen=True)
class Quadratics:
    """f_i(θ) = ½‖θ − x_i‖² + v_i, so m = M = 1; gradients have noise of variance noise²/3 an entry."""

    noise: float = 0.0
    n = N

    def gradients(self, u, key, step):
        exact = u - torch.from_numpy(CENTRES)
        if not self.noise:
            return exact
        drawn = uniform(key, "noise", np.arange(N)[:, None], step, np.arange(D))
        return exact + self.noise * (2 * torch.from_numpy(drawn) - 1)

    def answer(self, ask, key):
        theta, who = ask.shared["theta"], np.arange(N)
        if ask.phase == "probe":
            return Replies(who, {"loss": ((theta.numpy() - CENTRES) ** 2).sum(1) / 2 + FLOORS})
        weights, own = torch.from_numpy(ask.weights), self.gradients(theta, key, 0)
        if ask.phase == "gradient":
            return Replies(who, {"grad": weights @ own})
        u, steps, eta = theta.expand(N, D), ask.config["steps"], ask.config["eta"]
        for j in range(steps):
            u = u - eta * (self.gradients(u, key, j + 1) - own + ask.shared["c"])
        return Replies(who, {"delta": weights @ (theta - u) / (eta * steps)})


def solution():
    """½‖θ‖² is common to all clients, so only linear terms compete and the programme is convex for any φ."""
    theta = cp.Variable(D)
    linear = FLOORS + (CENTRES**2).sum(1) / 2 - CENTRES @ theta
    spread = (cp.sum_largest(linear, 2) - PHI * cp.sum_smallest(linear, 2)) / (2 * (1 - PHI))
    cp.Problem(cp.Minimize(cp.sum_squares(theta) / 2 + spread)).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13
    )
    return theta.value


def curve(schedule, rounds, *, noise=0.0, seed=0):
    alg = ScaffPDIA(ambiguity=AMBIGUITY, schedule=schedule, work=Work(batch=0, steps=2, control_batch=0))
    start = torch.full((D,), 3.0, dtype=torch.float64)
    return error_curve(alg, Quadratics(noise), start, solution(), rounds=rounds, seed=seed)


def practical():
    """L from the ball of radius 2 round every client's centre."""
    return theorem_schedule(AMBIGUITY, CONSTANTS, L=lipschitz(CONSTANTS, N, 2.0), J=2, factor=PRACTICAL)


def test_exact_gradients_fall_at_least_like_the_square_of_the_rounds():
    got = curve(practical(), 400)
    assert slope(got, 10, 400) <= -1.8
    tail = got.squared_errors[10:] * got.rounds[10:] ** 2
    assert tail.max() <= 100 * got.squared_errors[0]  # one constant C₂ serves all R
    assert got.squared_errors[-1] < 1e-12


def test_noisy_gradients_fall_like_one_over_the_rounds():
    runs = [curve(practical(), 1200, noise=NOISE, seed=s).squared_errors for s in range(3)]
    mean = np.mean(runs, axis=0)
    early, late = mean[80:160].mean(), mean[800:1200].mean()  # about 8 times as many rounds
    assert 4 < early / late < 16


def test_the_noise_floor_of_constant_steps_does_not_fall():
    """What the theorem's decreasing steps are for: γ constant keeps the error where it is."""
    from evenkeel.dual import Constant

    first = practical().rates(0)
    same = Constant(sigma=first.sigma, tau=first.tau, eta=first.eta)
    mean = np.mean([curve(same, 600, noise=NOISE, seed=s).squared_errors for s in range(3)], axis=0)
    assert mean[350:].mean() > 0.6 * mean[80:330].mean()


@pytest.mark.parametrize("L", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("phi", [0.0, 0.1, 0.19])
def test_literal_schedule_meets_every_line_of_the_assumption(phi, L):
    ambiguity, c_alpha, J = Integrated(CVaR(N, 1 / 3), CVaR(N, 1 / 3), phi), 0.5, 3
    m = M = 1.0
    norm, t = (1 + phi) / (1 - phi), theorem_schedule(ambiguity, CONSTANTS, L=L, J=J, c_alpha=c_alpha)
    assert norm < 1 + m / (2 * M)
    assert t.tau_0 <= min(1 / (1200 * M * norm), 18 * (1 + np.sqrt(3)) / (m - 2 * M * (norm - 1))) * (1 + 1e-12)
    assert 4 * L**2 * t.tau_0**2 * t.gamma_0 / c_alpha + 27 * M * t.tau_0 <= 1 + 1e-12
    assert t.beta >= max(1, 2 * t.tau_0 * M)
    assert t.kappa == pytest.approx(m / 4 - M * (norm - 1) / 2)
    assert t.rates(0).eta == pytest.approx(t.tau_0 / (J * t.beta))


def test_practical_schedule_is_600_times_longer_and_keeps_the_dual_product_bounded():
    literal, longer = (theorem_schedule(AMBIGUITY, CONSTANTS, L=3.0, factor=f) for f in (1.0, PRACTICAL))
    assert longer.tau_0 == pytest.approx(600 * literal.tau_0)
    assert longer.tau_0 == pytest.approx(1 / (2 * AMBIGUITY.l1_norm))
    assert 8 * 3.0**2 * longer.gamma_0 * longer.tau_0**2 == pytest.approx(0.5)  # 8·L²·στ = c_alpha


def test_lipschitz_constant_holds_on_the_ball():
    L, rng = lipschitz(CONSTANTS, N, 4.0), np.random.default_rng(0)

    def losses(t):
        return ((t - CENTRES) ** 2).sum(1) / 2

    kept = [t for t in rng.normal(size=(400, D)) if (np.linalg.norm(t - CENTRES, axis=1) <= 4).all()]
    pairs = list(zip(kept[::2], kept[1::2], strict=False))
    assert len(pairs) > 3
    assert all(np.linalg.norm(losses(s) - losses(t)) <= L * np.linalg.norm(s - t) for s, t in pairs)


def test_impossible_constants_are_refused():
    with pytest.raises(InputError, match="L = 0"):
        theorem_schedule(AMBIGUITY, CONSTANTS, L=0.0)
