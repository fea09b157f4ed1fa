"""Row tables: which rows of one shared array belong to which client. Nothing is copied per client."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """Client i owns `rows[offsets[i]:offsets[i + 1]]`. `note` says what had to be bent to make them, if anything.

    >>> s = Shards.of([[4, 1], [0]])
    >>> s.n, s.sizes.tolist(), s[0].tolist()
    (2, [2, 1], [4, 1])
    """

    rows: Rows
    offsets: Rows
    note: str = ""

    @classmethod
    def of(cls, lists: Sequence[Sequence[int] | Rows]) -> "Shards":
        """Build from one list of row numbers a client."""
        parts = [np.asarray(rows, dtype=np.int64) for rows in lists]
        sizes = np.array([len(p) for p in parts], dtype=np.int64)
        return cls(
            rows=np.concatenate(parts) if parts else np.empty(0, np.int64),
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        )

    @property
    def n(self) -> int:
        """The number of clients."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Rows:
        """Rows of each client."""
        return np.diff(self.offsets)

    def __getitem__(self, client: int) -> Rows:
        return self.rows[self.offsets[client] : self.offsets[client + 1]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """All rows once, and who trains and validates on which of them.

    `first` is the number of the first client where these are only some of all: draws are keyed by a client's number.

    `classes` is 0 for regression. `row_weight` multiplies each row's loss; None is 1 for every row. `origin` says in
    words which data, partition and split this is, so that every number can say what it was measured on. `digest` is
    that of the files where rows are mapped from disk (`evenkeel.data.mapped`): then nobody copies or hashes them all.
    """

    x: torch.Tensor
    y: torch.Tensor
    train: Shards
    valid: Shards
    names: Sequence[str]
    classes: int
    row_weight: torch.Tensor | None = None
    origin: str = ""
    first: int = 0
    digest: str = ""

    @property
    def n(self) -> int:
        """The number of clients."""
        return self.train.n
