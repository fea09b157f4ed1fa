"""Figure 3 drawn: R against φ, and the losses behind it."""

from collections.abc import Mapping
from typing import Any

from evenkeel.paper.charts.style import BLUE, GREY, ORANGE, VERMILION, Chart, altair, rows, styled

SPECIES = {"Adelie": ORANGE, "Chinstrap": VERMILION, "Gentoo": BLUE}
SHAPES = {"Adelie": "circle", "Chinstrap": "triangle-up", "Gentoo": "square"}
WIDTH, HEIGHT = 300, 240


def draw(result: Mapping[str, Any]) -> Chart:
    """R on the left, the three losses on the right."""
    return styled(altair().hconcat(_ratios(result), _losses(result), spacing=44))


def _phi(title: str = "φ") -> Any:  # noqa: ANN401 - Altair's own type
    alt = altair()
    axis = alt.Axis(format=".2f", values=[k / 100 for k in range(6)], grid=False)
    return alt.X("phi:Q", scale=alt.Scale(domain=[0, 0.05], nice=False, padding=14), axis=axis, title=title)


def _ratios(result: Mapping[str, Any]) -> Chart:
    alt = altair()
    y = alt.Y("R:Q", scale=alt.Scale(domain=[0.6, 4.8], nice=False), axis=alt.Axis(values=[1, 2, 3, 4]), title="R")
    y = y.title("R = largest loss / smallest loss")
    readings = result["readings"]
    model, printed = (
        [{"phi": p["phi"], "R": p["R"], "label": f"{p['R']:.2f}"} for p in readings[name]["grid"]]
        for name in ("model", "printed")
    )
    curve = alt.Chart(rows(*result["curve"])).mark_line(color=GREY, strokeWidth=1.6).encode(x=_phi(), y=y)
    grid = alt.Chart(rows(*model)).encode(x=_phi(), y=y)
    flat = alt.Chart(rows(*printed)).encode(x=_phi(), y=y)
    layers = [
        curve,
        flat.mark_line(color=VERMILION, strokeDash=[5, 4], strokeWidth=1.4),
        flat.mark_point(shape="cross", filled=True, size=50, color=VERMILION, opacity=1),
        grid.mark_circle(size=80, color=BLUE, opacity=1),
        *_values(model, y),
        _note(y, 0.0163, 2.88, "on the paper's grid", BLUE),
        _note(y, 0.005, 3.95, "anywhere in the box", GREY),
        _note(y, 0.018, 1.87, f"losses as printed, + θ3·x2: {printed[0]['R']:.2f}", VERMILION),
    ]
    title = alt.Title("Relative unfairness against φ", subtitle="penguins regression, A = B = simplex of 3 clients")
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def _values(points: list[dict[str, Any]], y: Any) -> list[Chart]:  # noqa: ANN401 - Altair's own type
    """R in digits: under the first point, beside the second, above the others, where the curve leaves room."""
    shifts = [(0, 16), (20, 0), *[(0, -13)] * (len(points) - 2)]
    return [
        altair().Chart(rows(p)).mark_text(dx=dx, dy=dy, fontSize=11, color=BLUE).encode(x=_phi(), y=y, text="label:N")
        for p, (dx, dy) in zip(points, shifts, strict=True)
    ]


def _note(y: Any, phi: float, value: float, label: str, colour: str) -> Chart:  # noqa: ANN401 - Altair's own type
    base = altair().Chart(rows({"phi": phi, "R": value, "label": label}))
    return base.mark_text(align="left", fontSize=11.5, color=colour).encode(x=_phi(), y=y, text="label:N")


def _losses(result: Mapping[str, Any]) -> Chart:
    alt = altair()
    points = result["readings"]["model"]["grid"]
    y = alt.Y("loss:Q", scale=alt.Scale(domain=[0, 280], nice=False), title="loss in mm², sum over 10 birds")
    layers = []
    for name, colour in SPECIES.items():
        data = [{"phi": p["phi"], "loss": p["losses"][name]} for p in points]
        base = alt.Chart(rows(*data)).encode(x=_phi(), y=y)
        layers.append(base.mark_line(color=colour, strokeWidth=1.4))
        layers.append(base.mark_point(shape=SHAPES[name], color=colour, size=60, strokeWidth=1.6, opacity=1))
    first = points[0]["losses"]
    for name, dy in (("Adelie", -12), ("Chinstrap", 14), ("Gentoo", 16)):
        here = rows({"phi": 0.0, "loss": first[name], "label": name})
        text = alt.Chart(here).mark_text(align="left", fontSize=12, dy=dy, dx=-4, color=SPECIES[name])
        layers.append(text.encode(x=_phi(), y=y, text="label:N"))
    title = alt.Title("Losses of the three clients", subtitle="at the grid's exact minimisers")
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)
