"""The audit: every index of one loss table with its interval, and who is worst off."""

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Unpack

import numpy as np

from evenkeel.indices.bootstrap import Evaluate, Interval, bca, counts, jackknife, percentile, repeat
from evenkeel.indices.catalogue import INDICES
from evenkeel.indices.inequality import lorenz_points
from evenkeel.indices.sample import Method, Options, Plan, Room, Sample, Settings, Weighting, evaluate, plan
from evenkeel.indices.table import LossTable

BCA_MOST = 2000  # clients; the jackknife takes one pass a client
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The indices of one table; `INDICES` says what each means, and `to_dict` gives them their stable names.

    `intervals` holds a bootstrap interval for each index but `min` and `max`, made by `method` (None: there are none).
    They say how the index would vary if other clients like these had come. The names with 20 stand for the share
    `worst`. `worst_off` are the clients with the largest loss, the largest first.
    """

    n: int
    mean: float
    min: float
    max: float
    R: float
    discrepancy: float
    absolute: float
    gini: float
    lorenz: tuple[tuple[float, float], ...]
    worst20_loss: float
    best20_loss: float
    worst20_accuracy: float | None = None
    best20_accuracy: float | None = None
    palma: float
    ratio_20_20: float
    atkinson_inf: float
    jain: float
    theil: float
    cv: float
    intervals: Mapping[str, Interval]
    population: str
    split: str
    group: str | None = None
    weighting: Weighting
    alpha: float
    beta: float
    phi: float
    worst: float
    method: Method | None
    draws: int
    level: float
    seed: int
    worst_off: tuple[tuple[str, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """The audit as JSON takes it: an infinite number is the string "inf", what was not measured is None.

        With a `worst` other than .2 the four names that carry a 20 carry that per cent instead.

        >>> audit(LossTable.of(loss=[0.0, 1.0]), draws=0).to_dict()["R"]
        'inf'
        """
        held = {spoken(f.name, self.worst): plain(getattr(self, f.name)) for f in fields(self)}
        held["intervals"] = {spoken(name, self.worst): plain(ends) for name, ends in self.intervals.items()}
        held["worst_off"] = [{"client": client, "loss": loss} for client, loss in self.worst_off]
        return held


AUDITED = tuple(f.name for f in fields(Audit) if f.name in INDICES)
_NO_INTERVAL = ("min", "max")  # a resample never reaches beyond the extremes seen, so its interval would mislead


def audit(table: LossTable, **options: Unpack[Options]) -> Audit:
    """Every index of one table, with bootstrap intervals over its clients.

    Keywords and defaults: alpha=0.2, beta=0.2, phi=0.0, weighting="clients" or "size", draws=1000, level=0.95,
    seed=0, method="bca" or "percentile", worst=0.2 (see `Settings`). BCa is used up to 2000 clients, percentile
    intervals beyond; `Audit.method` says which. One client alone has no intervals.

    >>> a = audit(LossTable.of(client=["a", "b", "c", "d"], loss=[1.0, 2.0, 3.0, 4.0]), alpha=0.25, beta=0.25)
    >>> a.R, a.gini, a.method, a.worst_off[0]
    (4.0, 0.25, 'bca', ('d', 4.0))
    """
    settings = Settings(**options)
    sample = Sample.of(table, settings.weighting)
    chosen = plan(AUDITED, settings, accuracy=table.accuracy is not None)
    point = evaluate(chosen, sample)
    method = _method(settings, table.n)
    return Audit(
        n=table.n,
        **dict(zip(chosen, point, strict=True)),  # type: ignore[arg-type]  # each a field that is a float
        lorenz=tuple(lorenz_points(sample.loss)),
        intervals=_intervals(chosen, sample, point, settings, method),
        population=table.population,
        split=table.split,
        weighting=settings.weighting,
        alpha=settings.alpha,
        beta=settings.beta,
        phi=settings.phi,
        worst=settings.worst,
        method=method,
        draws=settings.draws if method else 0,
        level=settings.level,
        seed=settings.seed,
        worst_off=_worst_off(table),
    )


def audit_by(table: LossTable, **options: Unpack[Options]) -> tuple[Audit, ...]:
    """One audit a group, in the groups' order of name; its `group` says which.

    >>> [(a.group, a.mean) for a in audit_by(LossTable.of(loss=[1.0, 5.0, 3.0], group=["x", "y", "x"]))]
    [('x', 2.0), ('y', 5.0)]
    """
    return tuple(replace(audit(part, **options), group=name) for name, part in table.by_group().items())


def _method(settings: Settings, n: int) -> Method | None:
    if settings.draws == 0 or n == 1:
        return None
    return settings.method if n <= BCA_MOST else "percentile"


def _intervals(
    chosen: Plan, sample: Sample, point: list[float], settings: Settings, method: Method | None
) -> dict[str, Interval]:
    if method is None:
        return {}

    def worker() -> Evaluate:
        room = Room.of(sample.n)
        return lambda draw: evaluate(
            chosen, sample.times(counts(sample.n, settings.seed, draw, room=room.counts), room)
        )

    values = repeat(worker, settings.draws, sample.n)
    if method == "percentile":
        ends = [percentile(column, settings.level) for column in values.T]
    else:
        left_out = jackknife(lambda keep: evaluate(chosen, sample.times(keep)), sample.n)
        ends = [bca(v, p, j, settings.level) for v, p, j in zip(values.T, point, left_out.T, strict=True)]
    return {name: end for name, end in zip(chosen, ends, strict=True) if name not in _NO_INTERVAL}


def _worst_off(table: LossTable) -> tuple[tuple[str, float], ...]:
    kth = np.partition(table.loss, -min(_SHOWN, table.n))[-min(_SHOWN, table.n)]
    rows = np.flatnonzero(table.loss >= kth).tolist()
    first = heapq.nsmallest(_SHOWN, rows, key=lambda row: (-table.loss[row], str(table.client[row])))
    return tuple((str(table.client[row]), float(table.loss[row])) for row in first)


def spoken(name: str, worst: float) -> str:
    """An index's name with the share it was really taken at.

    >>> spoken("worst20_loss", 0.1), spoken("ratio_20_20", 0.1)
    ('worst10_loss', 'ratio_20_20')
    """
    takes_worst = name in INDICES and INDICES[name].settings.get("share") == "worst"
    return name.replace("20", f"{worst * 100:g}") if takes_worst else name


def plain(value: object) -> object:
    """A value as strict JSON takes it: infinities are "inf" and "-inf", an undefined number None, tuples lists.

    >>> plain((1.0, math.inf, math.nan))
    [1.0, 'inf', None]
    """
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)
