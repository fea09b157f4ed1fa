"""Capped simplexes {a ∈ Δ : a_i ≤ caps_i}: Simplex, CVaR (Example «Value-at-Risk»), WeightedCVaR and Point."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from evenkeel.errors import InputError
from evenkeel.sets.base import TOL, Vector, count, probability, share, spectral_skewness, vector
from evenkeel.sets.shifts import Bound, clip_to_budget

if TYPE_CHECKING:
    from evenkeel.sets.conic import Block


class CappedSimplex:
    """{a : a_i ≥ 0, Σa = 1, a_i ≤ caps}: a base polytope, so a greedy order solves its linear programmes."""

    n: int

    @property
    def caps(self) -> Bound:
        """The largest weight of each client; one number where all are alike."""
        raise NotImplementedError

    @property
    def symmetric(self) -> bool:
        """Whether all caps are alike."""
        return isinstance(self.caps, float) or bool(np.ptp(self.caps) <= 1e-15)

    @cached_property
    def heaviest(self) -> Vector:
        """The widest caps filled first: it majorises every member, so convex functions peak here."""
        return fill(np.sort(np.broadcast_to(self.caps, self.n))[::-1])

    @property
    def spectrum(self) -> Vector | None:
        """u(α) = (1/(αn), …, rest, 0, …) where all caps are alike."""
        return self.heaviest if self.symmetric else None

    def support(self, v: ArrayLike) -> float:
        """The mean of the largest entries, as many as the caps make full."""
        x = vector(v, self.n)
        return float(self.argmax(x) @ x)

    def argmax(self, v: ArrayLike) -> Vector:
        """The caps filled from the largest entry of v downwards."""
        x, caps = vector(v, self.n), self.caps
        a = np.zeros(self.n)
        full = min(round_down(1 / caps) + 1, self.n) if isinstance(caps, float) else self.n
        order = np.argpartition(-x, full - 1)[:full] if full < self.n else np.arange(self.n)
        order = order[np.argsort(-x[order], kind="stable")]
        a[order] = fill(np.broadcast_to(caps, self.n)[order])
        return a

    def project(self, v: ArrayLike) -> Vector:
        """One clipped shift: clip(v − p, 0, caps) with Σ = 1."""
        return clip_to_budget(vector(v, self.n), 0.0, self.caps, 1.0)[0]

    def contains(self, x: ArrayLike, tol: float = TOL) -> bool:
        """0 ≤ x ≤ caps and Σx = 1, each up to tol."""
        a = vector(x, self.n)
        return bool((a >= -tol).all() and (a <= np.asarray(self.caps) + tol).all() and abs(a.sum() - 1) <= tol)

    def block(self) -> "Block":
        """Σa = 1, 0 ≤ a ≤ caps."""
        from evenkeel.sets.conic import at_most, distribution, join

        return join(distribution(self.n), at_most(self.caps, self.n))

    @property
    def l1_norm(self) -> float:
        """1: every member is a distribution."""
        return 1.0

    @property
    def skewness(self) -> float:
        """At the heaviest member, exactly."""
        return spectral_skewness(self.heaviest)


@dataclass(frozen=True)
class Simplex(CappedSimplex):
    """Δ: all distributions over n clients; its support is the worst client's loss (AFL).

    >>> Simplex(3).support([1.0, 5.0, 2.0])
    5.0
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count(self.n))

    @property
    def caps(self) -> float:
        """1."""
        return 1.0


@dataclass(frozen=True)
class CVaR(CappedSimplex):
    """{a ∈ Δ : a_i ≤ 1/(αn)}: its support is the mean loss of the worst share α; αn need not be whole.

    >>> CVaR(4, 0.5).support([1.0, 5.0, 2.0, 3.0])
    4.0
    >>> CVaR(4, 0.375).support([1.0, 5.0, 2.0, 3.0])      # (5 + 3/2) / 1.5
    4.333333333333333
    """

    n: int
    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count(self.n))
        object.__setattr__(self, "alpha", share(self.alpha, self.n))

    @property
    def caps(self) -> float:
        """1/(αn)."""
        return 1.0 / (self.alpha * self.n)


@dataclass(frozen=True, eq=False)
class WeightedCVaR(CappedSimplex):
    """{a ∈ Δ : a_i ≤ p_i/α}: the worst share α where client i counts p_i.

    >>> WeightedCVaR([0.75, 0.25], 0.5).support([1.0, 3.0])      # half of the weight is client 1, half client 0
    2.0
    """

    p: ArrayLike
    alpha: float
    n: int = field(init=False)

    def __post_init__(self) -> None:
        p = probability(self.p)
        if not 0 < self.alpha <= 1:
            raise InputError(f"alpha = {self.alpha!r}: must lie in (0, 1]; give a share of the total weight")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "n", p.size)
        object.__setattr__(self, "alpha", float(self.alpha))

    @cached_property
    def caps(self) -> Vector:
        """p_i/α."""
        return np.asarray(self.p) / self.alpha


@dataclass(frozen=True, eq=False)
class Point(CappedSimplex):
    """{p}: p = 1/n makes the problem plain averaging, the paper's Scaffold.

    >>> Point([0.5, 0.5]).support([1.0, 3.0])
    2.0
    """

    p: ArrayLike
    n: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p))
        object.__setattr__(self, "n", np.asarray(self.p).size)

    @classmethod
    def uniform(cls, n: int) -> "Point":
        """{(1/n, …, 1/n)}."""
        return cls(np.full(count(n), 1 / n))

    @cached_property
    def caps(self) -> Bound:
        """p itself: caps that sum to 1 leave no choice."""
        p = np.asarray(self.p)
        return 1 / p.size if np.ptp(p) <= 1e-15 else p

    def project(self, v: ArrayLike) -> Vector:
        """p, whatever v."""
        vector(v, self.n)
        return np.asarray(self.p).copy()


def round_down(x: float) -> int:
    """⌊x⌋ where rounding noise just below a whole number counts as that number.

    >>> round_down(0.3 * 10), round_down(2.9999999999999996), round_down(2.5)
    (3, 3, 2)
    """
    return int(np.floor(x * (1 + 1e-12)))


def fill(caps: Vector) -> Vector:
    """A budget of 1 poured into caps in order.

    >>> fill(np.array([0.4, 0.4, 0.4])).round(12).tolist()
    [0.4, 0.4, 0.2]
    """
    before = np.concatenate([[0.0], np.cumsum(caps)[:-1]])
    rest = 1.0 - before
    return np.where(rest > 1e-14, np.clip(rest, 0.0, caps), 0.0)
