"""Every client's loss and accuracy in order, and the Lorenz curves: who is worse off."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from evenkeel.report.charts.look import FAINT, HIDDEN, INK, PICKED, SEEN, colour, data, finished

_SHARE = alt.Axis(
    format="%", tickCount=alt.ExprRef("width < 320 ? 2 : 5")
)  # labels of a phone's narrow axis would touch
_HOVER = [
    alt.Tooltip("client:N"), alt.Tooltip("run:N"), alt.Tooltip("loss:Q", format=".4~g"),
    alt.Tooltip("accuracy:Q", format=".1%"), alt.Tooltip("size:Q", title="rows"), alt.Tooltip("mix:N", title="classes"),
]  # fmt: skip


MOST_POINTS = 4_000  # more would lie on each other: a figure is a thousand pixels wide
_ENDS = 50  # clients at both ends that have a point in any case


def in_order(names: Sequence[str], value: str, n: int, *, alpha: float, beta: float, every: int = 1) -> dict[str, Any]:
    """Clients from best to worst off; the tails that R compares are shaded. One client in `every` has a point."""
    tails = [{"from": 0, "to": beta, "says": "best"}, {"from": 1 - alpha, "to": 1, "says": "worst"}]
    shade = alt.Chart(alt.InlineData(values=tails if beta < 1 else tails[1:]))
    place = alt.X(f"at_{value}:Q", title="clients, best-off first", axis=_SHARE, scale=alt.Scale(domain=[0, 1]))
    per_cent = "%" if value == "accuracy" else "~s"
    height = alt.Y(f"{value}:Q", title=value, axis=alt.Axis(format=per_cent), scale=alt.Scale(zero=True))
    base = alt.Chart(data("clients")).transform_filter(SEEN)
    small, few = n > 400, n <= 30
    tint = colour(names, columns=6)
    rank = f"round(datum.at_{value} * datum.n - 0.5)"
    some = base if every == 1 else base.transform_filter(_some(rank, every))
    points = some.mark_point(opacity=0.6 if small else 0.85, size=12 if small else 90 if few else 36).encode(
        x=place, y=height, color=tint, tooltip=_HOVER
    )
    # Apart, as marking one must not redraw all; the first stands in it unseen, as no scale can be made of nothing.
    marked = (
        base.transform_filter(f"datum.client === picked || {rank} === 0")
        .mark_point()
        .encode(
            x=place,
            y=height,
            color=tint,
            tooltip=_HOVER,
            size=alt.condition(alt.datum.client == PICKED, alt.value(320), alt.value(0)),
            stroke=alt.condition(alt.datum.client == PICKED, alt.value(INK), alt.value(None)),
            strokeWidth=alt.value(3),
        )
    )
    layers = alt.layer(
        shade.mark_rect(color=FAINT, opacity=0.1).encode(x="from:Q", x2="to:Q"),
        shade.transform_calculate(middle="(datum.from + datum.to) / 2")
        .mark_text(baseline="bottom", dy=-3)
        .encode(x="middle:Q", y=alt.value(0), text="says:N"),
        points,
        marked,
    )
    return finished(layers.add_params(HIDDEN, PICKED), 280)


def spacing(clients: int) -> int:
    """One client in how many has a point, so that a figure has no more than it can show.

    >>> spacing(300), spacing(20_000)
    (1, 5)
    """
    return -(-clients // MOST_POINTS)


def _some(rank: str, every: int) -> str:
    """Every so many of the clients in order, and both ends."""
    return f"{rank} % {every} === 0 || {rank} < {_ENDS} || datum.n - {rank} <= {_ENDS}"


def lorenz(names: Sequence[str]) -> dict[str, Any]:
    """The share of all loss that the best-off clients have; the diagonal is equality."""
    axes = {
        "x": alt.X("x:Q", title="clients, best-off first", axis=_SHARE),
        "y": alt.Y("share:Q", title="share of all loss", axis=_SHARE),
    }
    return finished(_curves(names, axes, [{"x": 0, "share": 0}, {"x": 1, "share": 1}]), 280)


def lorenz_gap(names: Sequence[str]) -> dict[str, Any]:
    """ℓ(x) − x: how far the Lorenz curve hangs below equality; its area is −Gini/2."""
    axes = {
        "x": alt.X("x:Q", title="clients, best-off first", axis=_SHARE),
        "y": alt.Y("gap:Q", title="share of loss less share of clients", axis=_SHARE),
    }
    return finished(_curves(names, axes, [{"x": 0, "gap": 0}, {"x": 1, "gap": 0}]), 280)


def _curves(names: Sequence[str], axes: dict[str, Any], equal: list[dict[str, float]]) -> Any:  # noqa: ANN401 - a layered chart
    field = "gap" if "gap" in equal[0] else "share"
    hover = [
        alt.Tooltip("run:N"),
        alt.Tooltip("x:Q", format=".0%", title="clients"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    line = alt.Chart(data("lorenz")).transform_filter(SEEN).mark_line().encode(**axes, color=colour(names))
    grip = line.mark_point(size=60, opacity=0).encode(**axes, tooltip=hover)
    even = alt.Chart(alt.InlineData(values=equal)).mark_line(strokeDash=[4, 4], color=FAINT, strokeWidth=1.5)
    return alt.layer(even.encode(x="x:Q", y=f"{field}:Q"), line, grip).add_params(HIDDEN)


def intervals(names: Sequence[str], index: str, title: str) -> dict[str, Any]:
    """An index of every series with its interval."""
    base = alt.Chart(data("intervals")).transform_filter(f"datum.index === '{index}'").transform_filter(SEEN)
    side = alt.Y("run:N", title=None, sort=list(names), axis=alt.Axis(ticks=False, domain=False, labelPadding=6))
    value = alt.X("value:Q", title=title, scale=alt.Scale(zero=False, padding=10), axis=alt.Axis(tickCount=5))
    hover = [alt.Tooltip("run:N"), *(alt.Tooltip(f"{end}:Q", format=".4~g") for end in ("value", "low", "high"))]
    tint = colour(names, legend=False)
    layers = alt.layer(
        base.mark_rule(strokeWidth=3, opacity=0.55).encode(x="low:Q", x2="high:Q", y=side, color=tint),
        base.mark_point(size=90, opacity=1).encode(x=value, y=side, color=tint, tooltip=hover),
    )
    return finished(layers.add_params(HIDDEN), max(70, 26 * len(names) + 10))
