"""Figure 4: the Lorenz curves of all six algorithms, from the runs that Table 1 rests on."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from evenkeel.indices import lorenz
from evenkeel.paper.asked import Asked
from evenkeel.paper.charts.lorenz import draw
from evenkeel.paper.claims import Claim, Figure, Table
from evenkeel.paper.trained import Trained, trained

NEAR_ZERO, NEAR_ONE = 0.2, 0.9  # where «close to 0» and «close to 1» are read off
Curve = Mapping[str, Any]


def fig4(asked: Asked) -> Figure:
    """Each run's validation losses under seed 0 as a curve; what is not there yet is run first."""
    made = trained(asked)
    curves = {t.setting.split: {name: curve(t, name) for name in t.runs} for t in made}
    return Figure(
        title=f"Figure 4: Lorenz curves of the losses, {made[0].setting.words.partition(',')[0]}, seed 0",
        draw=draw,
        claims=tuple(c for split, own in curves.items() for c in claims(split, own)),
        result={**asked.facts(), "curves": curves},
        tables=(_table(curves),),
        notes=(
            "One run each (seed 0), over its clients' validation losses; each client counts the same.",
            "Drawn beside ℓ(x) is ℓ(x) − x, whose area is −Gini/2. The paper's ℓ(x) − x/2 would give Gini + ½.",
        ),
    )


def curve(t: Trained, name: str) -> dict[str, Any]:
    """The corners of ℓ, the Gini coefficient that the run stored, and twice the area between ℓ and the diagonal."""
    run = t.runs[name][0]
    x, share = lorenz(run.losses().loss)
    area = float(1 - 2 * np.trapezoid(share, x))
    return {"x": x.tolist(), "share": share.tolist(), "gini": float(t.seeded.values[name]["gini"][0]), "area": area}


def at(c: Curve, x: float) -> float:
    """ℓ(x), which is straight between its corners.

    >>> round(at({"x": [0.0, 0.5, 1.0], "share": [0.0, 0.2, 1.0]}, 0.75), 12)
    0.6
    """
    return float(np.interp(x, c["x"], c["share"]))


def claims(split: str, own: Mapping[str, Curve]) -> Iterator[Claim]:
    """What the text says of the picture."""
    ours, scaffold = own["scaff-pd-ia"], own["scaffold"]
    more = [name for name, c in own.items() if name != "scaff-pd-ia" and c["area"] > ours["area"]]
    yield Claim(
        what=f"{split}: the region of Scaff-PD-IA is smaller than",
        printed="most of the others'",
        ours=f"{len(more)} of {len(own) - 1}: {', '.join(more) or 'none'}",
        agrees=2 * len(more) > len(own) - 1,
    )
    for x, word, above in ((NEAR_ONE, "above", True), (NEAR_ZERO, "far below", False)):
        pair = at(scaffold, x), at(ours, x)
        yield Claim(
            what=f"{split}: Scaffold's curve against Scaff-PD-IA's at x = {x:g}",
            printed=word,
            ours=f"{pair[0]:.4f} against {pair[1]:.4f}",
            agrees=(pair[0] > pair[1]) == above,
        )
    printed = 1 - 2 * (0.5 * (1 - ours["area"]) - 0.25)  # 1 − 2∫(ℓ − x/2), with ∫ℓ = (1 − area)/2
    yield Claim(
        what=f"{split}: 1 − 2∫(ℓ(x) − x/2) dx is the Gini coefficient",
        printed="G",
        ours=f"{printed:.4f}, the coefficient is {ours['gini']:.4f}",
        agrees=abs(printed - ours["gini"]) < 1e-6,
    )


def _table(curves: Mapping[str, Mapping[str, Curve]]) -> Table:
    names = next(iter(curves.values()))
    heads = ("algorithm", *(f"{split}: {what}" for split in curves for what in ("Gini", "ℓ(.2)", "ℓ(.9)")))
    lines = [(name, *(f"{v:.4f}" for own in curves.values() for v in _three(own[name]))) for name in names]
    return Table(headings=heads, rows=tuple(lines))


def _three(c: Curve) -> tuple[float, float, float]:
    return c["area"], at(c, NEAR_ZERO), at(c, NEAR_ONE)
