"""What a reproduction ends with: printed against ours, and a verdict that is computed from the two."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing the paper prints, what we found, and whether the two agree."""

    what: str
    printed: str
    ours: str
    agrees: bool


def number(what: str, printed: str, ours: float) -> Claim:
    """A printed number: ours agrees if it rounds to it, |ours − printed| ≤ half a unit of the last printed digit.

    >>> number("sum", "7.081", 7.08113883).agrees, number("sum", "7.082", 7.08113883).agrees
    (True, False)
    """
    decimals = len(printed.partition(".")[2])
    agrees = abs(ours - float(printed)) <= 0.5 * 10.0**-decimals
    return Claim(what=what, printed=printed, ours=f"{ours:.{decimals + 3}f}", agrees=bool(agrees))


def verdict(claims: Sequence[Claim]) -> str:
    """The claims counted.

    >>> verdict([number("sum", "7.081", 7.0811), number("sum", "7.105", 7.0811)])
    'agrees with the paper in 1 of 2 points'
    """
    held = sum(c.agrees for c in claims)
    if held == len(claims):
        return f"agrees with the paper in all {held} points"
    return f"agrees with the paper in {held} of {len(claims)} points"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of a result, as text, for a terminal."""

    title: str = ""
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure as we found it: numbers for the JSON, claims for the verdict, tables for a reader.

    `draw` makes the chart from `result` alone, so a stored result can be drawn again.
    """

    title: str
    draw: Callable[[Mapping[str, Any]], Any]
    claims: tuple[Claim, ...]
    result: Mapping[str, Any]
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every claim holds."""
        return all(c.agrees for c in self.claims)
