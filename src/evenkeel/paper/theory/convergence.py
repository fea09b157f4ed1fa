"""Theorem «scaffpd»: ‖θ^R − θ*‖² against R, the real algorithm on the engine, θ* from the conic solver.

Three choices of steps. «theorem» is the schedule of Assumption «hyperparameters» with τ₀ = 1/(M‖Λ‖₁), one step of
plain gradient descent, in place of 1/(1200M‖Λ‖₁); «literal» is that assumption to the letter; «constant» keeps
τ = 1/(2M‖Λ‖₁) and σ = 1/(2τL²), L taken at θ*. Two local steps a round (the paper needs J ≥ 2), from θ⁰ = 0.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from evenkeel.algorithms import ScaffPDIA, Work
from evenkeel.dual import Constant, Schedule, Theorem
from evenkeel.engine import Engine
from evenkeel.errors import RunFailedError
from evenkeel.paper.theory.problems import PROBLEMS, Problem
from evenkeel.paper.theory.rows import Real
from evenkeel.paper.theory.saddle import Saddle, solve
from evenkeel.runs.observers import Observer
from evenkeel.runs.pool import processes, spread
from evenkeel.theory import Constants, closed_form, error_curve, limits, theorem_schedule

J = 2
LONGER = 1200.0
SETTLED = 3.0  # the noisy rate is read from κτ₀R/2 = 3 on: τ_R ∝ 1/(1 + κτ₀R/2), and (1 + 3·100)/(1 + 3) is 75 ≥ 100^.9
SHOWN = 60  # points of a curve that are kept
BINS = 24  # means over this many log-spaced parts of the window; a line is fitted to their logarithms


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One curve: a problem, φ, a choice of steps, exact or noisy gradients, rounds, and the first round of the fit."""

    problem: str
    phi: float
    steps: str
    noisy: bool
    first: int
    last: int
    seeds: int = 1


def cases(*, quick: bool) -> Iterator[Case]:
    """What is run. Noisy windows follow from κτ₀, so they are set before anything is seen."""
    last = 200 if quick else 1000
    for name, phi in [(name, phi) for name, chosen in PROBLEMS.items() for phi in chosen.phis]:
        yield Case(problem=name, phi=phi, steps="theorem", noisy=False, first=10, last=last)
        if not quick:
            yield Case(problem=name, phi=phi, steps="constant", noisy=False, first=10, last=last)
        if not quick or (name, phi) == ("quadratic", 0.0):
            first = onset(name, phi)
            seeds, most = (1, 10 * first) if quick else (2, 100 * first)
            yield Case(problem=name, phi=phi, steps="theorem", noisy=True, first=first, last=most, seeds=seeds)
    if not quick:
        for label, chosen in PROBLEMS.items():
            within = chosen.phis[-1]
            yield Case(problem=label, phi=chosen.beyond, steps="constant", noisy=False, first=10, last=1000)
            yield Case(problem=label, phi=within, steps="constant", noisy=True, first=10, last=1000)
            yield Case(problem=label, phi=within, steps="literal", noisy=False, first=10, last=1000)


def onset(name: str, phi: float) -> int:
    """The round from which the theorem's steps are read to fall like 1/R: κτ₀R/2 = 3."""
    problem = PROBLEMS[name].build()
    plan = _schedule(problem, phi, "theorem", solve(problem.rows, problem.ambiguity(phi)))
    if not isinstance(plan, Theorem) or plan.kappa <= 0:
        raise RunFailedError(f"theory: {name} at phi = {phi} is outside the theorem; no rate is claimed there")
    return math.ceil(2 * SETTLED / (plan.kappa * plan.tau_0))


def study(*, quick: bool = False, workers: int = 0) -> list[dict[str, Any]]:
    """Every case, on all cores: constants, the fitted slope, and the curve thinned for a chart."""
    planned = {str(k): case for k, case in enumerate(cases(quick=quick))}
    pieces = {f"{k}/{seed}": partial(_errors, case, seed) for k, case in planned.items() for seed in range(case.seeds)}
    order = sorted(pieces, key=lambda label: -planned[label.split("/")[0]].last)  # the longest first
    done = spread({label: pieces[label] for label in order}, lambda _: None, processes(workers, len(pieces)))
    for outcome in done.values():
        if isinstance(outcome, RunFailedError):
            raise outcome
    runs = {k: [done[f"{k}/{seed}"] for seed in range(case.seeds)] for k, case in planned.items()}
    return [_facts(case, [r for r in runs[k] if not isinstance(r, RunFailedError)]) for k, case in planned.items()]


