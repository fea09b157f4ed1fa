"""The Python API: your model, your rows, one call. Small, and the same names from release to release.

>>> import tempfile
>>> x = [[float(i % 7), float(i % 3)] for i in range(40)]
>>> data = Federation.from_tensors(x, [i % 2 for i in range(40)], clients=[i % 4 for i in range(40)])
>>> run = train("logistic", data, "scaff-pd", alpha=0.25, rounds=2, out=tempfile.mkdtemp() + "/run", progress=False)
>>> run.audit(draws=0).n, run.lam.shape, type(run.model()).__name__
(4, (4,), 'Sequential')
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from torch import Tensor, nn

from evenkeel import runs
from evenkeel.data import shards
from evenkeel.data.build import build
from evenkeel.data.frame import from_frame
from evenkeel.data.source import Source, from_arrays, from_tensors
from evenkeel.errors import InputError, nearest
from evenkeel.runs import Spec
from evenkeel.runs.board import Board
from evenkeel.runs.options import GIVEN, taken
from evenkeel.runs.pool import Teller
from evenkeel.tasks import MODELS, Task
from evenkeel.tasks import build as named_task

__all__ = ["Federation", "Run", "Spec", "train"]

Model = str | nn.Module | Callable[[], nn.Module] | Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation(shards.Federation):
    """All rows once, and who trains and validates on which of them. Make one of your own rows:

    >>> f = Federation.from_arrays([([[0.0], [1.0]], [0, 1]), ([[2.0], [3.0]], [1, 0])], names=["north", "south"])
    >>> f.n, f.names, f.train.sizes.tolist()
    (2, ('north', 'south'), [1, 1])
    """

    @classmethod
    def from_frame(
        cls,
        table: object,
        *,
        client: str,
        target: str,
        features: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
        weight: str | None = None,
        kind: Literal["auto", "classes", "number"] = "auto",
        standardize: bool = False,
        split: str = "shuffled",
        fraction: float = 0.8,
        seed: int = 0,
    ) -> Self:
        """A polars or pandas frame, or a CSV or Parquet file: one row an example, a column that names the client.

        `fraction` of each client's rows train, the others validate; see `evenkeel.data.frame.from_frame` for the rest.
        """
        source = from_frame(
            table,
            client=client,
            target=target,
            features=features,
            categorical=categorical,
            weight=weight,
            kind=kind,
            standardize=standardize,
        )
        return cls._of(source, split=split, fraction=fraction, seed=seed)

    @classmethod
    def from_tensors(
        cls,
        x: ArrayLike | Tensor,
        y: ArrayLike | Tensor,
        *,
        clients: ArrayLike | None = None,
        classes: int | None = None,
        partition: str | None = None,
        n: int | None = None,
        options: Mapping[str, Any] | None = None,
        split: str = "shuffled",
        fraction: float = 0.8,
        seed: int = 0,
    ) -> Self:
        """Rows and targets, with the client of each row, or a `partition` that deals them out to `n` clients."""
        source = from_tensors(x, y, clients=clients, classes=classes)
        return cls._of(source, partition=partition, n=n, options=options, split=split, fraction=fraction, seed=seed)

    @classmethod
    def from_arrays(
        cls,
        clients: Sequence[tuple[ArrayLike, ArrayLike]],
        *,
        names: Sequence[str] | None = None,
        classes: int | None = None,
        split: str = "shuffled",
        fraction: float = 0.8,
        seed: int = 0,
    ) -> Self:
        """One (x, y) a client."""
        return cls._of(from_arrays(clients, names=names, classes=classes), split=split, fraction=fraction, seed=seed)

    @classmethod
    def _of(cls, source: Source, **how: Any) -> Self:  # noqa: ANN401 — the keywords of `build`
        made = build(source, **how)
        return cls(**{f.name: getattr(made, f.name) for f in fields(made)})


@dataclass(frozen=True)
class Run(runs.Run):
    """A run on disk, with `audit()`, `lam`, `theta`, `rounds`, `clients`, `state_dict()`, and `model()`."""

    task: Task | None = None

    def model(self, into: nn.Module | None = None) -> nn.Module:
        """The trained model, ready to predict. A run opened from disk needs `into`, unless its model has a name."""
        net = self._blank() if into is None else into
        net.load_state_dict(self.state_dict())
        return net.eval()

    def _blank(self) -> nn.Module:
        if self.task is not None:
            return self.task.fresh(0)
        if GIVEN in {self.spec.task.model, self.spec.data.source}:
            raise InputError(f"{self.folder}: the model is your own and is not stored; give one: run.model(into=net)")
        return runs.task_of(self.spec, runs.federation_of(self.spec)).fresh(0)


def train(
    model: Model,
    data: str | shards.Federation,
    algorithm: str = "scaff-pd-ia",
    *,
    rounds: int = 100,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    **parameters: float | str,
) -> Run:
    """Train one model over many clients, and keep the run in a folder.

    `model` is a name ("mlp"), a function that makes an nn.Module (its start values follow `seed`), a module (training
    starts from its weights, it stays as it is) or a `Task`; `data` is a `Federation` or the name of a dataset.
    `parameters` are the algorithm's (phi, eta, …), `settings` any key of a spec ({"work.batch": 32}). With
    phi = "auto" a run with phi = 0 comes first, in a folder beside it, and its curvature chooses phi. `out` is the
    folder, by default a new one in runs/; with `resume` a run that stopped there goes on.
    """
    rows = None if isinstance(data, str) else data
    spec = _spec(model, data, algorithm, {"rounds": rounds, "seed": seed, **(settings or {})}, parameters)
    rows = runs.federation_of(spec) if rows is None else rows
    task = _task(model, rows)
    own = spec.replace("data.source", GIVEN) if rows is data else spec
    folder = Path(out) if out is not None else _free(algorithm)
    console, auto = Console(stderr=True), parameters.get("phi") == "auto"
    with Board(console if progress else Console(quiet=True), 1 + auto, spec.rounds * (1 + auto)) as board:
        watcher = Teller(algorithm, board)
        own = _with_phi(own, folder, rows, task, watcher.called(f"{algorithm} with phi 0")) if auto else own
        done = runs.execute(own, folder, resume=resume, observer=watcher, federation=rows, task=task)
    return Run(done.folder, task)


def _with_phi(spec: Spec, folder: Path, rows: shards.Federation, task: Task, watcher: Teller) -> Spec:
    """The spec with the φ that the run at φ = 0 chooses (docs/decisions/0010-phi.md)."""
    from evenkeel.phi import resolve_auto_phi
    from evenkeel.runs.parts import transport_of

    def at(phi: float) -> tuple[Tensor, NDArray[np.float64] | None]:
        place = folder.with_name(f"{folder.name}-phi") / f"phi-{phi:g}"
        own = spec.replace("algorithm.phi", phi)
        done = runs.execute(own, place, resume=True, observer=watcher, federation=rows, task=task)
        return done.theta, done.lam

    made: Any = runs.algorithm_of(spec.replace("algorithm.phi", 0.0), rows)
    sets = made.ambiguity
    everyone = transport_of(spec.replace("clients.absent", 0.0), task, rows)
    return spec.replace("algorithm.phi", resolve_auto_phi(at, everyone, sets.A, sets.B).phi)


def _spec(model: Model, data: object, algorithm: str, keys: Mapping[str, Any], parameters: Mapping[str, Any]) -> Spec:
    """The spec of a call; what it cannot say (your rows, your model) stands there as given."""
    known = runs.Spec.of({"algorithm": {"name": algorithm}}, "train")
    for name in parameters:
        if name not in taken("algorithm", algorithm):
            choices = [*taken("algorithm", algorithm), "rounds", "seed", "settings", "out", "resume", "progress"]
            raise InputError(f"train: {algorithm} has no parameter {name!r}; {nearest(name, choices)}")
    table: dict[str, Any] = {"name": known.algorithm.name, "algorithm": {"name": algorithm, **parameters}}
    table["data"] = {"source": data} if isinstance(data, str) else {"source": GIVEN}
    table["task"] = {"model": model if isinstance(model, str) else GIVEN}
    for dotted, value in keys.items():
        section, _, key = dotted.rpartition(".")
        (table.setdefault(section, {}) if section else table)[key] = value
    return Spec.of(table, "train")


def _task(model: Model, rows: shards.Federation) -> Task:
    """The model as a task, tried on one row."""
    if isinstance(model, Task):
        return model
    if isinstance(model, str):
        if model not in MODELS:
            raise InputError(f"model = {model!r}: no such model; {nearest(model, MODELS)}")
        return named_task(model, tuple(rows.x.shape[1:]), rows.classes)
    if not callable(model):
        raise InputError(
            f"model is a {type(model).__name__}: must be a name, an nn.Module or a function that makes one"
        )
    make = _copies(model) if isinstance(model, nn.Module) else model
    made = make()
    if not isinstance(made, nn.Module):
        raise InputError(f"model gives a {type(made).__name__}: must give an nn.Module; `lambda: nn.Linear(3, 2)` does")
    return Task(model=make, kind=_kind(made, rows))


def _copies(module: nn.Module) -> Callable[[], nn.Module]:
    return lambda: copy.deepcopy(module)


def _kind(net: nn.Module, rows: shards.Federation) -> str:
    """Which loss fits the number of outputs; a model that cannot take the rows is refused here, in one line."""
    try:
        with torch.no_grad():
            out = net.eval()(rows.x[:2])
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        reason = str(error).split("\n", 1)[0]
        raise InputError(f"model: cannot take rows of shape {tuple(rows.x.shape[1:])} ({reason})") from None
    width = out.reshape(len(out), -1).shape[1]
    if rows.classes == 0:
        return "regression"
    if width == 1 and rows.classes == 2:
        return "binary"
    if width != rows.classes:
        raise InputError(f"model: has {width} outputs, the data {rows.classes} classes: must be as many")
    return "classification"


def _free(name: str) -> Path:
    """runs/NAME, or runs/NAME-2 and so on where that is taken."""
    folder, k = Path("runs") / name, 1
    while folder.exists():
        k += 1
        folder = Path("runs") / f"{name}-{k}"
    return folder
