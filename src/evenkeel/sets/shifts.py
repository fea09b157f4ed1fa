"""Clipped shifts: the one-dimensional root behind every exact projection here.

`shift` finds p with Σ (clip(z − p, lo, hi) − lo) = budget, the breakpoint problem of the continuous quadratic knapsack
(Brucker 1984; Kiwiel 2008). The sum falls in p and is piecewise linear. Few entries: sort the breakpoints. Many: the
roots of a sample bracket the root, and only entries that the bracket leaves undecided are kept; so O(n) in all.
"""

import numpy as np
from numpy.typing import NDArray

from evenkeel.sets.base import Vector

Bound = Vector | float  # one bound a client, or one for all
_EPS = float(np.finfo(np.float64).eps)
_COARSE = 1e-12  # relative: what may be missing of a budget, where no entry is free to take it
_FEW, _SAMPLE = 2048, 1024
_PASSES = 400  # bisection alone ends far earlier: 64 bits of mantissa and exponent


def shift(z: Vector, lo: Bound, hi: Bound, budget: float) -> float:
    """p such that Σ (clip(z − p, lo, hi) − lo) = budget, for 0 ≤ budget ≤ Σ (hi − lo).

    >>> shift(np.array([0.9, 0.5]), 0.0, 1.0, 1.0)      # 0.9 − p + 0.5 − p = 1
    0.2
    """
    if z.size <= _FEW:
        return _sorted_root(z, lo, hi, budget)
    every = z.size // _SAMPLE
    sample, low, high = z[::every], _take(lo, slice(None, None, every)), _take(hi, slice(None, None, every))
    room = total(high, sample.size) - total(low, sample.size)
    part = budget * sample.size / z.size
    left = shift(sample, low, high, min(part + 0.06 * room, room))
    right = shift(sample, low, high, max(part - 0.06 * room, 0.0))
    if _filled(z, lo, hi, left) > budget > _filled(z, lo, hi, right):
        full = np.greater_equal(z, hi + right)
        undecided = np.greater(z, lo + left) & ~full
        if 2 * int(np.count_nonzero(undecided)) < z.size:
            done = total(_take(hi, full), int(full.sum())) - total(_take(lo, full), int(full.sum()))
            return shift(z[undecided], _take(lo, undecided), _take(hi, undecided), budget - done)
    return _bisect(z, lo, hi, budget, shift(sample, low, high, min(part, room)))


def total(bound: Bound, n: int) -> float:
    """Σ of a bound over n clients.

    >>> total(0.5, 4)
    2.0
    """
    return bound * n if isinstance(bound, float) else float(bound.sum())


def _take(bound: Bound, which: slice | NDArray[np.bool_]) -> Bound:
    return bound if isinstance(bound, float) else bound[which]


def _filled(z: Vector, lo: Bound, hi: Bound, p: float) -> float:
    t = z - p
    return float(np.clip(t, lo, hi, out=t).sum()) - total(lo, z.size)


def _sorted_root(z: Vector, lo: Bound, hi: Bound, budget: float) -> float:
    """Exact: walk the sorted breakpoints from the right, where the sum is 0, to the piece that holds the budget."""
    points = np.concatenate([z - lo, z - hi])
    order = np.argsort(-points, kind="stable")
    points, enters = points[order], np.where(order < z.size, 1, -1)
    sums = np.concatenate([[0.0], np.cumsum(np.cumsum(enters)[:-1] * -np.diff(points))])
    k = min(int(np.searchsorted(sums, budget)), points.size - 1)
    if k == 0:
        return float(points[0])
    slope = int(enters[:k].sum())
    p = float(points[k - 1]) - (budget - float(sums[k - 1])) / slope if slope else float(points[k])
    p = min(max(p, float(points[k])), float(points[k - 1]))
    if slope:  # sums carries rounding from all pieces; one direct look mends it
        p = min(max(p + (_filled(z, lo, hi, p) - budget) / slope, float(points[k])), float(points[k - 1]))
    return p


def _bisect(z: Vector, lo: Bound, hi: Bound, budget: float, p: float) -> float:
    """Newton on the piece at p, safe by bisection: for samples that misled and for large groups of ties."""
    left, right = float((z - hi).min()), float((z - lo).max())
    for _ in range(_PASSES):
        t = z - p
        excess = float(np.clip(t, lo, hi).sum()) - total(lo, z.size) - budget
        if abs(excess) <= 4 * _EPS * max(budget, abs(total(lo, z.size))):
            break
        left, right = (p, right) if excess > 0 else (left, p)
        free = int(np.count_nonzero((t > lo) & (t < hi)))
        step = p + excess / free if free else np.nan
        new = step if left < step < right else 0.5 * (left + right)
        if abs(new - p) <= 2 * _EPS * abs(p) or not left < new < right:
            break
        p = new
    return p


