"""One run of many: where it is kept, and what doing it means when some of it is done already."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rich.console import Console

from evenkeel.data.shards import Federation
from evenkeel.errors import InputError, RunFailedError
from evenkeel.runs import store
from evenkeel.runs.board import Board
from evenkeel.runs.execute import execute
from evenkeel.runs.nodes import Nodes, alone
from evenkeel.runs.observers import Observer
from evenkeel.runs.parts import federation_of
from evenkeel.runs.pool import Teller, processes, spread
from evenkeel.runs.run import Run
from evenkeel.runs.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A spec and the folder of its run; `after` is the folder of the run whose θ it starts from, if any."""

    label: str
    spec: Spec
    folder: Path
    after: Path | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """Runs one after the other in one process: a piece of work for `pool.spread`."""

    jobs: tuple[Job, ...]

    def __call__(self, observer: Observer) -> tuple[Path, ...]:
        """The folders, each with a finished run."""
        return tuple(complete(job, _called(observer, job.label)).folder for job in self.jobs)


def _called(observer: Observer, label: str) -> Observer:
    return observer.called(label) if isinstance(observer, Teller) else observer


def complete(job: Job, observer: Observer | None = None) -> Run:
    """The finished run of a job: opened if it is there, else continued or begun."""
    start = None if job.after is None else Run.open(job.after).theta
    spec = alone(job.spec)
    return execute(spec, job.folder, resume=True, observer=observer, federation=_shared(_rows(spec)), start=start)


def done(chains: Sequence[Chain], asked: int, console: Console | None = None) -> dict[str, object]:
    """Do what is not finished yet, on all cores; one outcome a chain, under its first job's label."""
    left = {chain.jobs[0].label: chain for chain in chains if not all(map(finished, chain.jobs))}
    if not left:
        return {}
    todo = [job for chain in left.values() for job in chain.jobs if not finished(job)]
    workers = processes(asked, len(left))
    with Board(console or Console(quiet=True), len(todo), sum(job.spec.rounds for job in todo)) as board:
        return dict(spread(left, board, workers, Nodes.of(job.spec for job in todo)))


def finished(job: Job) -> bool:
    """Whether the job's folder holds its finished run."""
    return store.begun(job.folder) and Run.open(job.folder).finished


def folder(out: Path, name: str, spec: Spec) -> Path:
    """out/NAME/seed-SEED-DIGEST: another spec is another folder, so what is there is never mistaken for it.

    >>> folder(Path("runs"), "a b", Spec(seed=3)).parent.as_posix(), folder(Path(), "a", Spec(seed=3)).name[:7]
    ('runs/a-b', 'seed-3-')
    """
    return out / slug(name) / f"seed-{spec.seed}-{spec.digest()[:8]}"


def slug(name: str) -> str:
    """A name that any file system takes.

    >>> slug("../Scaff PD/φ"), slug("...")
    ('Scaff-PD-φ', 'run')
    """
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")[:80] or "run"


def demand_done(outcomes: Mapping[str, object]) -> None:
    """Raise if any run failed; those that are done are kept."""
    failed = {label: error for label, error in outcomes.items() if isinstance(error, RunFailedError)}
    if failed:
        label, error = next(iter(failed.items()))
        raise RunFailedError(
            f"{len(failed)} of {len(outcomes)} did not finish, first {label}: {error}; the others are kept"
        )


def alike(specs: Mapping[str, Spec]) -> tuple[str, ...]:
    """What makes specs hard to compare, one line each; indices that are not the same index are refused.

    >>> alike({"a": Spec(), "b": Spec(rounds=5)})
    ('rounds differs: a 100, b 5',)
    """
    notes = []
    for key in ("rounds", "data", "partition", "task", "work", "clients"):
        seen = {name: _said(spec, key) for name, spec in specs.items()}
        if len(set(map(repr, seen.values()))) > 1:
            shown = ", ".join(f"{name} {value}" for name, value in seen.items()) if key == "rounds" else ""
            notes.append(f"{key} differs" + (f": {shown}" if shown else " between the specs"))
    for key in ("alpha", "beta", "phi", "weighting", "split"):
        seen = {name: spec.get(f"evaluation.{key}") for name, spec in specs.items()}
        if len(set(seen.values())) > 1:
            listed = ", ".join(f"{name} {value}" for name, value in seen.items())
            raise InputError(f"evaluation.{key} differs: {listed}: the indices would not be the same; make them equal")
    return tuple(notes)


def named(specs: Sequence[Spec]) -> dict[str, Spec]:
    """The specs by name; a name that is there twice gets a number.

    >>> list(named([Spec(name="a"), Spec(name="a"), Spec(name="b")]))
    ['a', 'a-2', 'b']
    """
    found: dict[str, Spec] = {}
    for spec in specs:
        name, k = spec.name, 1
        while slug(name) in map(slug, found):
            k += 1
            name = f"{spec.name}-{k}"
        found[name] = spec
    return found


def _said(spec: Spec, key: str) -> object:
    return spec.resolved().table().get(key)


def _rows(spec: Spec) -> Spec:
    """The part of a spec that the rows depend on: runs that agree in it share one federation."""
    return Spec.of({"seed": spec.seed} | {k: v for k, v in spec.table().items() if k in {"data", "partition"}})


def _shared(rows: Spec) -> Federation:
    return _loaded(rows.to_toml())


@lru_cache(maxsize=2)  # runs come seed by seed, so that one or two federations are in use at any time
def _loaded(toml: str) -> Federation:
    import tomllib

    return federation_of(Spec.of(tomllib.loads(toml)))
