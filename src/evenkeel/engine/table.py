"""The rows of all clients, client after client, so that a chunk of clients is a slab of rows."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.clients import Part
from evenkeel.data.shards import Federation, Shards
from evenkeel.tasks import Task

Ids = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Client i's rows are the places offsets[i] to offsets[i + 1]; place p is row `rows[p]` of x, or p itself.

    Draws are keyed by first + i, the client's number in the whole federation.
    """

    task: Task
    x: Tensor
    y: Tensor
    weight: Tensor | None
    rows: Tensor | None
    offsets: Ids
    first: int = 0

    @classmethod
    def of(cls, task: Task, federation: Federation, shards: Shards, *, copy: bool) -> "Table":
        """The rows of one split; `copy` lays them out client after client, else they are gathered when needed."""
        rows = torch.from_numpy(shards.rows).to(federation.x.device)
        part = Part.of(task, federation, shards.rows) if copy else None
        return cls(
            task=task,
            x=federation.x if part is None else part.x,
            y=federation.y if part is None else part.y,
            weight=federation.row_weight if part is None else part.weight,
            rows=rows if part is None else None,
            offsets=shards.offsets,
            first=federation.first,
        )

    @cached_property
    def sizes(self) -> Ids:
        """Rows of each client; made once, as an ask of a thousand clients must not cost what a million do."""
        return np.diff(self.offsets)

    @cached_property
    def most(self) -> int:
        """Rows of the largest client."""
        return int(self.sizes.max())

    @cached_property
    def empty(self) -> Ids:
        """Clients without rows."""
        return np.flatnonzero(self.sizes == 0)

    def indices(self, places: Ids) -> Tensor:
        """Places as a tensor that may index x, brought to where x is once for all steps."""
        return torch.from_numpy(places).to(self.x.device)

    def places(self, ids: Ids) -> Ids:
        """The places of these clients' rows, client after client.

        >>> from evenkeel.tasks import build
        >>> data = Federation(x=torch.zeros(6, 1), y=torch.zeros(6), train=Shards.of([[0, 1], [2], [3, 4, 5]]),
        ...                   valid=Shards.of([[], [], []]), names=("a", "b", "c"), classes=0)
        >>> Table.of(build("linear", (1,), 0), data, data.train, copy=False).places(np.array([0, 2])).tolist()
        [0, 1, 3, 4, 5]
        """
        return np.concatenate([np.arange(self.offsets[i], self.offsets[i + 1]) for i in ids] or [np.empty(0, np.int64)])

    def block(self, first: int, last: int) -> Part:
        """The rows at places first to last: a view where the rows were copied."""
        if self.rows is not None:
            return self.take(torch.arange(first, last, device=self.x.device))
        weight = None if self.weight is None else self.weight[first:last]
        return Part(x=self.x[first:last], y=self.y[first:last], weight=weight)

    def factors(self, places: Tensor) -> Tensor:
        """The row weights at these places (of any shape); only where there are weights."""
        if self.weight is None:
            raise ValueError("a table without row weights")
        at = places if self.rows is None else self.rows[places]
        return self.weight[at.to(self.weight.device)].to(self.task.device, self.task.dtype)

    def take(self, places: Tensor) -> Part:
        """The rows at these places, brought to the task's device and dtype."""
        weight = None if self.weight is None else self.factors(places)
        return Part(x=self.inputs(places), y=self.targets(places), weight=weight)

    def inputs(self, places: Tensor, out: Tensor | None = None) -> Tensor:
        """x at these places, into `out` where it fits there."""
        at = self._at(places)
        if out is not None and out.dtype == self.x.dtype and out.device == self.x.device:
            return torch.index_select(self.x, 0, at, out=out)
        return self.task.fit(self._picked(self.x, at))

    def targets(self, places: Tensor) -> Tensor:
        """y at these places."""
        return self.task.fit(self._picked(self.y, self._at(places)))

    def _picked(self, values: Tensor, at: Tensor) -> Tensor:
        """Rows of x or y; on their way from the host to a CUDA device they go through pinned memory."""
        if values.device.type != "cpu" or torch.device(self.task.device).type != "cuda":
            return values.index_select(0, at)
        pinned = torch.empty(len(at), *values.shape[1:], dtype=values.dtype, pin_memory=True)
        return torch.index_select(values, 0, at, out=pinned)

    def _at(self, places: Tensor) -> Tensor:
        return (places if self.rows is None else self.rows[places]).to(self.x.device)
