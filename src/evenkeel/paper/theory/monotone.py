"""Theorems «mono:nonstrict» and «mono:strict»: R at the solutions as φ grows, each solution certified.

The strict theorem asks (Assumption «imbalance») that Σa∇f_i ≠ 0 or Σb∇f_i ≠ 0 for all a, b that attain max_A and
min_B at the solution. `still` is the least norm of either, over all of them: where the larger of the two is not 0 the
assumption holds, and R should fall.

Two clients on a line show that it need not: f₁ = (θ − 3)² and f₂ = ½(θ − 2)² + 3.5 with A = B = the simplex. Both are 4
and fall at θ = 1. Left of it f₁ is larger and the discrepancy has the slope ≈ −4 + φ; right of it ≈ −1 + 4φ. So for
every φ > ¼ the solution is θ = 1 and R = 1, though Σa∇f_i lies in [−4, −1] for every a.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from evenkeel.indices.relative import absolute_unfairness, best_weighting
from evenkeel.paper.theory.problems import Problem, digits, penguins, quadratic
from evenkeel.paper.theory.rows import Real, Rows
from evenkeel.paper.theory.saddle import solve
from evenkeel.sets import AmbiguitySet
from evenkeel.sets.conic import Block, join

Point = Mapping[str, Any]
EQUAL = 1e-7  # a change of R by less than this share of it is none: what is left of rounding at certified solutions
AWAY = 1e-3  # a gradient of more than this is not 0
STEPS = {"quick": 7, "full": 19}  # φ from 0 to .9


@cache
def line() -> Problem:
    """The two clients of the header."""
    one, two = np.array([[1.0]]), np.array([[1.0], [0.0]])
    rows = Rows(xs=[one, two], ys=[np.array([3.0]), np.array([2.0, np.sqrt(7)])], l2=0.0)
    return Problem(name="line", meaning="two clients on a line", rows=rows, alpha=0.5, batch=1)


def problems() -> dict[str, Problem]:
    """Those of the convergence study, two of them again with less l2, and the two clients on a line."""
    return {
        "quadratic": quadratic(),
        "penguins": penguins(),
        "penguins, l2 = .2": penguins(0.2),
        "digits": digits(),
        "digits, l2 = .3": digits(0.3),
        "line": line(),
    }


def study(*, quick: bool = False) -> dict[str, list[Point]]:
    """The certified solutions of every problem along φ."""
    grid = np.linspace(0, 0.9, STEPS["quick" if quick else "full"]).round(4)
    return {name: path(p, grid.tolist()) for name, p in problems().items()}


def path(problem: Problem, grid: Sequence[float]) -> list[Point]:
    """Solutions along φ, until one can no longer be certified."""
    found: list[Point] = []
    theta = None
    for phi in grid:
        point, theta = at(problem, phi, theta)
        if not point["certified"] < EQUAL:
            break
        found.append(point)
    return found


def at(problem: Problem, phi: float, start: Real | None = None) -> tuple[Point, Real]:
    """One solution: its losses' largest and smallest weighted means, R, u, and how far the gradients are from 0."""
    ambiguity = problem.ambiguity(phi)
    saddle = solve(problem.rows, ambiguity, start)
    f, g = saddle.losses, problem.rows.gradients(saddle.theta)
    large, small = absolute_unfairness(f, ambiguity.A), best_weighting(f, ambiguity.B)
    point = {
        "phi": phi,
        "max": large,
        "min": small,
        "R": large / small,
        "u": large / float(np.sqrt(small)),
        "least_weight": float(saddle.lam.min()),
        "certified": saddle.squared_error,
        "still": max(still(ambiguity.A, f, g), still(ambiguity.B, -f, g)),
    }
    return point, saddle.theta


def still(members: AmbiguitySet, f: Real, g: Real) -> float:
    """min ‖Σs_i·g_i‖ over the members s with the largest ⟨s, f⟩.

    >>> from evenkeel.sets import Simplex
    >>> round(still(Simplex(2), np.array([1.0, 1.0]), np.array([[-4.0], [2.0]])), 6)      # a tie: s = (1/3, 2/3)
    0.0
    >>> round(still(Simplex(2), np.array([1.0, 0.0]), np.array([[-4.0], [2.0]])), 6)
    4.0
    """
    n, block = members.n, members.block()
    extra = block.G.shape[1] - n
    best = members.support(f) - 1e-8 * float(np.abs(f).mean())
    face = Block(sparse.csc_matrix(np.append(-f, np.zeros(extra))[None]), np.array([-best]), [_above()])
    both = join(block, face)
    P = np.zeros((n + extra, n + extra))
    P[:n, :n] = g @ g.T
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    upper = sparse.csc_matrix(np.triu(P))
    answer = clarabel.DefaultSolver(upper, np.zeros(n + extra), both.G, both.h, both.cones, settings).solve()
    return float(np.linalg.norm(np.asarray(answer.x)[:n] @ g))


def _above() -> Any:  # noqa: ANN401 — the solver's own type
    return clarabel.NonnegativeConeT(1)


def rises(points: Sequence[Point], key: str = "R") -> list[float]:
    """The φ at which `key` is larger than one step before."""
    return [b["phi"] for a, b in pairwise(points) if b[key] > a[key] * (1 + EQUAL)]


def flats(points: Sequence[Point]) -> list[Point]:
    """Where R does not fall although the strict theorem's assumption holds at both ends of the step."""
    steps = [(a, b) for a, b in pairwise(points) if min(a["still"], b["still"]) > AWAY]
    return [b for a, b in steps if b["R"] >= a["R"] * (1 - EQUAL)]
