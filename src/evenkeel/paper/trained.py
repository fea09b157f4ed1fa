"""The runs behind Table 1 and Figure 4: specs → compare, in a folder that another call goes on with or only reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenkeel.errors import RunFailedError
from evenkeel.paper.asked import Asked
from evenkeel.paper.experiment import specs
from evenkeel.paper.setting import Setting
from evenkeel.runs import Run, Spec, parts
from evenkeel.runs.checkpoint import parquet
from evenkeel.runs.compare import compare
from evenkeel.runs.paired import Seeded
from evenkeel.runs.store import write
from evenkeel.runs.tune import FIRST_SEED, Criterion, tune, with_steps

# Step sizes are chosen for the lowest R among models that have learned about as much as the paper's best row; without
# the ceiling the choice would be a model that has learned nothing; see
# docs/decisions/0012-table1.md says how they were set.
CEILINGS: Mapping[str, float] = {"mnist": 0.33, "cifar10": 1.85, "quick": 1.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """One table's runs."""

    setting: Setting
    seeded: Seeded
    runs: Mapping[str, tuple[Run, ...]]
    specs: Mapping[str, Spec]
    notes: tuple[str, ...] = ()


def trained(asked: Asked) -> tuple[Trained, ...]:
    """Every setting's runs, done or already there."""
    return tuple(_one(asked, s) for s in asked.settings)


def _one(asked: Asked, s: Setting) -> Trained:
    chosen, notes = searched(asked, s) if asked.tuned else (specs(s), ())
    folder = place(asked) / s.slug
    for seed in range(asked.seeds):
        keep_partition(folder / f"partition-seed-{seed}.parquet", chosen["fedavg"].replace("seed", seed))
    seeded, runs = compare(chosen, range(asked.seeds), folder, console=asked.console, asked=asked.processes)
    return Trained(setting=s, seeded=seeded, runs=runs, specs=chosen, notes=notes)


def place(asked: Asked) -> Path:
    """Where the runs are kept: Figure 4 reads what Table 1 left there."""
    return asked.out / "runs"


def searched(asked: Asked, s: Setting) -> tuple[dict[str, Spec], tuple[str, ...]]:
    """The specs with step sizes found on the shuffled split, one budget and one criterion for all six.

    An algorithm of which no trial meets the ceiling keeps the paper's step sizes, and a note says so.
    """
    sound = Setting(dataset=s.dataset, local=s.local, quick=s.quick)
    criterion = Criterion(index="R", ceiling=CEILINGS["quick" if s.quick else s.dataset])
    where, own = asked.out / "tuned" / sound.slug, specs(s)
    found: dict[str, Any] = {}
    notes = [f"Step sizes: {criterion.words()} of {asked.trials} trials each under seed {FIRST_SEED}, shuffled split."]
    for names in (tuple(own), *((name,) for name in own)):  # all at once on all cores; else each, to see which failed
        try:
            found |= _tuned(asked, {name: specs(sound)[name] for name in names}, where, criterion)
        except RunFailedError as error:
            notes += [f"{names[0]} keeps the paper's step sizes: {error}."] if len(names) == 1 else []
            continue
        if len(names) > 1:
            break
    return {name: with_steps(spec, found.get(name, {})) for name, spec in own.items()}, tuple(notes)


def _tuned(asked: Asked, these: Mapping[str, Spec], where: Path, criterion: Criterion) -> dict[str, dict[str, float]]:
    found = tune(these, where, criterion=criterion, trials=asked.trials, console=asked.console, asked=asked.processes)
    return {name: held["best"]["steps"] for name, held in found.items()}


def keep_partition(file: Path, spec: Spec) -> None:
    """Who owned which row and whether it trained, one line a row of the dataset; a file that is there stays."""
    if file.exists():
        return
    federation = parts.federation_of(spec)
    shards = {"train": federation.train, "valid": federation.valid}
    tables = [
        pl.DataFrame({"row": own.rows, "client": np.repeat(np.arange(own.n), own.sizes)}).with_columns(
            part=pl.lit(part)
        )
        for part, own in shards.items()
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file, parquet(pl.concat(tables).sort("row"), {"origin": federation.origin}))
