"""The tables of numbers on a page: key figures of one series, all indices of it, or several side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel.indices import INDICES, Audit, Comparison, Difference
from evenkeel.indices.audits import spoken
from evenkeel.report.content import Content, Series
from evenkeel.report.writing import digits, ends, percent, signed

if TYPE_CHECKING:
    from evenkeel.runs.paired import Seeded

TITLES = {
    "mean": "mean loss",
    "R": "R",
    "gini": "Gini",
    "worst20_loss": "loss of the worst {worst}",
    "best20_loss": "loss of the best {worst}",
    "worst20_accuracy": "accuracy of the worst {worst}",
    "best20_accuracy": "accuracy of the best {worst}",
}
KEY = ("mean", "R", "worst20_loss", "gini", "worst20_accuracy", "best20_accuracy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A number with its interval and, against the first series, its difference in a word."""

    value: str
    interval: str = ""
    difference: str = ""
    verdict: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a reader is told of an index: stored name, title, what it is, what its ends mean, which way is better."""

    key: str
    name: str
    title: str
    meaning: str
    extremes: str
    better: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Series against indices: `cells[row][column]`; the row's name first."""

    heads: tuple[Told, ...]
    names: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]


def told(name: str, a: Audit) -> Told:
    """An index in the words of the catalogue, this audit's shares in place of the letters.

    >>> from evenkeel.indices import LossTable, audit
    >>> told("R", audit(LossTable.of(loss=[1.0]), draws=0)).meaning
    'relative unfairness: mean loss of the worst 20 % over mean loss of the best 20 %'
    """
    index = INDICES[name]
    meaning, extremes = (_filled(text, name, a) for text in (index.meaning, index.extremes))
    better = "lower is better" if index.lower_is_better else "higher is better"
    spoke = spoken(name, a.worst)
    title = TITLES.get(name, spoke).format(worst=percent(a.worst))
    return Told(key=name, name=spoke, title=title, meaning=meaning, extremes=extremes, better=better)


def _filled(text: str, name: str, a: Audit) -> str:
    if INDICES[name].settings.get("share") == "worst":
        text = text.replace("20 %", percent(a.worst))
    return text.replace("α", percent(a.alpha)).replace("β", percent(a.beta)).replace("φ", f"{a.phi:g}")


def measured(audits: Mapping[str, Audit]) -> tuple[str, ...]:
    """The indices that any of the audits holds, in the catalogue's order."""
    return tuple(name for name in INDICES if any(getattr(a, name, None) is not None for a in audits.values()))


def grid(content: Content, names: tuple[str, ...]) -> Grid:
    """Every series against these indices."""
    audits = {s.name: s.audit for s in content.series}
    first = next(iter(audits.values()))
    there = [name for name in names if name in measured(audits)]
    return Grid(
        heads=tuple(told(name, first) for name in there),
        names=tuple(audits),
        cells=tuple(
            tuple(_honest(_either(content, name, s.name, s.audit), s) for name in there) for s in content.series
        ),
    )


def _honest(cell: Cell, s: Series) -> Cell:
    """Nothing is better about a run that has learned nothing."""
    return replace(cell, verdict="no merit") if s.useless and cell.verdict == "better" else cell


def _either(content: Content, name: str, run: str, a: Audit) -> Cell:
    held = content.seeded
    return (
        _cell(a, name, run, content.comparison) if held is None or name not in held.indices else _mean(held, name, run)
    )


def _mean(held: "Seeded", name: str, run: str) -> Cell:
    """Over seeds."""
    e = held.mean(run, name)
    plain = Cell(value=digits(e.mean), interval=ends((e.low, e.high)))
    if run == held.first:
        return plain
    gap = held.gap(run, name)
    return replace(plain, difference=signed(gap.mean), verdict=verdict(Difference(gap.mean, gap.low, gap.high), name))


def _cell(a: Audit, name: str, run: str, c: Comparison | None) -> Cell:
    value, interval = getattr(a, name), a.intervals.get(name)
    plain = Cell(value=digits(value), interval=ends(interval) if interval else "")
    if c is None or run == c.baseline or (d := c.differences[run].get(name)) is None:
        return plain
    return replace(plain, difference=signed(d.value), verdict=verdict(d, name))


def verdict(d: Difference, name: str) -> str:
    """Better, worse or unclear, by whether the interval of a difference leaves out zero.

    >>> verdict(Difference(-1.0, -1.5, -0.5), "R"), verdict(Difference(0.1, -0.2, 0.4), "R")
    ('better', 'unclear')
    """
    if not (d.high < 0 or d.low > 0):
        return "unclear"
    return "better" if (d.high < 0) == INDICES[name].lower_is_better else "worse"
