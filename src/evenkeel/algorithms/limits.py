"""What every hyper-parameter must keep to, whichever family has it: one table, looked at when an algorithm is made."""

import math
import sys
from dataclasses import fields
from typing import Any

from evenkeel.data.options import number, whole

_ABOVE_0, _MOST = math.ulp(0), sys.float_info.max

NUMBERS = {
    "eta": (_ABOVE_0, _MOST, "a local step size such as 0.1"),
    "rate": (_ABOVE_0, _MOST, "the server's step; 1 takes the mean as it is"),
    "sigma": (0, _MOST, "0 leaves the weights alone"),
    "psi": (0, _MOST, "the pull to uniform weights; 0 switches it off"),
    "q": (0, _MOST, "0 is plain averaging, 1 to 5 are usual"),
    "alpha": (0, 1, "a share of the clients"),
    "divisor": (0, _MOST, "0 is the number of steps taken"),
}
WHOLES = ("cohort", "memory", "batch", "steps", "epochs", "control_batch")


def check(made: Any) -> None:  # noqa: ANN401 — a dataclass of any family
    """Raise on the first hyper-parameter of a family that breaks its rule; sets and schedules look after their own.

    >>> from evenkeel.algorithms import StochasticAFL
    >>> from evenkeel.sets import CVaR
    >>> StochasticAFL(ambiguity=CVaR(5, 0.2), sigma=-1.0)
    Traceback (most recent call last):
    evenkeel.errors.InputError: sigma = -1.0: must be a number of at least 0 and finite; 0 leaves the weights alone
    """
    for field in fields(made):
        value = getattr(made, field.name)
        if field.name in NUMBERS:
            number(field.name, value, *NUMBERS[field.name])
        elif field.name in WHOLES:
            whole(field.name, value, 0)
