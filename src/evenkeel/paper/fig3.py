"""Figure 3: relative unfairness of the penguins regression against φ, A = B = the simplex of three clients.

The paper's grid searched whole (see `lattice`), the solution over the box beside it (see `continuum`), under each
reading of the text (see `penguins`). R = max_i f_i / min_i f_i.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from evenkeel.paper import continuum, lattice
from evenkeel.paper.charts.penguins import draw
from evenkeel.paper.claims import Claim, Figure, Table
from evenkeel.paper.penguins import HIGH, LOW, READINGS, SIZE, SPECIES, STEP, UNIT, Real, design, forms, theta

PERCENTS = tuple(range(6))  # φ = 0, .01, …, .05, as the paper
FINE = tuple(p / 1000 for p in range(51))  # φ of the continuous curve
Point = dict[str, Any]


def fig3() -> Figure:
    """Every φ of the paper under every reading: the grid's exact minimiser and the box's certified one."""
    found = {name: reproduced(name) for name in READINGS}
    rows = design("model")
    curve = [_in_box(rows, phi) for phi in FINE]
    model, printed = found["model"], found["printed"]
    grid = {"low": list(LOW), "high": list(HIGH), "step": list(STEP), "points": SIZE**3}
    return Figure(
        title="Figure 3: relative unfairness of the penguins regression against φ",
        draw=draw,
        claims=(*_claims(model["grid"]), _sign(printed["grid"])),
        result={
            "grid": grid,
            "readings": found,
            "curve": [{k: c[k] for k in ("phi", "R", "certified")} for c in curve],
        },
        tables=tuple(_table(name, found[name]) for name in found),
        notes=tuple(_notes(found, curve)),
    )


def reproduced(name: str) -> dict[str, Any]:
    """One reading: the grid's minimiser and the box's, for each φ of the paper."""
    rows, real = lattice.rows(forms(name), SIZE), design(name)
    grid = [_on_grid(rows, p) for p in PERCENTS]
    box = [_in_box(real, g["phi"], np.array(g["theta"])) for g in grid]
    return {"meaning": READINGS[name].meaning, "grid": grid, "continuous": box}


def _on_grid(rows: lattice.Rows, percent: int) -> Point:
    least = lattice.least(rows, percent)
    where = {"minimisers": len(least.places), "rows_searched": least.rows}
    return {**_point(percent / 100, theta(least.places[0]), np.asarray(least.losses * UNIT, dtype=np.float64)), **where}


def _in_box(rows: Real, phi: float, *starts: Real) -> Point:
    found = continuum.solve(rows, np.array(LOW), np.array(HIGH), phi, *starts)
    return {**_point(phi, found.theta, found.losses), "bound": found.bound, "certified": found.certified}


def _point(phi: float, where: Real, losses: Real) -> Point:
    most, fewest = float(losses.max()), float(losses.min())
    return {
        "phi": phi,
        "theta": where.tolist(),
        "losses": dict(zip(SPECIES, losses.tolist(), strict=True)),
        "max": most,
        "min": fewest,
        "R": most / fewest,
        "objective": most - phi * fewest,
    }


def _ratios(points: Iterable[Point]) -> list[float]:
    return [p["R"] for p in points]


def _said(values: Sequence[float]) -> str:
    return ", ".join(f"{v:.3f}" for v in values)


def _claims(grid: list[Point]) -> tuple[Claim, ...]:
    """What the paper says of its figure."""
    R, printed = _ratios(grid), "decreases as φ increases"
    flat = [(a, b) for a, b in pairwise(grid) if b["R"] >= a["R"]]
    steps = "falls at each"
    if flat:
        steps = "no fall at φ = " + ", ".join(f"{b['phi']:g}" for _, b in flat)
        steps += ": the same grid point as one step before" * all(a["theta"] == b["theta"] for a, b in flat)
    least = [p["phi"] for p in grid if p["R"] == max(R)]
    return (
        Claim(what="R never rises with φ", printed=printed, ours=_said(R), agrees=all(b <= a for a, b in pairwise(R))),
        Claim(what="R falls at each step of φ", printed=printed, ours=steps, agrees=not flat),
        Claim(
            what="φ = 0, the earlier DRO, has the largest R",
            printed="the leftmost point",
            ours=f"largest at φ = {', '.join(f'{phi:g}' for phi in least)}",
            agrees=least == [0.0],
        ),
    )


def _sign(grid: list[Point]) -> Claim:
    """Whether the losses with +θ₃x₂ could have made the figure."""
    R = _ratios(grid)
    corner = all(value in ends for p in grid for value, *ends in zip(p["theta"], LOW, HIGH, strict=True))
    return Claim(
        what="losses as printed, with +θ₃x₂: R falls with φ",
        printed="decreases as φ increases",
        ours=f"{_said(sorted(set(R), reverse=True))} at every φ" + (", at a corner of the grid" if corner else ""),
        agrees=all(b <= a for a, b in pairwise(R)) and R[-1] < R[0],
    )


def _table(name: str, found: dict[str, Any]) -> Table:
    rows = []
    for g, c in zip(found["grid"], found["continuous"], strict=True):
        where = "({:.2f}, {:.3f}, {:.3f})".format(*g["theta"])
        losses = (f"{f:.1f}" for f in g["losses"].values())
        rows.append((f"{g['phi']:.2f}", where, *losses, f"{g['R']:.4f}", f"{c['R']:.3f}"))
    heads = ("φ", "θ on the grid", *SPECIES, "R", "R in the box")
    return Table(title=f"{name}: {found['meaning']}", headings=heads, rows=tuple(rows))


def _notes(found: dict[str, Any], curve: list[Point]) -> Iterable[str]:
    """What else is worth knowing, each sentence from the numbers."""
    box = [c for reading in found.values() for c in reading["continuous"]] + curve
    met = sum(c["certified"] for c in box)
    yield f"{met} of {len(box)} solutions in the box are global, by a lower bound that meets their value."
    equal = next((c["phi"] for c in curve if c["R"] < 1 + 1e-6), None)
    if equal is not None:
        yield f"Model, in the box: R reaches 1 at φ = {equal:g}; all losses are equal, and no larger φ can lower it."
    edges = [k for k in range(3) if all(_on_edge(c["theta"][k], k) for c in curve)]
    if edges:
        named = ", ".join(f"θ{'₁₂₃'[k]} = {curve[0]['theta'][k]:g}" for k in edges)
        yield f"Model, in the box: every solution lies on its edge, {named}; strict improvement assumes the interior."


def _on_edge(value: float, k: int) -> bool:
    return min(abs(value - LOW[k]), abs(value - HIGH[k])) < STEP[k] * 1e-3
