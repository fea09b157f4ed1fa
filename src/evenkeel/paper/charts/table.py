"""Table 1 drawn: one panel a column, one line an algorithm; printed, and ours under each split with its interval."""

from collections.abc import Mapping
from typing import Any

from evenkeel.paper.charts.style import BLUE, INK, ORANGE, Chart, altair, rows, styled
from evenkeel.paper.printed import COLUMNS

NAMES = {
    "fedavg": "FedAvg",
    "scaffold": "Scaffold",
    "safl": "SAFL",
    "drfa": "DRFA",
    "scaff-pd": "Scaff-PD",
    "scaff-pd-ia": "Scaff-PD-IA",
}
COLOURS = {"printed": INK, "shuffled": BLUE, "class-ordered": ORANGE}
SHAPES = {"printed": "cross", "shuffled": "circle", "class-ordered": "diamond"}
PLACES = {"printed": 0.5, "shuffled": 0.25, "class-ordered": 0.75}  # within a line, so that nothing hides another
WIDTH, LINE = 150, 40


def draw(result: Mapping[str, Any]) -> Chart:
    """Five panels side by side; the quick form has other data, so nothing printed is drawn."""
    kinds = [*(() if result["quick"] else ("printed",)), *result["splits"]]
    panels = [_panel(result, column, kinds, first=not k) for k, column in enumerate(COLUMNS)]
    n = len(result["seeds"])
    spread = f"n = {n} seeds, bars: 95 % t interval of the mean" if n > 1 else "one seed"
    steps = "quick form" if result["quick"] else "tuned step sizes" if result["tuned"] else "the paper’s step sizes"
    head = "digits in the place of the data" if result["quick"] else f"{result['dataset'].upper()}: printed and ours"
    title = altair().Title(f"Table 1, {head}", subtitle=f"five local {result['local']}, {steps}; {spread}")
    return styled(altair().hconcat(*panels, spacing=14).properties(title=title).resolve_scale(color="shared"))


def _panel(result: Mapping[str, Any], column: str, kinds: list[str], *, first: bool) -> Chart:
    alt = altair()
    points = [p for split, held in result["splits"].items() for p in _points(held, split, column)]
    if "printed" in kinds:
        held = next(iter(result["splits"].values()))
        points += [
            {"name": NAMES[a], "kind": "printed", "value": float(row[column]["printed"])}
            for a, row in held["rows"].items()
        ]
    names = [NAMES[a] for a in next(iter(result["splits"].values()))["rows"]]
    axis = alt.Axis(
        ticks=False, domain=False, labelPadding=8, labels=first, labelFontSize=12, grid=True, bandPosition=0
    )
    y = alt.Y("name:N", sort=names, title=None, axis=axis, scale=alt.Scale(paddingInner=0, paddingOuter=0))
    x = alt.X("value:Q", title=COLUMNS[column], scale=alt.Scale(zero=False, nice=True, padding=6))
    x = x.axis(alt.Axis(tickCount=4, grid=False))
    layers = []
    for kind in kinds:
        own = alt.Chart(rows(*(p for p in points if p["kind"] == kind)))
        placed = {
            "y": y,
            "yOffset": alt.YOffset("kind:N", scale=alt.Scale(domain=sorted(PLACES, key=PLACES.__getitem__))),
        }
        mark = own.mark_point(filled=True, size=55, opacity=1)
        layers.append(mark.encode(x=x, **placed, color=_colour(kinds, legend=first), shape=_shape(kinds, legend=first)))
        if kind != "printed" and len(result["seeds"]) > 1:
            bars = own.mark_rule(strokeWidth=2, opacity=0.5).encode(x="low:Q", x2="high:Q", **placed)
            layers.insert(0, bars.encode(color=_colour(kinds, legend=first)))
    return alt.layer(*layers).properties(width=WIDTH, height=LINE * len(names))


def _points(held: Mapping[str, Any], split: str, column: str) -> list[dict[str, Any]]:
    return [
        {"name": NAMES[a], "kind": split, "value": row[column]["mean"], **_ends(row[column], column)}
        for a, row in held["rows"].items()
    ]


def _ends(cell: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The interval; of an accuracy, what of it lies between 0 and 1."""
    if cell["low"] is None or "accuracy" not in column:
        return {"low": cell["low"], "high": cell["high"]}
    return {"low": max(cell["low"], 0.0), "high": min(cell["high"], 1.0)}


def _colour(kinds: list[str], *, legend: bool) -> Any:  # noqa: ANN401 - Altair's own type
    alt = altair()
    scale = alt.Scale(domain=kinds, range=[COLOURS[k] for k in kinds])
    return alt.Color(
        "kind:N", scale=scale, legend=alt.Legend(title=None, orient="top", symbolOpacity=1) if legend else None
    )


def _shape(kinds: list[str], *, legend: bool) -> Any:  # noqa: ANN401 - Altair's own type
    alt = altair()
    scale = alt.Scale(domain=kinds, range=[SHAPES[k] for k in kinds])
    return alt.Shape(
        "kind:N", scale=scale, legend=alt.Legend(title=None, orient="top", symbolOpacity=1) if legend else None
    )
