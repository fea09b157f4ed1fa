"""A loss table sorted once, and the list of indices to take from it or from any resample of its clients."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from evenkeel.errors import InputError, nearest
from evenkeel.indices.catalogue import INDICES
from evenkeel.indices.ranked import Ranked, Vector, in_order, masses
from evenkeel.indices.relative import coefficient
from evenkeel.indices.table import LossTable
from evenkeel.indices.tails import tail_share

Weighting = Literal["clients", "size"]
Method = Literal["percentile", "bca"]


class Options(TypedDict, total=False):
    """The keywords of `audit`, `audit_by` and `compare`: the fields of `Settings`, which has their defaults."""

    alpha: float
    beta: float
    phi: float
    weighting: Weighting
    draws: int
    level: float
    seed: int
    method: Method
    worst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an audit is asked for. A = CVaR(alpha), B = CVaR(beta); `worst` is the share of «worst 20 %».

    `weighting`: every client counts the same ("clients"), or by its number of rows ("size"). `draws` of the bootstrap
    give intervals at `level`; 0 gives none.

    >>> Settings(draws=10)
    Traceback (most recent call last):
    evenkeel.errors.InputError: draws = 10: a 95 % interval needs at least 39; raise draws, or give 0 for no intervals
    """

    alpha: float = 0.2
    beta: float = 0.2
    phi: float = 0.0
    weighting: Weighting = "clients"
    draws: int = 1000
    level: float = 0.95
    seed: int = 0
    method: Method = "bca"
    worst: float = 0.2

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "worst"):
            tail_share(getattr(self, name), name)
        coefficient(self.phi)
        for name, known in (("weighting", ("clients", "size")), ("method", ("percentile", "bca"))):
            value = getattr(self, name)
            if value not in known:
                raise InputError(f"{name} = {value!r}: not known; {nearest(str(value), known)}")
        if not 0 < self.level < 1:
            raise InputError(f"level = {self.level}: must lie in (0, 1); give a share such as 0.95")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed = {self.seed}: must be a whole number in [0, 2^63)")
        least = int(np.ceil(round(2 / (1 - self.level), 6))) - 1
        if self.draws != 0 and self.draws < least:
            raise InputError(
                f"draws = {self.draws}: a {self.level * 100:g} % interval needs at least {least}; "
                "raise draws, or give 0 for no intervals"
            )


class Room(NamedTuple):
    """Where a thread keeps the masses of its draws: a fresh megabyte a draw costs more than what is computed in it."""

    counts: Vector
    p: Vector
    P: Vector
    p_accuracy: Vector
    P_accuracy: Vector

    @classmethod
    def of(cls, n: int) -> "Room":
        """Room for n clients."""
        return cls(*(np.empty(n) for _ in cls._fields))


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Losses and accuracies, each in its own rising order.

    `place[k]` is the table's row of the k-th smallest loss; `by_accuracy` turns masses in the order of losses into
    masses in the order of accuracies.
    """

    loss: Ranked
    accuracy: Ranked | None
    place: NDArray[np.intp]
    by_accuracy: NDArray[np.intp] | None

    @classmethod
    def of(cls, table: LossTable, weighting: Weighting = "clients") -> "Sample":
        """Sort the table. Ties go by accuracy and size, so that the order of rows never matters."""
        weights = _weights(table, weighting)
        keys = [k for k in (table.size, table.accuracy) if k is not None]
        place = np.lexsort((*keys, table.loss)) if keys else np.argsort(table.loss, kind="stable")
        p = np.ones(table.n) if weights is None else masses(weights[place], table.n)
        loss = in_order(table.loss[place], p)
        if table.accuracy is None:
            return cls(loss, None, place, None)
        accuracy = table.accuracy[place]
        by_accuracy = np.argsort(accuracy, kind="stable")
        return cls(loss, in_order(accuracy[by_accuracy], p[by_accuracy]), place, by_accuracy)

    @property
    def n(self) -> int:
        """The number of clients."""
        return self.loss.x.size

    def times(self, counts: Vector, room: Room | None = None) -> "Sample":
        """The same clients, each taken as often as `counts` says (in the order of losses)."""
        room = room or Room.of(self.n)
        p = np.multiply(counts, self.loss.p, out=room.p)
        loss = self.loss.reweighted(p, room.P)
        if self.accuracy is None or self.by_accuracy is None:
            return Sample(loss, None, self.place, None)
        moved = np.take(p, self.by_accuracy, out=room.p_accuracy, mode="clip")  # "clip" lets NumPy write unbuffered
        return Sample(loss, self.accuracy.reweighted(moved, room.P_accuracy), self.place, self.by_accuracy)


def _weights(table: LossTable, weighting: Weighting) -> Vector | None:
    if weighting == "clients":
        return None
    if table.size is None:
        raise InputError("weighting = 'size': the table has no sizes; add them, or weight by 'clients'")
    return table.size


Plan = dict[str, Callable[[Sample], float]]


def plan(names: tuple[str, ...], settings: Settings, *, accuracy: bool) -> Plan:
    """How to take each named index from a sample; those of accuracy are left out where there is none.

    >>> take = plan(("R", "worst20_accuracy"), Settings(alpha=0.5, beta=0.5), accuracy=False)
    >>> {name: f(Sample.of(LossTable.of(loss=[1.0, 3.0]))) for name, f in take.items()}
    {'R': 3.0}
    """
    return {name: _take(name, settings) for name in names if accuracy or INDICES[name].of == "loss"}


def evaluate(chosen: Plan, sample: Sample) -> list[float]:
    """Every index of a plan, in its order."""
    return [take(sample) for take in chosen.values()]


def _take(name: str, settings: Settings) -> Callable[[Sample], float]:
    index = INDICES[name]
    arguments = {argument: getattr(settings, setting) for argument, setting in index.settings.items()}
    function = partial(index.function, **arguments)
    if index.of == "accuracy":
        return lambda sample: function(sample.accuracy)
    return lambda sample: function(sample.loss)
