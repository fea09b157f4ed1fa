"""What happened over the rounds: indices, range of the weights, communication, time, absences."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from evenkeel.report.charts.look import FAINT, HIDDEN, SEEN, colour, data, finished

_ROUND = alt.X("round:Q", title="round", axis=alt.Axis(tickMinStep=1, format="d"))


def over_rounds(
    names: Sequence[str], column: str, title: str, *, form: str = "~s", zero: bool = False
) -> dict[str, Any]:
    """A line a series."""
    base = alt.Chart(data("rounds")).transform_filter(SEEN).transform_filter(f"isValid(datum.{column})")
    value = alt.Y(f"{column}:Q", title=title, axis=alt.Axis(format=form), scale=alt.Scale(zero=zero))
    hover = [alt.Tooltip("run:N"), alt.Tooltip("round:Q"), alt.Tooltip(f"{column}:Q", title=title, format=".4~g")]
    line = base.mark_line().encode(x=_ROUND, y=value, color=colour(names))
    grip = base.mark_point(size=50, opacity=0).encode(x=_ROUND, y=value, color=colour(names), tooltip=hover)
    return finished(alt.layer(line, grip).add_params(HIDDEN), 220)


def weight_range(names: Sequence[str], weighted: Sequence[str]) -> dict[str, Any]:
    """Smallest and largest n·λ of a round as a band, of the runs that have weights; averaging gives everyone 1."""
    tint = colour(names, among=weighted)
    base = alt.Chart(data("rounds")).transform_filter(SEEN).transform_filter("isValid(datum.high)")
    hover = [
        alt.Tooltip("run:N"),
        alt.Tooltip("round:Q"),
        *(alt.Tooltip(f"{e}:Q", format=".3~g") for e in ("low", "high")),
    ]
    top = alt.Y("high:Q", title="n·λ, smallest to largest")
    band = base.mark_area(opacity=0.18).encode(x=_ROUND, y=top, y2="low:Q", color=tint, tooltip=hover)
    edges = [base.mark_line(strokeWidth=1.5).encode(x=_ROUND, y=f"{e}:Q", color=tint) for e in ("low", "high")]
    rules = alt.Chart(alt.InlineData(values=[{"y": 0, "w": 1.5}, {"y": 1, "w": 0.8}]))
    level = rules.mark_rule(color=FAINT, strokeDash=[4, 4]).encode(
        y="y:Q", strokeWidth=alt.StrokeWidth("w:Q", scale=None)
    )
    return finished(alt.layer(band, *edges, level).add_params(HIDDEN), 220)


def absences(names: Sequence[str]) -> dict[str, Any]:
    """Clients that did not answer, a round."""
    base = alt.Chart(data("rounds")).transform_filter(SEEN).transform_filter("datum.absent > 0")
    hover = [alt.Tooltip("run:N"), alt.Tooltip("round:Q"), alt.Tooltip("absent:Q", title="absent clients")]
    count = alt.Y("absent:Q", title="clients that did not answer", axis=alt.Axis(tickMinStep=1), stack=None)
    marks = base.mark_point(size=40, opacity=0.8).encode(x=_ROUND, y=count, color=colour(names), tooltip=hover)
    return finished(marks.add_params(HIDDEN), 220)
