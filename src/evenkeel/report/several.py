"""Several runs on one page: named apart, gathered over seeds, and joined to a frontier where one setting varies."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenkeel.runs import Run
from evenkeel.runs.compare import measured
from evenkeel.runs.paired import Seeded

_NEVER = {"name", "seed", "engine", "output"}
_MOST_TOLD = 2  # settings in a name


def gathered(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs that differ in their seed alone stand together; each such family has a name of its own."""
    families: dict[str, list[Run]] = {}
    for run in runs:
        families.setdefault(run.spec.replace("seed", 0).digest(), []).append(run)
    held = [_one_a_seed(family) for family in families.values()]
    named: dict[str, list[Run]] = {}
    for family in held:
        told = _told([other[0] for other in held if other[0].name == family[0].name], family[0])
        name, k = told, 1
        while name in named:
            k += 1
            name = f"{told} ({k})"
        named[name] = family
    return named


def _told(namesakes: Sequence[Run], run: Run) -> str:
    """A run's name, with the one or two settings in which it differs from its namesakes: "digits, phi 0.2"."""
    flat = [_flat(other) for other in namesakes]
    keys = sorted(set().union(*flat))
    differ = [key for key in keys if len({repr(held.get(key)) for held in flat}) > 1]
    if not 0 < len(differ) <= _MOST_TOLD:
        return run.name
    own = _flat(run)
    return ", ".join([run.name, *(f"{key.rpartition('.')[2]} {_short(own.get(key))}" for key in differ)])


def _short(value: object) -> str:
    return "left out" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _one_a_seed(family: Sequence[Run]) -> list[Run]:
    """In the order of seeds; of a run that was made again, the first that is finished."""
    found: dict[int, Run] = {}
    for run in sorted(family, key=lambda run: not run.finished):
        found.setdefault(run.spec.seed, run)
    return [found[seed] for seed in sorted(found)]


def led(families: Mapping[str, list[Run]], first: str) -> dict[str, list[Run]]:
    """The families with `first` in front, if it is one of them.

    >>> list(led({"a": [], "b": []}, "b")), list(led({"a": []}, "b"))
    (['b', 'a'], ['a'])
    """
    return ({first: families[first]} if first in families else {}) | dict(families)


def seeded(families: Mapping[str, Sequence[Run]]) -> Seeded | None:
    """Means over the seeds that all families share; nothing where there is one seed, or a run is unfinished."""
    seeds = set.intersection(*({run.spec.seed for run in family} for family in families.values()))
    if len(seeds) < 2 or not all(run.finished for family in families.values() for run in family):
        return None
    shared = {name: [run for run in family if run.spec.seed in seeds] for name, family in families.items()}
    first = next(iter(shared.values()))[0]
    how = first.spec.evaluation
    about = {"alpha": how.alpha, "beta": how.beta, "clients": first.losses().n}
    values = {name: measured(runs) for name, runs in shared.items()}
    return Seeded(seeds=tuple(sorted(seeds)), values=values, about=about)


def varied(families: Mapping[str, Sequence[Run]]) -> tuple[str, dict[str, float]]:
    """The one number in which at least three specs differ, with its value in each; "" where there is no such number."""
    flat = {name: _flat(family[0]) for name, family in families.items()}
    keys = sorted(set().union(*flat.values()))
    differ = [key for key in keys if len({repr(held.get(key)) for held in flat.values()}) > 1]
    if len(differ) != 1 or len(flat) < 3:
        return "", {}
    values = {name: held.get(differ[0]) for name, held in flat.items()}
    numbers = {name: float(v) for name, v in values.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return (differ[0], numbers) if len(numbers) == len(values) else ("", {})


def frontier(values: Mapping[str, float], points: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """The frontier in the order of the setting: `points` hold mean and R, perhaps with the ends of intervals.

    >>> frontier({"b": 0.5, "a": 0.0}, {"a": {"mean": 1.0, "R": 3.0}, "b": {"mean": 1.1, "R": 2.0}})["label"].to_list()
    ['0', '0.5']
    """
    order = sorted(values, key=values.__getitem__)
    rows = [{"label": f"{values[name]:g}", "order": values[name], **points[name]} for name in order]
    return pl.DataFrame(rows)


def _flat(run: Run) -> dict[str, Any]:
    table = {k: v for k, v in run.spec.resolved().table().items() if k not in _NEVER}
    nested = {f"{s}.{k}": v for s, held in table.items() if isinstance(held, dict) for k, v in held.items()}
    return nested | {k: v for k, v in table.items() if not isinstance(v, dict)}
