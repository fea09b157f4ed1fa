"""The loop over rounds: ask, step, measure, keep. A stop at any moment loses nothing that cannot be made again."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from evenkeel.data.shards import Federation
from evenkeel.errors import NobodyAnsweredError, RunFailedError
from evenkeel.protocol import Algorithm, Ask, Key, Replies, State, Transport, drive
from evenkeel.runs import checkpoint, measure, mixture, store, tables
from evenkeel.runs.observers import Observer
from evenkeel.runs.spec import Spec

_MOST = 0.05  # share of the time that checkpoints may take


@dataclass(slots=True, kw_only=True)
class Progress:
    """Where a run is: the next row, the state it starts from, and the rows so far (perhaps one more, unfinished)."""

    round: int
    state: State
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    clients: list[pl.DataFrame] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What runs, and where it is kept."""

    spec: Spec
    federation: Federation
    algorithm: Algorithm
    transport: Transport
    folder: Path
    observer: Observer


@dataclass(slots=True)
class Keeper:
    """Writes checkpoints, and the tables with them, when it is time."""

    parts: Parts
    saved: int = -1
    _last: float = field(default_factory=time.perf_counter)
    _cost: float = 0.0

    def when_due(self, progress: Progress) -> None:
        """Every so many seconds, less often where writing would take more than a twentieth of the time."""
        pause = self.parts.spec.output.checkpoint
        if pause == 0 or time.perf_counter() - self._last >= max(pause, self._cost / _MOST):
            self.now(progress)

    def now(self, progress: Progress, *, durable: bool = False) -> None:
        """The checkpoint first: the tables beside it can be made from it again."""
        begun = time.perf_counter()
        complete = [row for row in progress.rows if row["round"] < progress.round]
        parts = [part for part in progress.clients if part["round"][0] < progress.round]
        how, federation = self.parts.spec.evaluation, self.parts.federation
        about = {
            "population": measure.population(federation.origin, how.clients),
            "split": how.split,
            "weighting": how.weighting,
        }
        held = {
            store.ROUNDS: checkpoint.parquet(tables.rounds(complete), about),
            store.CLIENTS: checkpoint.parquet(tables.clients(parts), about),
        }
        state = {f.name: getattr(progress.state, f.name) for f in fields(progress.state)}
        facts = {"spec": self.parts.spec.digest()}
        folder = self.parts.folder
        if self.saved != progress.round:
            checkpoint.keep(folder, checkpoint.Checkpoint(round=progress.round, state=state, tables=held, facts=facts))
            self.saved = progress.round
        mixture.keep(folder, federation)
        for name, content in held.items():
            store.write(folder / name, content, durable=durable)
        self._last = time.perf_counter()
        self._cost = self._last - begun


def advance(parts: Parts, progress: Progress, keeper: Keeper) -> None:
    """All rows from where the run is to its last."""
    last = parts.spec.rounds
    while progress.round <= last:
        r = progress.round
        row: dict[str, Any] = {"round": r} | measure.weights(getattr(progress.state, "lam", None))
        if r % parts.spec.evaluation.every == 0 or r == last:
            row |= _evaluate(parts, progress)
        state = progress.state
        if r < last:
            state, step = _step(parts, state, Key(parts.spec.seed, r))
            row |= step
        progress.rows.append(row)
        progress.state, progress.round = state, r + 1
        parts.observer.round(row)
        if r < last:
            keeper.when_due(progress)


def _evaluate(parts: Parts, progress: Progress) -> dict[str, Any]:
    """Score every part that the spec names; the indices are of one of them."""
    begun, how = time.perf_counter(), parts.spec.evaluation
    key, lam = Key(parts.spec.seed, progress.round), getattr(progress.state, "lam", None)
    row: dict[str, Any] = {}
    for split in how.splits:
        scored = measure.score(parts.transport, parts.federation, progress.state.theta, key, split, how.clients)
        progress.clients.append(measure.per_client(progress.round, scored, parts.federation, lam))
        if split == how.split:
            row = dict(measure.measured(scored, parts.federation, how))
    return row | {"evaluation_seconds": time.perf_counter() - begun}


def _step(parts: Parts, state: State, key: Key) -> tuple[State, dict[str, Any]]:
    """One round; where nobody answers it is skipped and the state stays."""
    begun, meter = time.perf_counter(), measure.Meter(parts.transport.n)

    def answer(ask: Ask) -> Replies:
        meter.asks(ask)
        replies = parts.transport.answer(ask, key)
        meter.hears(ask, replies)
        return replies

    try:
        step = drive(parts.algorithm.round(state, key), answer)
    except NobodyAnsweredError:
        return state, {"skipped": True, "seconds": time.perf_counter() - begun} | meter.row()
    _demand_finite(parts, step.state, key)
    row: dict[str, Any] = {"skipped": False, "theta_bound": bool(step.info.get("theta_bound", False))}
    row |= meter.row() | measure.losses(step.info.get("loss")) | measure.staleness(step.info)
    return step.state, row | {"seconds": time.perf_counter() - begun}


def _demand_finite(parts: Parts, state: State, key: Key) -> None:
    """A θ that is not finite is no state to keep; the losses there say whose client it was."""
    lam = getattr(state, "lam", None)
    if bool(torch.isfinite(state.theta).all()) and (lam is None or bool(np.isfinite(lam).all())):
        return
    parts.transport.answer(Ask("probe", {"theta": state.theta}), key)
    raise RunFailedError(f"diverged: theta after round {key.round} is not finite; the last good state is kept")
