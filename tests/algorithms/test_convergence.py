"""Descent to the known minimax solution, and what absence does to it."""

import numpy as np
import pytest
import torch

from evenkeel.algorithms import ScaffPDIA, StochasticAFL, Work, algorithm
from evenkeel.dual import Constant, Theorem
from evenkeel.engine import Absent, Engine
from tests.algorithms.bank import BANK, quadratic_mean, quadratic_worst, shared_hessian
from tests.algorithms.running import run

EXACT = Work(batch=0, steps=2, control_batch=0)


def distance(state, problem):
    return float(np.linalg.norm(state.theta.numpy() - problem.solution))


def zero(problem):
    return torch.zeros(problem.task.d, dtype=torch.float64)


@pytest.mark.parametrize("name", BANK)
def test_scaff_pd_ia_finds_the_minimax_solution(name):
    p = BANK[name]()
    alg = ScaffPDIA(ambiguity=p.ambiguity, schedule=Constant(sigma=0.05, tau=0.2, eta=0.02), work=EXACT)
    states, _ = run(alg, Engine(p.task, p.federation), zero(p), 250)
    assert distance(states[-1], p) < 0.05 * distance(states[0], p)


def test_the_solution_with_negative_weights_is_found_to_many_digits():
    p = shared_hessian()
    alg = ScaffPDIA(ambiguity=p.ambiguity, schedule=Constant(sigma=0.05, tau=0.2, eta=0.02), work=EXACT)
    states, infos = run(alg, Engine(p.task, p.federation), zero(p), 300)
    assert distance(states[-1], p) < 1e-7
    assert infos[-1]["lam"].min() < -0.05  # best-off clients do weigh against


def test_afl_approaches_the_worst_case_solution():
    p = quadratic_worst()
    alg = StochasticAFL(ambiguity=p.ambiguity, eta=0.05, sigma=0.02, work=Work(batch=0, steps=1))
    states, _ = run(alg, Engine(p.task, p.federation), zero(p), 300)
    assert distance(states[-1], p) < 0.1 * distance(states[0], p)


@pytest.mark.parametrize("name", ["fedsgd", "fedavg", "scaffold", "scaffold-2020", "q-fedsgd", "q-fedavg", "fedfv"])
def test_averaging_algorithms_reduce_the_mean_loss(name):
    p = quadratic_mean()
    work = Work(batch=0, steps=2, control_batch=0)
    extra = {"tau": 0.1, "eta": 0.02} if name == "scaffold" else {"eta": 0.05}
    extra |= {"q": 0.1} if name.startswith("q-") else {}
    alg, transport = algorithm(name, p.federation.train.sizes, work=work, **extra), Engine(p.task, p.federation)
    states, _ = run(alg, transport, zero(p), 60)
    assert distance(states[-1], p) < 0.35 * distance(states[0], p)


def test_drfa_reduces_the_worst_share():
    p = quadratic_worst()
    alg = algorithm("drfa", p.federation.train.sizes, alpha=1 / 6, eta=0.02, sigma=0.02, work=Work(batch=0, steps=2))
    states, infos = run(alg, Engine(p.task, p.federation), zero(p), 150)
    start = run(alg, Engine(p.task, p.federation), zero(p), 1)[1][0]["loss"]
    assert distance(states[-1], p) < 0.5 * distance(states[0], p)
    assert infos[-1]["loss"].max() < start.max()


def test_absence_of_three_in_ten_does_not_break_convergence():
    """Decreasing steps, exact gradients: the absent-clients rule leaves the direction's mean alone."""
    p = shared_hessian()
    schedule = Theorem(tau_0=0.25, gamma_0=0.2, kappa=0.3, J=2, beta=5.0)
    alg = ScaffPDIA(ambiguity=p.ambiguity, schedule=schedule, work=EXACT)
    errors, ratios = [], []
    for seed in range(3):
        transport = Engine(p.task, p.federation, attendance=Absent(0.3))
        states, infos = run(alg, transport, zero(p), 400, seed=seed)
        errors.append(distance(states[-1], p) / distance(states[0], p))
        worst, best = np.sort(infos[-1]["loss"])[-2:].mean(), np.sort(infos[-1]["loss"])[:2].mean()
        ratios.append(worst / best)
    full, full_infos = run(alg, Engine(p.task, p.federation), zero(p), 400)
    loss = np.sort(full_infos[-1]["loss"])
    assert distance(full[-1], p) < 0.01
    assert np.median(errors) < 0.1
    assert np.median(ratios) < 1.1 * loss[-2:].mean() / loss[:2].mean()
