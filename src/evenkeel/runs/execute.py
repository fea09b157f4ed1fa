"""`execute`: a spec becomes a run folder, from the start or from where it stopped."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from safetensors.torch import save
from torch import Tensor

from evenkeel.data.shards import Federation
from evenkeel.errors import InputError, RunFailedError
from evenkeel.protocol import Algorithm, Transport
from evenkeel.runs import checkpoint, env, nodes, parts, store
from evenkeel.runs.loop import Keeper, Parts, Progress, advance
from evenkeel.runs.observers import Observer, Quiet
from evenkeel.runs.run import Run
from evenkeel.runs.spec import Spec
from evenkeel.runs.tracking import tracked
from evenkeel.tasks import Task

_START = "start"


@dataclass(frozen=True, slots=True)
class _Given:
    """What runs; θ⁰ and the transport where they were handed in."""

    federation: Federation
    task: Task
    algorithm: Algorithm
    start: Tensor | None
    transport: Transport | None


def execute(
    spec: Spec,
    folder: str | Path,
    *,
    resume: bool = False,
    observer: Observer | None = None,
    federation: Federation | None = None,
    task: Task | None = None,
    start: Tensor | None = None,
    transport: Transport | None = None,
) -> Run:
    """Run a spec in a folder of its own and hand back what it left there.

    With `resume` a run that stopped goes on, and ends as if it had never stopped; one that is finished is only opened,
    one that never began is begun. `federation` and `task` may be handed in, shared among runs; `start` is θ⁰. Another
    `transport` must agree with the plain loop; its `federation` need hold no rows, only who has how many.
    """
    place = Path(folder)
    if (place / store.LOCK).exists():
        with store.held(place):  # whoever runs there is told of first
            pass
    _refuse(place, resume=resume)
    if store.begun(place):
        _same(spec, Run.open(place).spec, place)
        if (place / store.FINAL).exists():
            return Run.open(place)
    rows = federation or parts.federation_of(spec)  # a mistake in the spec shows before there is a folder
    given = _Given(rows, task or parts.task_of(spec, rows), parts.algorithm_of(spec, rows), start, transport)
    watcher = tracked(spec, place, observer or Quiet())
    with store.held(place):
        _refuse(place, resume=resume)
        store.sweep(place)
        _run(spec, place, watcher, given)
    return Run.open(place)


def _refuse(place: Path, *, resume: bool) -> None:
    if not (resume and store.begun(place)):
        store.refuse_foreign(place)


def _same(spec: Spec, stored: Spec, place: Path) -> None:
    """A run goes on with the spec it began with."""
    if spec.digest() == stored.digest():
        return
    ours, theirs = _flat(spec), _flat(stored)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name) and name.partition(".")[0] not in {"name", "engine", "output"}:
            rule = f"the run began with {theirs.get(name, 'none')!r}"
            raise InputError(f"{place}: {name} = {ours.get(name, 'none')!r}: {rule}; resume with that, or start anew")


def _flat(spec: Spec) -> dict[str, Any]:
    table = spec.resolved().table()
    nested = {f"{s}.{k}": v for s, held in table.items() if isinstance(held, dict) for k, v in held.items()}
    return nested | {k: v for k, v in table.items() if not isinstance(v, dict)}


def _run(spec: Spec, place: Path, watcher: Observer, given: _Given) -> None:
    federation, task, algorithm = given.federation, given.task, given.algorithm
    threads, start = _begin(spec, place, watcher, given)
    transport = given.transport or parts.transport_of(spec, task, federation, threads)
    theta = task.init(spec.seed) if start is None else start.to(task.device, task.dtype)
    initial = algorithm.init(theta, federation.n)
    last = checkpoint.newest(place, watcher.warn)
    progress = Progress(round=0, state=initial) if last is None else _resumed(last, initial, task)
    all_parts = Parts(
        spec=spec, federation=federation, algorithm=algorithm, transport=transport, folder=place, observer=watcher
    )
    keeper = Keeper(all_parts, saved=-1 if last is None else last.round)
    watcher.begin(spec, progress.round)
    outcome = "failed"
    try:
        advance(all_parts, progress, keeper)
        keeper.now(progress, durable=True)
        facts = {"spec": spec.digest(), "round": str(spec.rounds), "format": "pt"}
        model = checkpoint.final(task.unflatten(progress.state.theta), [p.name for p in task.places], facts)
        store.write(place / store.FINAL, model)
        outcome = "done"
    except KeyboardInterrupt:
        outcome = "interrupted"
        _keep_last(keeper, progress)
        raise
    except Exception:
        _keep_last(keeper, progress)
        raise
    finally:
        if given.transport is None:
            nodes.ended(transport)
        watcher.end(outcome)


def _keep_last(keeper: Keeper, progress: Progress) -> None:
    """Save what is good; where that fails too, an older checkpoint is there, and the first error is the one to tell."""
    try:
        if keeper.saved != progress.round:
            keeper.now(progress)
    except RunFailedError:
        pass


def _begin(spec: Spec, place: Path, watcher: Observer, given: _Given) -> tuple[int, Tensor | None]:
    """Write what the run rests on, or read it again: the number of threads and θ⁰, where one was given."""
    federation, task, start = given.federation, given.task, given.start
    threads = nodes.workers_of(spec)
    now = env.environment(
        device=task.device, workers=threads, data=parts.data_digest(federation), origin=federation.origin
    )
    if not store.begun(place):
        if start is not None:
            now["start_sha256"] = _write_start(place, start)
        store.write(place / store.ENV, env.as_bytes(now))
        store.write(place / store.SPEC, spec.to_toml().encode())  # last: a folder with a spec has all it needs
        return threads, start
    before = json.loads((place / store.ENV).read_text("utf-8"))
    if before["data_sha256"] != now["data_sha256"]:
        raise InputError(f"{place}: the data are other ones than the run began with; put those back, or start anew")
    for line in env.changed(before, now):
        watcher.warn(f"{place}: {line} since the run began: last digits may differ")
    first = next((int(f.name.partition("-")[0]) for f in checkpoint.found(place)), 0)
    before["sessions"].append(env.session(first))
    store.write(place / store.ENV, env.as_bytes(before))
    return int(before["threads"]), _read_start(place, before.get("start_sha256"))


def _write_start(place: Path, start: Tensor) -> str:
    content = save({"theta": start.detach().cpu().clone()})
    store.write(place / store.STATE / f"{_START}.safetensors", content)
    return hashlib.sha256(content).hexdigest()


def _read_start(place: Path, digest: str | None) -> Tensor | None:
    if digest is None:
        return None
    file = place / store.STATE / f"{_START}.safetensors"
    theta = checkpoint.tensors(file)["theta"]
    if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
        raise InputError(f"{file}: truncated or altered; start the run anew")
    return theta


def _resumed(last: checkpoint.Checkpoint, initial: Any, task: Task) -> Progress:  # noqa: ANN401 — the algorithm's state
    clients = pl.read_parquet(last.tables[store.CLIENTS])
    return Progress(
        round=last.round,
        state=last.restored(initial, task.device),
        rows=list(pl.read_parquet(last.tables[store.ROUNDS]).to_dicts()),
        clients=[] if clients.is_empty() else [clients],
    )
