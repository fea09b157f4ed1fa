"""The theory drawn: convergence, R and u against φ, gaps and skewness, six panels from the stored result."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenkeel.paper.charts.style import BLUE, GREEN, GREY, INK, ORANGE, PINK, VERMILION, Chart, altair, rows, styled

COLOURS = {
    "quadratic": BLUE,
    "penguins": ORANGE,
    "penguins, l2 = .2": VERMILION,
    "digits": GREEN,
    "digits, l2 = .3": PINK,
    "line": GREY,
}
PHIS = {"0": BLUE, "0.2": ORANGE, "0.5": VERMILION}
WIDTH, HEIGHT = 300, 220
Row = Mapping[str, Any]


def draw(result: Row) -> Chart:
    """Two rows of three."""
    alt = altair()
    above = alt.hconcat(_exact(result["convergence"]), _noisy(result["convergence"]), _ratios(result), spacing=40)
    below = alt.hconcat(_gaps(result["gaps"]), _skewness(result["skewness"]), _utility(result), spacing=40)
    own: dict[str, Any] = {"color": "independent", "strokeDash": "independent"}
    both = alt.vconcat(above.resolve_scale(**own), below.resolve_scale(**own), spacing=30)
    return styled(both.resolve_scale(**own))


def _panel(layers: Sequence[Chart], title: str, *subtitle: str) -> Chart:
    alt = altair()
    named = alt.Title(title, subtitle=list(subtitle))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=named)


def _log(channel: str, field: str, title: str, domain: Sequence[float], values: Sequence[float]) -> Any:  # noqa: ANN401
    """A logarithmic axis with powers of ten as marks."""
    alt = altair()
    kind = alt.X if channel == "x" else alt.Y
    marks = [v for v in values if domain[0] <= v <= domain[1]]
    axis = alt.Axis(values=marks, format="~e" if min(domain) < 1e-3 else "~g", grid=channel == "y")
    scale = alt.Scale(type="log", domain=list(domain), nice=False, clamp=True)
    return kind(f"{field}:Q", title=title, axis=axis, scale=scale)


def _key(names: Sequence[str], palette: Mapping[str, str], columns: int = 3) -> Any:  # noqa: ANN401 — Altair's own type
    alt = altair()
    legend = alt.Legend(title=None, orient="bottom", columns=columns, symbolType="stroke", labelLimit=200)
    return alt.Color("name:N", scale=alt.Scale(domain=list(names), range=[palette[n] for n in names]), legend=legend)


def _dash(field: str, domain: Sequence[str]) -> Any:  # noqa: ANN401 — Altair's own type
    alt = altair()
    legend = alt.Legend(
        title=None, orient="bottom", columns=3, symbolType="stroke", symbolStrokeColor=GREY, labelLimit=220
    )
    patterns = [[1, 0], [5, 3], [1, 3]][: len(domain)]
    return alt.StrokeDash(f"{field}:N", scale=alt.Scale(domain=list(domain), range=patterns), legend=legend)


def _curves(chosen: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {"R": r, "error": e, "name": c["problem"], "kind": _kind(c), "id": f"{c['problem']} {c['phi']} {c['steps']}"}
        for c in chosen
        for r, e in c["curve"]
    ]


def _kind(c: Row) -> str:
    return "constant steps" if c["steps"] == "constant" else f"φ = {c['phi']:g}"


def _guide(x: Any, y: Any, start: tuple[float, float], power: int, most: float) -> list[Chart]:  # noqa: ANN401
    """A black line of the printed slope from one point on, with its name there."""
    alt = altair()
    label = "1/R" + "²" * (power == -2)
    r, e = start
    ends = [{"R": r, "error": e}, {"R": most, "error": e * (most / r) ** power}]
    line = alt.Chart(rows(*ends)).mark_line(color=INK, strokeWidth=1.2).encode(x=x, y=y)
    text = alt.Chart(rows({**ends[0], "label": label})).mark_text(dx=6, dy=-4, align="left", color=INK, fontSize=12)
    return [line, text.encode(x=x, y=y, text="label:N")]


def _exact(curves: Sequence[Row]) -> Chart:
    alt = altair()
    chosen = [c for c in curves if c["steps"] == "theorem" and not c["noisy"]]
    most = max(c["last"] for c in chosen)
    x = _log("x", "R", "round R", (1, most), [10**k for k in range(6)])
    y = _log("y", "error", "squared distance to θ*", (1e-16, 2), [10.0**k for k in range(-16, 1, 4)])
    names = list(dict.fromkeys(c["problem"] for c in chosen))
    kinds = list(dict.fromkeys(_kind(c) for c in chosen))
    lines = alt.Chart(rows(*_curves(chosen))).mark_line(strokeWidth=1.8)
    drawn = lines.encode(x=x, y=y, color=_key(names, COLOURS), strokeDash=_dash("kind", kinds), detail="id:N")
    guide = _guide(x, y, (3, 0.5), -2, most)
    return _panel([*guide, drawn], "Exact gradients, the theorem's schedule", "θ* by a conic solver, certified")


def _noisy(curves: Sequence[Row]) -> Chart:
    alt = altair()
    chosen = [c for c in curves if c["noisy"]]
    most = max(c["last"] for c in chosen)
    x = _log("x", "R", "round R", (1, most), [10**k for k in range(6)])
    y = _log("y", "error", "squared distance to θ*", (1e-6, 2), [10.0**k for k in range(-6, 1, 2)])
    names = list(dict.fromkeys(c["problem"] for c in chosen))
    kinds = sorted({_kind(c) for c in chosen}, key=lambda kind: (kind.startswith("c"), kind))
    lines = alt.Chart(rows(*_curves(chosen))).mark_line(strokeWidth=1.6)
    drawn = lines.encode(x=x, y=y, color=_key(names, COLOURS), strokeDash=_dash("kind", kinds), detail="id:N")
    guide = _guide(x, y, (10, 1.0), -1, most)
    return _panel([*guide, drawn], "Noisy gradients", "mean over seeds")


def _ratios(result: Row) -> Chart:
    """R − 1 as a share of what it is at φ = 0, so that all problems fit."""
    data = [
        {"phi": p["phi"], "value": (p["R"] - 1) / (points[0]["R"] - 1), "name": name}
        for name, points in result["monotone"].items()
        for p in points
    ]
    title = "(R − 1) / (R − 1 at φ = 0)"
    layers = [_along(data, list(result["monotone"]), title, (0, 1.02))]
    return _panel(layers, "Relative unfairness against φ", "certified solutions; 0 is equal losses")


def _utility(result: Row) -> Chart:
    alt = altair()
    wanted = {r["problem"]: r for r in result["choice"]}
    data = [
        {"phi": p["phi"], "value": p["u"] / result["monotone"][name][0]["u"], "name": name}
        for name in wanted
        for p in result["monotone"][name]
    ]
    low = min(d["value"] for d in data) - 0.05
    marks = [
        {"phi": r["used"], "value": r["u"] / r["zero_u"], "name": name} for name, r in wanted.items() if r["certified"]
    ]
    title = "u / u at φ = 0"
    lines = _along(data, list(wanted), title, (low, 1.02))
    spots = alt.Chart(rows(*marks)).mark_point(shape="diamond", size=110, filled=True, opacity=1, stroke="white")
    x, y = _phi(), _share(title, (low, 1.02))
    drawn = spots.encode(x=x, y=y, color=_key(list(wanted), COLOURS))
    return _panel([lines, drawn], "Negative utility u = max / √min against φ", "diamonds: the φ chosen at φ = 0")


def _along(data: list[dict[str, Any]], names: list[str], title: str, domain: tuple[float, float]) -> Chart:
    base = altair().Chart(rows(*data)).mark_line(strokeWidth=1.8, point={"size": 18})
    return base.encode(x=_phi(), y=_share(title, domain), color=_key(names, COLOURS))


def _phi() -> Any:  # noqa: ANN401 — Altair's own type
    alt = altair()
    return alt.X("phi:Q", title="φ", scale=alt.Scale(domain=[0, 0.92], nice=False), axis=alt.Axis(grid=False))


def _share(title: str, domain: tuple[float, float]) -> Any:  # noqa: ANN401 — Altair's own type
    alt = altair()
    return alt.Y("value:Q", title=title, scale=alt.Scale(domain=list(domain), nice=False))


def _gaps(found: Sequence[Row]) -> Chart:
    alt = altair()
    n = found[0]["n"]
    chosen = [r for r in found if r["n"] == n]
    data = [
        {"N": r["N"], "value": r[key], "name": f"φ = {r['phi']:g}", "kind": kind}
        for r in chosen
        for key, kind in (("bound", "bound"), ("mean", "measured"))
    ]
    sizes = sorted({r["N"] for r in chosen})
    low, high = min(d["value"] for d in data) / 1.5, max(d["value"] for d in data) * 1.5
    marks = [10.0**k for k in range(-3, 3) if low <= 10.0**k <= high]
    x = _log("x", "N", f"rows a client, N ({n} clients)", (sizes[0] / 1.2, sizes[-1] * 1.2), sizes)
    y = _log("y", "value", "largest gap over λ in Λ", (low, high), marks)
    palette = {f"φ = {name}": colour for name, colour in PHIS.items()}
    names = list(dict.fromkeys(d["name"] for d in data))
    lines, spots = (alt.Chart(rows(*data)).encode(x=x, y=y, color=_key(names, palette)) for _ in range(2))
    drawn = lines.mark_line(strokeWidth=1.8).encode(strokeDash=_dash("kind", ["measured", "bound"]))
    return _panel(
        [drawn, spots.mark_circle(size=36, opacity=1)],
        "Generalisation gap",
        "error on fresh rows less error on training rows",
    )


def _skewness(found: Sequence[Row]) -> Chart:
    alt = altair()
    data: list[dict[str, Any]] = []
    names: list[str] = []
    palette: dict[str, str] = {}
    for r, colour in zip(found, (BLUE, ORANGE, GREEN, PINK), strict=True):
        name = f"α = {r['alpha']:g}, φ = {r['phi']:g}"
        names, palette = [*names, name], palette | {name: colour}
        for key, kind in (("printed", "as printed"), ("mended", "mended")):
            data += [
                {"n": p["n"], "value": max(abs(p["exact"] - p[key]), 1e-6), "name": name, "kind": kind}
                for p in r["points"]
            ]
    x = _log("x", "n", "clients n", (10, 1e5), [10**k for k in range(1, 6)])
    y = _log("y", "value", "|s(Λ) − form|, cut at 1e-6", (1e-6, 2), [10.0**k for k in range(-6, 1, 2)])
    lines = alt.Chart(rows(*data)).mark_line(strokeWidth=1.8)
    kinds = ["as printed", "mended"]
    drawn = lines.encode(x=x, y=y, color=_key(names, palette, 2), strokeDash=_dash("kind", kinds))
    return _panel([drawn], "Skewness against its asymptotic forms", "mended: (1 + φ²)/((1 − φ)²α)")
