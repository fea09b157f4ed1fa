"""Losses in rising order with the mass of each client: what every index is computed from.

Every index of the audit is a weighted sum or a cumulative sum over this order, so a table is sorted once; a bootstrap
resample or a weighting by size only changes the masses p.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenkeel.errors import InputError

Vector = NDArray[np.float64]
Transform = Callable[[Vector, float], Vector]
_ROUNDING = 1e-12
Memo = dict[tuple[Transform, float], Vector]


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """x rising, p the mass of each x, P its running sum; `mean` = Σ p·x / Σp.

    `unit` is the mean with the masses that the sample was made with, and stays when they change: z = x / unit keeps
    powers and logarithms in range. `memo` holds transforms of z, which stay as well.
    """

    x: Vector
    p: Vector
    P: Vector
    mean: float
    unit: float
    memo: Memo

    @property
    def total(self) -> float:
        """W = Σp."""
        return float(self.P[-1])

    @property
    def least(self) -> float:
        """The smallest x that has mass."""
        return float(self.x[np.searchsorted(self.P, 0.0, side="right")])

    @property
    def most(self) -> float:
        """The largest x that has mass."""
        return float(self.x[self._last])

    @property
    def _last(self) -> int:
        return int(np.searchsorted(self.P, self.P[-1], side="left"))

    def reweighted(self, p: Vector, room: Vector | None = None) -> "Ranked":
        """The same losses with other masses; their running sum is put into `room` if there is one.

        >>> ranked([1.0, 2.0, 4.0]).reweighted(np.array([0.0, 1.0, 1.0])).mean
        3.0
        """
        return _with_masses(self.x, p, np.cumsum(p, out=room), self.unit, self.memo)

    def top(self, share: float) -> float:
        """The mean of the largest x that hold `share` of the mass; the x at the edge counts in part.

        It is max ⟨a, x⟩ over a_i ≤ p_i / (share·W), a ∈ Δ: the support of CVaR or WeightedCVaR. A share smaller than
        the last x's own mass gives that x.

        >>> ranked([1.0, 2.0, 4.0]).top(0.5)      # (4 + 2/2) / 1.5
        3.3333333333333335
        """
        mass, last = share * self.total, self._last
        k = min(int(np.searchsorted(self.P, self.total - mass, side="right")), last)
        rest = min(mass, mass - (self.total - float(self.P[k])))
        value = (dot(self.p[k + 1 :], self.x[k + 1 :]) + rest * float(self.x[k])) / mass
        return min(max(value, float(self.x[k])), float(self.x[last]))

    def bottom(self, share: float) -> float:
        """The mean of the smallest x that hold `share` of the mass; the x at the edge counts in part.

        >>> ranked([1.0, 2.0, 4.0]).bottom(0.5)   # (1 + 2/2) / 1.5
        1.3333333333333333
        """
        mass = share * self.total
        # Where the edge falls between two x, rounding must not take a grain of the upper one: 0 would become 1e-17,
        # and a ratio to it 1e17 and not infinite.
        k = int(np.searchsorted(self.P, mass * (1 - _ROUNDING), side="left"))
        below = float(self.P[k - 1]) if k else 0.0
        rest = min(mass - below, float(self.P[k]) - below)
        value = (dot(self.p[:k], self.x[:k]) + rest * float(self.x[k])) / (below + rest)
        return min(max(value, self.least), float(self.x[k]))

    def transform(self, h: Transform, a: float = 1.0) -> Vector:
        """h(z, a) for z = x / unit, computed once however often the masses change."""
        key = (h, a)
        if key not in self.memo:
            self.memo[key] = h(self.x / self.unit, a)
        return self.memo[key]

    def expect(self, h: Transform, a: float = 1.0) -> float:
        """Σ p_i h(z_i, a) / Σ p_i.

        >>> ranked([1.0, 3.0]).expect(lambda z, a: z**a, 2.0)     # z = (1/2, 3/2)
        1.25
        """
        return dot(self.p, self.transform(h, a)) / self.total


Losses = ArrayLike | Ranked


def dot(a: Vector, b: Vector, c: Vector | None = None) -> float:
    """Σ a_i b_i (c_i) without a temporary, and the same on any number of threads (a BLAS product is not).

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", a, b) if c is None else np.einsum("i,i,i->", a, b, c))


def ranked(losses: Losses, weights: ArrayLike | None = None, *, what: str = "losses") -> Ranked:
    """Sort losses once; without `weights` every client has mass 1, with the weight 0 a client has no say.

    What is ranked already comes back as it is.

    >>> ranked([3.0, 1.0]).x.tolist()
    [1.0, 3.0]
    >>> ranked([3.0, -1.0])
    Traceback (most recent call last):
    evenkeel.errors.InputError: losses: entry 1 is -1.0; every entry must be finite and >= 0; drop or mend that client
    """
    if isinstance(losses, Ranked):
        return losses
    x = non_negative(losses, what)
    p = np.ones_like(x) if weights is None else masses(weights, x.size)
    order = np.argsort(x, kind="stable")
    order = order[p[order] > 0]
    return in_order(x[order], p[order], what=what)


def in_order(x: Vector, p: Vector, *, what: str = "losses") -> Ranked:
    """Ranked from checked values that rise already, each with a positive mass."""
    with np.errstate(over="ignore"):
        unit = dot(p, x) / float(p.sum())
    if not np.isfinite(unit):
        raise InputError(f"{what}: their sum overflows; divide all of them by the same number")
    return _with_masses(x, p, np.cumsum(p), unit or float(x[-1]) or 1.0, {})


def non_negative(values: ArrayLike, what: str) -> Vector:
    """Values as a vector of finite numbers >= 0, or one clear line.

    >>> non_negative([], "losses")
    Traceback (most recent call last):
    evenkeel.errors.InputError: losses: shape (0,); give one number a client, for at least one client
    """
    try:
        x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what}: not an array of numbers; give one number a client") from None
    if x.ndim != 1 or x.size == 0:
        raise InputError(f"{what}: shape {x.shape}; give one number a client, for at least one client")
    bad = ~(np.isfinite(x) & (x >= 0))
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(f"{what}: entry {i} is {x[i]}; every entry must be finite and >= 0; drop or mend that client")
    return x


def masses(weights: ArrayLike, n: int) -> Vector:
    """Client weights scaled to the mean 1, so that equal weights are exactly the unweighted case.

    >>> masses([10, 30], 2).tolist()
    [0.5, 1.5]
    """
    w = non_negative(weights, "weights")
    if w.size != n:
        raise InputError(f"weights: {w.size} entries for {n} clients; give one weight a client")
    if w.max() == 0:
        raise InputError("weights: all are 0; give at least one client a positive weight")
    scaled = np.divide(w, w.max())  # not in place: the weights are the caller's
    normed: Vector = scaled / scaled.mean()
    return normed


def _with_masses(x: Vector, p: Vector, P: Vector, unit: float, memo: Memo) -> Ranked:
    r = Ranked(x=x, p=p, P=P, mean=math.nan, unit=unit, memo=memo)
    # Rounding must not put the mean outside the values: max/mean of equal clients is 1, never less.
    return replace(r, mean=min(max(dot(p, x) / r.total, r.least), r.most))
