"""What runs at a worker: an engine over its own clients. Nothing here knows Ray."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel.cluster.part import digest, part
from evenkeel.data.shards import Federation
from evenkeel.engine import Engine
from evenkeel.errors import RunFailedError
from evenkeel.protocol import Ask, Key, Scalar
from evenkeel.tasks import Task

Load = Callable[[], Federation]


class Question(NamedTuple):
    """An ask without its shared vectors, for one worker: `who` and rows count from the worker's first client."""

    phase: str
    config: Mapping[str, Scalar]
    who: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None
    each: Mapping[str, NDArray[Any]]
    names: tuple[str, ...]  # of the shared vectors that come with it
    probe: int = 0  # the number of this probe, or of the last one at this θ; 0 is none


class Answer(NamedTuple):
    """Scalars one a client; vectors one a client, or their weighted sum."""

    scalars: Mapping[str, NDArray[np.float64]]
    vectors: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a worker begins with: clients `first` to `last`; `rows` are theirs, or make those of everybody there."""

    first: int
    last: int
    expected: str  # the digest that rows must have that were made where they are used
    memory: int

    def of(self, rows: Federation | Load) -> Federation:
        """The clients' own rows."""
        if isinstance(rows, Federation):
            return rows
        own = part(rows(), self.first, self.last)
        if digest(own) != self.expected:
            raise RunFailedError(
                f"clients {self.first} to {self.last - 1}: the data at this worker are other ones than where the run "
                "was started; make the files the same on every node, then resume"
            )
        return own


class Worker:
    """An engine of one thread, once it has begun. Its process may be another one than it was at the last ask."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.probe = 0

    def ready(self) -> int:
        """The process, once there is one."""
        return os.getpid()

    def begin(self, share: Share, task: Task, rows: Federation | Load) -> bool:
        """Get the rows, and forget what was."""
        torch.set_num_threads(1)
        self.engine = Engine(task, share.of(rows), memory=share.memory, workers=1)
        self.probe = 0
        return True

    def answer(self, q: Question, key: Key, *shared: NDArray[Any]) -> Answer | None:
        """The replies of the clients asked; None where this process has not begun, or not seen the last probe."""
        probing = q.phase == "probe"
        if self.engine is None or not (probing or q.probe in {0, self.probe}):
            return None
        device = self.engine.task.device
        ask = Ask(
            phase=q.phase,
            shared={name: tensor(value).to(device) for name, value in zip(q.names, shared, strict=True)},
            each={name: tensor(value).to(device) for name, value in q.each.items()},
            who=q.who,
            weights=q.weights,
            config=q.config,
        )
        values = self.engine.answer(ask, key).values
        self.probe = q.probe if probing else self.probe
        return Answer(
            {name: value for name, value in values.items() if isinstance(value, np.ndarray)},
            {name: value.cpu().numpy() for name, value in values.items() if isinstance(value, torch.Tensor)},
        )


def tensor(value: NDArray[Any]) -> torch.Tensor:
    """A tensor of its own: what comes through shared memory may not be written to.

    >>> frozen = np.zeros(2); frozen.flags.writeable = False
    >>> tensor(frozen).add_(1).tolist()
    [1.0, 1.0]
    """
    return torch.from_numpy(np.array(value))
