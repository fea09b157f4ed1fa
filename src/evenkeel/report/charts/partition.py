"""Who has which classes: one run's clients against classes."""

from typing import Any

import altair as alt

from evenkeel.report.charts.look import HIGH, data, finished


def mix_map() -> dict[str, Any]:
    """Rows of each client in each class, on a square-root scale: few rows stay visible next to many."""
    hover = [
        alt.Tooltip("client:N"), alt.Tooltip("class:N"), alt.Tooltip("count:Q", title="rows"),
        alt.Tooltip("share:Q", format=".1%", title="of the client's"),
    ]  # fmt: skip
    cells = (
        alt.Chart(data("mix"))
        .transform_calculate(share="datum.count / datum.total")
        .mark_rect()
        .encode(
            x=alt.X("place:O", title="clients, most rows first", axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("class:N", title="class", sort=None),
            color=alt.Color(
                "count:Q",
                scale=alt.Scale(type="sqrt", range=["#ffffff", HIGH], interpolate="rgb"),
                legend=alt.Legend(title="rows", orient="right", gradientLength=140),
            ),
            tooltip=hover,
        )
    )
    return finished(cells, 240)


def sizes() -> dict[str, Any]:
    """Rows of every client."""
    bars = (
        alt.Chart(data("sizes"))
        .mark_bar(color=HIGH)
        .encode(
            x=alt.X("place:O", title="clients, most rows first", axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("rows:Q", title="rows"),
            tooltip=[alt.Tooltip("client:N"), alt.Tooltip("rows:Q")],
        )
    )
    return finished(bars, 240)
