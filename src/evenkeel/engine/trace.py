"""Availability traces: who is there in which round, read from a file. A trace repeats after its last round.

A `.npy` file is a table of truth values, one row a round and one column a client; it is mapped, not read. A `.csv` or
`.parquet` file has one row a stay: `client` (a name, or a number from 0), `first` and `last`, the rounds that it stays
from and to. A client that the file does not name is never there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenkeel.engine.asked import Attendance, Ids
from evenkeel.errors import InputError
from evenkeel.protocol import Key


@dataclass(frozen=True, slots=True)
class Grid:
    """Attendance by a table of truth values (rounds, clients).

    >>> Grid(np.array([[1, 0, 1], [0, 0, 1]]))(Key(0, 3), "probe", np.array([0, 2])).tolist()
    [2]
    """

    there: NDArray[np.bool_] | NDArray[np.uint8]

    def __call__(self, key: Key, phase: str, ids: Ids) -> Ids:
        here: Ids = ids[self.there[key.round % len(self.there)][ids] != 0]
        return here


@dataclass(frozen=True, slots=True)
class Trace:
    """Attendance by stays, which may overlap: `first` and `last` of each, ordered by (client, first).

    >>> trace = Trace.of(np.array([0, 0, 1]), np.array([0, 4, 2]), np.array([1, 5, 3]))
    >>> [trace(Key(0, r), "probe", np.arange(3)).tolist() for r in (1, 2, 5, 6)]      # 6 is 0 again
    [[0], [1], [0], [0]]
    """

    starts: Ids  # client · rounds + first
    last: Ids  # the latest last round of this stay and of those of the client before it
    rounds: int

    @classmethod
    def of(cls, client: Ids, first: Ids, last: Ids) -> "Trace":
        """From one entry a stay, in any order."""
        rounds = int(last.max()) + 1
        order = np.lexsort((first, client))
        ends = np.maximum.accumulate(client[order] * rounds + last[order])  # a later client's stays end later
        return cls(client[order] * rounds + first[order], ends, rounds)

    def __call__(self, key: Key, phase: str, ids: Ids) -> Ids:
        now = ids * self.rounds + key.round % self.rounds
        stay = np.searchsorted(self.starts, now, side="right") - 1
        return ids[(stay >= 0) & (self.last[np.maximum(stay, 0)] >= now)]


def read_trace(path: str | Path, names: Sequence[str]) -> Attendance:
    """The attendance of a file, for clients of these names."""
    file, n = Path(path), len(names)
    try:
        if file.suffix == ".npy":
            return _grid(np.load(file, mmap_mode="r"), file, n)
        table = pl.read_parquet(file) if file.suffix == ".parquet" else pl.read_csv(file)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
        raise InputError(f"{file}: is no trace ({reason}); give a .npy, .csv or .parquet file") from None
    missing = [name for name in ("client", "first", "last") if name not in table.columns]
    if missing or table.is_empty():
        raise InputError(f"{file}: has {missing or 'no rows'}: must have columns client, first and last, a row a stay")
    first, last = (_rounds(table[name], file) for name in ("first", "last"))
    if bool((last < first).any()):
        raise InputError(f"{file}: row {int((last < first).argmax())} ends before it begins; swap the two")
    return Trace.of(_numbers(table["client"], names, file), first, last)


def _grid(there: NDArray[np.bool_], file: Path, n: int) -> Grid:
    if there.dtype not in (np.bool_, np.uint8) or there.ndim != 2 or there.shape[1] != n or not len(there):
        rule = f"must be truth values, one row a round and {n} columns, one a client"
        raise InputError(f"{file}: {there.dtype} of shape {there.shape}: {rule}")
    return Grid(there)


def _rounds(column: pl.Series, file: Path) -> Ids:
    if not column.dtype.is_integer() or column.null_count() or (low := column.min()) is None or int(str(low)) < 0:
        raise InputError(f"{file}: column {column.name!r}: must hold whole numbers from 0, none missing")
    return column.cast(pl.Int64).to_numpy()


def _numbers(column: pl.Series, names: Sequence[str], file: Path) -> Ids:
    """Clients as numbers; names are looked up once."""
    if column.dtype.is_integer():
        numbers = _rounds(column, file)
    else:
        known = pl.DataFrame({"client": list(names), "number": np.arange(len(names))})
        found = column.cast(pl.String).alias("client").to_frame().join(known, on="client", how="left")["number"]
        numbers = found.fill_null(-1).to_numpy()
    wrong = (numbers < 0) | (numbers >= len(names))
    if bool(wrong.any()):
        name = column[int(wrong.argmax())]
        raise InputError(f"{file}: client {name!r}: there is no such client; the first is {names[0]!r}")
    return numbers
