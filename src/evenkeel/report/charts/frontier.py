"""What fairness costs: mean loss against R over a sweep, and the curve by which φ was chosen."""

from typing import Any

import altair as alt

from evenkeel.report.charts.look import FAINT, HIGH, INK, LOW, data, finished


def frontier(setting: str, *, intervals: bool) -> dict[str, Any]:
    """One point a value of the setting, joined in its order."""
    base = alt.Chart(data("frontier"))
    room = alt.Scale(zero=False, padding=24)  # for the labels, and for points at the ends
    x = alt.X("R:Q", title="R, worst-off over best-off loss", scale=room, axis=alt.Axis(tickCount=8))
    y = alt.Y("mean:Q", title="mean loss", scale=room, axis=alt.Axis(tickCount=6))
    hover = [alt.Tooltip("label:N", title=setting), *(alt.Tooltip(f"{v}:Q", format=".4~g") for v in ("mean", "R"))]
    layers = [
        base.mark_line(color=FAINT, strokeWidth=1.5).encode(x=x, y=y, order="order:Q"),
        base.mark_point(size=90, color=HIGH, opacity=1).encode(x=x, y=y, tooltip=hover),
        base.mark_text(align="left", dx=9, dy=-10, fontSize=13, color=INK).encode(x=x, y=y, text="label:N"),
    ]
    if intervals:
        bar = base.mark_rule(color=HIGH, opacity=0.3, strokeWidth=2)
        layers.insert(0, bar.encode(x="R_low:Q", x2="R_high:Q", y=y))
        layers.insert(0, bar.encode(x=x, y="mean_low:Q", y2="mean_high:Q"))
    return finished(alt.layer(*layers), 320)


def utility(chosen: float | None) -> dict[str, Any]:
    """u(φ) as predicted at φ = 0 and, where runs were made, as measured; the chosen φ is the dashed line."""
    base = alt.Chart(data("curve"))
    x = alt.X("phi:Q", title="φ", axis=alt.Axis(tickCount=8))
    y = alt.Y("u:Q", title="negative utility u(φ), lower is better", scale=alt.Scale(zero=False))
    hover = [alt.Tooltip("kind:N"), *(alt.Tooltip(f"{v}:Q", format=".4~g") for v in ("phi", "u"))]
    tint = alt.Color("kind:N", scale=alt.Scale(domain=["predicted", "measured"], range=[HIGH, LOW]))
    layers: list[Any] = [
        base.transform_filter("datum.kind === 'predicted'").mark_line().encode(x=x, y=y, color=tint),
        base.transform_filter("datum.kind === 'measured'")
        .mark_point(size=80)
        .encode(x=x, y=y, color=tint, tooltip=hover),
    ]
    if chosen is not None:
        at = alt.Chart(alt.InlineData(values=[{"phi": chosen, "says": f"chosen: {chosen:.3g}"}])).encode(x="phi:Q")
        layers.append(at.mark_rule(color=FAINT, strokeDash=[4, 4]))
        layers.append(at.mark_text(baseline="bottom", dy=-3).encode(y=alt.value(0), text="says:N"))
    return finished(alt.layer(*layers), 280)
