"""The page of stored runs: one, several side by side, several seeds of each, or a sweep."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenkeel import indices
from evenkeel.errors import InputError
from evenkeel.indices import Audit, Comparison
from evenkeel.phi.expansion import Expansion
from evenkeel.report import several, stored
from evenkeel.report.content import Content, Series
from evenkeel.runs import Run
from evenkeel.runs.paired import Seeded

CHOICE = "choice.json"  # what `evenkeel phi RUN` found, in the folder RUN-phi beside the run
COMPARED = "compare.json"  # what `evenkeel compare` leaves with its runs

Told = tuple[str, Sequence[str]]
Tell = Callable[[Audit | Comparison | Seeded], Told]  # the headline, and the sentences under it


def content(places: Sequence[Path], tell: Tell, *, split: str | None = None, live: bool = False) -> Content:
    """What `evenkeel report` shows of these folders; the first run is the one that others are compared with."""
    runs = [Run.open(folder) for place in places for folder in stored.folders(place)]
    families = several.led(several.gathered(runs), _baseline(places))
    shown = {name: stored.series(family[0], name, split) for name, family in families.items()}
    theirs = {family[0].spec.evaluation.split for family in families.values()}
    seeds = several.seeded(families) if split is None or theirs == {split} else None  # a run's rounds are of its split
    how = next(iter(shown.values())).audit
    result: Audit | Comparison = how if len(shown) == 1 else _compared(shown, how)
    headline, says = tell(result if seeds is None else seeds)
    setting, values = several.varied(families)
    phi, curve = _choice(places)
    return Content(
        title=_title(places, shown),
        headline=headline,
        says=tuple(says),
        noun="run",
        series=tuple(shown.values()),
        comparison=result if isinstance(result, Comparison) else None,
        seeded=seeds,
        how=_how(families, seeds),
        notes=tuple(f"{note}." for note in result.notes) if isinstance(result, Comparison) else (),
        frontier=several.frontier(values, _points(shown, seeds)) if setting else None,
        setting=setting,
        curve=curve,
        chosen=phi,
        live=live,
    )


def _compared(shown: Mapping[str, Series], how: Audit) -> Comparison:
    tables = {name: s.table for name, s in shown.items()}
    return indices.compare(tables, alpha=how.alpha, beta=how.beta, phi=how.phi, weighting=how.weighting)


def _title(places: Sequence[Path], shown: Mapping[str, Series]) -> str:
    names = list(shown) if len(shown) <= 4 else [place.name or str(place) for place in places]
    return ", ".join(names)


def _how(families: Mapping[str, Sequence[Run]], seeds: Seeded | None) -> str:
    """Where there are several seeds: what is a mean over them, and what is of one."""
    if seeds is None:
        most = max(len(family) for family in families.values())
        rule = "means over seeds need finished runs under the same seeds, and the split that these measured"
        return f"Of up to {most} seeds a run, the first is shown: {rule}." if most > 1 else ""
    listed = ", ".join(map(str, seeds.seeds))
    return (
        f"Sentences and table: means over seeds {listed} with Student's t intervals, differences paired by seed. "
        "A figure of one seed says of which."
    )


def _points(shown: Mapping[str, Series], seeds: Seeded | None) -> dict[str, dict[str, Any]]:
    if seeds is None:
        return {name: {"mean": s.audit.mean, "R": s.audit.R} for name, s in shown.items()}
    found = {}
    for name in shown:
        mean, ratio = seeds.mean(name, "mean"), seeds.mean(name, "R")
        ends = {"mean_low": mean.low, "mean_high": mean.high, "R_low": ratio.low, "R_high": ratio.high}
        found[name] = {"mean": mean.mean, "R": ratio.mean, **ends}
    return found


def choices(places: Sequence[Path]) -> list[Path]:
    """Where a choice of φ may be kept.

    >>> choices([Path("no-such-run")])
    []
    """
    found = [folder.absolute() for place in places for folder in stored.below(place)]
    return [folder.with_name(f"{folder.name}-phi") / CHOICE for folder in found]


def _baseline(places: Sequence[Path]) -> str:
    """The run that `evenkeel compare` held the others against, where it made the folder."""
    file = next((place / COMPARED for place in places if (place / COMPARED).exists()), None)
    return "" if file is None else str(_read(file).get("baseline", ""))


def _read(file: Path) -> dict[str, Any]:
    """What a command has left, or one line."""
    try:
        held: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return dict(held)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{file}: cannot be read ({error}); make it again, or remove it") from None


def _choice(places: Sequence[Path]) -> tuple[float | None, pl.DataFrame | None]:
    """How φ was chosen, where that is stored beside a run."""
    file = next((file for file in choices(places) if file.exists()), None)
    if file is None:
        return None, None
    held = _read(file)
    expansion = Expansion(held["a"], held["b"], held["c"])
    grid = np.linspace(0, min(0.95, max([2 * held["phi"], *(row["phi"] for row in held["measured"])])), 50)
    rows = [{"phi": phi, "u": expansion.predicted(phi), "kind": "predicted"} for phi in grid.tolist()]
    rows += [{"phi": row["phi"], "u": row["utility"], "kind": "measured"} for row in held["measured"]]
    return held["phi"], pl.DataFrame(rows)
