"""Specs side by side under the same seeds: runs that are there already are taken as they are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenkeel.errors import InputError, nearest
from evenkeel.runs import jobs, reading
from evenkeel.runs.jobs import Chain, Job
from evenkeel.runs.paired import Seeded
from evenkeel.runs.pool import processes
from evenkeel.runs.presets import PRESETS
from evenkeel.runs.run import Run
from evenkeel.runs.spec import Spec
from evenkeel.runs.tables import ROUNDS, STEP

MEASURED = tuple(name for name in ROUNDS if name not in STEP and name != "round")

# What `--preset` compares; the first is the one that the others are held against. Rounds, and FedAvg's step size, are
# the paper's; the other step sizes are the preset's (docs/decisions/0009-many-runs.md says what tuning finds).
LINE_UPS: Mapping[str, Mapping[str, Any]] = {
    "digits": {
        "rounds": 100,
        "algorithms": {
            "fedavg": {"name": "fedavg", "eta": 0.1},
            "scaff-pd": {"name": "scaff-pd", "eta": 0.1, "tau": 0.5, "sigma": 1e-2},
            "scaff-pd-ia": {"name": "scaff-pd-ia", "eta": 0.1, "tau": 0.5, "sigma": 1e-2, "phi": 0.2},
        },
    },
}


def line_up(preset: str, overrides: Sequence[str] = ()) -> dict[str, Spec]:
    """The specs that a preset compares, with "key=value" overrides on each.

    >>> list(line_up("digits"))
    ['fedavg', 'scaff-pd', 'scaff-pd-ia']
    """
    if preset not in LINE_UPS:
        raise InputError(f"--preset {preset}: no such comparison; {nearest(preset, LINE_UPS)}")
    chosen, base = LINE_UPS[preset], {**PRESETS[preset], "rounds": LINE_UPS[preset]["rounds"]}
    return {
        name: reading.read_over(Spec, {**base, "name": name, "algorithm": algorithm}, overrides, f"preset {preset}")
        for name, algorithm in chosen["algorithms"].items()
    }


def plan(specs: Mapping[str, Spec], seeds: Sequence[int], out: Path, *, threads: int = 0) -> tuple[Job, ...]:
    """A job for every seed and spec, seed by seed, so that runs on the same rows stand together."""
    found = []
    for seed in seeds:
        for name, spec in specs.items():
            own = spec.replace("seed", seed).replace("name", name)
            own = own.replace("engine.workers", threads) if threads else own
            found.append(Job(label=f"{name} seed {seed}", spec=own, folder=jobs.folder(out, name, own)))
    return tuple(found)


def compare(
    specs: Mapping[str, Spec],
    seeds: Sequence[int],
    out: Path,
    *,
    console: Console | None = None,
    asked: int = 0,
    level: float = 0.95,
) -> tuple[Seeded, dict[str, tuple[Run, ...]]]:
    """Run every spec under every seed, on all cores, and take means and paired differences to the first.

    `asked` processes; 0 is one a core. A run that is finished in its folder is not run again. `console` shows progress.
    """
    if not 0 < level < 1:
        raise InputError(f"--level {level}: must lie in (0, 1); give a share such as 0.95")
    notes = jobs.alike(specs)
    threads = 1 if processes(asked, len(specs) * len(seeds)) > 1 else 0
    planned = plan(specs, seeds, out, threads=threads)
    jobs.demand_done(jobs.done([Chain((job,)) for job in planned], asked, console))
    runs = {name: tuple(Run.open(j.folder) for j in planned if j.spec.name == name) for name in specs}
    values = {name: measured(own) for name, own in runs.items()}
    return Seeded(seeds=tuple(seeds), values=values, level=level, about=_about(runs, notes)), runs


def _about(runs: Mapping[str, Sequence[Run]], notes: Sequence[str]) -> dict[str, Any]:
    """The conditions that all runs share."""
    first = next(iter(runs.values()))[0]
    origin, how = str(first.env["data"]), first.spec.evaluation
    return {
        "population": origin.partition("; seed ")[0],
        "split": how.split,
        "weighting": how.weighting,
        "alpha": how.alpha,
        "beta": how.beta,
        "phi": how.phi,
        "clients": first.losses().n,
        "rounds": first.spec.rounds,
        "notes": list(notes),
    }


def measured(runs: Sequence[Run]) -> dict[str, list[float]]:
    """Every index at the last round, one value a run; those that a run does not have are left out."""
    rows = [last(run) for run in runs]
    return {name: [row[name] for row in rows] for name in MEASURED if all(name in row for row in rows)}


def last(run: Run) -> dict[str, float]:
    """What was measured at a run's last round."""
    row = run.rounds.filter(pl.col("mean").is_not_null()).tail(1).to_dicts()[0]
    return {name: row[name] for name in MEASURED if row[name] is not None}
