"""Means over seeds and paired differences between runs, with Student's t intervals.

Seed s fixes the partition, the split, the start values and every draw of a round, so that two specs under one seed
differ in nothing but the spec: differences are taken seed by seed, and the spread that seeds share falls out. The
interval is mean ± t_{n−1, (1+level)/2} · sd/√n, exact where what varies over seeds is normal; with the few seeds that
anyone can afford a bootstrap over seeds is too narrow (docs/decisions/0009-many-runs.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenkeel.errors import InputError

Values = Sequence[float] | NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean over n seeds with the ends of its interval; the ends are NaN for one seed or an infinite value."""

    mean: float
    low: float
    high: float
    n: int

    def to_dict(self) -> dict[str, float | int | str | None]:
        """As JSON takes it: an end that does not exist is None, an infinite mean the string "inf"."""
        return {"mean": finite(self.mean), "low": finite(self.low), "high": finite(self.high), "n": self.n}


def finite(x: float) -> float | str | None:
    """A number as strict JSON takes it.

    >>> finite(1.5), finite(math.inf), finite(math.nan)
    (1.5, 'inf', None)
    """
    if math.isnan(x):
        return None
    return x if math.isfinite(x) else str(x)


def student(values: Values, level: float = 0.95) -> Estimate:
    """Mean and t interval, x̄ ± t_{n−1} · s/√n with s² = Σ(x − x̄)²/(n − 1).

    >>> e = student([1.0, 2.0, 3.0])
    >>> e.mean, round(e.high - e.mean, 3), e.n            # t_{2, .975} = 4.303, s/√n = 1/√3
    (2.0, 2.484, 3)
    """
    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2 or not np.isfinite(x).all():
        return Estimate(float(x.mean()) if not np.isnan(x).any() else math.nan, math.nan, math.nan, len(x))
    from scipy.special import stdtrit

    half = float(stdtrit(len(x) - 1, (1 + level) / 2) * x.std(ddof=1) / math.sqrt(len(x)))
    mean = float(x.mean())
    return Estimate(mean, mean - half, mean + half, len(x))


def difference(values: Values, first: Values, level: float = 0.95) -> Estimate:
    """The t interval of the differences seed by seed.

    >>> difference([2.0, 4.0], [1.0, 3.0])                # the same difference under both seeds
    Estimate(mean=1.0, low=1.0, high=1.0, n=2)
    """
    with np.errstate(invalid="ignore"):  # inf − inf: no difference, said as NaN
        return student(np.asarray(values, dtype=np.float64) - np.asarray(first, dtype=np.float64), level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What several specs measured under the same seeds: `values[run][index][k]` belongs to `seeds[k]`.

    The first run is the one that the others are compared with. `about` are the conditions in words.
    """

    seeds: tuple[int, ...]
    values: Mapping[str, Mapping[str, Values]]
    level: float = 0.95
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.values or not self.seeds:
            raise InputError("compare: there is no run or no seed; give at least one of each")
        for run, held in self.values.items():
            for index, x in held.items():
                if len(x) != len(self.seeds):
                    raise InputError(f"{run}: {index} has {len(x)} values, there are {len(self.seeds)} seeds")

    @property
    def first(self) -> str:
        """The run that the others are compared with."""
        return next(iter(self.values))

    @property
    def others(self) -> tuple[str, ...]:
        """Every run but the first."""
        return tuple(self.values)[1:]

    @property
    def indices(self) -> tuple[str, ...]:
        """The indices that every run has, in the first run's order."""
        return tuple(i for i in self.values[self.first] if all(i in held for held in self.values.values()))

    def mean(self, run: str, index: str) -> Estimate:
        """A run's mean over seeds."""
        return student(self.values[run][index], self.level)

    def gap(self, run: str, index: str) -> Estimate:
        """A run's mean difference to the first run, paired over seeds."""
        return difference(self.values[run][index], self.values[self.first][index], self.level)

    def to_dict(self) -> dict[str, Any]:
        """Every value, mean and difference under stable keys.

        >>> s = Seeded(seeds=(0, 1), values={"a": {"R": [2.0, 3.0]}, "b": {"R": [1.0, 2.0]}})
        >>> s.to_dict()["differences"]["b"]["R"]
        {'mean': -1.0, 'low': -1.0, 'high': -1.0, 'n': 2}
        """
        return {
            "baseline": self.first,
            "seeds": list(self.seeds),
            "level": self.level,
            "interval": "student t over seeds",
            **self.about,
            "runs": {
                run: {i: {"values": [finite(v) for v in x], **self.mean(run, i).to_dict()} for i, x in held.items()}
                for run, held in self.values.items()
            },
            "differences": {run: {i: self.gap(run, i).to_dict() for i in self.indices} for run in self.others},
        }
