"""Step sizes per algorithm, each searched on the same budget by the same stated criterion, with Optuna.

Every algorithm gets the same number of trials, each of the spec's own rounds. A step size is searched on a log scale
between 1/width and width times the spec's own, which is the first trial, so that tuning never does worse than it. The
sampler is seeded by the number of trials so far: a search that was stopped goes on with the trials it would have had.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from evenkeel.errors import InputError, RunFailedError, nearest
from evenkeel.runs import jobs, store
from evenkeel.runs.board import Board
from evenkeel.runs.compare import MEASURED, last
from evenkeel.runs.exports import lower_is_better
from evenkeel.runs.jobs import Job
from evenkeel.runs.nodes import Nodes
from evenkeel.runs.observers import Observer
from evenkeel.runs.options import taken
from evenkeel.runs.pool import processes, spread
from evenkeel.runs.spec import STEP_SIZES, Spec

TUNED = ("eta", "tau", "sigma")
# Low wherever all clients are treated alike, also badly: alone they would choose a model that has learned nothing.
RELATIVE = frozenset(
    {"R", "gini", "palma", "ratio_20_20", "atkinson_inf", "jain", "theil", "cv", "discrepancy", "min", "best20_loss"}
)
FIRST_SEED = 1000  # not the seeds that `compare` takes: the choice must not profit from what it is judged on
_WORSE = 1e6  # what a trial above the ceiling counts at least; only the order of trials matters to the sampler


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """What the best trial has least of (most of, for accuracies), among those with a mean loss of at most `ceiling`.

    >>> Criterion(index="R")
    Traceback (most recent call last):
    evenkeel.errors.InputError: --criterion R: best for a model that has learned nothing; give --most-mean LOSS with it
    """

    index: str = "worst20_loss"
    ceiling: float | None = None

    def __post_init__(self) -> None:
        if self.index not in MEASURED:
            raise InputError(f"--criterion {self.index}: no such index; {nearest(self.index, MEASURED)}")
        if self.ceiling is not None and not 0 < self.ceiling < math.inf:
            raise InputError(f"--most-mean {self.ceiling}: must be a loss above 0")
        if self.index in RELATIVE and self.ceiling is None:
            raise InputError(
                f"--criterion {self.index}: best for a model that has learned nothing; give --most-mean LOSS with it"
            )

    def value(self, row: Mapping[str, float]) -> float:
        """A number to be minimised; above the ceiling it is worse than any below.

        >>> c = Criterion(index="R", ceiling=0.5)
        >>> c.value({"R": 9.0, "mean": 0.5}), c.value({"R": 1.0, "mean": 1.0})
        (9.0, 2000000.0)
        """
        if self.ceiling is not None and row["mean"] > self.ceiling:
            return _WORSE * row["mean"] / self.ceiling
        value = row[self.index]
        return min(value, _WORSE / 2) if lower_is_better(self.index) else -value

    def words(self) -> str:
        """What is asked for.

        >>> Criterion(index="R", ceiling=0.5).words()
        'lowest R with a mean loss of at most 0.5'
        """
        way = "lowest" if lower_is_better(self.index) else "highest"
        return f"{way} {self.index}" + (f" with a mean loss of at most {self.ceiling:g}" if self.ceiling else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One algorithm's search: a piece of work for `pool.spread`."""

    name: str
    spec: Spec
    out: Path
    criterion: Criterion
    trials: int
    seeds: tuple[int, ...]
    width: float

    def __call__(self, observer: Observer) -> dict[str, Any]:
        """Every trial that is not done yet; what was found, as JSON takes it."""
        from evenkeel.runs import study

        return study.search(self, observer)

    @property
    def own(self) -> dict[str, float]:
        """The step sizes that this algorithm has, as the spec has them."""
        own = {key: float(str(self.spec.get(f"algorithm.{key}"))) for key in steps_of(self.spec)}
        for key, value in own.items():
            if value <= 0:
                rule = "a search on a log scale needs a value above 0"
                raise InputError(f"{self.name}: algorithm.{key} = {value:g}: {rule}; give one")
        return own

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The ends of their ranges."""
        return {key: (value / self.width, value * self.width) for key, value in self.own.items()}

    @property
    def folder(self) -> Path:
        """Where the search is kept."""
        return self.out / jobs.slug(self.name)

    @property
    def mark(self) -> str:
        """What a search is known by in its store: another question is another search."""
        c, seeds = self.criterion, f"{self.seeds[0]}-{self.seeds[-1]}"
        return f"{self.spec.digest()[:16]}-{c.index}-{c.ceiling}-{self.width:g}-{seeds}"

    def job(self, steps: Mapping[str, float], seed: int) -> Job:
        """The run of one trial under one seed."""
        spec = with_steps(self.spec, steps).replace("seed", seed)
        return Job(label=self.name, spec=spec, folder=jobs.folder(self.folder, "trials", spec))


def steps_of(spec: Spec) -> tuple[str, ...]:
    """The step sizes that a spec's algorithm takes.

    >>> steps_of(Spec.of({"algorithm": {"name": "fedavg"}})), steps_of(Spec())
    (('eta',), ('eta', 'tau', 'sigma'))
    """
    if spec.schedule.kind != "constant":
        raise InputError(f'{spec.name}: schedule.kind = "{spec.schedule.kind}" sets {", ".join(STEP_SIZES)} itself')
    return tuple(key for key in TUNED if key in taken("algorithm", spec.algorithm.name))


def with_steps(spec: Spec, steps: Mapping[str, float]) -> Spec:
    """A spec with these step sizes.

    >>> with_steps(Spec(), {"eta": 0.5}).get("algorithm.eta")
    0.5
    """
    for key, value in steps.items():
        spec = spec.replace(f"algorithm.{key}", value)
    return spec


def tune(
    specs: Mapping[str, Spec],
    out: Path,
    *,
    criterion: Criterion,
    trials: int = 20,
    seeds: Sequence[int] = (FIRST_SEED,),
    width: float = 30.0,
    console: Console | None = None,
    asked: int = 0,
) -> dict[str, dict[str, Any]]:
    """Search every algorithm, one to a process, and write the best of each as out/NAME.toml."""
    _refuse(trials, width)
    several = processes(asked, len(specs)) > 1
    searches = {
        name: Search(
            name=name,
            spec=spec.replace("engine.workers", 1) if several else spec,
            out=out,
            criterion=criterion,
            trials=trials,
            seeds=tuple(seeds),
            width=width,
        )
        for name, spec in specs.items()
    }
    for what in searches.values():
        _ = what.ranges  # what cannot be searched shows before anything runs
    count = trials * len(seeds)
    rounds = count * sum(spec.rounds for spec in specs.values())
    with Board(console or Console(quiet=True), count * len(specs), rounds) as board:
        found = spread(searches, board, processes(asked, len(specs)), Nodes.of(specs.values()))
    jobs.demand_done(found)
    done = {name: result for name, result in found.items() if not isinstance(result, RunFailedError)}
    for name, result in done.items():
        best = with_steps(specs[name], result["best"]["steps"]).replace("name", name)
        store.write(out / f"{jobs.slug(name)}.toml", best.to_toml().encode())
    return done


def measured(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means over seeds.

    >>> measured([{"R": 1.0}, {"R": 3.0}])
    {'R': 2.0}
    """
    return {key: sum(row[key] for row in rows) / len(rows) for key in rows[0] if all(key in row for row in rows)}


def run_trial(search: Search, steps: Mapping[str, float], watchers: Sequence[Observer]) -> dict[str, float]:
    """What a trial measured at its last round, over its seeds."""
    pairs = zip(search.seeds, watchers, strict=True)
    return measured([last(jobs.complete(search.job(steps, seed), watcher)) for seed, watcher in pairs])


def _refuse(trials: int, width: float) -> None:
    if not 1 <= trials <= 10_000:
        raise InputError(f"--trials {trials}: must be from 1 to 10000; 20 is the default")
    if not 1 < width <= 1e6:
        raise InputError(f"--width {width:g}: must be above 1 and at most 1e6; 30 searches 1/30 to 30 times the spec's")
