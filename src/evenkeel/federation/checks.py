"""What makes a reply unfit. Each reason is one line; whoever sent it is named and counts as absent for the exchange."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenkeel.errors import InputError
from evenkeel.federation.answering import FUSED
from evenkeel.federation.codec import Envelope
from evenkeel.federation.packing import Packed, unpack

SAID: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # step -> (scalars, vectors)
    "probe": (("loss",), ()),
    "gradient": (("loss", "norm2"), ("grad",)),
    "local": (("norm2", "steps"), ("delta",)),
    "score": (("loss", "accuracy", "error", "size"), ()),
    "hvp": ((), ("hvp",)),
}
_MEASURED = {"norm2": "delta", "fused.norm2": "fused.grad"}  # a length that the server can measure itself
_SLACK = {"exact": 1e-5, "float32": 1e-5, "float16": 1e-2, "int8": 5e-2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a reply must hold: its identity, scalars, vectors of `d` numbers of one dtype and wire."""

    identity: Mapping[str, Any]
    phase: str
    scalars: frozenset[str]
    vectors: frozenset[str]
    d: int
    dtype: str
    wire: str
    worst: float
    feedback: bool = False


def said(phase: str, config: Mapping[str, Any], *, fused: bool) -> tuple[frozenset[str], frozenset[str]]:
    """The names of a reply's scalars and vectors.

    >>> [sorted(names) for names in said("probe", {}, fused=True)]
    [['fused.loss', 'fused.norm2', 'loss'], ['fused.grad']]
    """
    if phase not in SAID:
        raise InputError(f"phase = {phase!r}: not known to the federation; add what it says to SAID")
    scalars, vectors = SAID[phase]
    vectors += ("snapshot",) if phase == "local" and int(config.get("snapshot", -1)) >= 0 else ()
    if fused:
        scalars += tuple(FUSED + name for name in SAID["gradient"][0])
        vectors += tuple(FUSED + name for name in SAID["gradient"][1])
    return frozenset(scalars), frozenset(vectors)


def unfit(reply: Envelope, expected: Expected) -> str | None:
    """Why a reply is refused, or None for a good one."""
    for name, right in expected.identity.items():
        if reply.facts.get(name) != right:
            return f"answers another question ({name} = {reply.facts.get(name)!r}, asked was {right!r})"
    scalars = reply.facts.get("scalars")
    if not isinstance(scalars, dict) or set(scalars) != expected.scalars or set(reply.arrays) != expected.vectors:
        return "does not hold what was asked for"
    return _scalars(scalars, expected) or _vectors(reply.arrays, expected) or _lengths(reply, expected)


def _scalars(scalars: Mapping[str, Any], expected: Expected) -> str | None:
    for name, value in scalars.items():
        if not isinstance(value, int | float) or isinstance(value, bool):
            return f"{name} is no number"
        if expected.phase == "score" and name != "size":
            if not math.isnan(value) and not 0 <= value <= expected.worst:
                return f"{name} {value}: must lie in 0…{expected.worst:g}"
            continue  # NaN there means no rows, or no accuracy
        if not math.isfinite(value):
            return f"{name} {value}"
        most = expected.worst if "loss" in name else math.inf
        if not 0 <= value <= most:
            return f"{name} {value:g}: must lie in 0…{most:g}"
    return None


def _vectors(arrays: Mapping[str, Packed], expected: Expected) -> str | None:
    for name, packed in arrays.items():
        if packed.shape != (expected.d,) or packed.dtype != expected.dtype or packed.wire != expected.wire:
            found = f"{packed.shape} of {packed.dtype} as {packed.wire}"
            return f"{name}: {found}, must be ({expected.d},) of {expected.dtype} as {expected.wire}"
        try:
            values = unpack(packed)
        except InputError as error:
            return f"{name}: {error}"
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            return f"{name} {values[~np.isfinite(values)][0]}"
    return None


def _lengths(reply: Envelope, expected: Expected) -> str | None:
    """A squared length must be that of its vector: q-FedAvg divides by it."""
    if expected.feedback:  # the vector is x + e there, and the length that of x
        return None
    for name, vector in (*_MEASURED.items(), ("norm2", "grad")):
        if name not in expected.scalars or vector not in expected.vectors:
            continue
        claimed = float(reply.facts["scalars"][name])
        values = unpack(reply.arrays[vector])
        found = float(np.dot(values.astype(np.float64), values.astype(np.float64)))
        if abs(claimed - found) > _SLACK[expected.wire] * max(found, claimed):
            return f"{name} {claimed:g} is not that of {vector}, {found:g}"
    return None
