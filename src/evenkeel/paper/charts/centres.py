"""Figure 1 drawn: the points with both centres and their circles, and the distances to each centre as bars."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenkeel.paper.charts.style import BLUE, GREY, INK, PINK, Chart, altair, rows, styled

COLOURS = {"absolute": PINK, "relative": BLUE}
SHAPES = {"absolute": "square", "relative": "diamond"}
# where a point's name stands, so that no circle crosses it
NAMES = [(0.15, 0), (-0.15, 0), (-0.13, 0.05), (0.13, 0.05), (0, 0.15), (0.015, -0.155), (-0.015, -0.155), (0, 0.17)]
REACH, SIDE, TOP = 1.35, 250, 1.15


def draw(result: Mapping[str, Any]) -> Chart:
    """Three panels side by side."""
    bars = [_bars(name, centre, result["points"]) for name, centre in result["centres"].items()]
    return styled(altair().hconcat(_scatter(result), *bars, spacing=28))


def _scatter(result: Mapping[str, Any]) -> Chart:
    alt = altair()
    layers = [_circles(name, centre) for name, centre in result["centres"].items()]
    points = [{"x": x, "y": y, "name": str(i + 1)} for i, (x, y) in enumerate(result["points"])]
    balls = alt.Chart(rows(*points)).mark_circle(size=70, color=GREY, opacity=1)
    moved = ({**p, "x": p["x"] + dx, "y": p["y"] + dy} for p, (dx, dy) in zip(points, NAMES, strict=True))
    names = alt.Chart(rows(*moved)).mark_text(fontSize=11.5, color=INK).encode(text="name:N")
    layers += [balls.encode(x=_axis("x"), y=_axis("y")), names.encode(x=_axis("x"), y=_axis("y"))]
    layers += [_centre(name, centre) for name, centre in result["centres"].items()]
    title = alt.Title(
        "Eight points, two centres", subtitle=["solid: circle round all points;", "dashed: thinnest ring"]
    )
    return alt.layer(*layers).properties(width=SIDE, height=SIDE, title=title)


def _axis(field: str) -> Any:  # noqa: ANN401 - Altair's own type
    alt = altair()
    channel = alt.X if field == "x" else alt.Y
    scale = alt.Scale(domain=[-REACH, REACH], nice=False)
    return channel(f"{field}:Q", scale=scale, axis=alt.Axis(values=[-1, 0, 1], format=".0f"), title=None)


def _circles(name: str, centre: Mapping[str, Any]) -> Chart:
    """The enclosing circle of the absolute centre; both circles of the relative centre's ring."""
    alt = altair()
    radii = [centre["max"]] if name == "absolute" else [centre["max"], centre["min"]]
    angle = np.linspace(0, 2 * np.pi, 181)
    (x, y), data = centre["theta"], []
    for r in radii:
        ring = zip(x + r * np.cos(angle), y + r * np.sin(angle), strict=True)
        data += [{"x": float(p), "y": float(q), "k": k, "r": r} for k, (p, q) in enumerate(ring)]
    dash = [1, 0] if name == "absolute" else [5, 4]
    line = alt.Chart(rows(*data)).mark_line(color=COLOURS[name], strokeWidth=1.6, strokeDash=dash)
    return line.encode(x=_axis("x"), y=_axis("y"), detail="r:N", order="k:Q")


def _centre(name: str, centre: Mapping[str, Any]) -> Chart:
    alt = altair()
    x, y = centre["theta"]
    base = alt.Chart(rows({"x": x, "y": y, "name": name})).encode(x=_axis("x"), y=_axis("y"))
    mark = base.mark_point(shape=SHAPES[name], size=110, filled=True, color=COLOURS[name], opacity=1)
    return mark + base.mark_text(dx=10, align="left", fontSize=12, fontWeight="bold", color=COLOURS[name]).encode(
        text="name:N"
    )


def _bars(name: str, centre: Mapping[str, Any], points: list[Any]) -> Chart:
    alt = altair()
    data = [{"name": str(i + 1), "d": d} for i, d in enumerate(centre["distances"])]
    y = alt.Y("d:Q", scale=alt.Scale(domain=[0, TOP]), axis=alt.Axis(values=[0, 0.5, 1]), title="distance")
    order = [str(i + 1) for i in range(len(points))]
    x = alt.X("name:N", sort=order, axis=alt.Axis(labelAngle=0), title="point")
    bars = alt.Chart(rows(*data)).mark_bar(color=COLOURS[name], size=17).encode(x=x, y=y)
    ends = [{"d": centre[end], "label": f"{end} {centre[end]:.3f}", "end": end} for end in ("max", "min")]
    base = alt.Chart(rows(*ends)).encode(y=y)
    rules = base.mark_rule(color=INK, strokeDash=[2, 2], strokeWidth=1)
    labels = base.mark_text(align="left", dx=4, fontSize=11, color=INK).encode(x=alt.value(SIDE - 38), text="label:N")
    shift = f"sum {centre['sum']:.3f}, max − min {centre['spread']:.3f}"
    title = alt.Title(f"Distances to the {name} centre", subtitle=[shift, f"Gini {centre['gini']:.3f}"])
    return alt.layer(bars, rules, labels).properties(width=SIDE - 40, height=SIDE, title=title)
