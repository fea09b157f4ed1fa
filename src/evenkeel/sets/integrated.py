"""Λ_φ(A, B) = {(a − φb)/(1−φ) : a ∈ A, b ∈ B}, the paper's integrated ambiguity set (equation «large_a_set»)."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from evenkeel.errors import InputError
from evenkeel.sets.base import TOL, AmbiguitySet, Vector, spectral_skewness, vector
from evenkeel.sets.capped import CappedSimplex
from evenkeel.sets.hull import Hull, nearest_mixture
from evenkeel.sets.permutahedron import majorised, project_isotonic
from evenkeel.sets.shifts import project_pair, split_pair

if TYPE_CHECKING:
    from evenkeel.sets.conic import Block


@dataclass(frozen=True)
class Integrated:
    """Relative fairness: weights above zero on the worst-off, below zero on the best-off; they sum to 1.

    Pairs of capped simplexes (Simplex, CVaR, WeightedCVaR, Point) project exactly by clipped shifts, in O(n); pairs
    that are permutahedra (with TVBall) exactly by isotonic regression; all others by Clarabel, to about 1e-7.

    >>> from evenkeel.sets import CVaR
    >>> S = Integrated(CVaR(4, 0.5), CVaR(4, 0.5), 0.2)
    >>> S.support([1.0, 2.0, 3.0, 4.0])      # (3.5 − 0.2·1.5)/0.8
    4.0
    >>> S.project([0.0, 0.0, 1.0, 1.0]).round(6).tolist()
    [-0.125, -0.125, 0.625, 0.625]
    """

    A: AmbiguitySet
    B: AmbiguitySet
    phi: float

    def __post_init__(self) -> None:
        phi: object = self.phi
        if not isinstance(phi, int | float | np.floating) or not 0 <= phi < 1:
            raise InputError(f"phi = {phi!r}: must lie in [0, 1); 0 is plain DRO, 0.2 the paper's choice")
        if isinstance(self.A, Integrated) or isinstance(self.B, Integrated):
            raise InputError("A, B: an integrated set takes two sets of distributions, not another integrated set")
        if self.A.n != self.B.n:
            raise InputError(f"A, B: {self.A.n} and {self.B.n} clients; both sets must be over the same clients")
        object.__setattr__(self, "phi", float(self.phi))

    @property
    def n(self) -> int:
        """The number of clients."""
        return self.A.n

    @cached_property
    def spectrum(self) -> Vector | None:
        """w = (u_A↓ − φ·u_B↑)/(1−φ) where both sets are permutahedra: support functions add."""
        if self.phi == 0:
            return self.A.spectrum
        if self.A.spectrum is None or self.B.spectrum is None:
            return None
        return (self.A.spectrum - self.phi * self.B.spectrum[::-1]) / (1 - self.phi)

    @property
    def symmetric(self) -> bool:
        """Whether every reordering of a member is a member."""
        return self.A.symmetric and (self.phi == 0 or self.B.symmetric)

    def support(self, v: ArrayLike) -> float:
        """(support_A(v) + φ·support_B(−v))/(1−φ)."""
        x = vector(v, self.n)
        return (self.A.support(x) + self.phi * self.B.support(-x)) / (1 - self.phi)

    def argmax(self, v: ArrayLike) -> Vector:
        """(argmax_A(v) − φ·argmin_B(v))/(1−φ)."""
        x = vector(v, self.n)
        return (self.A.argmax(x) - self.phi * self.B.argmax(-x)) / (1 - self.phi)

    def project(self, v: ArrayLike) -> Vector:
        """λ nearest to v: the dual step of Algorithm 1 is project(λ + σs)."""
        z = vector(v, self.n)
        if self.phi == 0:
            return self.A.project(z)
        if isinstance(self.A, CappedSimplex) and isinstance(self.B, CappedSimplex):
            return project_pair(z, self.A.caps, self.B.caps, self.phi)
        if self.spectrum is not None:
            return project_isotonic(z, self.spectrum)
        from evenkeel.sets.conic import project_blocks

        return project_blocks(z, [(self.A.block(), 1 / (1 - self.phi)), (self.B.block(), -self.phi / (1 - self.phi))])

    def block(self) -> "Block":
        """Refused: a projection on an integrated set stacks the blocks of A and B itself."""
        raise InputError("block: an integrated set has none of its own; it is made of the blocks of A and B")

    def witness(self, lam: ArrayLike) -> tuple[Vector, Vector]:
        """(a, b) with λ = (a − φb)/(1−φ), for a member of a pair of capped simplexes."""
        if not (isinstance(self.A, CappedSimplex) and isinstance(self.B, CappedSimplex)):
            raise InputError("witness: only pairs of Simplex, CVaR, WeightedCVaR or Point give one")
        a, b, gap = split_pair(vector(lam, self.n), self.A.caps, self.B.caps, self.phi)
        if gap > TOL:
            raise InputError(f"lam: not a member, the constraints are {gap:.2g} short; project it first")
        return a, b

    def contains(self, x: ArrayLike, tol: float = TOL) -> bool:
        """Whether some (a, b) gives x, up to tol; independent of `project` wherever that is exact."""
        lam = vector(x, self.n)
        if abs(lam.sum() - 1) > tol:
            return False
        if self.phi == 0:
            return self.A.contains(lam, tol)
        if isinstance(self.A, CappedSimplex) and isinstance(self.B, CappedSimplex):
            return split_pair(lam, self.A.caps, self.B.caps, self.phi)[2] <= tol
        if self.spectrum is not None:
            return majorised(lam, self.spectrum, tol)
        if isinstance(self.A, Hull) and isinstance(self.B, Hull):
            return nearest_mixture(self._corners, lam) <= tol
        return bool(np.abs(self.project(lam) - lam).max() <= tol)

    @cached_property
    def _corners(self) -> Vector:
        """All (P_j − φQ_k)/(1−φ) of two hulls: their convex hull is the set."""
        if not (isinstance(self.A, Hull) and isinstance(self.B, Hull)):
            raise TypeError("corners are listed for two hulls only")
        pairs = product(self.A.rows, self.B.rows)
        return np.stack([(a - self.phi * b) / (1 - self.phi) for a, b in pairs])

    @property
    def norms_are_exact(self) -> bool:
        """Whether `l1_norm` and `skewness` are attained, not only bounds from above."""
        return self.phi == 0 or self.spectrum is not None or (isinstance(self.A, Hull) and isinstance(self.B, Hull))

    @cached_property
    def l1_norm(self) -> float:
        """Exact for permutahedra and hulls; else the bound (1 + φ)/(1 − φ), attained by disjoint supports."""
        if self.phi == 0:
            return self.A.l1_norm
        if self.spectrum is not None:
            return float(np.abs(self.spectrum).sum())
        if isinstance(self.A, Hull) and isinstance(self.B, Hull):
            return float(np.abs(self._corners).sum(axis=1).max())
        return (1 + self.phi) / (1 - self.phi)

    @cached_property
    def skewness(self) -> float:
        """Exact for permutahedra and hulls; else (s(A) + φ²s(B))/(1−φ)², a bound as ⟨a, b⟩ ≥ 0."""
        if self.phi == 0:
            return self.A.skewness
        if self.spectrum is not None:
            return spectral_skewness(self.spectrum)
        if isinstance(self.A, Hull) and isinstance(self.B, Hull):
            return max(spectral_skewness(row) for row in self._corners)
        return (self.A.skewness + self.phi**2 * self.B.skewness) / (1 - self.phi) ** 2
