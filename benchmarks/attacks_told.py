"""The attack study told: tables between the marks of docs/attacks.md, and two figures beside it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenkeel.paper.charts.style import BLUE, GREEN, GREY, INK, ORANGE, VERMILION, Chart, altair, rows, styled, svg

Found = Mapping[str, Any]
BEGIN, END = "<!-- {}: written by python -m benchmarks.attacks -->", "<!-- end of {} -->"
PHI = 0.2
TITLES = {
    "inflated": "Loss × k, vectors true",
    "deflated": "Loss ÷ k, vectors true",
    "reversed": "Vectors × −k, loss true",
    "both": "Loss × 1000, vectors × −k",
}
COLOURS = {"none": VERMILION, "losses, k = 3": ORANGE, "vectors, b = 3": BLUE, "both, k = 1.5, b = 1": GREEN}
ROWS = (
    ("nothing", 1.0, "nobody lies"),
    ("inflated", 1.5, "loss × 1.5"),
    ("inflated", 1000.0, "loss × 1000"),
    ("deflated", 1000.0, "loss ÷ 1000"),
    ("labels", 1.0, "true, but its labels are noise"),
    ("reversed", 1.0, "vectors × −1"),
    ("reversed", 5.0, "vectors × −5"),
    ("both", 1.0, "loss × 1000, vectors × −1"),
    ("both", 20.0, "loss × 1000, vectors × −20"),
)


def write(held: Mapping[str, Found], docs: Path) -> None:
    """Tables and figures of what is there."""
    found = list(held.values())
    tables = {"attacks": _curves(found), "reach": _reach(found)}
    page = docs / "attacks.md"
    text = page.read_text("utf-8") if page.exists() else "".join(_marked(name, "") for name in tables)
    for name, lines in tables.items():
        before, after = text.split(BEGIN.format(name))[0], text.split(END.format(name))[1]
        text = before + _marked(name, "\n".join(lines)).rstrip("\n") + after
    page.write_text(text, "utf-8")
    (docs / "images").mkdir(exist_ok=True)
    for name, chart in (("curves", _curve_chart(found)), ("reach", _reach_chart(found))):
        (docs / "images" / f"attacks-{name}.svg").write_text(svg(styled(chart)), "utf-8")


def _marked(name: str, lines: str) -> str:
    return f"{BEGIN.format(name)}\n{lines}\n{END.format(name)}\n"


def _grouped(found: Iterable[Found], *keys: str) -> dict[tuple[Any, ...], list[Found]]:
    out: dict[tuple[Any, ...], list[Found]] = defaultdict(list)
    for one in found:
        out[tuple(one[key] for key in keys)].append(one)
    return out


def _after(some: Sequence[Found], what: str) -> list[float]:
    """0 where the run was lost."""
    return [one["after"][what] if "after" in one else 0.0 for one in some]


def _said(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f} ({min(values):.2f}–{max(values):.2f})"


def _curves(found: Sequence[Found]) -> list[str]:
    """What the others are left with, by attack and defence, at n = 20, α = 0.2."""
    some = _grouped((f for f in found if (f["n"], f["alpha"]) == (20, 0.2)), "attack", "strength", "defence")
    lines = [f"| the liar says | {' | '.join(COLOURS)} |", "|---" * (len(COLOURS) + 1) + "|"]
    for attack, strength, words in ROWS:
        cells = [_said(_after(some[attack, strength, defence], "accuracy")) for defence in COLOURS]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    lines += ["", f"| accuracy of the worst-off fifth | {' | '.join(COLOURS)} |", "|---" * (len(COLOURS) + 1) + "|"]
    for attack, strength, words in (ROWS[0], ROWS[2], ROWS[4], ROWS[-1]):
        cells = [_said(_after(some[attack, strength, defence], "worst")) for defence in COLOURS]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    lines += ["", f"| mean weight of the liar | {' | '.join(COLOURS)} |", "|---" * (len(COLOURS) + 1) + "|"]
    for attack, strength, words in (ROWS[0], ROWS[2], ROWS[3], ROWS[4], ROWS[-1]):
        cells = [f"{np.mean([one['weight'] for one in some[attack, strength, d]]):.3f}" for d in COLOURS]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return lines


def _bound(defence: str) -> float:
    return float(defence.rpartition("= ")[2])


def _kappa(n: int, alpha: float, b: float) -> float:
    return (1 + b) / ((1 - PHI) * alpha * n)


def _reached(found: Sequence[Found]) -> dict[tuple[Any, ...], list[Found]]:
    norms = [f for f in found if f["attack"] == "both" and f["strength"] == 20.0 and f["defence"] in BOUNDS]
    return _grouped(norms, "n", "alpha", "defence")


BOUNDS = ("vectors, b = 3", "b = 1.5", "b = 1")


def _reach(found: Sequence[Found]) -> list[str]:
    """The strongest attack against norm bounds, sorted by κ."""
    lines = ["| κ | n | α | b | nobody lies | one lies |", "|---|---|---|---|---|---|"]
    some = _reached(found)
    for key in sorted(some, key=lambda key: _kappa(key[0], key[1], _bound(key[2]))):
        n, alpha, defence = key
        b = _bound(defence)
        before = [one["before"]["accuracy"] for one in some[key]]
        after = _said(_after(some[key], "accuracy"))
        lines.append(f"| {_kappa(n, alpha, b):.2f} | {n} | {alpha:g} | {b:g} | {np.mean(before):.3f} | {after} |")
    return lines


def _curve_chart(found: Sequence[Found]) -> Chart:
    alt = altair()
    some = _grouped((f for f in found if (f["n"], f["alpha"]) == (20, 0.2)), "attack", "strength", "defence")
    panels = []
    for attack, title in TITLES.items():
        points, weight = [], attack in {"inflated", "deflated"}  # of what others lose there is nothing to see
        for (what, strength, defence), ones in some.items():
            honest = what == "nothing" and weight
            if defence in COLOURS and (what == attack or honest):
                told = [one["weight"] for one in ones] if weight else _after(ones, "accuracy")
                middle = {"mean": float(np.mean(told)), "low": min(told), "high": max(told)}
                points.append({"k": strength, "defence": defence, **middle})
        scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
        colour = alt.Color("defence:N", scale=scale, legend=alt.Legend(title="bounds", orient="bottom"))
        axis = ("mean weight of the liar", [-0.1, 0.35]) if weight else ("accuracy of the others", [0, 1])
        y = alt.Y("mean:Q", title=axis[0], scale=alt.Scale(domain=axis[1]))
        scale = alt.Scale(type="log", nice=False)
        base = alt.Chart(rows(*points)).encode(x=alt.X("k:Q", title="k", scale=scale), color=colour)
        spread = base.mark_rule(opacity=0.5).encode(y="low:Q", y2="high:Q")
        lines = base.mark_line(point=True).encode(y=y)
        panels.append(alt.layer(spread, lines).properties(width=190, height=190, title=title))
    return alt.hconcat(*panels, spacing=18)


def _reach_chart(found: Sequence[Found]) -> Chart:
    alt = altair()
    points = []
    for (n, alpha, defence), ones in _reached(found).items():
        b, told = _bound(defence), _after(ones, "accuracy")
        middle = {"mean": float(np.mean(told)), "low": min(told), "high": max(told)}
        points.append({"kappa": _kappa(n, alpha, b), "b": f"{b:g}", "n": f"{n}", **middle})
    x = alt.X("kappa:Q", title="κ = (1 + b) / ((1 − φ)αn)", scale=alt.Scale(type="log", domain=[0.06, 3], nice=False))
    colour = alt.Color("b:N", scale=alt.Scale(range=[GREEN, ORANGE, BLUE]), legend=alt.Legend(title="bound b"))
    base = alt.Chart(rows(*points)).encode(x=x, color=colour)
    y = alt.Y("mean:Q", title="accuracy of the others", scale=alt.Scale(domain=[0, 1]))
    dots = base.mark_point(filled=True, size=90, opacity=0.9).encode(
        y=y, shape=alt.Shape("n:N", legend=alt.Legend(title="clients"))
    )
    one = alt.Chart(rows({"kappa": 1.0})).mark_rule(color=GREY, strokeDash=[4, 4]).encode(x="kappa:Q")
    words = alt.Chart(rows({"kappa": 1.05, "y": 0.97, "text": "c points the wrong way"}))
    text = words.mark_text(align="left", color=INK, fontSize=11).encode(x="kappa:Q", y="y:Q", text="text:N")
    spread = base.mark_rule(opacity=0.5).encode(y="low:Q", y2="high:Q")
    return alt.layer(one, spread, dots, text).properties(width=420, height=240)
