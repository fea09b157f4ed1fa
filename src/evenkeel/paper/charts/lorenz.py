"""Figure 4 drawn: ℓ(x) above, ℓ(x) − x below, a column a split, a line an algorithm."""

from collections.abc import Mapping
from typing import Any

from evenkeel.paper.charts.style import BLUE, GREEN, GREY, INK, ORANGE, PINK, VERMILION, Chart, altair, rows, styled
from evenkeel.paper.charts.table import NAMES

COLOURS = {"fedavg": BLUE, "scaffold": ORANGE, "safl": GREEN, "drfa": PINK, "scaff-pd": GREY, "scaff-pd-ia": VERMILION}
DASHES = {
    "fedavg": [7, 3],
    "scaffold": [2, 2],
    "safl": [9, 3, 2, 3],
    "drfa": [4, 4],
    "scaff-pd": [1, 0],
    "scaff-pd-ia": [1, 0],
}
WIDE = 5  # Scaff-PD is drawn broad, so that it shows beneath Scaff-PD-IA, which lies on it
SIDE, LOW = 300, 190


def draw(result: Mapping[str, Any]) -> Chart:
    """Splits side by side on the same axes."""
    alt = altair()
    least = min(
        s - x
        for own in result["curves"].values()
        for c in own.values()
        for x, s in zip(c["x"], c["share"], strict=True)
    )
    columns = [alt.vconcat(_curves(own, split), _gaps(own, least)) for split, own in result["curves"].items()]
    data = "digits (quick form)" if result["quick"] else result["dataset"].upper()
    title = alt.Title(
        f"Lorenz curves of the clients' losses, {data}",
        subtitle=f"five local {result['local']}, seed 0, validation rows",
    )
    return styled(alt.hconcat(*columns, spacing=36).properties(title=title))


def _x() -> Any:  # noqa: ANN401 - Altair's own type
    alt = altair()
    return alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(format="%", tickCount=5),
        title="clients, best-off first",
    )


def _lines(own: Mapping[str, Any], field: str, y: Any, *, legend: bool) -> list[Chart]:  # noqa: ANN401
    alt = altair()
    names = [NAMES[a] for a in own]
    colour = alt.Color(
        "name:N",
        scale=alt.Scale(domain=names, range=[COLOURS[a] for a in own]),
        legend=alt.Legend(title=None, orient="top", columns=3, symbolStrokeWidth=2.5) if legend else None,
    )
    dash = alt.StrokeDash("name:N", scale=alt.Scale(domain=names, range=[DASHES[a] for a in own]), legend=None)
    equal = [{"x": x, field: x if field == "share" else 0.0} for x in (0.0, 1.0)]
    diagonal = alt.Chart(rows(*equal)).mark_line(color=INK, strokeWidth=1).encode(x=_x(), y=y)
    points = [
        {"x": x, "share": s, "gap": s - x, "name": NAMES[a]}
        for a, c in own.items()
        for x, s in zip(c["x"], c["share"], strict=True)
    ]
    beneath = [point for point in points if point["name"] == NAMES["scaff-pd"]]
    return [
        diagonal,
        *([alt.Chart(rows(*beneath)).mark_line(color=GREY, strokeWidth=WIDE).encode(x=_x(), y=y)] if beneath else []),
        alt.Chart(rows(*points)).mark_line(strokeWidth=1.8).encode(x=_x(), y=y, color=colour, strokeDash=dash),
    ]


def _curves(own: Mapping[str, Any], split: str) -> Chart:
    alt = altair()
    y = alt.Y(
        "share:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(format="%", tickCount=5),
        title="ℓ(x), share of all loss",
    )
    layers = _lines(own, "share", y, legend=True)
    return alt.layer(*layers).properties(width=SIDE, height=SIDE, title=f"{split} split")


def _gaps(own: Mapping[str, Any], least: float) -> Chart:
    alt = altair()
    scale = alt.Scale(domain=[1.05 * least, 0], nice=False)
    y = alt.Y("gap:Q", scale=scale, axis=alt.Axis(format="%", tickCount=4), title="ℓ(x) − x")
    return alt.layer(*_lines(own, "gap", y, legend=False)).properties(width=SIDE, height=LOW)
