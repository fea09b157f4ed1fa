"""From a spec to what runs: federation, task, algorithm, transport."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel.algorithms import Ball, Box, Everywhere, Region, Work, algorithm
from evenkeel.algorithms.primal_dual import ScaffPDIA
from evenkeel.data.build import build as deal
from evenkeel.data.mapped import STORES
from evenkeel.data.shards import Federation
from evenkeel.data.sources import load
from evenkeel.dual import Constant, Schedule, Theorem
from evenkeel.engine import Absent, All, Attendance, Bounds, Engine, Guarded, Loop, heaviest, read_trace
from evenkeel.errors import InputError
from evenkeel.protocol import Algorithm, Key, Transport
from evenkeel.runs import nodes
from evenkeel.runs.options import DTYPES, GIVEN
from evenkeel.runs.spec import Spec
from evenkeel.tasks import Task
from evenkeel.tasks import build as make_task


@contextmanager
def _about(spec: Spec, section: str) -> Iterator[None]:
    """Say which section of which spec a mistake is in that only the data can show."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{spec.name} [{section}]: {error}") from None


@dataclass(frozen=True, slots=True)
class Missing:
    """Attendance in training alone: a client that misses a round is still measured."""

    training: Attendance

    def __call__(self, key: Key, phase: str, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return ids if phase == "score" else self.training(key, phase, ids)


def federation_of(spec: Spec) -> Federation:
    """The rows and who owns them.

    >>> federation_of(Spec.preset("penguins")).names
    ('Adelie', 'Chinstrap', 'Gentoo')
    """
    if spec.data.source == GIVEN:
        raise InputError('data.source = "given": a program handed these rows in; continue the run from that program')
    full, seed = spec.resolved(), spec.seed if spec.partition.seed is None else spec.partition.seed
    with _about(spec, "data"):
        if spec.data.source in STORES:
            return STORES[spec.data.source](**full.data.options)
        rows = load(spec.data.source, **full.data.options)
    with _about(spec, "partition"):
        return deal(
            rows,
            partition=spec.partition.name,
            n=spec.partition.n,
            split=spec.partition.split,
            fraction=spec.partition.fraction,
            seed=seed,
            options=full.partition.options,
        )


def task_of(spec: Spec, federation: Federation) -> Task:
    """The model for rows of this shape."""
    if spec.task.model == GIVEN:
        raise InputError('task.model = "given": a program handed this model in; continue the run from that program')
    options: dict[str, Any] = dict(spec.resolved().task.options)
    if "dtype" in options:
        options["dtype"] = DTYPES[options["dtype"]]
    with _about(spec, "task"):
        made = make_task(spec.task.model, tuple(federation.x.shape[1:]), federation.classes, **options)
    return replace(made, device=device(spec.engine.device))


def device(name: str) -> str:
    """The name of a device that this machine has.

    >>> device("cpu")
    'cpu'
    >>> device("gpu")
    Traceback (most recent call last):
    evenkeel.errors.InputError: engine.device = 'gpu': PyTorch knows no such device; give "cpu" or "cuda"
    """
    try:
        kind = torch.device(name).type
    except RuntimeError:
        raise InputError(f'engine.device = {name!r}: PyTorch knows no such device; give "cpu" or "cuda"') from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(f'engine.device = {name!r}: PyTorch sees no CUDA device here; give "cpu"')
    if kind not in {"cpu", "cuda"}:
        raise InputError(f'engine.device = {name!r}: was never tried; give "cpu" or "cuda"')
    return name


def algorithm_of(spec: Spec, federation: Federation) -> Algorithm:
    """The algorithm for these clients; `phi` must be a number by now."""
    full = spec.resolved()
    options: dict[str, Any] = dict(full.algorithm.options)
    if options.get("phi") == "auto":
        raise InputError('algorithm.phi = "auto": must be chosen before the run; `evenkeel phi` does, or give a number')
    shape: dict[str, Any] = {"work": work_of(spec), "region": region_of(spec)}
    with _about(spec, "algorithm"):
        made = algorithm(spec.algorithm.name, federation.train.sizes, **shape, **options)
    _demand_light(spec, made)
    if isinstance(made, ScaffPDIA):
        return replace(made, schedule=_schedule(spec, made.schedule))
    return made


def _demand_light(spec: Spec, made: Algorithm) -> None:
    """The most that the set gives one client is what one client that lies can be worth."""
    bound, ambiguity = spec.clients.weight_bound, getattr(made, "ambiguity", None)
    if bound is None or ambiguity is None:
        return
    most = heaviest(ambiguity)
    if most > bound * (1 + 1e-9):
        found = f"the algorithm's set can give one of {ambiguity.n} clients a weight of {most:.3g}"
        raise InputError(f"{spec.name} [clients] weight_bound = {bound:g}: {found}; raise alpha, or the bound")


def work_of(spec: Spec) -> Work:
    """The local work of a round."""
    work = spec.resolved().work
    return Work(
        batch=work.batch,
        steps=work.steps or 0,
        epochs=work.epochs or 0,
        control_batch=work.control_batch,
        divisor=work.divisor,
        dropout=work.dropout,
    )


def region_of(spec: Spec) -> Region:
    """Θ."""
    region = spec.region
    if region.kind == "ball":
        return Ball(region.radius or 0.0)
    if region.kind == "box":
        return Box(region.low or 0.0, region.high or 0.0)
    return Everywhere()


def _schedule(spec: Spec, constant: Schedule) -> Schedule:
    s = spec.schedule
    if s.kind == "theorem":
        return Theorem(
            tau_0=s.tau_0 or 0.0, gamma_0=s.gamma_0 or 0.0, kappa=s.kappa or 0.0, J=s.J or 1, beta=s.beta or 1.0
        )
    if s.varsigma is not None and isinstance(constant, Constant):
        return replace(constant, varsigma=s.varsigma)
    return constant


def attendance_of(spec: Spec, federation: Federation) -> Attendance | None:
    """Who is there in training: by chance, by a trace, or both; None is everyone."""
    there: list[Attendance] = [Absent(spec.clients.absent)] if spec.clients.absent else []
    if spec.clients.trace is not None:
        with _about(spec, "clients"):
            there.append(read_trace(spec.clients.trace, federation.names))
    return Missing(All(tuple(there))) if there else None


def transport_of(
    spec: Spec, task: Task, federation: Federation, workers: int | None = None, beside: Transport | None = None
) -> Transport:
    """The engine, the plain loop, or a cluster, which `nodes.ended` ends; `workers` as a continued run had them.

    On a cluster the workers of the transport `beside` are used, where there is one.
    """
    attendance = attendance_of(spec, federation)
    if spec.engine.transport == "loop":
        return bounded(spec, Loop(task, federation, attendance))
    if spec.engine.transport == nodes.RAY:
        found = nodes.cluster_of(
            spec, task, federation, load=federation_of, workers=workers, attendance=attendance, beside=beside
        )
        return bounded(spec, found)
    threads = workers or spec.engine.workers or None
    memory = spec.engine.memory * 2**20
    return bounded(spec, Engine(task, federation, memory=memory, workers=threads, attendance=attendance))


def bounded(
    spec: Spec, inner: Transport, warn: Callable[[str], None] | None = None, names: Sequence[str] = ()
) -> Transport:
    """The transport within the bounds that the spec sets on what one client may claim."""
    bounds = Bounds(loss=spec.clients.loss_bound, norm=spec.clients.norm_bound)
    if bounds == Bounds():
        return inner
    return Guarded(inner, bounds, names=names) if warn is None else Guarded(inner, bounds, warn, names)


def data_digest(federation: Federation) -> str:
    """SHA-256 over rows, targets and who owns which: whether a continued run sees the same data.

    Where rows are mapped from disk it was made when they were written.
    """
    if federation.digest:
        return federation.digest
    state = hashlib.sha256()
    for tensor in (federation.x, federation.y, federation.row_weight):
        if tensor is not None:
            flat = tensor.detach().cpu().contiguous()
            state.update(f"{flat.dtype}{tuple(flat.shape)}".encode())
            state.update(flat.view(torch.uint8).numpy().data if flat.ndim else b"")
    for shards in (federation.train, federation.valid):
        state.update(shards.rows.tobytes() + shards.offsets.tobytes())
    state.update("\0".join(federation.names).encode())
    return state.hexdigest()
