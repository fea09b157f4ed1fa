"""Scaff-PD-IA that asks a cohort a round: it approaches the solution of all clients, and nobody waits for long."""

import numpy as np
import pytest
import torch

from evenkeel import draws
from evenkeel.algorithms import ScaffPDIA, Work, algorithm
from evenkeel.dual import Constant, Theorem
from evenkeel.engine import Absent, Engine, Loop
from evenkeel.protocol import Key
from tests.algorithms.bank import BANK, shared_hessian
from tests.algorithms.running import run

EXACT = Work(batch=0, steps=2, control_batch=0)
DECREASING = Theorem(tau_0=0.25, gamma_0=0.2, kappa=0.3, J=2, beta=5.0)


def errors(problem, rounds, at, **how):
    """‖θ^r − θ*‖ / ‖θ⁰ − θ*‖ at these rounds; θ* is Clarabel's for all clients."""
    alg = ScaffPDIA(ambiguity=problem.ambiguity, schedule=DECREASING, work=EXACT, **how)
    transport = Engine(problem.task, problem.federation, workers=1)
    states, infos = run(alg, transport, torch.zeros(problem.task.d, dtype=torch.float64), rounds)
    return [float(np.linalg.norm(states[r].theta.numpy() - problem.solution)) for r in at], states, infos


@pytest.mark.parametrize("name", [name for name in BANK if name != "shared_hessian"])
def test_a_third_of_the_clients_a_round_approaches_the_solution_of_all(name):
    p = BANK[name]()
    (early, late), _, infos = errors(p, 600, (60, 600), cohort=2)
    start = float(np.linalg.norm(p.solution))
    assert late < 0.1 * start
    assert late < 0.5 * early
    assert {len(i["who"]) for i in infos} == {2}


def test_negative_weights_are_reached_by_cohorts_too():
    p = shared_hessian()
    (late,), states, _ = errors(p, 1000, (1000,), cohort=3)
    assert late < 0.1 * float(np.linalg.norm(p.solution))
    assert states[-1].lam.min() < -0.05
    assert p.ambiguity.contains(states[-1].lam)


@pytest.mark.parametrize(("n", "m"), [(7, 3), (100, 10), (11, 11), (5, 1)])
def test_each_client_has_one_turn_a_pass_and_passes_differ(n, m):
    parts = -(-n // m)
    passes = [[draws.turn(Key(3, k * parts + j), "turn", n, m) for j in range(parts)] for k in range(3)]
    for one in passes:
        assert sorted(np.concatenate(one).tolist()) == list(range(n))
        assert max(map(len, one)) <= m
        assert all((np.diff(who) > 0).all() for who in one)
    if parts > 1:
        assert any(not np.array_equal(a, b) for a, b in zip(passes[0], passes[1], strict=True))


def test_every_client_is_as_likely_as_another_to_be_asked_in_a_round():
    asked = np.zeros(10)
    for seed in range(3000):
        asked[draws.turn(Key(seed, 4), "turn", 10, 3)] += 1
    expected = 3000 * len(draws.turn(Key(0, 4), "turn", 10, 3)) / 10
    deviation = np.sqrt(expected * 0.8)
    assert (np.abs(asked - expected) < 5 * deviation).all()


def test_staleness_is_bounded_by_two_passes_and_told_as_counted_by_hand():
    p, m = shared_hessian(), 2
    alg = ScaffPDIA(ambiguity=p.ambiguity, schedule=Constant(sigma=0.05, tau=0.1, eta=0.02), work=EXACT, cohort=m)
    _, infos = run(alg, Loop(p.task, p.federation), torch.zeros(4, dtype=torch.float64), 20)
    last = dict.fromkeys(range(6), -1)
    for r, info in enumerate(infos):
        last |= dict.fromkeys(info["who"].tolist(), r)
        waited = [r - heard for heard in last.values()]
        assert info["stale_max"] == max(waited)
        assert info["stale_mean"] == pytest.approx(np.mean(waited))
        assert info["unheard"] == sum(heard < 0 for heard in last.values())
        assert info["stale_max"] <= 2 * (6 // m) - 2
    assert any(info["stale_max"] > 6 // m for info in infos)  # the bound is not idle


def test_those_not_asked_keep_their_last_loss():
    p = shared_hessian()
    alg = ScaffPDIA(ambiguity=p.ambiguity, schedule=Constant(sigma=0.05, tau=0.1, eta=0.02), work=EXACT, cohort=2)
    states, infos = run(alg, Loop(p.task, p.federation), torch.zeros(4, dtype=torch.float64), 9)
    for before, after, info in zip(states[2:], states[3:], infos[2:], strict=False):
        rest = np.setdiff1d(np.arange(6), info["who"])
        np.testing.assert_array_equal(after.loss[rest], before.loss[rest])
        assert not np.isclose(after.loss[info["who"]], before.loss[info["who"]]).any()


def test_a_cohort_of_everyone_is_no_cohort():
    p = shared_hessian()
    alg = ScaffPDIA(ambiguity=p.ambiguity, schedule=Constant(sigma=0.05, tau=0.1, eta=0.02), work=EXACT)
    ends = []
    for cohort in (0, 6, 100):
        one = ScaffPDIA(ambiguity=alg.ambiguity, schedule=alg.schedule, work=EXACT, cohort=cohort)
        states, infos = run(one, Loop(p.task, p.federation), torch.zeros(4, dtype=torch.float64), 4)
        ends.append(states[-1])
        assert "stale_max" not in infos[-1]
    assert torch.equal(ends[0].theta, ends[1].theta)
    assert torch.equal(ends[0].theta, ends[2].theta)


def test_cohorts_and_absence_together_still_approach():
    p = BANK["quadratic_cvar"]()
    alg = ScaffPDIA(ambiguity=p.ambiguity, schedule=DECREASING, work=EXACT, cohort=3)
    transport = Engine(p.task, p.federation, workers=1, attendance=Absent(0.2))
    states, infos = run(alg, transport, torch.zeros(4, dtype=torch.float64), 800)
    assert np.linalg.norm(states[-1].theta.numpy() - p.solution) < 0.2 * np.linalg.norm(p.solution)
    assert max(i["stale_max"] for i in infos) > 2  # two passes of two rounds would be 2 if all had answered


@pytest.mark.parametrize("name", ["scaff-pd", "scaff-pd-ia", "scaffold"])
def test_the_family_takes_a_cohort_by_name(name):
    assert algorithm(name, np.full(10, 5), cohort=4).cohort == 4
