"""Figure 1: eight points; the centre of absolute fairness and the centre of relative fairness (§ «Details»)."""

from typing import Any

import numpy as np

from evenkeel.indices import gini
from evenkeel.paper.centres import Points, distances, smallest_maximum, smallest_spread
from evenkeel.paper.charts.centres import draw
from evenkeel.paper.claims import Claim, Figure, Table, number

HALF = 1 / np.sqrt(2)
POINTS: Points = np.array(
    [[1, 0], [-1, 0], [HALF, HALF / 2], [-HALF, HALF / 2], [0, 0.5], [HALF, -HALF], [-HALF, -HALF], [0, -1]]
)
PRINTED = {"absolute": "7.081", "relative": "7.105"}


def fig1() -> Figure:
    """The points of the paper, both centres exactly, and the distances to each.

    >>> figure = fig1()
    >>> figure.result["centres"]["relative"]["theta"]
    [0.0, -0.25]
    """
    centres = {"absolute": smallest_maximum(POINTS), "relative": smallest_spread(POINTS)}
    found = {name: _facts(theta) for name, theta in centres.items()}
    claims = [number(f"sum of distances, {name} fairness", PRINTED[name], found[name]["sum"]) for name in found]
    heads = ("fairness", "centre", "max", "min", "max − min", "R = max/min", "Gini")
    return Figure(
        title="Figure 1: eight points, and the centres of absolute and of relative fairness",
        draw=draw,
        claims=(*claims, *_fairer(found["absolute"], found["relative"])),
        result={"points": POINTS.tolist(), "centres": found},
        tables=(Table(headings=heads, rows=tuple(_row(name, f) for name, f in found.items())),),
    )


def _facts(theta: Points) -> dict[str, Any]:
    """What is said of one centre; −0 is 0."""
    d = distances(theta, POINTS)
    facts = {"max": d.max(), "min": d.min(), "spread": d.max() - d.min(), "R": d.max() / d.min(), "sum": d.sum()}
    plain = {name: float(value) for name, value in facts.items()}
    return {"theta": (theta.round(15) + 0.0).tolist(), "distances": d.tolist(), **plain, "gini": float(gini(d))}


def _fairer(absolute: dict[str, Any], relative: dict[str, Any]) -> tuple[Claim, Claim]:
    """The two sentences of the caption, each as a comparison."""
    return (
        Claim(
            what="the absolute centre has the smaller maximum",
            printed="smaller",
            ours=f"{absolute['max']:.4f} against {relative['max']:.4f}",
            agrees=absolute["max"] < relative["max"],
        ),
        Claim(
            what="the relative centre spreads the distances more evenly (max − min; Gini)",
            printed="more evenly",
            ours=f"{relative['spread']:.4f} against {absolute['spread']:.4f}; "
            f"{relative['gini']:.4f} against {absolute['gini']:.4f}",
            agrees=relative["spread"] < absolute["spread"] and relative["gini"] < absolute["gini"],
        ),
    )


def _row(name: str, f: dict[str, Any]) -> tuple[str, ...]:
    x, y = f["theta"]
    return (name, f"({x:g}, {y:g})", *(f"{f[key]:.4f}" for key in ("max", "min", "spread", "R", "gini")))
