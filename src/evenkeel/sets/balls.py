"""The f-divergence balls round the uniform weights: χ², Kullback–Leibler and total variation.

Each is a subset of Δ and symmetric. TV is a permutahedron; χ² projects on a segment; KL goes to a conic solver.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from evenkeel.sets.base import TOL, Vector, count, radius, spectral_skewness, vector
from evenkeel.sets.permutahedron import greedy, majorised, project_isotonic
from evenkeel.sets.shifts import clip_to_budget

if TYPE_CHECKING:
    from evenkeel.sets.conic import Block

_POINT = 1e-15  # a radius so small that the ball is its centre, where a cone would have no inside


@dataclass(frozen=True)
class Ball:
    """{a ∈ Δ : D(a, 1/n) ≤ ρ}."""

    n: int
    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count(self.n))
        object.__setattr__(self, "rho", radius(self.rho))

    @property
    def spectrum(self) -> Vector | None:
        """None: a round set has no vertices to reorder (TV has)."""
        return None

    @property
    def symmetric(self) -> bool:
        """True: the centre is uniform."""
        return True

    def argmax(self, v: ArrayLike) -> Vector:
        """A member that attains the support."""
        raise NotImplementedError

    def support(self, v: ArrayLike) -> float:
        """max ⟨a, v⟩ over the ball."""
        x = vector(v, self.n)
        return float(self.argmax(x) @ x)

    def divergence(self, a: Vector) -> float:
        """D(a, 1/n)."""
        raise NotImplementedError

    def contains(self, x: ArrayLike, tol: float = TOL) -> bool:
        """x ∈ Δ and D(x, 1/n) ≤ ρ, each up to tol."""
        a = vector(x, self.n)
        inside = (a >= -tol).all() and abs(a.sum() - 1) <= tol
        return bool(inside and self.divergence(np.maximum(a, 0.0)) <= self.rho + tol * max(1.0, self.n * self.rho))

    def block(self) -> "Block":
        """The ball as conic constraints."""
        raise NotImplementedError

    @property
    def l1_norm(self) -> float:
        """1: every member is a distribution."""
        return 1.0


@dataclass(frozen=True)
class ChiSquareBall(Ball):
    """{a ∈ Δ : n·Σ(a_i − 1/n)² ≤ ρ}.

    >>> ChiSquareBall(2, 1.0).support([0.0, 1.0])      # ρ = n − 1 holds all of Δ
    1.0
    """

    def divergence(self, a: Vector) -> float:
        """n·Σ(a_i − 1/n)²."""
        return float(self.n * np.square(a - 1 / self.n).sum())

    def argmax(self, v: ArrayLike) -> Vector:
        """a = 1/k + t(v − mean) on the k largest, the best k of those that stay non-negative."""
        x = vector(v, self.n)
        order = np.argsort(-x, kind="stable")
        top = x[order] - x.mean()
        k = np.arange(1, self.n + 1)
        mean = np.cumsum(top) / k
        spread = np.maximum(np.cumsum(np.square(top)) - k * np.square(mean), 0.0)
        room = np.maximum((self.rho + 1) / self.n - 1 / k, 0.0)  # t²·spread_k that the radius leaves
        fits = (self.rho + 1) / self.n - 1 / k >= -1e-15
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = np.where(spread > 1e-28 * max(1.0, float(top[0] ** 2)), np.sqrt(room / spread), 0.0)
        ok = fits & (1 / k + t * (top - mean) >= -1e-12)
        value = np.where(ok, mean + t * spread, -np.inf)
        best = int(np.argmax(value))
        a = np.zeros(self.n)
        a[order[: best + 1]] = np.maximum(1 / k[best] + t[best] * (top[: best + 1] - mean[best]), 0.0)
        return np.asarray(a / a.sum())

    def project(self, v: ArrayLike) -> Vector:
        """The projection on Δ of a point on the segment from 1/n to v; where, a root of one variable says."""
        z, centre = vector(v, self.n), 1 / self.n

        def at(t: float) -> Vector:
            return clip_to_budget(centre + t * (z - centre), 0.0, 1.0, 1.0)[0]

        nearest = at(1.0)
        if self.divergence(nearest) <= self.rho:
            return nearest
        if self.rho == 0:
            return np.full(self.n, centre)
        return at(_root(lambda t: self.divergence(at(t)) - self.rho, 0.0, 1.0))

    def block(self) -> "Block":
        """One second-order cone."""
        from evenkeel.sets import conic

        return conic.within_euclid(self.n, np.sqrt(self.rho / self.n)) if self.rho >= _POINT else _centre(self.n)

    @property
    def skewness(self) -> float:
        """1 + ρ, at most n."""
        return 1 + min(self.rho, self.n - 1.0)


@dataclass(frozen=True)
class KLBall(Ball):
    """{a ∈ Δ : Σ a_i log(n·a_i) ≤ ρ}.

    >>> round(KLBall(3, 0.0).support([0.0, 1.0, 2.0]), 12)
    1.0
    """

    def divergence(self, a: Vector) -> float:
        """Σ a_i log(n·a_i)."""
        return float((a * np.log(np.where(a > 0, self.n * a, 1.0))).sum())

    def argmax(self, v: ArrayLike) -> Vector:
        """a ∝ exp(v/t), t the root of KL = ρ; uniform over the largest where even that is within ρ."""
        x = vector(v, self.n)
        gap = x - x.max()
        ties = gap > -1e-12 * max(1.0, float(np.abs(x).max()))
        if self.rho >= np.log(self.n / ties.sum()) or self.rho == 0:
            weight = ties if self.rho > 0 else np.ones(self.n)
            return np.asarray(weight / weight.sum())
        spread = -float(gap.min())

        def at(log_t: float) -> Vector:
            e = np.exp(np.maximum(gap / (spread * np.exp(log_t)), -745.0))
            return np.asarray(e / e.sum())

        return at(_root(lambda s: self.divergence(at(s)) - self.rho, -40.0, 40.0))

    def project(self, v: ArrayLike) -> Vector:
        """By Clarabel on the exponential cone; to about 1e-7."""
        z = vector(v, self.n)
        from evenkeel.sets.conic import project_blocks

        return project_blocks(z, [(self.block(), 1.0)])

    def block(self) -> "Block":
        """n exponential cones."""
        from evenkeel.sets import conic

        return conic.within_entropy(self.n, self.rho) if self.rho >= _POINT else _centre(self.n)

    @cached_property
    def _heaviest(self) -> Vector:
        """k clients at one value, the rest at another, KL = ρ; the best k (stationary points have two values)."""
        n, best = self.n, np.full(self.n, 1 / self.n)
        for k in range(1, n) if self.rho >= _POINT else ():

            def two(x: float, k: int = k) -> Vector:
                return np.where(np.arange(n) < k, x, (1 - k * x) / (n - k))

            end = 1 / k
            inside = self.divergence(two(end)) <= self.rho
            x = end if inside else _root(lambda x: self.divergence(two(x)) - self.rho, 1 / n, end)
            best = max(best, two(x), key=lambda a: float(np.square(a).sum()))
            if inside:
                break
        return best

    @property
    def skewness(self) -> float:
        """At the heaviest member."""
        return spectral_skewness(self._heaviest)


@dataclass(frozen=True)
class TVBall(Ball):
    """{a ∈ Δ : ½Σ|a_i − 1/n| ≤ ρ} = P(1/n + ρ, 1/n, …, 1/n, rest, 0, …, 0).

    >>> TVBall(4, 0.25).support([0.0, 0.0, 1.0, 4.0])      # a quarter more on the worst, taken from the best
    2.25
    """

    def divergence(self, a: Vector) -> float:
        """½Σ|a_i − 1/n|."""
        return float(np.abs(a - 1 / self.n).sum() / 2)

    @cached_property
    def spectrum(self) -> Vector:
        """ρ more on one client, taken from as few others as can give it: it majorises every member."""
        top = np.minimum(np.arange(1, self.n + 1) / self.n + self.rho, 1.0)
        return np.diff(top, prepend=0.0)

    def argmax(self, v: ArrayLike) -> Vector:
        """The spectrum in the order of v."""
        return greedy(vector(v, self.n), self.spectrum)

    def project(self, v: ArrayLike) -> Vector:
        """Exact, by isotonic regression."""
        return project_isotonic(vector(v, self.n), self.spectrum)

    def contains(self, x: ArrayLike, tol: float = TOL) -> bool:
        """By majorisation, up to tol."""
        return majorised(vector(x, self.n), self.spectrum, tol)

    def block(self) -> "Block":
        """Linear, with one extra variable a client."""
        from evenkeel.sets import conic

        return conic.within_variation(self.n, self.rho) if self.rho >= _POINT else _centre(self.n)

    @property
    def skewness(self) -> float:
        """At the spectrum, exactly."""
        return spectral_skewness(self.spectrum)


def _root(f: Callable[[float], float], a: float, b: float) -> float:
    """Where f changes sign, to the last bits."""
    from scipy.optimize import brentq

    root: float = brentq(f, a, b, xtol=1e-16, rtol=1e-15)
    return root


def _centre(n: int) -> "Block":
    from evenkeel.sets.conic import at_most, distribution, join

    return join(distribution(n), at_most(1 / n, n))