def _errors(case: Case, seed: int, observer: Observer) -> Real:
    """‖θ^r − θ*‖² of one run."""
    problem = PROBLEMS[case.problem].build()
    ambiguity = problem.ambiguity(case.phi)
    saddle = solve(problem.rows, ambiguity)
    batch = problem.batch if case.noisy else 0
    algorithm = ScaffPDIA(
        ambiguity=ambiguity,
        schedule=_schedule(problem, case.phi, case.steps, saddle),
        work=Work(batch=batch, steps=J, control_batch=batch, dropout=False),
    )
    engine = Engine(problem.task, problem.federation, workers=1)
    start = torch.zeros(problem.rows.d, dtype=torch.float64)
    return error_curve(algorithm, engine, start, saddle.theta, rounds=case.last, seed=seed).squared_errors


def _schedule(problem: Problem, phi: float, steps: str, saddle: Saddle) -> Schedule:
    ambiguity, constants = problem.ambiguity(phi), _constants(problem)
    if steps == "constant":
        tau = 1 / (2 * constants.M * ambiguity.l1_norm)
        L = float(np.linalg.norm(problem.rows.gradients(saddle.theta), 2))
        return Constant(sigma=1 / (2 * tau * L**2), tau=tau, eta=tau / J)
    factor = LONGER if steps == "theorem" else 1.0
    return theorem_schedule(ambiguity, constants, L=slopes(problem, saddle), J=J, factor=factor)


def slopes(problem: Problem, saddle: Saddle) -> float:
    """L_λθ in the ball about θ* that θ⁰ = 0 lies on: ‖∇f(θ*)‖₂ + √ΣM_i²·‖θ*‖, as row i of ∇f changes by ≤ M_i·r."""
    curved = float(np.linalg.norm(_constants(problem).largest)) * float(np.linalg.norm(saddle.theta))
    return float(np.linalg.norm(problem.rows.gradients(saddle.theta), 2)) + curved


def _constants(problem: Problem) -> Constants:
    found = closed_form(problem.task, problem.federation)
    if found is None:
        raise RunFailedError(f"theory: {problem.name} has no constants in closed form")
    return found


def _facts(case: Case, runs: list[Real]) -> dict[str, Any]:
    problem = PROBLEMS[case.problem].build()
    ambiguity, constants = problem.ambiguity(case.phi), _constants(problem)
    saddle = solve(problem.rows, ambiguity)
    plan = _schedule(problem, case.phi, case.steps, saddle)
    mean, floor = np.mean(runs, axis=0), saddle.squared_error
    c2 = bound(problem, case.phi, saddle, mean)
    each = [fitted(run, case.first, case.last, floor) for run in runs]
    kept = np.unique(np.geomspace(1, case.last, SHOWN).round().astype(int))
    norms = {limit.name: limit.holds for limit in limits(ambiguity, constants)}
    return {
        **asdict(case),
        "slope": fitted(mean, case.first, case.last, floor),
        "slopes": each,
        "l1_norm": ambiguity.l1_norm,
        "m": constants.m,
        "M": constants.M,
        "kappa": constants.m / 4 - constants.M * (ambiguity.l1_norm - 1) / 2,
        "conditions": norms,
        "tau_0": plan.rates(0).tau,
        "sigma_0": plan.rates(0).sigma,
        "certified": floor,
        "conic": saddle.conic,
        "start": float(mean[0]),
        "end": float(mean[-1]),
        "inside": bool(max(run.max() for run in runs) <= float(saddle.theta @ saddle.theta) * (1 + 1e-12)),
        "c2": float(c2.max()),
        "c2_at": int(c2.argmax()) + 1,
        "curve": [[int(r), float(max(mean[r], floor))] for r in kept],
    }


def fitted(errors: Real, first: int, last: int, floor: float) -> float:
    """The slope of log error on log round; errors below the proven accuracy of θ* count as that accuracy.

    >>> errors = 5.0 / np.maximum(np.arange(1001), 1) ** 2
    >>> round(fitted(errors, 10, 1000, 0.0), 2)
    -2.0
    """
    edges = np.unique(np.geomspace(first, last + 1, BINS + 1).round().astype(int))
    parts = [np.arange(a, b) for a, b in pairwise(edges)]
    x = [np.log(r).mean() for r in parts]
    y = [np.log(max(errors[r].mean(), floor, 1e-300)) for r in parts]
    return float(np.polyfit(x, y, 1)[0])


def bound(problem: Problem, phi: float, saddle: Saddle, errors: Real) -> Real:
    """The C₂ that each round needs: R²·‖θ^R − θ*‖² over D(θ*, θ⁰) + D(λ*, λ⁰) + F(θ⁰, λ*) − F(θ*, λ⁰), R from 1."""
    rows, n = problem.rows, problem.rows.n
    origin, lam = np.zeros(rows.d), problem.ambiguity(phi).project(np.full(n, 1 / n))
    apart = (saddle.theta @ saddle.theta + np.square(saddle.lam - lam).sum()) / 2
    start = apart + saddle.lam @ rows.losses(origin) - lam @ saddle.losses
    r = np.arange(1, len(errors))
    return np.asarray(r**2 * errors[1:] / start)
