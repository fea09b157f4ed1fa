"""Figure 2: the integrated sets Λ_φ(CVaR(.5), CVaR(.5)) of three clients, in the plane Σλ = 1, from their corners."""

from typing import Any

import numpy as np

from evenkeel.paper.charts.sets import draw
from evenkeel.paper.claims import Claim, Figure, Table
from evenkeel.sets import CVaR, Integrated, Simplex
from evenkeel.sets.polygon import PLANE, vertices

N, ALPHA, PHIS = 3, 0.5, (0.0, 0.2, 0.5)


def fig2() -> Figure:
    """The corners of each set, in weights and in the plane.

    >>> fig2().result["sets"][1]["spectrum"]
    [0.8333, 0.3333, -0.1667]
    """
    regular = CVaR(N, ALPHA)
    sets = [Integrated(regular, regular, phi) for phi in PHIS]
    held = [_facts(s) for s in sets]
    corners = vertices(Simplex(N))
    rows = tuple(
        (f"{f['phi']:g}", str(len(f["vertices"])), ", ".join(f"{w:.4f}" for w in f["spectrum"]), f"{f['l1_norm']:.4f}")
        for f in held
    )
    return Figure(
        title="Figure 2: Λ_φ(CVaR(.5), CVaR(.5)) of three clients, φ = 0, .2 and .5",
        draw=draw,
        claims=(_regular(sets[0], regular), _in_the_plane(sets), _leave(sets)),
        result={"simplex": {"vertices": corners.tolist(), "plane": (corners @ PLANE.T).tolist()}, "sets": held},
        tables=(Table(headings=("φ", "corners", "weights at a corner", "‖Λ‖₁"), rows=rows),),
    )


def _facts(s: Integrated) -> dict[str, Any]:
    corners = vertices(s)
    weights = np.sort(corners[0])[::-1].round(4).tolist()
    plane = (corners @ PLANE.T).tolist()
    return {"phi": s.phi, "spectrum": weights, "l1_norm": s.l1_norm, "vertices": corners.tolist(), "plane": plane}


def _regular(first: Integrated, regular: CVaR) -> Claim:
    same = all(regular.contains(v) for v in vertices(first)) and all(first.contains(v) for v in vertices(regular))
    ours = "each holds all corners of the other" if same else "they differ"
    return Claim(what="Λ_0(Δ_.5, Δ_.5) and Δ_.5", printed="the same set", ours=ours, agrees=same)


def _in_the_plane(sets: list[Integrated]) -> Claim:
    off = max(float(abs(vertices(s).sum(axis=1) - 1).max()) for s in sets)
    return Claim(what="corners off the plane Σλ = 1", printed="none", ours=f"by at most {off:.0e}", agrees=off < 1e-12)


def _leave(sets: list[Integrated]) -> Claim:
    """Only the regular set lies in the simplex."""
    least = [float(vertices(s).min()) for s in sets]
    ours = ", ".join(f"φ = {s.phi:g}: {low:.4f}" for s, low in zip(sets, least, strict=True))
    agrees = least[0] >= 0 and all(low < 0 for low in least[1:])
    return Claim(what="least weight", printed="negative weights once φ > 0", ours=ours, agrees=agrees)
