"""One flat pass over the rows at a shared θ: the full loss of every client, and its scores."""

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.engine.asked import Ids
from evenkeel.engine.path import Path
from evenkeel.engine.table import Table
from evenkeel.tasks.losses import LOSSES, SCORES

_BLOCK_BYTES = 2**21  # rows of a block: they stay in the cache, and sgemm was fastest there (docs/decisions/0006)
Means = NDArray[np.float64]


def blocks(table: Table, rows: int) -> list[tuple[int, int]]:
    """Cut so many rows into blocks that fit the cache."""
    size = max(64, min(8192, _BLOCK_BYTES // max(1, table.x[:1].nbytes)))
    return [(a, min(a + size, rows)) for a in range(0, rows, size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Row losses (times the row's weight) and scores of some clients, as one mean a client; NaN without rows."""

    loss: Means
    score: Means


def flat_pass(path: Path, table: Table, pool: Executor, theta: Tensor, ids: Ids) -> Pass:
    """Outputs, losses and scores block by block; then one mean a client, summed in float64."""
    everyone = len(ids) == len(table.sizes)
    places = None if everyone else torch.from_numpy(table.places(ids))
    sizes = table.sizes[ids]
    loss, score = np.empty(int(sizes.sum())), np.empty(int(sizes.sum()))
    kind = table.task.kind

    def run(cut: tuple[int, int]) -> None:
        part = table.block(*cut) if places is None else table.take(places[cut[0] : cut[1]])
        with torch.no_grad():
            out = path.outputs(theta, part.x)
            losses = LOSSES[kind](out, part.y)
            loss[slice(*cut)] = (losses if part.weight is None else losses * part.weight).cpu()
            score[slice(*cut)] = SCORES[kind](out, part.y).cpu()

    list(pool.map(run, blocks(table, len(loss))))
    return Pass(loss=means(loss, sizes), score=means(score, sizes))


def means(values: Means, sizes: Ids) -> Means:
    """The mean of each client's consecutive values; NaN for a client without any.

    >>> means(np.array([1.0, 3.0, 5.0]), np.array([2, 0, 1])).tolist()
    [2.0, nan, 5.0]
    """
    result = np.full(len(sizes), np.nan)
    some = sizes > 0
    if some.any():
        first = (np.cumsum(sizes) - sizes)[some]
        result[some] = np.add.reduceat(values, first) / sizes[some]
    return result
