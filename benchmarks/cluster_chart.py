"""Draws what `bench_cluster` measured and what its model says: docs/images/scale-workers.svg and scale-growth.svg.

In scale-growth points are measured and lines fitted to them. In scale-workers all is said by the model: the whole round
in black, its terms dashed.
"""

from pathlib import Path

import altair as alt
import vl_convert

from cluster_model import Model

CLIENTS = 10_000
SIZES = (40_000, 1_000_000, 10_000_000)
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
TERMS = ("clients", "server", "Ray", "network (assumed)")
COLOURS = ("#4c78a8", "#bab0ac", "#f58518", "#e45756")


TENS = [10**k for k in range(-4, 9)]


def log(title: str, marks=TENS, form: str = "~s") -> dict:
    """A logarithmic axis."""
    return {"scale": alt.Scale(type="log"), "title": title, "axis": alt.Axis(format=form, values=list(marks))}


def short(d: int) -> str:
    """4e4 as «d = 40 k»."""
    return f"d = {d // 10**6} M" if d >= 10**6 else f"d = {d // 1000} k"


def by_workers(model: Model) -> alt.Chart:
    """Seconds a round against workers, split into terms, for three sizes of θ."""
    panels = []
    for d in SIZES:
        rows = [
            {"workers": w, "seconds": s, "term": term}
            for w in WORKERS
            for term, s in model.terms(clients=CLIENTS, d=d, workers=w, network=w > 1).items()
            if s > 0
        ]
        whole = [
            {"workers": w, "seconds": model.seconds(clients=CLIENTS, d=d, workers=w, network=w > 1)} for w in WORKERS
        ]
        x = alt.X("workers:Q", **log("workers", [1, 2, 8, 64, 512]))
        y = alt.Y("seconds:Q", **log("seconds a round", form="~g"))
        colour = alt.Color("term:N", sort=TERMS, scale=alt.Scale(domain=TERMS, range=COLOURS), title="term")
        parts = alt.Chart(alt.Data(values=rows)).mark_line(strokeDash=[4, 3]).encode(x=x, y=y, color=colour)
        total = alt.Chart(alt.Data(values=whole)).mark_line(color="black").encode(x=x, y=y)
        said = [row for row in whole if row["workers"] in {8, 64, 512}]
        marks = alt.Chart(alt.Data(values=said)).mark_point(color="black", filled=True, size=45).encode(x=x, y=y)
        panels.append(
            (parts + total + marks).properties(width=230, height=210, title=f"{CLIENTS:,} clients, {short(d)}")
        )
    return alt.hconcat(*panels).resolve_scale(y="shared")


def measured_and_said(record: dict, model: Model) -> alt.Chart:
    """Growth with clients and with parameters on one engine thread, and Ray alone by workers: points and model."""
    growth, echoes = record["growth"]["found"], record["ray"]["found"]
    by_n = [{"x": g["clients"], "y": g["seconds"], "k": "d = 40 k"} for g in growth if g["clients"] >= 100]
    by_d = [{"x": g["d"], "y": g["seconds"], "k": "10 clients"} for g in growth if g["clients"] == 10]
    ray = [{"x": e["workers"], "y": e["seconds"], "k": short(e["d"])} for e in echoes]
    lines_n = [{"x": n, "y": at(model, n, 40_000), "k": "d = 40 k"} for n in (100, 1_000, 10_000)]
    lines_d = [{"x": 10**k, "y": at(model, 10, 10**k), "k": "10 clients"} for k in (4, 5, 6, 7)]
    sizes = sorted({e["d"] for e in echoes})
    lines_ray = [
        {"x": w, "y": model.terms(clients=8, d=d, workers=w, network=False)["Ray"], "k": short(d)}
        for d in sizes
        for w in (1, 2, 4, 8)
    ]
    panels = (
        (by_n, lines_n, "clients", "one engine thread, by clients"),
        (by_d, lines_d, "parameters", "one engine thread, by parameters"),
        (ray, lines_ray, "workers", "Ray without arithmetic, by workers"),
    )
    return alt.hconcat(*[panel(*of) for of in panels]).resolve_scale(color="independent")


def at(model: Model, clients: int, d: int) -> float:
    """A round of one engine thread."""
    terms = model.terms(clients=clients, d=d, workers=1, network=False)
    return terms["clients"] + terms["server"]


def panel(points: list, lines: list, title: str, heading: str) -> alt.Chart:
    """Points as measured, lines as fitted."""
    x = alt.X("x:Q", **log(title, (1, 2, 4, 8) if title == "workers" else TENS))
    y = alt.Y("y:Q", **log("seconds a round", form="~g"))
    order = list(dict.fromkeys(row["k"] for row in points))
    colour = alt.Color("k:N", title=None, sort=order)
    drawn = alt.Chart(alt.Data(values=lines)).mark_line().encode(x=x, y=y, color=colour)
    dots = alt.Chart(alt.Data(values=points)).mark_point(filled=True, size=50).encode(x=x, y=y, color=colour)
    return (drawn + dots).properties(width=210, height=200, title=heading)


def draw(record: dict, folder: Path) -> None:
    """Both pictures."""
    model = Model.of(record["growth"]["found"], record["ray"]["found"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in (("workers", by_workers(model)), ("growth", measured_and_said(record, model))):
        svg = vl_convert.vegalite_to_svg(chart.configure_view(strokeWidth=0).to_json())
        (folder / f"scale-{name}.svg").write_text(svg, "utf-8")