def clip_to_budget(z: Vector, lo: Bound, hi: Bound, budget: float) -> tuple[Vector, float]:
    """x = clip(z − p, lo, hi) with Σ (x − lo) = budget, and p. The rounding left in Σx goes to the free entries.

    >>> clip_to_budget(np.array([0.9, 0.5, -3.0]), 0.0, 1.0, 1.0)[0].round(12).tolist()
    [0.7, 0.3, 0.0]
    """
    p = shift(z, lo, hi, budget)
    t = z - p
    x = np.clip(t, lo, hi)
    missing, free = _missing(x, lo, budget), (x > lo) & (x < hi)
    if abs(missing) > _COARSE * budget and not free.any():  # z so large that no p hits; its differences are exact
        again = shift(t, lo, hi, budget)
        p, x = p + again, np.clip(t - again, lo, hi)
        missing, free = _missing(x, lo, budget), (x > lo) & (x < hi)
    if abs(missing) > _EPS * max(budget, 1.0) and (number := int(np.count_nonzero(free))):
        x = np.clip(x + missing / number * free, lo, hi)
    return x, p


def _missing(x: Vector, lo: Bound, budget: float) -> float:
    return budget - (float(x.sum()) - total(lo, x.size))


def project_pair(z: Vector, cap_a: Bound, cap_b: Bound, phi: float) -> Vector:
    """The projection of z on {(a − φb)/(1−φ) : a, b ∈ Δ, a ≤ cap_a, b ≤ cap_b}: two clipped shifts.

    With A = cap_a/(1−φ), B = φ·cap_b/(1−φ) and multipliers p, q of the two budgets Σa = Σb = 1, the KKT system of
    min ‖λ − z‖²/2 leaves three shapes (docs/decisions/0002-projection.md proves that one of them always holds):

    p ≥ q:  λ = clip(z − p, 0, A) + clip(z − q, −B, 0)             worst-off up to a cap, best-off down to a floor
    p ≤ q:  λ = clip(z − q, A − B, A) + clip(z − p, −B, A − B) − (A − B)   caps so wide that a and b overlap
    p = q:  λ = clip(z − p, −B, A)                                 neither budget binds by itself

    >>> project_pair(np.array([9.0, 2.0, 1.0, 0.0]), 1.0, 1.0, 0.5)      # worst client +2, best client −1
    array([ 2.,  0.,  0., -1.])
    """
    upper, lower = cap_a / (1 - phi), -phi * cap_b / (1 - phi)
    budget_a, budget_b = 1 / (1 - phi), phi / (1 - phi)
    mid, _ = clip_to_budget(z, lower, upper, 1.0 - total(lower, z.size))
    least = float(np.maximum(mid, 0.0).sum())
    most = float(np.minimum(upper, mid - lower).sum())
    slack = 4 * _EPS * z.size * budget_a
    if least <= budget_a + slack and most >= budget_a - slack:
        return mid
    shapes = (_apart, _overlapping) if least > budget_a else (_overlapping, _apart)
    for shape in shapes:
        lam, fits = shape(z, upper, lower, budget_a, budget_b)
        if fits:
            return lam
    return mid


def _apart(z: Vector, upper: Bound, lower: Bound, budget_a: float, budget_b: float) -> tuple[Vector, bool]:
    plus, p = clip_to_budget(z, 0.0, upper, budget_a)
    minus, q = clip_to_budget(z, lower, 0.0, -total(lower, z.size) - budget_b)
    return plus + minus, p >= q


def _overlapping(z: Vector, upper: Bound, lower: Bound, budget_a: float, budget_b: float) -> tuple[Vector, bool]:
    middle = upper + lower
    low, p = clip_to_budget(z, lower, middle, budget_a)
    high, q = clip_to_budget(z, middle, upper, -total(lower, z.size) - budget_b)
    return high + low - middle, p <= q


def split_pair(lam: Vector, cap_a: Bound, cap_b: Bound, phi: float) -> tuple[Vector, Vector, float]:
    """A witness (a, b) of λ = (a − φb)/(1−φ), and by how much the constraints must be stretched for it (0: none).

    a_i may lie in [max(0, y_i), min(cap_a, y_i + φ·cap_b)] with y = (1−φ)λ; the rest is Σa = 1.

    >>> split_pair(np.array([2.0, -1.0]), 1.0, 1.0, 0.5)
    (array([1., 0.]), array([0., 1.]), 0.0)
    """
    y = (1 - phi) * lam
    least, most = np.maximum(y, 0.0), np.minimum(cap_a, y + phi * cap_b)
    gap = float(np.maximum(least - most, 0.0).max())
    most = np.maximum(most, least)
    low, high = float(least.sum()), float(most.sum())
    gap = max(gap, low - 1.0, 1.0 - high, 0.0)
    part = 0.0 if high <= low else min(max((1.0 - low) / (high - low), 0.0), 1.0)
    a = least + part * (most - least)
    b = (a - y) / phi if phi > 0 else np.full_like(a, 1 / a.size)
    return a, b, gap
