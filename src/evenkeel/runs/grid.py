"""Values of a sweep: `0:0.6:0.1` or `0,0.1,0.4`, and `key=` before them for any setting of a spec."""

import math
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from evenkeel.errors import InputError

MOST = 1000
Value = float | int


class Axis(NamedTuple):
    """A setting and the values it takes, ascending as given."""

    key: str
    values: tuple[Value, ...]

    @property
    def short(self) -> str:
        """The key's last part, as tables and folders name it.

        >>> Axis("algorithm.phi", (0, 0.1)).short
        'phi'
        """
        return self.key.rsplit(".", 1)[-1]


def axis(text: str) -> Axis:
    """`key=values` as an axis.

    >>> axis("algorithm.alpha=0.1:0.3:0.1")
    Axis(key='algorithm.alpha', values=(0.1, 0.2, 0.3))
    """
    key, equals, rest = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--over {text}: must be key=first:last:step, such as algorithm.alpha=0.1:0.5:0.1")
    return Axis(key.strip(), values(rest, f"--over {key.strip()}"))


def values(text: str, what: str) -> tuple[Value, ...]:
    """`first:last:step` with both ends, or values between commas; decimal, so that .1 + .2 is .3.

    >>> values("0:0.6:0.2", "--phi"), values("1,2,5", "--over work.steps")
    ((0, 0.2, 0.4, 0.6), (1, 2, 5))
    >>> values("0:0.6:-0.1", "--phi")
    Traceback (most recent call last):
    evenkeel.errors.InputError: --phi 0:0.6:-0.1: step = -0.1 must be above 0; give first:last:step
    """
    parts = [_number(part, text, what) for part in text.replace(",", ":").split(":")]
    if "," in text and ":" in text:
        raise InputError(f"{what} {text}: either first:last:step or values between commas, not both")
    found = parts if ":" not in text else _steps(parts, text, what)
    if len(set(found)) < len(found):
        raise InputError(f"{what} {text}: a value is there twice; give each once")
    return tuple(int(v) if v == v.to_integral_value() else float(v) for v in found)


def _steps(parts: list[Decimal], text: str, what: str) -> list[Decimal]:
    if len(parts) != 3:
        raise InputError(f"{what} {text}: must be first:last:step, such as 0:0.6:0.1, or values between commas")
    first, last, step = parts
    if step <= 0:
        raise InputError(f"{what} {text}: step = {step} must be above 0; give first:last:step")
    if last < first:
        raise InputError(f"{what} {text}: last = {last} must not lie below first = {first}")
    count = math.floor((last - first) / step) + 1
    if count > MOST:
        raise InputError(f"{what} {text}: {count} values, at most {MOST}; give a larger step")
    return [first + k * step for k in range(count)]


def _number(part: str, text: str, what: str) -> Decimal:
    try:
        value = Decimal(part.strip())
    except InvalidOperation:
        raise InputError(f"{what} {text}: {part.strip()!r} is no number; give first:last:step or values") from None
    if not value.is_finite() or abs(value) > Decimal("1e300"):
        raise InputError(f"{what} {text}: {part.strip()} is not finite; give first:last:step or values")
    return value
