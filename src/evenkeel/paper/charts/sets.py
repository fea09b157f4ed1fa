"""Figure 2 drawn: the sets in the plane Σλ = 1, with the simplex outlined."""

from collections.abc import Mapping
from typing import Any

from evenkeel.paper.charts.style import GREEN, INK, ORANGE, PINK, Chart, altair, rows, styled

COLOURS = (PINK, ORANGE, GREEN)
NAMES = ("#8C3F6A", "#8A5F00", "#00694C")  # the same hues, dark enough for text
REACH, SIDE = 1.62, 420


def draw(result: Mapping[str, Any]) -> Chart:
    """The largest set first, so that the smaller ones lie on top."""
    alt = altair()
    drawn = list(zip(result["sets"], COLOURS, strict=True))
    layers = [_outline(s["plane"], colour, dashed=True, fill=0.13) for s, colour in reversed(drawn[1:])]
    layers.append(_outline(result["simplex"]["plane"], INK, dashed=False, fill=0.0))
    layers.append(_outline(drawn[0][0]["plane"], drawn[0][1], dashed=False, fill=0.3))
    layers += [_label(s, colour) for s, colour in zip(result["sets"], NAMES, strict=True)]
    layers.append(_clients(result["simplex"]["plane"]))
    title = alt.Title(
        "Integrated sets Λ(A, B, φ) of three clients",
        subtitle=[
            "A = B = CVaR(.5), in the plane Σλ = 1; black: the simplex;",
            "solid: the regular set, φ = 0; dashed: negative weights",
        ],
    )
    return styled(alt.layer(*layers).properties(width=SIDE, height=SIDE * 0.86, title=title))


def _encode(base: Chart) -> Chart:
    alt = altair()
    x = alt.X("x:Q", scale=alt.Scale(domain=[-REACH, REACH], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[-REACH * 0.86, REACH * 0.86], nice=False), axis=None)
    return base.encode(x=x, y=y)


def _outline(corners: list[list[float]], colour: str, *, dashed: bool, fill: float) -> Chart:
    closed = [*corners, corners[0]]
    data = rows(*({"x": x, "y": y, "k": k} for k, (x, y) in enumerate(closed)))
    mark = (
        altair()
        .Chart(data)
        .mark_line(
            color=colour,
            strokeWidth=2 if fill else 1.2,
            strokeDash=[6, 4] if dashed else [1, 0],
            fill=colour,
            fillOpacity=fill,
            interpolate="linear-closed",
        )
    )
    return _encode(mark).encode(order="k:Q")


def _label(s: Mapping[str, Any], colour: str) -> Chart:
    """φ in the middle of the regular set, and under the lower edge of the others."""
    where = {"x": 0.0, "y": min(y for _, y in s["plane"]) if s["phi"] else 0.0, "label": f"φ = {s['phi']:g}"}
    text = altair().Chart(rows(where)).mark_text(fontSize=14, fontWeight="bold", color=colour, dy=13 if s["phi"] else 0)
    return _encode(text).encode(text="label:N")


def _clients(corners: list[list[float]]) -> Chart:
    alt = altair()
    layers = []
    for k, ((x, y), (dx, dy)) in enumerate(zip(corners, [(-8, 14), (8, 14), (0, -10)], strict=True)):
        name = "λ = (" + ", ".join("1" if i == k else "0" for i in range(3)) + ")"
        base = alt.Chart(rows({"x": x, "y": y, "label": name}))
        text = base.mark_text(fontSize=12, color=INK, dx=dx, dy=dy)
        layers += [_encode(base.mark_circle(color=INK, size=28, opacity=1)), _encode(text).encode(text="label:N")]
    return alt.layer(*layers)
