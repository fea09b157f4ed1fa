"""The figures of docs/choosing.md, drawn from measured values."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenkeel.paper.charts.style import BLUE, GREEN, GREY, INK, ORANGE, VERMILION, altair, rows, styled
from evenkeel.runs.paired import student
from evenkeel.sets import CVaR, Integrated, KLBall, Simplex

SIGNS = {"alpha": "α", "beta": "β", "phi": "φ"}
NAMES = ("best fifth", "second", "third", "fourth", "worst fifth", "mean")
COLOURS = (BLUE, "#56B4E9", GREEN, ORANGE, VERMILION, INK)
SPLITS = {"train": "training rows", "valid": "validation rows"}
WIDTH, HEIGHT = 270, 210


def fifths(problems: Mapping[str, Sequence[Any]], sign: str) -> Any:  # noqa: ANN401 - an Altair chart
    """One row a problem, one panel a split: the mean loss of each fifth of the clients against the value."""
    alt = altair()
    lines = [
        alt.hconcat(*(_panel(found, split, name, sign) for split in SPLITS), spacing=36)
        for name, found in problems.items()
    ]
    return styled(alt.vconcat(*lines, spacing=28))


def _panel(found: Sequence[Any], split: str, problem: str, sign: str) -> Any:  # noqa: ANN401 - an Altair chart
    alt = altair()
    points = []
    for m in (m for m in found if m.split == split):
        for name, values in zip(NAMES, [*m.fifths.T, m.mean], strict=True):
            mean, low, high = student(values)[:3]
            points.append({"x": m.value, "name": name, "loss": mean, "low": low, "high": high})
    at = sorted({p["x"] for p in points})
    x = alt.X("x:Q", title=sign, axis=alt.Axis(values=at, grid=False), scale=alt.Scale(nice=False, padding=10))
    y = alt.Y("loss:Q", title="mean loss of the fifth", scale=alt.Scale(zero=True))
    legend = alt.Legend(title=None, orient="right", symbolStrokeWidth=3)
    colour = alt.Color("name:N", scale=alt.Scale(domain=[*NAMES][::-1], range=[*COLOURS][::-1]), legend=legend)
    dash = alt.condition("datum.name === 'mean'", alt.value([4, 3]), alt.value([1, 0]))
    base = alt.Chart(rows(*points))
    layers = [
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash),
        base.mark_rule(strokeWidth=1.2).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        base.mark_circle(size=34, opacity=1).encode(x=x, y=y, color=colour),
    ]
    title = alt.Title(f"{problem}, {SPLITS[split]}", subtitle=f"{len(found[0].losses)} seeds, bars: 95 % intervals")
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def sets(n: int = 20) -> Any:  # noqa: ANN401 - an Altair chart
    """The weights that the opponent gives to n clients whose losses rise evenly, under each set."""
    alt = altair()
    losses = np.linspace(0.1, 1.0, n)
    worst = CVaR(n, 0.2)
    shown = {
        "Simplex": Simplex(n),
        "CVaR(0.2)": worst,
        "CVaR(0.5)": CVaR(n, 0.5),
        "KLBall(0.5)": KLBall(n, 0.5),
        "Λ, φ = 0.2": Integrated(worst, worst, 0.2),
        "Λ, φ = 0.5": Integrated(worst, worst, 0.5),
    }
    panels = []
    for name, s in shown.items():
        points = [{"client": i + 1, "weight": float(w)} for i, w in enumerate(s.argmax(losses))]
        x = alt.X("client:O", title="client, best-off first", axis=alt.Axis(values=[1, 5, 10, 15, 20], labelAngle=0))
        y = alt.Y("weight:Q", title="weight", axis=alt.Axis(tickCount=5))
        colour = alt.condition("datum.weight < 0", alt.value(BLUE), alt.value(VERMILION))
        bars = alt.Chart(rows(*points)).mark_bar(size=6).encode(x=x, y=y, color=colour)
        zero = alt.Chart(rows({"y": 0})).mark_rule(color=GREY, strokeWidth=0.8).encode(y="y:Q")
        title = alt.Title(name, subtitle=f"largest weighted loss {s.support(losses):.3f}")
        panels.append(alt.layer(bars, zero).properties(width=190, height=110, title=title))
    return styled(alt.concat(*panels, columns=3, spacing=18))
