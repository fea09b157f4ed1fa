"""The plain settings of each phase, checked once: an unknown or impossible one is refused with a remedy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from evenkeel.errors import InputError, nearest

C = TypeVar("C")


def _demand(ok: bool, what: str, rule: str) -> None:
    if not ok:
        raise InputError(f"{what}: {rule}")


def _count(value: object, lowest: int = 0) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= lowest)


def _finite(value: object) -> bool:
    kinds = int | float | np.integer | np.floating
    return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """No settings: the full loss, dropout off. (The phase "hvp" has none either.)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradient:
    """`batch` rows (0: all) of the `index`-th draw; `dropout` is on unless switched off."""

    batch: int = 0
    index: int = 0
    dropout: bool = True

    def __post_init__(self) -> None:
        _demand(_count(self.batch), f"gradient: batch = {self.batch!r}", "must be 0 (all rows) or more")
        _demand(_count(self.index), f"gradient: index = {self.index!r}", "must be 0 or more")

    @property
    def phase(self) -> str:
        """The name under which this gradient's rows and masks are drawn."""
        return f"gradient/{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """Algorithm 2: exactly one of `steps` and `epochs`; `divisor` 0 is the number of steps really taken.

    `control_batch` is the batch of the control gradient (0: all rows). `snapshot` s ≥ 0 also returns u after step s,
    counted from 0 (after the last step where a client takes fewer).
    """

    eta: float
    batch: int = 0
    steps: int = 0
    epochs: int = 0
    control_batch: int = 0
    divisor: float = 0
    snapshot: int = -1
    dropout: bool = True

    def __post_init__(self) -> None:
        _demand(_finite(self.eta) and self.eta > 0, f"local: eta = {self.eta!r}", "must be above 0 and finite")
        one = _count(self.steps) and _count(self.epochs) and (self.steps > 0) != (self.epochs > 0)
        _demand(one, f"local: steps = {self.steps!r}, epochs = {self.epochs!r}", "give one of them, above 0")
        for name in ("batch", "control_batch"):
            value = getattr(self, name)
            _demand(_count(value), f"local: {name} = {value!r}", "must be 0 (all rows) or more")
        _demand(
            _finite(self.divisor) and self.divisor >= 0,
            f"local: divisor = {self.divisor!r}",
            "must be 0 (steps taken) or more",
        )
        _demand(
            _count(self.snapshot, -1), f"local: snapshot = {self.snapshot!r}", "must be a step from 0, or -1 for none"
        )

    @property
    def control(self) -> Gradient:
        """The gradient phase that c_i is recomputed by, with the same draws."""
        return Gradient(batch=self.control_batch, index=0, dropout=self.dropout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Which part is scored: "valid" or "train"."""

    split: str = "valid"

    def __post_init__(self) -> None:
        _demand(self.split in {"valid", "train"}, f"score: split = {self.split!r}", "must be 'valid' or 'train'")


def settings(kind: type[C], config: Mapping[str, Any]) -> C:
    """The typed settings of an ask's config.

    >>> settings(Gradient, {"batch": 32})
    Gradient(batch=32, index=0, dropout=True)
    >>> settings(Gradient, {"bach": 32})
    Traceback (most recent call last):
    evenkeel.errors.InputError: gradient: unknown setting 'bach'; did you mean 'batch'?
    """
    name = kind.__name__.lower()
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]  # every kind above is a dataclass
    for key in config:
        if key not in known:
            raise InputError(f"{name}: unknown setting {key!r}; {nearest(key, known)}")
    if kind is Local and "eta" not in config:
        raise InputError("local: eta is not given: the local step size has no default; set eta")
    return kind(**config)


def demand_theta(phase: str, shared: Mapping[str, Any]) -> None:
    """Every phase is asked at some θ.

    >>> demand_theta("probe", {"thetta": 0})
    Traceback (most recent call last):
    evenkeel.errors.InputError: ask 'probe': no 'theta' among what it shares (thetta); give one
    """
    if "theta" not in shared:
        raise InputError(f"ask {phase!r}: no 'theta' among what it shares ({', '.join(shared) or 'nothing'}); give one")
