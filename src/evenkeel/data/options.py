"""Options by name: what a function takes, what values it takes, and a clear line for what it does not."""

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from evenkeel.errors import InputError, nearest

ROWS_FIRST = ("labels", "n", "seed")  # what every partition takes before its own options


def options_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The options of a source or a partition with their defaults; `inspect.Parameter.empty` marks a required one.

    >>> def source(path, *, part="train"): ...
    >>> sorted(options_of(source)), options_of(source)["part"]
    (['part', 'path'], 'train')
    """
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.name not in ROWS_FIRST or p.kind is p.KEYWORD_ONLY}


def complete(function: Callable[..., Any], given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The given options over the defaults; one that is unknown or left out without a default is refused.

    >>> def source(path, *, part="train"): ...
    >>> complete(source, {"path": "a.csv"}, "data 'x'")
    {'path': 'a.csv', 'part': 'train'}
    >>> complete(source, {"parts": "test"}, "data 'x'")
    Traceback (most recent call last):
    evenkeel.errors.InputError: data 'x': no option 'parts'; did you mean 'part'?
    """
    known = options_of(function)
    for key in given:
        if key not in known:
            raise InputError(f"{what}: no option {key!r}; {nearest(str(key), known) if known else 'it has none'}")
    full = {**known, **given}
    for key, value in full.items():
        if value is inspect.Parameter.empty:
            raise InputError(f"{what}: option {key!r} is missing: it has no default; give it")
    return full


def whole(what: str, value: object, lowest: int) -> int:
    """A whole number of at least `lowest`.

    >>> whole("n", 2.5, 1)
    Traceback (most recent call last):
    evenkeel.errors.InputError: n = 2.5: must be a whole number of at least 1
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < lowest:
        raise InputError(f"{what} = {value!r}: must be a whole number of at least {lowest}")
    return int(value)


def number(what: str, value: object, lowest: float, highest: float, remedy: str) -> float:
    """A number in [lowest, highest]; NaN is in no interval.

    >>> number("alpha", 0, 1e-6, 1e6, "the paper takes 0.5")
    Traceback (most recent call last):
    evenkeel.errors.InputError: alpha = 0: must be a number in [1e-06, 1e+06]; the paper takes 0.5
    """
    if not isinstance(value, (int, float, np.floating)) or isinstance(value, bool) or not lowest <= value <= highest:
        raise InputError(f"{what} = {value!r}: must be a number {_interval(lowest, highest)}; {remedy}")
    return float(value)


def _interval(lowest: float, highest: float) -> str:
    """In words where an end is the smallest or the largest float.

    >>> _interval(0, 1), _interval(math.nextafter(0, 1), sys.float_info.max)
    ('in [0, 1]', 'above 0 and finite')
    """
    if highest < sys.float_info.max:
        return f"in [{lowest:g}, {highest:g}]"
    return f"{'above 0' if 0 < lowest <= math.ulp(0) else f'of at least {lowest:g}'} and finite"
