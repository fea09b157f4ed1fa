"""Several runs side by side: each run's audit, and the difference of each index to the first run with its interval."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from evenkeel.errors import InputError
from evenkeel.indices.audits import AUDITED, Audit, audit, plain, spoken
from evenkeel.indices.bootstrap import Evaluate, counts, percentile, repeat
from evenkeel.indices.sample import Options, Room, Sample, Settings, evaluate, plan
from evenkeel.indices.table import LossTable

_PAIRED, _FIRST, _OTHER = 1, 2, 3  # streams of draws; the audits have stream 0


class Difference(NamedTuple):
    """An index of a run less that of the first run, with its percentile interval; NaN where both are infinite.

    `low` and `high` are NaN where there are no draws, or where any draw has no difference.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Runs in the order given; `baseline` is the first.

    `differences[run][index]` is for every run but the first. Where `paired[run]`, the run has the same clients as the
    baseline and each draw takes the same ones from both; otherwise both are drawn on their own. `notes` name what
    makes the runs hard to compare.
    """

    baseline: str
    audits: Mapping[str, Audit]
    differences: Mapping[str, Mapping[str, Difference]]
    paired: Mapping[str, bool]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON takes it, numbers as in `Audit.to_dict`."""
        worst = self.audits[self.baseline].worst
        differences = {
            run: {spoken(name, worst): plain(tuple(d)) for name, d in held.items()}
            for run, held in self.differences.items()
        }
        return {
            "baseline": self.baseline,
            "audits": {run: a.to_dict() for run, a in self.audits.items()},
            "differences": differences,
            "paired": dict(self.paired),
            "notes": list(self.notes),
        }


def compare(tables: Mapping[str, LossTable], **options: Unpack[Options]) -> Comparison:
    """Every run's audit, and each index's difference to the first run. Keywords as for `audit`.

    >>> runs = {"plain": LossTable.of(loss=[1.0, 2.0, 3.0]), "fair": LossTable.of(loss=[2.0, 2.0, 3.0])}
    >>> c = compare(runs, draws=200)
    >>> c.paired, c.differences["fair"]["min"].value
    ({'fair': True}, 1.0)
    """
    if not tables:
        raise InputError("compare: no runs; give at least one table by name")
    settings = Settings(**options)
    baseline, *others = tables
    paired = {run: set(tables[run].client.tolist()) == set(tables[baseline].client.tolist()) for run in others}
    return Comparison(
        baseline=baseline,
        audits={run: audit(table, **options) for run, table in tables.items()},
        differences={run: _differences(tables[baseline], tables[run], settings, paired[run]) for run in others},
        paired=paired,
        notes=_notes(tables),
    )


def _differences(first: LossTable, other: LossTable, settings: Settings, paired: bool) -> dict[str, Difference]:
    both = first.accuracy is not None and other.accuracy is not None
    chosen = plan(AUDITED, settings, accuracy=both)
    one, two = Sample.of(first, settings.weighting), Sample.of(other, settings.weighting)
    point = _gap(evaluate(chosen, two), evaluate(chosen, one))
    if settings.draws == 0 or max(one.n, two.n) == 1:
        return {name: Difference(value, math.nan, math.nan) for name, value in zip(chosen, point, strict=True)}
    seat_one, seat_two = _seats(first, one), _seats(other, two)

    def worker() -> Evaluate:
        room_one, room_two = Room.of(one.n), Room.of(two.n)

        def once(draw: int) -> list[float]:
            a = counts(one.n, settings.seed, draw, _PAIRED if paired else _FIRST)
            b = a if paired else counts(two.n, settings.seed, draw, _OTHER)
            drawn_one, drawn_two = one.times(a[seat_one], room_one), two.times(b[seat_two], room_two)
            return _gap(evaluate(chosen, drawn_two), evaluate(chosen, drawn_one))

        return once

    values = repeat(worker, settings.draws, max(one.n, two.n))
    ends = [(math.nan, math.nan) if np.isnan(v).any() else percentile(v, settings.level) for v in values.T]
    return {name: Difference(value, *end) for name, value, end in zip(chosen, point, ends, strict=True)}


def _seats(table: LossTable, sample: Sample) -> NDArray[np.intp]:
    """For each client in the order of losses, its place in the order of names, which paired runs share."""
    seat = np.empty(table.n, dtype=np.intp)
    seat[np.argsort(table.client, kind="stable")] = np.arange(table.n)
    return seat[sample.place]


def _gap(other: Sequence[float], first: Sequence[float]) -> list[float]:
    return [b - a for a, b in zip(first, other, strict=True)]


def _notes(tables: Mapping[str, LossTable]) -> tuple[str, ...]:
    notes = []
    for what in ("population", "split"):
        seen = {run: getattr(table, what) for run, table in tables.items()}
        if len(set(seen.values())) > 1:
            runs = {value: ", ".join(run for run, own in seen.items() if own == value) for value in seen.values()}
            notes.append(f"{what} differs: " + ", ".join(f"{names} {value!r}" for value, names in runs.items()))
    return tuple(notes)
