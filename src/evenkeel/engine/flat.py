"""Flat passes over rows at a shared θ: nothing is stacked, rows are cut into blocks, each client gets its mean."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.clients import Part
from evenkeel.engine.asked import Ids
from evenkeel.engine.path import Path
from evenkeel.engine.table import Table
from evenkeel.tasks.losses import SCORES

_BLOCK_BYTES = 2**22  # rows of a block: they stay in the cache, and sgemm was fastest there (docs/decisions/0006)
Means = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat:
    """Passes over these clients' rows of one table, a block a worker."""

    path: Path
    table: Table
    pool: Executor
    ids: Ids

    def losses(self, theta: Tensor) -> Means:
        """Each client's mean loss; the path keeps what it can use again at this θ."""
        kept = self.path.kept
        columns = kept.columns(int(self.table.offsets[-1])) if self.everyone else None

        def rows(part: Part, at: slice) -> Tensor:
            losses, _ = self.path.evaluate(theta, part, None if columns is None else columns[:, at])
            return (losses if part.weight is None else losses * part.weight)[:, None]

        found = self._means(rows, 1)
        kept.first = columns
        return found[:, 0]

    def scores(self, theta: Tensor) -> tuple[Means, Means]:
        """Each client's mean loss and mean score; NaN without rows."""
        kind = self.table.task.kind

        def rows(part: Part, at: slice) -> Tensor:
            losses, out = self.path.evaluate(theta, part)
            return torch.stack([losses if part.weight is None else losses * part.weight, SCORES[kind](out, part.y)], 1)

        found = self._means(rows, 2)
        return found[:, 0], found[:, 1]

    @property
    def everyone(self) -> bool:
        """Whether no client of the table is left out."""
        return len(self.ids) == len(self.table.sizes)

    def _means(self, rows: Callable[[Part, slice], Tensor], columns: int) -> Means:
        sizes = self.table.sizes[self.ids]
        places = None if self.everyone else self.table.indices(self.table.places(self.ids))
        device = self.table.task.device  # the rows' losses come to the host once, not block by block
        values = torch.empty(int(sizes.sum()), columns, dtype=torch.float64, device=device)

        def block(at: slice) -> None:
            part = self.table.block(at.start, at.stop) if places is None else self.table.take(places[at])
            with torch.no_grad():
                values[at] = rows(part, at)

        list(self.pool.map(block, blocks(self.table, len(values))))
        return means(values.cpu().numpy(), sizes)


def blocks(table: Table, rows: int) -> list[slice]:
    """So many rows in blocks that fit the cache."""
    size = max(64, min(8192, _BLOCK_BYTES // max(1, table.x[:1].nbytes)))
    return [slice(a, min(a + size, rows)) for a in range(0, rows, size)]


def means(values: Means, sizes: Ids) -> Means:
    """The mean of each client's consecutive rows; NaN for a client without any.

    >>> means(np.array([[1.0], [3.0], [5.0]]), np.array([2, 0, 1])).ravel().tolist()
    [2.0, nan, 5.0]
    """
    result = np.full((len(sizes), values.shape[1]), np.nan)
    some = sizes > 0
    if some.any():
        first = (np.cumsum(sizes) - sizes)[some]
        result[some] = np.add.reduceat(values, first, axis=0) / sizes[some, None]
    return result
