"""One client's own rows."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evenkeel.data.shards import Federation, Rows
from evenkeel.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some rows: x, y, and a factor on each row's loss (None is 1)."""

    x: Tensor
    y: Tensor
    weight: Tensor | None = None

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.x)

    def take(self, rows: Rows) -> "Part":
        """These rows of the part, in this order."""
        at = torch.from_numpy(np.ascontiguousarray(rows)).to(self.x.device)
        return Part(x=self.x[at], y=self.y[at], weight=None if self.weight is None else self.weight[at])

    @classmethod
    def of(cls, task: Task, federation: Federation, rows: Rows) -> "Part":
        """These rows of the federation, brought to the task's device and dtype."""
        whole = cls(x=federation.x, y=federation.y, weight=federation.row_weight).take(rows)
        weight = None if whole.weight is None else whole.weight.to(task.device, task.dtype)
        return cls(x=task.fit(whole.x), y=task.fit(whole.y), weight=weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client: `id` is its number in the whole federation (all its draws are keyed by it)."""

    id: int
    name: str
    train: Part
    valid: Part

    @classmethod
    def of(cls, task: Task, federation: Federation, i: int) -> "Client":
        """Client i of a federation, numbered from its `first`."""
        return cls(
            id=federation.first + i,
            name=federation.names[i],
            train=Part.of(task, federation, federation.train[i]),
            valid=Part.of(task, federation, federation.valid[i]),
        )
