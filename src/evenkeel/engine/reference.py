"""The path of last resort: the client steps themselves, one client after the other."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evenkeel.clients import Client, Part, answer_one
from evenkeel.data.shards import Federation
from evenkeel.engine.chunks import Chunk, Results
from evenkeel.engine.kept import Kept
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import Task


@dataclass(frozen=True, slots=True)
class Reference:
    """For models that `vmap` cannot take (recurrent cells, control flow that looks at the data)."""

    task: Task
    federation: Federation
    kept: Kept

    def per_chunk(self, rows: int) -> int:
        """A few clients: nothing is gained by more at once."""
        return 8

    def evaluate(self, theta: Tensor, part: Part, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Row losses and outputs, dropout off."""
        return self.task.losses_and_outputs(theta, part.x, part.y)

    def answer(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """Each client's own answer."""
        replies = []
        for k, i in enumerate(chunk.ids):
            own = ask._replace(each={name: rows[k] for name, rows in chunk.each.items()})
            replies.append(answer_one(self.task, Client.of(self.task, self.federation, int(i)), own, key))
        vectors = {name for name, value in replies[0].items() if isinstance(value, Tensor)}
        return Results(
            {name: np.array([r[name] for r in replies], np.float64) for name in replies[0] if name not in vectors},
            {name: chunk.total(torch.stack([r[name] for r in replies])) for name in vectors},
        )
