"""Section «Selection of φ»: the φ chosen from the φ = 0 solution, against the best on a grid of exact solutions."""

from collections.abc import Mapping
from typing import Any

import torch

from evenkeel.engine import Engine
from evenkeel.paper.theory.monotone import Point, at, problems
from evenkeel.paper.theory.problems import Problem
from evenkeel.paper.theory.saddle import CERTAIN, solve
from evenkeel.phi import choose_phi

GOOD = 0.01  # chosen well: u within one per cent of the best on the grid


def study(paths: Mapping[str, list[Point]]) -> list[dict[str, Any]]:
    """Each problem but the two clients on a line: what is chosen, u there, and the best u of the certified grid."""
    return [_facts(name, problem, paths[name]) for name, problem in problems().items() if name != "line"]


def _facts(name: str, problem: Problem, path: list[Point]) -> dict[str, Any]:
    ambiguity = problem.ambiguity(0.0)
    saddle = solve(problem.rows, ambiguity)
    transport = Engine(problem.task, problem.federation, workers=1)
    choice = choose_phi(transport, torch.from_numpy(saddle.theta), ambiguity.A, ambiguity.B, lam=saddle.lam)
    point, _ = at(problem, choice.phi)
    certified = point["certified"] < CERTAIN
    used = point if certified else path[-1]
    best = min(path, key=lambda p: float(p["u"]))
    return {
        "problem": name,
        "chosen": choice.phi,
        "formula": choice.expansion.root,
        "certified": certified,
        "used": used["phi"],
        "u": used["u"],
        "predicted": choice.expansion.predicted(used["phi"]),
        "best_phi": best["phi"],
        "best_u": best["u"],
        "zero_u": path[0]["u"],
        "excess": used["u"] / min(best["u"], used["u"]) - 1,
        "notes": list(choice.notes),
    }
