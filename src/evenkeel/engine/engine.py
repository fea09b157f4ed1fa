"""The vectorised transport: all clients at once, in chunks, on single-threaded workers."""

import os
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from evenkeel.clients import Client, Gradient, Local, Probe, Score, answer_one, demand_theta, settings
from evenkeel.data.options import whole
from evenkeel.data.shards import Federation
from evenkeel.engine.asked import Asked, Attendance, asked, demand_finite
from evenkeel.engine.chunks import Chunk, Results, cut, gathered
from evenkeel.engine.dense import Dense
from evenkeel.engine.fit import demand_fit
from evenkeel.engine.flat import Flat
from evenkeel.engine.kept import Kept
from evenkeel.engine.layers import layers_of
from evenkeel.engine.path import Path
from evenkeel.engine.reference import Reference
from evenkeel.engine.table import Table
from evenkeel.engine.vmapped import Vmapped, can_vectorise
from evenkeel.errors import InputError, RunFailedError, nearest
from evenkeel.protocol import Ask, Key, Replies
from evenkeel.tasks import Task

_KINDS: Mapping[str, type] = {"probe": Probe, "gradient": Gradient, "local": Local, "score": Score, "hvp": Probe}


@contextmanager
def single_threaded() -> Iterator[None]:
    """Our own operations between the workers' stay on this thread.

    A second OpenMP thread would go on spinning for a millisecond after each of them, on a core that a worker needs.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Engine:
    """Answers asks for all clients of a federation, and agrees with `Loop`.

    `memory` is what it may take beyond the data, in bytes; `workers` are threads (None or 0: one a core). The result
    does not depend on the timing of threads. Another `workers` or `memory` may cut other chunks, which changes the
    order of float sums, and so last digits.
    """

    task: Task
    federation: Federation
    _: KW_ONLY
    memory: int = 2**31
    workers: int | None = None
    attendance: Attendance | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            whole("workers", self.workers, 0)
        whole("memory", self.memory, 0)

    @property
    def n(self) -> int:
        """The number of clients."""
        return self.federation.n

    @cached_property
    def train(self) -> Table:
        """The training rows, client after client if half of the memory holds them; mapped rows stay on disk."""
        shards = self.federation.train
        needed = len(shards.rows) * self.task.fit(self.federation.x[:1]).nbytes
        copy = not self.federation.digest and needed <= self.memory / 2
        return Table.of(self.task, self.federation, shards, copy=copy)

    @cached_property
    def valid(self) -> Table:
        """The validation rows, gathered when they are scored."""
        return Table.of(self.task, self.federation, self.federation.valid, copy=False)

    @cached_property
    def threads(self) -> int:
        """The number of workers."""
        return self.workers or (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """Workers on which each operation runs single-threaded: one thread pool for all operations is slower."""
        return ThreadPoolExecutor(self.threads, "evenkeel", initializer=lambda: torch.set_num_threads(1))

    @cached_property
    def path(self) -> Path:
        """The fastest way to compute that this model allows."""
        demand_fit(self.task, self.federation)
        general = Vmapped(self.task, self.train, memory=self.memory // 4 // self.threads, kept=Kept(room=0))
        layers = layers_of(self.task, self.federation.x.dim() - 1)
        if layers is not None:
            free = 8 if self.train.rows is None else 4  # where the rows are not copied, that half is free
            kept = Kept(room=self.memory // free, gram_room=2 * self.memory // free, units=layers[0].weight.shape[0])
            return Dense(self.task, self.train, layers, general, kept)
        if can_vectorise(general):
            return general
        warnings.warn(
            "torch.func.vmap cannot take this model: its clients are computed one after the other, which is slower",
            RuntimeWarning,
            stacklevel=2,
        )
        return Reference(self.task, self.federation, kept=Kept(room=0))

    def answer(self, ask: Ask, key: Key) -> Replies:
        """Ask all clients that are there."""
        with single_threaded():
            return self._answer(ask, key)

    def _answer(self, ask: Ask, key: Key) -> Replies:
        self._check(ask)
        ask = ask._replace(shared={name: value.detach() for name, value in ask.shared.items()})
        who = asked(ask, key, self.n, self.attendance)
        self.path.kept.renew(ask.shared["theta"])
        if ask.phase == "probe":
            return Replies(who.ids, self._probe(ask, who, key))
        if ask.phase == "score":
            return Replies(who.ids, self._score(ask, who))
        return Replies(who.ids, self._chunks(ask, who, key))

    def _check(self, ask: Ask) -> None:
        """Refuse what no client could answer, before any work."""
        if ask.phase not in _KINDS:
            raise InputError(f"phase = {ask.phase!r}: no such client step; {nearest(ask.phase, _KINDS)}")
        settings(_KINDS[ask.phase], ask.config)
        demand_theta(ask.phase, ask.shared)
        if len(self.train.empty):
            name = self.federation.names[self.train.empty[0]]
            raise InputError(f"client {name!r} has no training rows; drop it or give it some before training")
        for name, value in ask.shared.items():
            if value.shape != (self.task.d,):
                raise InputError(f"{name} has shape {tuple(value.shape)}: the task has {self.task.d} parameters")
            if value.dtype != self.task.dtype:
                raise InputError(
                    f"{name} is {value.dtype}, the task {self.task.dtype}; convert it with .to(task.dtype)"
                )

    def _ridge(self, ask: Ask) -> float:
        theta = ask.shared["theta"].double()
        return self.task.l2 / 2 * float(theta @ theta) if self.task.l2 else 0.0

    def _flat(self, table: Table, who: Asked) -> Flat:
        return Flat(path=self.path, table=table, pool=self.pool, ids=who.ids)

    def _probe(self, ask: Ask, who: Asked, key: Key) -> Mapping[str, Any]:
        loss = self._flat(self.train, who).losses(ask.shared["theta"]) + self._ridge(ask)
        demand_finite(who.ids, self.federation.names, key, loss=loss)
        return {"loss": loss}

    def _score(self, ask: Ask, who: Asked) -> Mapping[str, Any]:
        table = self.valid if settings(Score, ask.config).split == "valid" else self.train
        loss, score = self._flat(table, who).scores(ask.shared["theta"])
        regression = self.task.kind == "regression"
        return {
            "loss": loss + self._ridge(ask),
            "accuracy": np.full(len(score), np.nan) if regression else score,
            "error": score if regression else 1 - score,
            "size": table.sizes[who.ids].astype(np.float64),
        }

    def _chunks(self, ask: Ask, who: Asked, key: Key) -> Mapping[str, Any]:
        most = self.train.most
        batch = int(ask.config.get("batch", 0)) or most
        control = int(ask.config.get("control_batch", batch)) or most
        rows = min(max(batch, control), most)
        chunks = cut(who, self.train.sizes, self.path.per_chunk(rows), self.threads)
        return gathered(chunks, self.pool.map(lambda chunk: self._part(chunk, ask, key), chunks), len(who.ids))

    def _part(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        part = self.path.answer(chunk, ask, key)
        finite = all(np.isfinite(s).all() for s in part.scalars.values())
        if not (finite and all(bool(v.isfinite().all()) for v in part.vectors.values())):
            self._blame(chunk, ask, key)
        return part

    def _blame(self, chunk: Chunk, ask: Ask, key: Key) -> None:
        """Name the client whose reply is not finite: ask the chunk's clients one by one."""
        for k in np.argsort(chunk.ids):
            i = int(chunk.ids[k])
            own = ask._replace(each={name: rows[k] for name, rows in chunk.each.items()})
            reply = answer_one(self.task, Client.of(self.task, self.federation, i), own, key)
            rows = {name: torch.as_tensor(value)[None] for name, value in reply.items()}
            demand_finite(np.array([i]), self.federation.names, key, **rows)
        raise RunFailedError(
            f"diverged: the weighted sum of {ask.phase!r} in round {key.round} is not finite though each reply is; "
            "the last good state is kept"
        )
