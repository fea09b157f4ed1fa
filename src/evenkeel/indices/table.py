"""The loss table: one row a client. A table that exists has been checked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenkeel.errors import InputError
from evenkeel.indices.ranked import Vector

Names = NDArray[Any]  # an array of str, or of objects that are all str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossTable:
    """What was measured, on whom: `population` and `split` travel with every number computed from it.

    `loss` is finite and >= 0, `accuracy` a share in [0, 1], `size` the rows behind a client's loss (positive),
    `group` a label. Use `LossTable.of` for lists. Errors count rows from 1, without a header.

    >>> LossTable.of(client=["a", "b"], loss=[0.5, float("nan")])
    Traceback (most recent call last):
    evenkeel.errors.InputError: loss of client 'b' (row 2) is nan: must be finite and >= 0; drop or mend that client
    """

    client: Names
    loss: Vector
    accuracy: Vector | None = None
    size: Vector | None = None
    group: Names | None = None
    population: str = "all clients"
    split: str = "not stated"

    def __post_init__(self) -> None:
        _check_shapes(self)
        _check_names(self)
        _check_values(self)

    @classmethod
    def of(
        cls,
        *,
        client: Sequence[object] | Names | None = None,
        loss: ArrayLike,
        accuracy: ArrayLike | None = None,
        size: ArrayLike | None = None,
        group: Sequence[object] | Names | None = None,
        population: str = "all clients",
        split: str = "not stated",
    ) -> "LossTable":
        """A table from lists or arrays; without names the clients are called "0", "1", …

        >>> LossTable.of(loss=[0.5, 0.7], split="test").client.tolist()
        ['0', '1']
        """
        values = _numbers(loss, "loss")
        return cls(
            client=_labels(range(values.size) if client is None else client),
            loss=values,
            accuracy=None if accuracy is None else _numbers(accuracy, "accuracy"),
            size=None if size is None else _numbers(size, "size"),
            group=None if group is None else _labels(group),
            population=population,
            split=split,
        )

    @property
    def n(self) -> int:
        """The number of clients."""
        return self.loss.size

    def by_group(self) -> dict[str, "LossTable"]:
        """One table a group, in the groups' order of name.

        >>> t = LossTable.of(loss=[1.0, 2.0, 3.0], group=["x", "y", "x"])
        >>> {g: part.loss.tolist() for g, part in t.by_group().items()}
        {'x': [1.0, 3.0], 'y': [2.0]}
        """
        if self.group is None:
            raise InputError("group: the table has no such column; add one, or audit the table as a whole")
        names, which = np.unique(self.group, return_inverse=True)
        places = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
        return {str(name): _rows(self, at) for name, at in zip(names, places, strict=True)}


def _rows(table: LossTable, at: NDArray[np.intp]) -> LossTable:
    def part(column: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if column is None else column[at]

    return replace(
        table,
        client=table.client[at],
        loss=table.loss[at],
        accuracy=part(table.accuracy),
        size=part(table.size),
        group=part(table.group),
    )


def _numbers(values: ArrayLike, column: str) -> Vector:
    try:
        return np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{column}: not a list of numbers; give one number a client") from None


def _labels(values: Sequence[object] | Names) -> Names:
    held = np.asarray(values)
    if held.ndim == 1 and held.dtype.kind == "U":
        return held
    # An object array, not a fixed-width one: a single long name must not widen a million rows.
    labels = np.empty(len(values), dtype=object)
    labels[:] = ["" if v is None else str(v) for v in values]
    return labels


def _check_shapes(table: LossTable) -> None:
    if table.loss.ndim != 1 or table.loss.size == 0:
        raise InputError("loss: the table has no clients; give at least one row")
    for name in ("client", "accuracy", "size", "group"):
        column = getattr(table, name)
        if column is not None and column.shape != table.loss.shape:
            raise InputError(f"{name}: {len(column)} values for {table.n} losses; give one a client")


def _check_names(table: LossTable) -> None:
    _refuse(table, "client", table.client == "", "every client needs a name", "fill it in")
    if table.group is not None:
        _refuse(table, "group", table.group == "", "every client needs a group", "fill it in or drop the column")
    names = table.client.tolist()
    if len(set(names)) < len(names):
        first: dict[str, int] = {}
        row = next(row for row, name in enumerate(names) if first.setdefault(name, row) != row)
        raise InputError(
            f"client {names[row]!r} is in row {first[names[row]] + 1} and in row {row + 1}: one row a client; "
            "merge the rows, or audit each run as a table of its own"
        )


def _check_values(table: LossTable) -> None:
    loss, accuracy, size = table.loss, table.accuracy, table.size
    _refuse(table, "loss", ~(np.isfinite(loss) & (loss >= 0)), "must be finite and >= 0", "drop or mend that client")
    if accuracy is not None:
        outside = ~((accuracy >= 0) & (accuracy <= 1))
        _refuse(table, "accuracy", outside, "must lie in [0, 1]", "give shares, not per cent")
    if size is not None:
        _refuse(table, "size", ~(np.isfinite(size) & (size > 0)), "must be finite and > 0", "drop clients without rows")


def _refuse(table: LossTable, column: str, bad: NDArray[np.bool_], rule: str, remedy: str) -> None:
    if np.any(bad):
        row = int(np.argmax(bad))
        value = getattr(table, column)[row]
        shown = f"{value}" if isinstance(value, float) else repr(str(value))
        raise InputError(f"{column} of client {str(table.client[row])!r} (row {row + 1}) is {shown}: {rule}; {remedy}")
