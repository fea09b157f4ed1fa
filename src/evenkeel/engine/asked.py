"""Who is asked and who is there, and what makes a reply unfit: the same for every in-process transport."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.draws import uniform
from evenkeel.errors import InputError, NobodyAnsweredError, RunFailedError
from evenkeel.protocol import Ask, Key

Ids = NDArray[np.int64]
Attendance = Callable[[Key, str, Ids], Ids]


@dataclass(frozen=True, slots=True)
class Absent:
    """Attendance in which a client stays away for a whole round with probability p.

    >>> here = Absent(0.5)(Key(0, 1), "probe", np.arange(1000))
    >>> bool(np.array_equal(here, Absent(0.5)(Key(0, 1), "local", np.arange(1000)))), 400 < len(here) < 600
    (True, True)
    """

    p: float

    def __call__(self, key: Key, phase: str, ids: Ids) -> Ids:
        return ids[uniform(key, "absent", ids) >= self.p]


@dataclass(frozen=True, slots=True)
class All:
    """Attendance of those that each of several attendances lets in."""

    of: tuple[Attendance, ...]

    def __call__(self, key: Key, phase: str, ids: Ids) -> Ids:
        for attendance in self.of:
            ids = attendance(key, phase, ids)
        return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The clients that will answer an ask, their weights, and their rows of each `each` value."""

    ids: Ids
    weights: NDArray[np.float64] | None
    each: Mapping[str, Any]


def _checked(who: Ids | None, n: int) -> Ids:
    ids = np.arange(n) if who is None else np.asarray(who, dtype=np.int64)
    if len(ids) and (ids[0] < 0 or ids[-1] >= n or bool((np.diff(ids) <= 0).any())):
        raise InputError(f"who = {ids.tolist()}: must be ascending client numbers from 0 to {n - 1}, each once")
    return ids


def asked(ask: Ask, key: Key, n: int, attendance: Attendance | None) -> Asked:
    """Resolve `who`, weights and attendance.

    >>> asked(Ask("probe", who=np.array([1, 2])), Key(0, 0), 3, None).ids.tolist()
    [1, 2]
    """
    ids = _checked(ask.who, n)
    for name, value in {"weights": ask.weights, **ask.each}.items():
        if value is not None and len(value) != len(ids):
            raise InputError(f"{name}: {len(value)} rows for {len(ids)} clients asked; give one a client asked")
    here = ids if attendance is None else _checked(attendance(key, ask.phase, ids), n)
    if len(here) == 0:
        raise NobodyAnsweredError(f"round {key.round}: no client answered {ask.phase!r}; the last good state is kept")
    at = np.searchsorted(ids, here)
    if not np.array_equal(ids[np.minimum(at, len(ids) - 1)], here):
        raise InputError(
            f"attendance in {ask.phase!r}: named clients that were not asked; return some of the ids given"
        )
    weights = None if ask.weights is None else np.asarray(ask.weights, dtype=np.float64)[at]
    each = {name: value if len(at) == len(ids) else rows_at(value, at) for name, value in ask.each.items()}
    return Asked(ids=here, weights=weights, each=each)


def rows_at(values: Any, at: Ids) -> Any:  # noqa: ANN401 — an array or a tensor, and the same back
    """Rows of an array or of a tensor on any device; an index on the host would be copied there unseen.

    >>> rows_at(torch.arange(3) * 10, np.array([2, 0])).tolist()
    [20, 0]
    """
    return values[torch.from_numpy(at).to(values.device)] if isinstance(values, Tensor) else values[at]


def demand_finite(ids: Ids, names: Sequence[str], key: Key, **replies: NDArray[np.float64] | Tensor) -> None:
    """Raise if a reply (one row a client in `ids`) is not finite, and say whose.

    >>> demand_finite(np.array([0, 1]), ("a", "b"), Key(0, 7), loss=np.array([1.0, np.nan]))
    Traceback (most recent call last):
    evenkeel.errors.RunFailedError: diverged: client 'b' round 7 loss nan; the last good state is kept
    """
    for name, values in replies.items():
        rows = torch.as_tensor(values).reshape(len(ids), -1)
        wrong = ~torch.isfinite(rows)
        if wrong.any():
            first = int(wrong.any(1).nonzero()[0])
            bad = float(rows[first][wrong[first]][0])
            raise RunFailedError(
                f"diverged: client {names[ids[first]]!r} round {key.round} {name} {bad}; the last good state is kept"
            )
