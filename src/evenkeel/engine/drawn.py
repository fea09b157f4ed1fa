"""The mini-batches of a whole chunk: the same rows and masks that each client would draw alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.draws import batches
from evenkeel.engine.chunks import Chunk
from evenkeel.engine.table import Ids, Table
from evenkeel.protocol import Key
from evenkeel.tasks import Dropped, Task, draw_masks

_MASK_BYTES = 2**24  # masks of several steps are drawn together up to this size: a call costs more than its numbers


@dataclass(frozen=True, slots=True)
class Batch:
    """One step of the first `active` clients of a chunk: (clients, slots) places, row factors, and masks."""

    places: Tensor
    factor: Tensor
    masks: tuple[Tensor, ...]

    @property
    def active(self) -> int:
        """The number of clients that take this step."""
        return len(self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """All steps of a chunk. Clients come largest first, so those that still take step j are always a prefix."""

    places: Tensor
    factor: Tensor
    steps: Ids
    key: Key
    phase: str
    ids: Ids
    dropped: tuple[Dropped, ...]
    task: Task  # its dtype and device are those of the masks

    def __iter__(self) -> Iterator[Batch]:
        clients, most, slots = self.places.shape
        units = sum(int(np.prod(d.shape)) for d in self.dropped)
        ahead = max(1, _MASK_BYTES // max(1, clients * slots * units * self.factor.itemsize))
        masks: tuple[Tensor, ...] = ()
        for j in range(most):
            if self.dropped and j % ahead == 0:
                some = range(j, min(j + ahead, most))
                drawn = draw_masks(self.key, self.phase, self.ids, some, slots, self.dropped, self.task.dtype)
                masks = tuple(m.to(self.task.device) for m in drawn)
            a = int((self.steps > j).sum())
            yield Batch(self.places[:a, j], self.factor[:a, j], tuple(m[:a, j % ahead] for m in masks))


def drawn(table: Table, chunk: Chunk, key: Key, phase: str, *, dropout: tuple[Dropped, ...], **how: int) -> Drawn:
    """The batches of `evenkeel.draws` for this chunk, as places in the table; factors include the row weights."""
    task: Task = table.task
    numbers = table.first + chunk.ids
    plan = batches(key, phase, numbers, table.sizes[chunk.ids], **how)
    places = table.indices(plan.rows + table.offsets[chunk.ids][:, None, None])
    return Drawn(
        places=places,
        factor=_factors(table, places, plan.weight),
        steps=plan.steps,
        key=key,
        phase=phase,
        ids=numbers,
        dropped=dropout,
        task=task,
    )


def _factors(table: Table, places: Tensor, weight: NDArray[np.float64]) -> Tensor:
    factor = torch.from_numpy(weight).to(table.task.device, table.task.dtype)
    return factor if table.weight is None else factor * table.factors(places)
