"""Which clients a round of Scaff-PD-IA should ask, and whether their losses should be extrapolated: known solutions.

Run as `python -m benchmarks.cohorts`. A third of six clients a round (the bank's problems), and a tenth of 300. Prints
‖θ^R − θ*‖ / ‖θ⁰ − θ*‖ after 300 and 1200 rounds, median of 3 seeds; θ* is Clarabel's, for all clients.
"""

import warnings

import cvxpy as cp
import numpy as np
import torch

from evenkeel import draws
from evenkeel.algorithms import ScaffPDIA, Work, primal_dual
from evenkeel.algorithms.work import carry
from evenkeel.dual import Theorem
from evenkeel.engine import Engine
from evenkeel.sets import CVaR
from evenkeel.tasks import build
from tests.algorithms.bank import RIDGE, Problem, federation_of, quadratic_cvar, quadratic_worst, shared_hessian
from tests.algorithms.running import run

turn = draws.turn
WAYS = {
    "turns, ς from the last loss (ours)": (turn, carry),
    "turns, no extrapolation": (turn, lambda last, seen, _: carry(last, seen, 0.0)),
    "a fresh draw each round": (draws.cohort, carry),
}
AT = (300, 1200)


def many(n=300, rows=10, p=3):
    """Quadratics of n clients, the worst fifth of them."""
    rng = np.random.default_rng(4)
    xs = [rng.normal(size=(rows, p)) * rng.uniform(0.7, 1.3) for _ in range(n)]
    ys = [x @ (np.ones(p) + rng.normal(size=p) * 0.5) + rng.normal(size=rows) * rng.uniform(0.2, 1.0) for x in xs]
    theta = cp.Variable(p + 1)
    ones = np.ones((rows, 1))
    losses = [cp.sum_squares(np.hstack([x, ones]) @ theta - y) / rows for x, y in zip(xs, ys, strict=True)]
    worst = cp.sum_largest(cp.hstack(losses), n // 5) / (n // 5)
    cp.Problem(cp.Minimize(worst + RIDGE / 2 * cp.sum_squares(theta))).solve(solver=cp.CLARABEL)
    task = build("ridge", (p,), 0, l2=RIDGE, dtype=torch.float64)
    return Problem(
        task=task, federation=federation_of(xs, ys, 0), ambiguity=CVaR(n, 0.2), solution=np.asarray(theta.value)
    )


def errors(problem, cohort, seed):
    """At both rounds; the dual step is in proportion to 1/n."""
    n = problem.federation.n
    schedule = Theorem(tau_0=0.25, gamma_0=1.2 / n, kappa=0.3, J=2, beta=5.0)
    work = Work(batch=0, steps=2, control_batch=0)
    alg = ScaffPDIA(ambiguity=problem.ambiguity, schedule=schedule, work=work, cohort=cohort)
    start = torch.zeros(problem.task.d, dtype=torch.float64)
    states, infos = run(alg, Engine(problem.task, problem.federation, workers=1), start, AT[-1], seed=seed)
    size = np.linalg.norm(problem.solution)
    found = [float(np.linalg.norm(states[r].theta.numpy() - problem.solution) / size) for r in AT]
    return found, max(info.get("stale_max", 0) for info in infos)


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(f"| problem | who is asked | {AT[0]} | {AT[1]} | stale at most |\n|---|---|---:|---:|---:|")
    for make, cohort in ((shared_hessian, 2), (quadratic_cvar, 2), (quadratic_worst, 2), (many, 30)):
        problem = make()
        for name, (draw, rule) in WAYS.items():
            draws.turn, primal_dual.carry = draw, rule
            found = [errors(problem, cohort, seed) for seed in range(3)]
            median, stale = np.median([f[0] for f in found], 0), max(f[1] for f in found)
            print(f"| {make.__name__} | {name} | {median[0]:.3f} | {median[1]:.3f} | {stale} |", flush=True)
        draws.turn, primal_dual.carry = turn, carry
        everyone = errors(problem, 0, 0)[0]
        print(f"| {make.__name__} | everyone | {everyone[0]:.2g} | {everyone[1]:.2g} | 0 |", flush=True)


if __name__ == "__main__":
    main()
