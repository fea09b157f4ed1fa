"""Audits as Rich tables: names as in the JSON, four digits, intervals, and what each index means."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evenkeel.cli import words
from evenkeel.cli.screen import plain
from evenkeel.data.table import shown
from evenkeel.indices import INDICES, Audit, Comparison, Difference

CAUTION = (
    "Read these next to the mean: a model that has learned nothing treats all clients alike. "
    "`evenkeel list indices` says what each means."
)
NARROW, WIDE = 60, 120


def view(result: Audit | tuple[Audit, ...] | Comparison, by: str, width: int) -> Iterator[RenderableType]:
    """Whatever was measured, for a terminal of this width."""
    if isinstance(result, tuple):
        return groups_view(result, by)
    return audit_view(result, width) if isinstance(result, Audit) else comparison_view(result, width)


def audit_view(a: Audit, width: int) -> Iterator[RenderableType]:
    """One audit: the sentence, the conditions, then every index."""
    yield _sentence(words.headline(a))
    if who := words.worst_off(a):
        yield Text(who)
    yield _conditions(a)
    table = _table("index", "value", f"{words.percent(a.level)} interval")
    shares = 0 if width < NARROW else 1 if width < WIDE else 2
    for heading in ("meaning", "at its ends")[:shares]:
        table.add_column(heading)
    for name in names(a):
        index, interval = INDICES[name], words.ends(a.intervals.get(name))
        meanings = [_filled(text, a) for text in (index.meaning, index.extremes)[:shares]]
        table.add_row(Text(name), words.digits(getattr(a, name)), Text(interval), *map(Text, meanings))
    yield Padding(table, (1, 0))
    yield Text(CAUTION, style="dim")


def groups_view(audits: Sequence[Audit], by: str) -> Iterator[RenderableType]:
    """One row a group, the worst off first."""
    yield _sentence(words.among(audits))
    yield _conditions(audits[0])
    level = f"{words.percent(audits[0].level)} interval"
    table = _table(by, "clients", "mean", level, "R", level, "gini")
    for a in sorted(audits, key=lambda a: -a.mean):
        mean, ratio = words.ends(a.intervals.get("mean")), words.ends(a.intervals.get("R"))
        cells = [f"{a.n:,}", words.digits(a.mean), mean, words.digits(a.R), ratio, words.digits(a.gini)]
        table.add_row(plain(a.group), *map(Text, cells))
    yield Padding(table, (1, 0))
    yield Text(CAUTION, style="dim")


def comparison_view(c: Comparison, width: int) -> Iterator[RenderableType]:
    """Runs side by side: each run's sentence, then every index with its difference to the first run."""
    first = c.audits[c.baseline]
    yield _sentence(words.headline(first), f"«{shown(c.baseline)}»: ")
    for run in c.differences:
        yield _sentence(words.against(c, run))
    yield _conditions(first)
    others = list(c.differences)
    apart = [
        f"{run} has other clients than {c.baseline}; both are drawn on their own" for run in others if not c.paired[run]
    ]
    for note in (*c.notes, *apart):
        yield plain(f"Note: {note}.", most=500)
    at_once = max(1, (width - 27) // 50)
    for start in range(0, len(others), at_once):
        yield Padding(_side_by_side(c, others[start : start + at_once]), (1, 0))
    yield Text(CAUTION, style="dim")


def _side_by_side(c: Comparison, runs: Sequence[str]) -> Table:
    first = c.audits[c.baseline]
    table = _table("index", shown(c.baseline, most=12))
    interval = f"{words.percent(first.level)} interval"
    for run in runs:
        for heading in (shown(run, most=12), "difference", interval, ""):
            table.add_column(Text(heading), justify="right" if heading else "left", overflow="fold")
    for name in names(first):
        cells: list[Text] = []
        for run in runs:
            d = c.differences[run].get(name)
            cells += _cells(getattr(c.audits[run], name), d, lower=INDICES[name].lower_is_better)
        table.add_row(Text(name), words.digits(getattr(first, name)), *cells)
    return table


def _cells(value: float | None, d: Difference | None, *, lower: bool) -> list[Text]:
    """A run's value, its difference to the first run with its interval, and whether that is for the better."""
    if d is None:
        return [Text(words.digits(value)), Text("–"), Text("–"), Text("")]
    way = words.verdict(d)
    word, style = (
        ("unclear", "dim")
        if way == "unclear"
        else ("better", "green")
        if (way == "lower") == lower
        else ("worse", "red")
    )
    texts = (words.digits(value), f"{d.value:+.4g}", words.ends((d.low, d.high)), word)
    return [Text(text, style=style if i else "") for i, text in enumerate(texts)]


def names(a: Audit) -> list[str]:
    """The indices that an audit holds, in the catalogue's order.

    >>> from evenkeel.indices import LossTable, audit
    >>> names(audit(LossTable.of(loss=[1.0]), draws=0))[:3]
    ['mean', 'min', 'max']
    """
    return [name for name in INDICES if getattr(a, name, None) is not None]


def _filled(text: str, a: Audit) -> str:
    """A meaning with this audit's numbers in place of the letters."""
    return text.replace("α", words.percent(a.alpha)).replace("β", words.percent(a.beta)).replace("φ", f"{a.phi:g}")


def _table(*headings: str) -> Table:
    """A table whose first column is text and the others numbers; what does not fit is folded, never cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, heading in enumerate(headings):
        table.add_column(Text(shown(heading)), justify="right" if place else "left", overflow="fold")
    return table


def _sentence(text: str, before: str = "") -> Text:
    return Text(before + text, style="bold")


def _conditions(a: Audit) -> Text:
    """What every number rests on."""
    counted = "each client counts the same" if a.weighting == "clients" else "clients count by size"
    made = f"{a.draws:,} bootstrap draws ({a.method}), seed {a.seed}" if a.method else "no intervals"
    tails = f"A = CVaR({a.alpha:.4g}), B = CVaR({a.beta:.4g}), φ = {a.phi:g}"
    about = f"Population: {shown(a.population, most=200)}; split: {shown(a.split)}; {counted}; {tails}; {made}."
    return Text(about, style="dim")
