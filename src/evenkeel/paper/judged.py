"""Printed numbers and sentences against runs over seeds: every verdict follows from the values."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evenkeel.paper.claims import Claim
from evenkeel.paper.printed import COLUMNS, Row
from evenkeel.runs.exports import lower_is_better
from evenkeel.runs.paired import Estimate, Seeded, difference, finite

DIGITS = 4
FEW = 2  # differences that a claim lists in full


class Against(NamedTuple):
    """A printed number beside ours: `low` and `high` are the range of one further run under another seed."""

    printed: str
    ours: Estimate
    low: float
    high: float

    @property
    def gap(self) -> float:
        """Ours less the printed one."""
        return self.ours.mean - float(self.printed)

    @property
    def inside(self) -> bool | None:
        """Whether another seed could have given the printed number; None where one seed has no spread."""
        return None if math.isnan(self.low) else bool(self.low <= float(self.printed) <= self.high)

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        ends = {"further_low": finite(self.low), "further_high": finite(self.high)}
        return {"printed": self.printed, **self.ours.to_dict(), "difference": self.gap, **ends, "inside": self.inside}


def against(printed: str, ours: Estimate) -> Against:
    """x̄ ± t·s·√(1 + 1/n), the range of one further run: the paper prints one number and no spread.

    The mean's own interval is x̄ ± t·s/√n; it shrinks with every seed of ours, and no single run stays inside.

    >>> a = against("2.5", Estimate(mean=2.0, low=1.8, high=2.2, n=8))
    >>> round(a.high, 6), a.inside, a.gap
    (2.6, True, -0.5)
    """
    half = (ours.high - ours.mean) * math.sqrt(ours.n + 1)
    return Against(printed, ours, ours.mean - half, ours.mean + half)


def rows(s: Seeded, printed: Mapping[str, Row]) -> dict[str, dict[str, Against]]:
    """Every number of a table; algorithms that were not run are left out."""
    return {
        name: {c: against(getattr(row, c), s.mean(name, c)) for c in COLUMNS}
        for name, row in printed.items()
        if name in s.values
    }


def numbers(found: Mapping[str, Mapping[str, Against]], where: str) -> Iterable[Claim]:
    """One claim an algorithm: all five printed numbers lie where one further run of ours would. None with one seed."""
    for name, row in found.items():
        inside = {COLUMNS[c]: a.inside for c, a in row.items()}
        if None in inside.values():
            return
        out = [c for c, held in inside.items() if not held]
        ours = "all five" if not out else f"{len(inside) - len(out)} of {len(inside)}; outside: {', '.join(out)}"
        what = f"{where}: {name}, the five numbers lie where one further run would"
        yield Claim(what=what, printed=" ".join(a.printed for a in row.values()), ours=ours, agrees=not out)


def better(s: Seeded, pair: tuple[str, str], others: Sequence[str], what: str, printed: str) -> Claim:
    """`pair` is a run and an index: it is better there than each of the others, paired over seeds.

    The interval of each difference must leave out 0. With one seed there is none, and the sign decides.

    >>> s = Seeded(seeds=(0, 1, 2), values={"ours": {"R": [1.0, 1.1, 1.2]}, "theirs": {"R": [2.0, 2.2, 2.1]}})
    >>> better(s, ("ours", "R"), ["theirs"], "R", "smaller").agrees
    True
    """
    name, index = pair
    sign = 1 if lower_is_better(index) else -1
    gaps = {o: difference(s.values[name][index], s.values[o][index], s.level) for o in others if o in s.values}
    lost = [o for o, g in gaps.items() if sign * _far(g, sign) >= 0]
    ours = said(s.mean(name, index).mean) + "; " + _gaps(gaps, lost)
    return Claim(what=what, printed=printed, ours=ours, agrees=bool(gaps) and not lost)


def _gaps(gaps: Mapping[str, Estimate], lost: Sequence[str]) -> str:
    """Every difference where they are few, else those that speak against the claim."""
    shown = gaps if len(gaps) <= FEW else {o: gaps[o] for o in lost}
    text = ", ".join(f"to {o} {_gap(g)}" for o, g in shown.items())
    if len(gaps) <= FEW:
        return text
    return f"better than {len(gaps) - len(lost)} of {len(gaps)}" + (f"; not clearly: {text}" if lost else "")


def _far(gap: Estimate, sign: int) -> float:
    """The end of the interval that speaks against the claim."""
    if math.isnan(gap.high):
        return gap.mean
    return gap.high if sign > 0 else gap.low


def _gap(g: Estimate) -> str:
    interval = "" if math.isnan(g.high) else f" [{said(g.low, sign=True)}, {said(g.high, sign=True)}]"
    return f"{said(g.mean, sign=True)}{interval}"


def said(x: float, *, sign: bool = False) -> str:
    """A number as the paper writes it.

    >>> said(0.70801), said(2.4829), said(-0.5, sign=True)
    ('.7080', '2.4829', '-.5000')
    """
    text = f"{x:+.{DIGITS}f}" if sign else f"{x:.{DIGITS}f}"
    return text.replace("0.", ".", 1) if abs(x) < 1 else text


def at_once(found: Mapping[str, Against], what: str) -> Claim:
    """Ours at or better than every printed number of a row but the best clients' accuracy, which is no aim.

    >>> e = lambda x: Estimate(x, math.nan, math.nan, 1)
    >>> at_once({"accuracy": against(".90", e(0.91)), "R": against("2.5", e(2.4))}, "row").agrees
    True
    """
    aims = {c: a for c, a in found.items() if c != "best20_accuracy"}
    missed = [COLUMNS[c] for c, a in aims.items() if (a.gap > 0) == lower_is_better(c) and a.gap]
    ours = ", ".join(f"{COLUMNS[c]} {said(a.ours.mean)}" for c, a in aims.items())
    ours += f"; misses {', '.join(missed)}" if missed else ""
    return Claim(what=what, printed=" ".join(a.printed for a in aims.values()), ours=ours, agrees=not missed)


def near(found: Mapping[str, Against], columns: Sequence[str], within: float, what: str) -> Claim:
    """Means within a fixed distance of print."""
    far = [COLUMNS[c] for c in columns if abs(found[c].gap) > within]
    ours = ", ".join(f"{COLUMNS[c]} {said(found[c].ours.mean)}" for c in columns)
    ours += f"; further away: {', '.join(far)}" if far else ""
    return Claim(what=what, printed=" ".join(found[c].printed for c in columns), ours=ours, agrees=not far)
