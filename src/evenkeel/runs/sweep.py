"""One setting over a grid of values: the frontier of mean loss (or accuracy) against R.

Cold, every value starts from the spec's own θ⁰ and runs its rounds. Warm, value k starts from the last θ of value
k − 1 under the same seed (λ starts anew at the member of its own set nearest to uniform), so that it has had k times
the rounds: a warm frontier is one path of growing training, not points at an equal budget.
"""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenkeel.errors import InputError
from evenkeel.runs import jobs, store
from evenkeel.runs.compare import last
from evenkeel.runs.exports import lower_is_better
from evenkeel.runs.grid import Axis, Value
from evenkeel.runs.jobs import Chain, Job
from evenkeel.runs.paired import Estimate, finite, student
from evenkeel.runs.pool import processes
from evenkeel.runs.run import Run
from evenkeel.runs.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One value: R and the measure next to it, means over seeds; `best` if no other value is as good in both."""

    value: Value
    measure: Estimate
    R: Estimate
    best: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """What a sweep found: `table` has one row a value and seed, with every index."""

    axis: Axis
    measure: str
    seeds: tuple[int, ...]
    warm: bool
    points: tuple[Point, ...]
    table: pl.DataFrame
    origin: str

    def to_dict(self) -> dict[str, Any]:
        """Under stable keys, as JSON takes it."""
        rows = [{k: finite(v) if isinstance(v, float) else v for k, v in row.items()} for row in self.table.to_dicts()]
        return {
            "key": self.axis.key,
            "measure": self.measure,
            "seeds": list(self.seeds),
            "start": "the value before" if self.warm else "the spec's own",
            "population": self.origin,
            "points": [
                {"value": p.value, self.measure: p.measure.to_dict(), "R": p.R.to_dict(), "frontier": p.best}
                for p in self.points
            ],
            "runs": rows,
        }


def plan(spec: Spec, axis: Axis, seeds: Sequence[int], out: Path, *, warm: bool) -> tuple[Chain, ...]:
    """Cold, a chain of one for every seed and value; warm, a chain of all values for every seed."""
    chains = []
    for seed in seeds:
        specs = [spec.replace(axis.key, value).replace("seed", seed) for value in axis.values]
        own = [_job(s, axis, value, out) for s, value in zip(specs, axis.values, strict=True)]
        chains += [Chain(_warmed(own, out))] if warm else [Chain((job,)) for job in own]
    return tuple(chains)


def sweep(
    spec: Spec,
    axis: Axis,
    seeds: Sequence[int],
    out: Path,
    *,
    warm: bool = False,
    measure: str = "mean",
    console: Console | None = None,
    asked: int = 0,
) -> Frontier:
    """Run the grid on all cores, store it as `sweep.parquet`, and hand back the frontier."""
    several = processes(asked, len(seeds) * (1 if warm else len(axis.values))) > 1
    own = spec.replace("engine.workers", 1) if several else spec
    chains = plan(own, axis, seeds, out, warm=warm)
    jobs.demand_done(jobs.done(chains, asked, console))
    done = [(job, Run.open(job.folder)) for chain in chains for job in chain.jobs]
    if any(measure not in last(run) for _, run in done):
        raise InputError(f"{measure}: these runs have none (a regression has no accuracy); draw R against the loss")
    table = pl.DataFrame([_row(job, run, axis, out) for job, run in done]).sort(axis.key, "seed")
    content = io.BytesIO()
    table.write_parquet(content)
    store.write(out / "sweep.parquet", content.getvalue())
    return Frontier(
        axis=axis,
        measure=measure,
        seeds=tuple(seeds),
        warm=warm,
        points=points(table, axis, measure),
        table=table,
        origin=str(done[0][1].env["data"]).partition("; seed ")[0],
    )


def points(table: pl.DataFrame, axis: Axis, measure: str) -> tuple[Point, ...]:
    """Means over seeds, value by value, and which of them no other value beats.

    >>> table = pl.DataFrame({"k": [0, 1, 2], "mean": [1.0, 2.0, 2.0], "R": [3.0, 2.0, 2.5]})
    >>> [p.best for p in points(table, Axis("k", (0, 1, 2)), "mean")]
    [True, True, False]
    """
    found = []
    for value in axis.values:
        rows = table.filter(pl.col(axis.key) == value)
        found.append((value, student(rows[measure].to_numpy()), student(rows["R"].to_numpy())))
    sign = 1 if lower_is_better(measure) else -1
    costs = [(sign * m.mean, r.mean) for _, m, r in found]
    return tuple(
        Point(value=value, measure=m, R=r, best=not any(_beats(other, cost) for other in costs))
        for (value, m, r), cost in zip(found, costs, strict=True)
    )


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[0] and one[1] <= other[1] and one != other


def _job(spec: Spec, axis: Axis, value: Value, out: Path) -> Job:
    name = f"{axis.short}-{value:g}"
    return Job(label=f"{axis.short} {value:g} seed {spec.seed}", spec=spec, folder=jobs.folder(out, name, spec))


def _warmed(cold: Sequence[Job], out: Path) -> tuple[Job, ...]:
    """The same jobs, each after the one before; a folder's digest covers all that came before it."""
    chain, digest = [], ""
    for job in cold:
        digest = hashlib.sha256(f"{digest}{job.spec.digest()}".encode()).hexdigest()
        folder = out / f"{job.folder.parent.name}-warm" / f"seed-{job.spec.seed}-{digest[:8]}"
        chain.append(Job(label=job.label, spec=job.spec, folder=folder))
    after = [Job(label=b.label, spec=b.spec, folder=b.folder, after=a.folder) for a, b in pairwise(chain)]
    return (chain[0], *after)


def _row(job: Job, run: Run, axis: Axis, out: Path) -> dict[str, Any]:
    start = None if job.after is None else job.after.relative_to(out).as_posix()
    key = {axis.key: job.spec.get(axis.key), "seed": job.spec.seed}
    return key | last(run) | {"folder": job.folder.relative_to(out).as_posix(), "started_from": start}
