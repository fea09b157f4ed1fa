"""The dual weights λ of one run: the last round client by client, and all rounds as a map. Below zero is orange."""

from typing import Any

import altair as alt

from evenkeel.report.charts.look import FAINT, HIGH, INK, LOW, PICKED, data, finished

_HOVER = [
    alt.Tooltip("client:N"), alt.Tooltip("round:Q"), alt.Tooltip("lam:Q", title="λ", format=".4~g"),
    alt.Tooltip("times:Q", title="n·λ", format=".3~g"),
]  # fmt: skip


def _weights() -> alt.Chart:
    return alt.Chart(data("weights")).transform_calculate(times="datum.lam * datum.n")


def last() -> dict[str, Any]:
    """n·λ of every client after the last stored round, the smallest first."""
    base = _weights().transform_filter("datum.round === datum.end")
    place = alt.X("place:O", title="clients, smallest weight first", axis=alt.Axis(labels=False, ticks=False))
    sign = alt.condition("datum.lam < 0", alt.value(LOW), alt.value(HIGH))
    value = alt.Y("times:Q", title="n·λ  (1: as in averaging)")
    bars = base.mark_bar().encode(x=place, y=value, color=sign, tooltip=_HOVER)
    mark = base.mark_text(dy=-8, color=INK)
    pointer = alt.condition(alt.datum.client == PICKED, alt.value("▼"), alt.value(""))
    even = alt.Chart(alt.InlineData(values=[{"y": 1}])).mark_rule(color=FAINT, strokeDash=[4, 4]).encode(y="y:Q")
    return finished(alt.layer(bars, even, mark.encode(x=place, y=value, text=pointer)).add_params(PICKED), 300)


def over_time() -> dict[str, Any]:
    """n·λ of every client in every stored round; the clients in the order of their last weight."""
    scale = alt.Scale(
        domain=alt.DomainUnionWith(unionWith=[-0.01, 1]), domainMid=0, range=[LOW, "#ffffff", HIGH], interpolate="lab"
    )
    legend = alt.Legend(title="n·λ", orient="right", gradientLength=160)
    cells = (
        _weights()
        .mark_rect()
        .encode(
            x=alt.X(
                "round:O", title="round", axis=alt.Axis(labelOverlap=True, labelSeparation=8, labelAngle=0, ticks=False)
            ),
            y=alt.Y(
                "place:O",
                sort="descending",
                title="clients, largest last weight on top",
                axis=alt.Axis(labels=False, ticks=False),
            ),
            color=alt.Color("times:Q", scale=scale, legend=legend),
            tooltip=_HOVER,
        )
    )
    return finished(cells, 300)
