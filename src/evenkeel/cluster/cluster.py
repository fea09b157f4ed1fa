"""The transport over Ray: shared vectors are put once, workers answer for their clients, sums follow their order."""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from evenkeel.cluster import link
from evenkeel.cluster.group import Group, Sent
from evenkeel.cluster.part import digest, edges, part
from evenkeel.cluster.worker import Answer, Load, Question, Share
from evenkeel.data.shards import Federation
from evenkeel.engine.asked import Asked, Attendance, asked
from evenkeel.protocol import Ask, Key, Replies
from evenkeel.tasks import Task


@dataclass(slots=True)
class Traffic:
    """Payload bytes since the start: vectors put for all, rows and weights for single workers, and what came back."""

    put: int = 0
    down: int = 0
    up: int = 0


@dataclass(frozen=True)
class Cluster:
    """Answers asks for all clients of a federation, and agrees with `Engine` up to the rounding of sums.

    `workers` cut the clients (`evenkeel.cluster.part.edges`); as many of them give the same bits, wherever they run.
    `load` makes the federation where it is used; without it each worker is sent its own rows, once. `memory` is what
    each worker may take beyond the data, in bytes. Nothing is started before the first ask; `close` ends it all.
    """

    task: Task
    federation: Federation
    _: KW_ONLY
    workers: int
    address: str | None = None
    load: Load | None = None
    memory: int = 2**31
    attendance: Attendance | None = None
    traffic: Traffic = field(default_factory=Traffic)
    _running: list[Group] = field(default_factory=list, repr=False)

    @property
    def n(self) -> int:
        """The number of clients."""
        return self.federation.n

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The first client of each worker, and the one after its last."""
        cuts = edges(self.federation.train.sizes, self.workers)
        return list(pairwise(cuts))

    @property
    def group(self) -> Group:
        """The running workers; the first use starts them."""
        if not self._running:
            gpus = torch.device(self.task.device).type == "cuda"
            ray = link.take(self.address, len(self.spans), self._store(), gpus=gpus)
            try:
                self._running.append(Group.start(ray, self._begins(ray), gpus=gpus))
            except BaseException:
                link.give_back()
                raise
        return self._running[0]

    def answer(self, ask: Ask, key: Key) -> Replies:
        """Ask the clients that are there, all workers at once."""
        who, group = asked(ask, key, self.n, self.attendance), self.group
        group.at(ask.shared["theta"])
        shared = tuple(self._put(value) for value in ask.shared.values())
        sent = {k: Sent(question, key, shared) for k, question in self._questions(ask, who)}
        answers = map(self._heard, group.ask(sent))
        return Replies(who.ids, gathered(answers, ask.shared["theta"], add=who.weights is not None))

    def close(self) -> None:
        """End the workers, and Ray with them if it was started for them."""
        while self._running:
            self._running.pop().end()
            link.give_back()

    def _begins(self, ray: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 — the module
        """What each worker begins with; its rows, where they are sent, lie here until all ends."""
        task = ray.put(replace(self.task))  # without the modules it has cached: those are this thread's
        whole = self.federation if self.load else replace(self.federation, digest="")  # mapped rows are sent as well
        for first, last in self.spans:
            own = part(whole, first, last)
            expected = "" if self.load is None else digest(own)
            share = Share(first=first, last=last, expected=expected, memory=self.memory)
            yield share, task, ray.put(own) if self.load is None else self.load

    def _store(self) -> int:
        """Bytes of shared memory: the θ-sized vectors of a round, and rows that are sent."""
        vectors = (6 + 2 * self.workers) * self.task.d * self.task.dtype.itemsize
        rows = self.federation.x.nbytes + self.federation.y.nbytes if self.load is None else 0
        return link.STORE + vectors + int(1.2 * rows)

    def _put(self, value: Tensor) -> Any:  # noqa: ANN401 — an array or a reference
        ref, fresh = self.group.put(value)
        self.traffic.put += fresh
        return ref

    def _heard(self, answer: Answer) -> Answer:
        self.traffic.up += sum(a.nbytes for held in answer for a in held.values())
        return answer

    def _questions(self, ask: Ask, who: Asked) -> Iterator[tuple[int, Question]]:
        """What each worker is asked that has any of these clients."""
        for k, (first, last) in enumerate(self.spans):
            at = slice(*np.searchsorted(who.ids, (first, last)))
            ids = who.ids[at] - first
            if not len(ids):
                continue
            question = Question(
                phase=ask.phase,
                config=dict(ask.config),
                who=None if len(ids) == last - first else ids,
                weights=None if who.weights is None else who.weights[at],
                each={name: _array(rows[at]) for name, rows in who.each.items()},
                names=tuple(ask.shared),
            )
            sent = (*question.each.values(), question.weights, question.who)
            self.traffic.down += sum(a.nbytes for a in sent if a is not None)
            yield k, question


def gathered(answers: Iterator[Answer], like: Tensor, *, add: bool) -> Mapping[str, Any]:
    """Scalars side by side, vectors side by side or added up: always in the order of the workers.

    >>> two = [Answer({"loss": np.array([float(k)])}, {"grad": np.ones(2) * k}) for k in (1, 2)]
    >>> found = gathered(iter(two), torch.zeros(1), add=True)
    >>> found["loss"].tolist(), found["grad"].tolist()
    ([1.0, 2.0], [3.0, 3.0])
    """
    scalars: dict[str, list[Any]] = {}
    vectors: dict[str, list[Tensor]] = {}
    for answer in answers:
        for name, scalar in answer.scalars.items():
            scalars.setdefault(name, []).append(scalar)
        for name, vector in answer.vectors.items():
            mine = torch.from_numpy(np.array(vector)).to(like.device)
            if add and name in vectors:
                vectors[name][0].add_(mine)
            else:
                vectors.setdefault(name, []).append(mine)
    joined = {name: held[0] if add else torch.cat(held) for name, held in vectors.items()}
    return {name: np.concatenate(held) for name, held in scalars.items()} | joined


def _array(rows: Any) -> Any:  # noqa: ANN401 — rows of `each`: a tensor or an array
    return rows.detach().cpu().numpy() if isinstance(rows, Tensor) else np.asarray(rows)
