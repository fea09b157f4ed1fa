"""The exact minimiser of max_i f_i − φ·min_i f_i over a grid of whole places, for quadratic forms of whole numbers.

Everything is computed in 64-bit integers, so a tie is a tie. With φ = p/q the objective is G = q·max f − p·min f.

Along k₁ every f_i has the same curvature K_i[0,0], as the first column of every client is the same. So
f_i = c·k₁² + l_i with l_i linear, and G = (q − p)·c·k₁² + q·max l_i − p·min l_i: a strictly convex term plus maxima
of linear functions. G is strictly convex along k₁; its least value on a row (k₂, k₃) is found by halving on the sign
of G(k₁ + 1) − G(k₁), exactly.

A row can be left out if (q − p)·max_i min_{k₁} f_i exceeds the value G* of any known point of the grid: there
G ≥ (q − p)·max f ≥ (q − p)·max_i min f_i > G*, as min f ≤ max f. Both steps are inequalities between whole numbers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenkeel.errors import InputError

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """Where the objective is least: all such places in order, the losses at the first, how many rows were searched."""

    places: Whole
    losses: Whole
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """f_i = curve·k₁² + slope_i·k₁ + level_i on each row (k₂, k₃), and the floor max_i min_{k₁} f_i of each row."""

    curve: int
    slope: Whole
    level: Whole
    floor: Whole
    size: int


def rows(K: Whole, size: int) -> Rows:
    """The grid {0, …, size − 1}³ cut into rows along k₁; K is one 4 × 4 form a client.

    >>> rows(np.ones((1, 4, 4), dtype=np.int64), 3).floor.tolist()  # (k₁ + k₂ + k₃ + 1)² at k₁ = 0
    [1, 4, 9, 4, 9, 16, 9, 16, 25]
    """
    curve = int(K[0, 0, 0])
    if (K[:, 0, 0] != curve).any() or curve <= 0:
        raise InputError(f"K[:, 0, 0] = {K[:, 0, 0].tolist()}: every client needs the same curvature along θ₁, above 0")
    if 4 * 100 * _largest(K, size) >= 2**63:
        raise InputError(f"K: losses up to {_largest(K, size):.3g} leave 64 bits; give fewer rows or a coarser unit")
    b, c = (k.ravel() for k in np.meshgrid(np.arange(size), np.arange(size), indexing="ij"))
    slope = np.stack([2 * (k[0, 1] * b + k[0, 2] * c + k[0, 3]) for k in K])
    level = np.stack([(k[1, 1] * b + 2 * k[1, 2] * c + 2 * k[1, 3]) * b + (k[2, 2] * c + 2 * k[2, 3]) * c for k in K])
    level += K[:, 3, 3][:, None]
    lowest = np.clip((curve - slope) // (2 * curve), 0, size - 1)  # the whole number nearest to −slope/2curve
    return Rows(
        curve=curve, slope=slope, level=level, floor=_losses(curve, slope, level, lowest).max(axis=0), size=size
    )


def _largest(K: Whole, size: int) -> float:
    """No partial sum of a loss on the grid is larger."""
    h = np.array([size, size, size, 1.0])
    return float((h @ np.abs(K).astype(float) @ h).max())


def _losses(curve: int, slope: Whole, level: Whole, k: Whole) -> Whole:
    return np.asarray((curve * k + slope) * k + level)


def objective(losses: Whole, p: int, q: int) -> Whole:
    """q·max f − p·min f over the first axis.

    >>> int(objective(np.array([3, 5, 4]), 1, 100))
    497
    """
    return np.asarray(q * losses.max(axis=0) - p * losses.min(axis=0))


def least(r: Rows, p: int, q: int = 100, *, prune: bool = True) -> Least:
    """argmin over all places of q·max f − p·min f, 0 ≤ p < q ≤ 100.

    >>> K = np.stack([np.outer(v, v) for v in ([1, 0, 0, -2], [1, 1, 0, -3])])
    >>> least(rows(K, 5), 0).places.tolist()[:2]
    [[2, 1, 0], [2, 1, 1]]
    """
    if not 0 <= p < q <= 100:
        raise InputError(f"phi = {p}/{q}: must be a fraction in [0, 1) with a denominator of at most 100")
    kept = np.arange(r.floor.size)
    if prune:
        some = np.array([r.floor.argmin()])
        known = objective(_losses(r.curve, r.slope[:, some], r.level[:, some], _valley(r, some, p, q)), p, q)
        kept = np.flatnonzero((q - p) * r.floor <= known)
    first = _valley(r, kept, p, q)
    values = _at(r, kept, first, p, q)
    lowest = kept[values == values.min()], first[values == values.min()]
    places = _ties(r, *lowest, p, q)
    row, k = places[:1, 1] * r.size + places[:1, 2], places[:1, 0]
    return Least(places=places, losses=_losses(r.curve, r.slope[:, row], r.level[:, row], k)[:, 0], rows=kept.size)


def _at(r: Rows, row: Whole, k: Whole, p: int, q: int) -> Whole:
    return objective(_losses(r.curve, r.slope[:, row], r.level[:, row], k), p, q)


def _valley(r: Rows, row: Whole, p: int, q: int) -> Whole:
    """The first k₁ of each row at which the objective does not fall any more."""
    slope, level = r.slope[:, row], r.level[:, row]
    low, high = np.zeros_like(row), np.full_like(row, r.size - 1)
    for _ in range(int(r.size - 1).bit_length()):
        k = (low + high) // 2
        here, there = (objective(_losses(r.curve, slope, level, j), p, q) for j in (k, k + 1))
        stop = (there >= here) | (low == high)
        low, high = np.where(stop, low, k + 1), np.where(stop & (low < high), k, high)
    return low


def _ties(r: Rows, row: Whole, k: Whole, p: int, q: int) -> Whole:
    """All least places in order: strictly convex rows have at most two, which are neighbours."""
    twin = (k + 1 < r.size) & (_at(r, row, k + 1, p, q) == _at(r, row, k, p, q))
    row, k = np.concatenate([row, row[twin]]), np.concatenate([k, k[twin] + 1])
    places = np.stack([k, row // r.size, row % r.size], axis=1)
    return np.asarray(places[np.lexsort(places.T[::-1])])
