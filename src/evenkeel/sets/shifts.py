"""Clipped shifts: the one-dimensional root behind every exact projection here.

`shift` finds p with Σ (clip(z − p, lo, hi) − lo) = budget, the breakpoint problem of the continuous quadratic knapsack
(Brucker 1984; Kiwiel 2008). The sum falls in p and is piecewise linear. Few entries: sort the breakpoints. Many: the
roots of a sample bracket the root, and only entries that the bracket leaves undecided are kept; so O(n) in all.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evenkeel.sets.base import Vector

Bound = Vector | float  # one bound a client, or one for all
_EPS = float(np.finfo(np.float64).eps)
_COARSE = 1e-12  # relative: what may be missing of a budget, where no entry is free to take it
_FEW, _SAMPLE, _MARGIN = 4096, 2048, 0.04  # a sample's root is off by .01 of the room; at least half must be left out
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
    left = shift(sample, low, high, min(part + _MARGIN * room, room))
    right = shift(sample, low, high, max(part - _MARGIN * room, 0.0))
    found = _between(z, lo, hi, budget, (left, right))
    return _bisect(z, lo, hi, budget, shift(sample, low, high, min(part, room))) if found is None else found


def _between(z: Vector, lo: Bound, hi: Bound, budget: float, ends: tuple[float, float]) -> float | None:
    """The root if it lies between the ends, left and right, and few entries are undecided there; else None.

    Entries that are full at `right` are full at the root, those that are empty at `left` empty; so a root of the rest
    that lies between is the root of all.
    """
    left, right = ends
    full = np.greater_equal(z, hi + right)
    undecided = np.greater(z, lo + left)
    undecided ^= full  # what is full at `right` is above the lower bound at `left`
    few = int(np.count_nonzero(undecided))
    if left > right or not 0 < few <= z.size // 2:
        return None
    if isinstance(lo, float) and isinstance(hi, float):
        done = (hi - lo) * int(np.count_nonzero(full))
    else:
        done = total(_take(hi, full), int(full.sum())) - total(_take(lo, full), int(full.sum()))
    low, high = _take(lo, undecided), _take(hi, undecided)
    if not 0 <= budget - done <= total(high, few) - total(low, few):
        return None
    p = shift(z[undecided], low, high, budget - done)
    return p if left <= p <= right else None


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
    order = np.argsort(-points)
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
    x = np.subtract(z, p)
    np.clip(x, lo, hi, out=x)
    missing = _missing(x, lo, budget)
    if abs(missing) <= _EPS * max(budget, 1.0):
        return x, p
    free = (x > lo) & (x < hi)
    number = int(np.count_nonzero(free))
    if number == 0 and abs(missing) > _COARSE * budget:  # z so large that no p hits; its differences are exact
        t = z - p
        again = shift(t, lo, hi, budget)
        return np.clip(t - again, lo, hi), p + again
    if number:
        np.clip(np.add(x, missing / number, out=x, where=free), lo, hi, out=x)
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
    guess = _sampled_shape(z, upper, lower, budget_a, budget_b)
    if guess is not None:
        lam, fits = guess(z, upper, lower, budget_a, budget_b)
        if fits:
            return lam
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


Shape = Callable[[Vector, Bound, Bound, float, float], tuple[Vector, bool]]


def _sampled_shape(z: Vector, upper: Bound, lower: Bound, budget_a: float, budget_b: float) -> Shape | None:
    """The shape of a sample of very many clients, if it is one of the outer two: likely theirs, and tried first."""
    if z.size < 2 * _FEW:
        return None
    some = slice(None, None, z.size // _SAMPLE)
    few, high, low = z[some], _take(upper, some), _take(lower, some)
    part = few.size / z.size
    for shape in (_apart, _overlapping):
        if shape(few, high, low, budget_a * part, budget_b * part)[1]:
            return shape
    return None


def _apart(z: Vector, upper: Bound, lower: Bound, budget_a: float, budget_b: float) -> tuple[Vector, bool]:
    rest = -total(lower, z.size) - budget_b
    if budget_a > total(upper, z.size) or rest < 0:  # a sample of unequal caps may not hold its budgets
        return z, False
    plus, p = clip_to_budget(z, 0.0, upper, budget_a)
    minus, q = clip_to_budget(z, lower, 0.0, rest)
    return np.add(plus, minus, out=plus), p >= q


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
