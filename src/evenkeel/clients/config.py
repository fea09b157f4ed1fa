"""The plain settings of each phase, checked once: an unknown or impossible one is refused with a remedy."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from evenkeel.errors import InputError, nearest

C = TypeVar("C")


def _demand(ok: bool, what: str, rule: str) -> None:
    if not ok:
        raise InputError(f"{what}: {rule}")


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
        _demand(self.batch >= 0, f"gradient: batch = {self.batch}", "must be 0 (all rows) or more")
        _demand(self.index >= 0, f"gradient: index = {self.index}", "must be 0 or more")

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
        _demand(self.eta > 0, f"local: eta = {self.eta}", "must be above 0")
        one = (self.steps > 0) != (self.epochs > 0) and min(self.steps, self.epochs) == 0
        _demand(one, f"local: steps = {self.steps}, epochs = {self.epochs}", "give one of them, above 0")
        _demand(self.batch >= 0, f"local: batch = {self.batch}", "must be 0 (all rows) or more")
        _demand(self.control_batch >= 0, f"local: control_batch = {self.control_batch}", "must be 0 (all rows) or more")
        _demand(self.divisor >= 0, f"local: divisor = {self.divisor}", "must be 0 (steps taken) or more")
        _demand(self.snapshot >= -1, f"local: snapshot = {self.snapshot}", "must be a step from 0, or -1 for none")

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
