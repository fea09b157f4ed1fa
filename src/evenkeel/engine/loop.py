"""A plain loop over clients: slow, short, and the oracle of every other transport."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from evenkeel.clients import Client, answer_one
from evenkeel.data.shards import Federation
from evenkeel.engine.asked import Attendance, asked, demand_finite
from evenkeel.protocol import Ask, Key, Replies
from evenkeel.tasks import Task


@dataclass(frozen=True, slots=True)
class Loop:
    """The transport that asks one client after the other."""

    task: Task
    federation: Federation
    attendance: Attendance | None = None

    @property
    def n(self) -> int:
        """The number of clients."""
        return self.federation.n

    def answer(self, ask: Ask, key: Key) -> Replies:
        """Ask each client that is there, in ascending order."""
        who = asked(ask, key, self.n, self.attendance)
        scalars: dict[str, list[float]] = {}
        vectors: dict[str, Any] = {}
        for k, i in enumerate(who.ids):
            own = ask._replace(each={name: value[k] for name, value in who.each.items()})
            reply = answer_one(self.task, Client.of(self.task, self.federation, int(i)), own, key)
            if ask.phase != "score":  # there NaN means: no validation rows, or no accuracy
                rows = {name: torch.as_tensor(value)[None] for name, value in reply.items()}
                demand_finite(np.array([i]), self.federation.names, key, **rows)
            weight = None if who.weights is None else float(who.weights[k])
            for name, value in reply.items():
                if not isinstance(value, torch.Tensor):
                    scalars.setdefault(name, []).append(float(value))
                elif weight is None:
                    vectors.setdefault(name, []).append(value)
                else:
                    vectors[name] = vectors[name].add_(value, alpha=weight) if name in vectors else value * weight
        stacked = vectors if who.weights is not None else {name: torch.stack(v) for name, v in vectors.items()}
        return Replies(who.ids, {name: np.array(v, np.float64) for name, v in scalars.items()} | stacked)
