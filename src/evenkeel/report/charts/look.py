"""How all figures look, and the three switches that a page may turn in any of them.

Colours are Okabe and Ito's, told apart by colour-blind readers. A figure is drawn for white paper; the page turns it
over for the dark by one CSS filter that keeps hues, so printing needs no second drawing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt

from evenkeel.report.blocks import Tables, rows

PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07D00", "#3D9BD0", "#6F5BB5", "#5A5A5A", "#8C564B", "#A2A41C",
)  # fmt: skip
MOST_SERIES = len(PALETTE)
INK, FAINT, GRID = "#33383f", "#676d76", "#e6e8eb"
LOW, HIGH = "#D55E00", "#0072B2"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "transparent",
    "aria": False,  # the page gives each figure one name and its numbers as a table, not a node for every mark
    "view": {"stroke": None},
    "axis": {
        "domainColor": "#b4b9c0", "gridColor": GRID, "tickColor": "#b4b9c0", "labelColor": INK, "titleColor": INK,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8, "labelLimit": 130,
    },
    "legend": {
        "orient": "top", "offset": 22, "title": None, "labelColor": INK, "labelFontSize": 12, "labelLimit": 160,
        "columns": 3, "symbolStrokeWidth": 3, "symbolOpacity": 1, "titleFontWeight": "normal",
    },
    "line": {"strokeWidth": 2},
    "point": {"filled": True},
    "text": {"color": FAINT, "fontSize": 12},
}  # fmt: skip

PICKED: alt.Parameter = alt.param(name="picked", value=None)
HIDDEN: alt.Parameter = alt.param(name="hidden", value=[])
SEEN = "indexof(hidden, datum.run) < 0"


def colour(
    names: Sequence[str], *, legend: bool = True, columns: int = 3, among: Sequence[str] | None = None
) -> alt.Color:
    """Each series in its own colour, the same in every figure; the legend names those `among` which the figure is."""
    scale = alt.Scale(domain=list(names), range=[PALETTE[i % len(PALETTE)] for i in range(len(names))])
    shown = legend and len(names) > 1
    said = alt.Undefined if among is None else list(among)
    return alt.Color("run:N", scale=scale, legend=alt.Legend(columns=columns, values=said) if shown else None)


def data(table: str) -> alt.NamedData:
    """A table of the page."""
    return alt.NamedData(name=table)


def finished(chart: Any, height: int) -> dict[str, Any]:  # noqa: ANN401 - any of Altair's chart classes
    """A chart as wide as its place, as Vega-Lite."""
    spec: dict[str, Any] = chart.properties(width="container", height=height).to_dict()
    spec.pop("config", None)
    return spec


def picture(
    spec: Mapping[str, Any], tables: Tables, form: Literal["svg", "png", "pdf"] = "svg", *, width: int = 480
) -> bytes:
    """A figure as SVG, PNG or PDF, made without a browser: for papers and slides."""
    import vl_convert

    full = {**spec, "width": width, "config": {**CONFIG, "background": "white"}}
    full["datasets"] = {**spec.get("datasets", {}), **{name: rows(blocks) for name, blocks in tables.items()}}
    result: str | bytes = getattr(vl_convert, f"vegalite_to_{form}")(full)
    return result.encode() if isinstance(result, str) else result
