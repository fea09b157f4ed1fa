"""Problems whose minimax solution is known: Clarabel solves the convex programme that CVXPY states."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import cvxpy as cp
import numpy as np
import torch

from evenkeel.data.shards import Federation, Shards
from evenkeel.sets import AmbiguitySet, CVaR, Integrated, Point, Simplex
from evenkeel.tasks import Task, build

N, ROWS, P = 6, 10, 3
RIDGE = 0.2


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A federation, its task, an ambiguity set, and the one solution θ* of min over θ, max over λ."""

    task: Task
    federation: Federation
    ambiguity: AmbiguitySet
    solution: np.ndarray


def federation_of(xs, ys, classes):
    rows = np.cumsum([0, *(len(y) for y in ys)])
    own = [np.arange(a, b) for a, b in pairwise(rows)]
    return Federation(
        x=torch.from_numpy(np.concatenate(xs)),
        y=torch.from_numpy(np.concatenate(ys)),
        train=Shards.of(own),
        valid=Shards.of(own),
        names=tuple(f"client {i}" for i in range(len(ys))),
        classes=classes,
    )


def _solved(objective, theta, tol=1e-9):
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
    return np.asarray(theta.value)


def _with_one(x):
    return np.hstack([x, np.ones((len(x), 1))])  # the linear layer's weights, then its bias


def _regression(rng, *, same_design):
    base = rng.normal(size=(ROWS, P))
    xs = [base if same_design else rng.normal(size=(ROWS, P)) * rng.uniform(0.7, 1.3) for _ in range(N)]
    ys = [x @ rng.normal(size=P) * 0.7 + rng.normal(size=ROWS) * rng.uniform(0.2, 1.0) for x in xs]
    return xs, ys


@cache
def shared_hessian() -> Problem:
    """Quadratic clients with one Hessian: convex for every λ that sums to 1, so φ may be large and weights negative."""
    xs, ys = _regression(np.random.default_rng(1), same_design=True)
    theta, A = cp.Variable(P + 1), _with_one(xs[0])
    alpha, phi, k = 1 / 3, 0.4, 2
    linear = cp.hstack([-2 / ROWS * (A.T @ y) @ theta + y @ y / ROWS for y in ys])
    curved = cp.sum_squares(A @ theta) / ROWS + RIDGE / 2 * cp.sum_squares(theta)
    spread = (cp.sum_largest(linear, k) - phi * cp.sum_smallest(linear, k)) / (k * (1 - phi))
    return Problem(
        task=build("ridge", (P,), 0, l2=RIDGE, dtype=torch.float64),
        federation=federation_of(xs, ys, 0),
        ambiguity=Integrated(CVaR(N, alpha), CVaR(N, alpha), phi),
        solution=_solved(curved + spread, theta, tol=1e-12),
    )


def _quadratic(ambiguity, worst):
    xs, ys = _regression(np.random.default_rng(2), same_design=False)
    theta = cp.Variable(P + 1)
    losses = [cp.sum_squares(_with_one(x) @ theta - y) / ROWS for x, y in zip(xs, ys, strict=True)]
    ridge = RIDGE / 2 * cp.sum_squares(theta)
    return Problem(
        task=build("ridge", (P,), 0, l2=RIDGE, dtype=torch.float64),
        federation=federation_of(xs, ys, 0),
        ambiguity=ambiguity,
        solution=_solved(worst(cp.hstack(losses)) + ridge, theta),
    )


@cache
def quadratic_cvar() -> Problem:
    """Different Hessians, the worst third."""
    return _quadratic(CVaR(N, 1 / 3), lambda f: cp.sum_largest(f, 2) / 2)


@cache
def quadratic_worst() -> Problem:
    """Different Hessians, the worst client."""
    return _quadratic(Simplex(N), cp.max)


@cache
def quadratic_mean() -> Problem:
    """Plain averaging."""
    return _quadratic(Point.uniform(N), lambda f: cp.sum(f) / N)


@cache
def logistic_cvar() -> Problem:
    """Logistic clients with a ridge term, the worst half."""
    rng = np.random.default_rng(3)
    xs = [rng.normal(size=(ROWS, P)) + rng.normal(size=P) / 2 for _ in range(N)]
    ys = [(x @ rng.normal(size=P) + rng.normal(size=ROWS) > 0).astype(np.int64) for x in xs]
    theta = cp.Variable(P + 1)
    losses = [
        cp.sum(cp.logistic(cp.multiply(1 - 2 * y, _with_one(x) @ theta))) / ROWS for x, y in zip(xs, ys, strict=True)
    ]
    return Problem(
        task=build("logistic", (P,), 2, l2=RIDGE, dtype=torch.float64),
        federation=federation_of(xs, ys, 2),
        ambiguity=CVaR(N, 0.5),
        solution=_solved(cp.sum_largest(cp.hstack(losses), 3) / 3 + RIDGE / 2 * cp.sum_squares(theta), theta),
    )


BANK = {f.__name__: f for f in (shared_hessian, quadratic_cvar, quadratic_worst, quadratic_mean, logistic_cvar)}
