"""A figure as Markdown: its tables, printed against ours, notes and verdict, as the terminal shows them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # NumPy, the solver and the chart library are loaded when a figure is made, not for --help
    from evenkeel.paper import Figure, Table


def markdown(figure: "Figure") -> str:
    """The whole figure but its chart; a page of the handbook can take it as it is."""
    return "\n".join(_lines(figure))


def _lines(figure: "Figure") -> Iterator[str]:
    from evenkeel.paper import Table, verdict

    yield from (f"**{figure.title}**", "")
    for one in figure.tables:
        yield from _titled(one)
    against = tuple((c.what, c.printed, c.ours, "agrees" if c.agrees else "differs") for c in figure.claims)
    yield from _titled(Table(headings=("what", "printed", "ours", ""), rows=against))
    yield from (f"- {_cell(note)}" for note in figure.notes)
    yield from ([""] if figure.notes else [])
    yield f"Verdict: {verdict(figure.claims)}."


def _titled(own: "Table") -> Iterator[str]:
    if own.title:
        yield from (f"*{_cell(own.title)}*", "")
    yield from (*table(own.headings, own.rows), "")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A Markdown table; numbers stand to the right.

    >>> print("\\n".join(table(("name", "R"), [("a|b", "1.2"), ("c", "−.3")])))
    | name | R |
    |---|---:|
    | a\\|b | 1.2 |
    | c | −.3 |
    """
    numeric = [bool(rows) and all(_number(row[k]) for row in rows) for k in range(len(headings))]
    yield _row(headings)
    yield "|" + "|".join("---:" if own else "---" for own in numeric) + "|"
    yield from map(_row, rows)


def _number(cell: str) -> bool:
    return not cell or (cell.lstrip("-−+.")[:1].isdigit() and " … " not in cell)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Nothing that Markdown would take for its own."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
