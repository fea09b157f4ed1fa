"""The regression of Figure 3 as three quadratic forms of whole numbers.

The table's lengths have one decimal and the grid's steps are .01 and .001, so every residual on the grid is a whole
number of 10⁻⁴ mm and every loss a whole number of 10⁻⁸ mm². With h = (k₁, k₂, k₃, 1), k the place in the grid,
f_i = hᵀK_ih exactly, where K_i is the Gram matrix of client i's residual rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenkeel.data.sources.penguins import FEATURES, TARGET, table
from evenkeel.errors import InputError, nearest

Whole = NDArray[np.int64]
Real = NDArray[np.float64]

SPECIES = ("Adelie", "Chinstrap", "Gentoo")  # f_1, f_2, f_3, in the paper's order
LOW, STEP, SIZE = (-35.0, 0.0, 0.0), (0.01, 0.001, 0.001), 1001
HIGH = (-25.0, 1.0, 1.0)
UNIT = 1e-8  # mm² to one unit of the whole losses


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to read the experiment: the sign before θ₃x₂ in the residual, and which missing cells drop a row."""

    meaning: str
    sign: int
    complete: bool = False


READINGS: Mapping[str, Reading] = {
    "model": Reading(meaning="residual y − θ₁ − θ₂x₁ − θ₃x₂, as the model says", sign=-1),
    "printed": Reading(meaning="residual y − θ₁ − θ₂x₁ + θ₃x₂, as the losses are printed", sign=1),
    "complete": Reading(
        meaning="as model, but rows without a recorded sex are dropped as well", sign=-1, complete=True
    ),
}


def rows(reading: str) -> tuple[pl.DataFrame, ...]:
    """The first ten rows of each species that have no missing measurement.

    >>> [len(r) for r in rows("model")], rows("model")[0]["bill_length_mm"].to_list()[:4]
    ([10, 10, 10], [39.1, 39.5, 40.3, 36.7])
    """
    if reading not in READINGS:
        raise InputError(f"reading {reading!r}: no such reading; {nearest(reading, READINGS)}")
    kept = table().drop_nulls(None if READINGS[reading].complete else [*FEATURES, TARGET])
    return tuple(kept.filter(pl.col("species") == name).head(10) for name in SPECIES)


def residuals(reading: str) -> Whole:
    """r with residual_j = r_j·(k₁, k₂, k₃, 1) in 10⁻⁴ mm, one (rows, 4) block a client.

    >>> residuals("model")[0, 0].tolist()  # y = 39.1, x = (18.7, 181): 39.1 + 35 at the grid's first point
    [-100, -187, -1810, 741000]
    """
    return np.stack([_residuals(r, READINGS[reading].sign) for r in rows(reading)])


def _residuals(r: pl.DataFrame, sign: int) -> Whole:
    tenths = {name: np.rint(10 * r[name].to_numpy()).astype(np.int64) for name in (TARGET, *FEATURES)}
    depth, flipper = (tenths[name] for name in FEATURES)
    at_zero = 1000 * tenths[TARGET] - round(1e4 * LOW[0])
    return np.stack([np.full_like(depth, -100), -depth, sign * flipper, at_zero], axis=1)


def forms(reading: str) -> Whole:
    """K_i, one 4 × 4 matrix a client.

    >>> forms("model").shape
    (3, 4, 4)
    """
    r = residuals(reading)
    return np.asarray(np.einsum("ijk,ijl->ikl", r, r))


def theta(place: Whole) -> Real:
    """The parameters at a place of the grid, without the dust of binary fractions.

    >>> theta(np.array([10, 724, 339])).tolist()
    [-34.9, 0.724, 0.339]
    """
    return np.asarray(np.round(np.array(LOW) + np.array(STEP) * place, 3))


def design(reading: str) -> Real:
    """Rows d with residual_j = d_j·(θ, 1) in mm, one (rows, 4) block a client.

    >>> design("model")[0, 0].round(9).tolist()
    [-1.0, -18.7, -181.0, 39.1]
    """
    to_place = np.eye(4)
    to_place[:3, :3] /= STEP
    to_place[:3, 3] = -np.array(LOW) / STEP
    return np.asarray(residuals(reading) @ to_place * np.sqrt(UNIT))
