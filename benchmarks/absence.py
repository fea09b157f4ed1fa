"""What to do with the weights of absent clients: four rules, 30 % absent a round, on the bank's known solutions.

Run as `python -m benchmarks.absence`. Prints ‖θ^R − θ*‖ / ‖θ⁰ − θ*‖ after 400 rounds, median and worst of 5 seeds.
"""

import warnings

import numpy as np
import torch

from evenkeel.algorithms import ScaffPDIA, Work, primal_dual
from evenkeel.dual import Theorem
from evenkeel.engine import Absent, Engine
from tests.algorithms.bank import quadratic_cvar, quadratic_worst, shared_hessian
from tests.algorithms.running import run

RULES = {
    "scaled by n/m (ours)": lambda lam, who: lam[who] * lam.size / len(who),
    "left as they are": lambda lam, who: lam[who],
    "divided by their sum": lambda lam, who: lam[who] / lam[who].sum(),
    "missing mass spread evenly": lambda lam, who: lam[who] + (1 - lam[who].sum()) / len(who),
}
SCHEDULE = Theorem(tau_0=0.25, gamma_0=0.2, kappa=0.3, J=2, beta=5.0)


def error(problem, seed):
    alg = ScaffPDIA(ambiguity=problem.ambiguity, schedule=SCHEDULE, work=Work(batch=0, steps=2, control_batch=0))
    transport = Engine(problem.task, problem.federation, attendance=Absent(0.3))
    try:
        states, _ = run(alg, transport, torch.zeros(problem.task.d, dtype=torch.float64), 400, seed=seed)
    except RuntimeError:
        return np.inf
    return float(np.linalg.norm(states[-1].theta.numpy() - problem.solution) / np.linalg.norm(problem.solution))


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for make in (shared_hessian, quadratic_cvar, quadratic_worst):
        for name, rule in RULES.items():
            primal_dual.scaled = rule
            errors = [error(make(), seed) for seed in range(5)]
            print(f"{make.__name__:15} {name:27} median {np.median(errors):8.3g}  worst {max(errors):8.3g}", flush=True)


if __name__ == "__main__":
    main()
