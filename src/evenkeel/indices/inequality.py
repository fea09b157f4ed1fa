"""Indices of the whole distribution: level, Lorenz and Gini, entropies, Atkinson, Jain, spread.

z below is the loss over its mean, z_i = f_i / Σp_j f_j, and p the clients' weights, summing to 1 (1/n each if none
are given). All clients at 0 are equal clients.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from evenkeel.errors import InputError
from evenkeel.indices.ranked import Losses, Ranked, Vector, dot, ranked


def mean(losses: Losses, weights: ArrayLike | None = None) -> float:
    """Σ p_i f_i, what plain averaging minimises. 0: nobody has a loss. No upper end.

    >>> mean([1.0, 2.0, 6.0])
    3.0
    """
    return ranked(losses, weights).mean


def smallest(losses: Losses, weights: ArrayLike | None = None) -> float:
    """min f_i over the clients that have weight. 0: somebody has no loss.

    >>> smallest([2.0, 1.0])
    1.0
    """
    return ranked(losses, weights).least


def largest(losses: Losses, weights: ArrayLike | None = None) -> float:
    """max f_i over the clients that have weight, the loss of the worst-off client. 0: nobody has a loss.

    >>> largest([2.0, 1.0])
    2.0
    """
    return ranked(losses, weights).most


def lorenz(losses: Losses, weights: ArrayLike | None = None) -> tuple[Vector, Vector]:
    """The Lorenz curve's corners (x, ℓ(x)): ℓ(x) is the share of all loss that the best-off x of the clients have.

    It rises from (0, 0) to (1, 1), is convex, straight between the corners, and the diagonal for equal clients.

    >>> x, share = lorenz([1.0, 1.0, 2.0])
    >>> x.round(3).tolist(), share.tolist()
    ([0.0, 0.333, 0.667, 1.0], [0.0, 0.25, 0.5, 1.0])
    """
    r = ranked(losses, weights)
    x = np.concatenate([[0.0], r.P / r.P[-1]])
    if r.mean == 0:
        return x, x.copy()
    held = np.cumsum(r.p * (r.x / r.unit))
    return x, np.concatenate([[0.0], held / held[-1]])


def lorenz_gap(losses: Losses, weights: ArrayLike | None = None) -> tuple[Vector, Vector]:
    """The transformed curve's corners (x, ℓ(x) − x), for charts: 0 for equal clients, never above 0.

    Its area is −Gini/2. (The paper draws ℓ(x) − x/2, whose area has no such meaning.)

    >>> lorenz_gap([1.0, 3.0])[1].tolist()
    [0.0, -0.25, 0.0]
    """
    x, share = lorenz(losses, weights)
    return x, share - x


def lorenz_points(losses: Losses, weights: ArrayLike | None = None, *, most: int = 101) -> list[tuple[float, float]]:
    """The Lorenz curve in at most `most` points: its corners if they are so few, else an even grid on the curve.

    The curve is straight between its corners, so every point is exact at its x.

    >>> lorenz_points([1.0, 1.0, 2.0], most=3)      # half-way between 1/4 and 1/2
    [(0.0, 0.0), (0.5, 0.375), (1.0, 1.0)]
    """
    x, share = lorenz(losses, weights)
    if x.size > most:
        grid = np.linspace(0.0, 1.0, most)
        x, share = grid, np.interp(grid, x, share)
    return list(zip(x.tolist(), share.tolist(), strict=True))


def gini(losses: Losses, weights: ArrayLike | None = None) -> float:
    """The Gini coefficient 1 − 2∫ℓ = Σ_ij p_i p_j |z_i − z_j| / 2. (The paper's printed formula gives this + ½.)

    In [0, 1 − 1/n]. 0: equal clients; 1 − 1/n: one client has all the loss.

    >>> gini([1.0, 3.0]), gini([0.0, 0.0, 0.0, 1.0])
    (0.25, 0.75)
    """
    r = ranked(losses, weights)
    if r.mean == 0:
        return 0.0
    # Σ p_i z_i (P_i + P_{i−1} − W) / W²; what is above the least may stand in for z, as Σ p_i (P_i + P_{i−1} − W) = 0.
    e = r.transform(_above_least)
    spread = 2 * dot(r.p, e, r.P) - dot(r.p, e, r.p) - dot(r.p, e) * r.total
    return max(spread / r.total**2 * (r.unit / r.mean), 0.0)


def variance(losses: Losses, weights: ArrayLike | None = None) -> float:
    """Σ p_i (f_i − mean)² (over n, not n − 1). 0: equal clients. In the losses' unit squared; no upper end.

    >>> variance([1.0, 3.0])
    1.0
    """
    r = ranked(losses, weights)
    return _variance(r) * r.unit * r.unit


def cv(losses: Losses, weights: ArrayLike | None = None) -> float:
    """The coefficient of variation: standard deviation over mean.

    In [0, √(n − 1)]. 0: equal clients; √(n − 1): one client has all the loss.

    >>> cv([1.0, 3.0])
    0.5
    """
    r = ranked(losses, weights)
    if r.mean == 0:
        return 0.0
    return math.sqrt(_variance(r)) * (r.unit / r.mean)


def jain(losses: Losses, weights: ArrayLike | None = None) -> float:
    """Jain's index (Σ p_i f_i)² / Σ p_i f_i² = 1 / (1 + cv²).

    In [1/n, 1]. 1: equal clients; 1/n: one client has all the loss. Larger is more equal.

    >>> jain([1.0, 3.0])
    0.8
    """
    spread = cv(losses, weights)
    return 1 / (1 + spread * spread)


def generalised_entropy(losses: Losses, weights: ArrayLike | None = None, *, a: float = 2.0) -> float:
    """GE(a) = Σ p_i (z_i^a − 1) / (a(a − 1)); GE(1) = Σ p_i z_i log z_i is Theil's, GE(0) = −Σ p_i log z_i.

    0: equal clients. Large a looks at large losses, small a at small ones. GE(2) is cv²/2. For a > 1 the largest
    value, one client with all the loss, is (n^(a−1) − 1) / (a(a − 1)). inf: a ≤ 0 and a client without loss, or
    beyond what a float holds.

    >>> generalised_entropy([1.0, 3.0])       # cv² / 2
    0.125
    >>> generalised_entropy([0.0, 3.0], a=0)
    inf
    """
    if not math.isfinite(a):
        raise InputError(f"a = {a}: the entropy's order must be a finite number; give one such as 1 or 2")
    r = ranked(losses, weights)
    if r.mean == 0:
        return 0.0
    if a <= 0 and r.least == 0:
        return math.inf
    unit = r.unit / r.mean  # z here is over the plain mean; z over this mean is unit·z
    if a == 1:
        value = unit * r.expect(_z_log_z) + math.log(unit)
    elif a == 0:
        value = -r.expect(_log) - math.log(unit)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            value = (float(np.float64(unit) ** a) * r.expect(_power, a) - 1) / (a * (a - 1))
    return max(value, 0.0) if math.isfinite(value) else math.inf


def theil(losses: Losses, weights: ArrayLike | None = None) -> float:
    """Theil's index Σ p_i z_i log z_i, with 0 log 0 = 0: generalised entropy of order 1.

    In [0, log n]. 0: equal clients; log n: one client has all the loss.

    >>> theil([0.0, 5.0]) == math.log(2)
    True
    """
    return generalised_entropy(losses, weights, a=1.0)


def atkinson(losses: Losses, weights: ArrayLike | None = None, *, epsilon: float = 0.5) -> float:
    """Atkinson's index 1 − (Σ p_i z_i^(1−ε))^(1/(1−ε)); ε = 1 is 1 − geometric mean / mean, ε = inf 1 − min/mean.

    In [0, 1]. 0: equal clients, or ε = 0; 1: ε ≥ 1 and a client without loss. It was made for incomes: the larger
    ε ≥ 0, the more it looks at the smallest values, which for losses are the best-off clients.

    >>> round(atkinson([1.0, 4.0], epsilon=1.0), 12), atkinson([1.0, 4.0], epsilon=math.inf)   # 1 − 2/2.5, 1 − 1/2.5
    (0.2, 0.6)
    """
    if not epsilon >= 0:
        raise InputError(f"epsilon = {epsilon}: aversion must be >= 0; give a number such as 0.5, or inf")
    r = ranked(losses, weights)
    if r.mean == 0:
        return 0.0
    if epsilon >= 1 and r.least == 0:
        return 1.0
    return min(max(1 - _equal_equivalent(r, epsilon) / r.mean, 0.0), 1.0)


def _variance(r: Ranked) -> float:
    """The variance of z, from what is above the least: exactly 0 for equal clients, and no digits lost to outliers.

    A resample may lack the one client that sets the mean; squares around that mean would then drown the rest.
    """
    shift = r.expect(_above_least)
    return max(r.expect(_above_least_squared) - shift * shift, 0.0)


def _equal_equivalent(r: Ranked, epsilon: float) -> float:
    """The power mean of order 1 − ε: the loss which, held by all, Atkinson deems as good."""
    if epsilon == math.inf:
        return r.least
    if epsilon == 1:
        return r.unit * math.exp(r.expect(_log))
    if epsilon < 1:
        return r.unit * math.pow(r.expect(_power, 1 - epsilon), 1 / (1 - epsilon))
    with np.errstate(over="ignore"):  # over the smallest loss the powers stay in (0, 1], whatever ε
        powers = (r.x[r.p > 0] / r.least) ** (1 - epsilon)
    return r.least * math.pow(float((r.p[r.p > 0] * powers).sum()) / r.total, 1 / (1 - epsilon))


# Transforms of z. What is 0 for z = 0 below is never used there: an infinite answer is given before.


def _above_least(z: Vector, _: float) -> Vector:
    return z - float(z[0])


def _above_least_squared(z: Vector, _: float) -> Vector:
    return (z - float(z[0])) ** 2


def _log(z: Vector, _: float) -> Vector:
    return np.log(np.where(z > 0, z, 1.0))


def _z_log_z(z: Vector, _: float) -> Vector:
    return z * _log(z, 1.0)


def _power(z: Vector, a: float) -> Vector:
    return np.where(z > 0, np.where(z > 0, z, 1.0) ** a, 0.0)
