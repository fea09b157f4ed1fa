"""What every ambiguity set answers, and the checks that all of them share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenkeel.errors import InputError

if TYPE_CHECKING:
    from evenkeel.sets.conic import Block  # loads SciPy's sparse matrices and the solver

Vector = NDArray[np.float64]

TOL = 1e-9


class AmbiguitySet(Protocol):
    """A compact convex set S of weight vectors over n clients, each summing to 1.

    Weights may be negative (`Integrated`): nothing may assume that a member is a distribution.
    """

    @property
    def n(self) -> int:
        """The number of clients."""
        ...

    @property
    def spectrum(self) -> Vector | None:
        """w, sorted downwards, if S is the permutahedron P(w) = conv{all orders of w}; else None."""
        ...

    @property
    def symmetric(self) -> bool:
        """Whether every reordering of a member is a member."""
        ...

    def support(self, v: ArrayLike) -> float:
        """max over λ in S of ⟨λ, v⟩."""
        ...

    def argmax(self, v: ArrayLike) -> Vector:
        """A member that attains the support."""
        ...

    def project(self, v: ArrayLike) -> Vector:
        """The member nearest to v in the Euclidean norm."""
        ...

    def contains(self, x: ArrayLike, tol: float = TOL) -> bool:
        """Whether x is a member up to `tol` in each constraint."""
        ...

    def block(self) -> "Block":
        """S as linear and conic constraints, for the solver that takes sets without a structure to exploit."""
        ...

    @property
    def l1_norm(self) -> float:
        """‖S‖₁ = max over λ in S of Σ|λ_i|."""
        ...

    @property
    def skewness(self) -> float:
        """s(S) = max over λ in S of n·Σ(λ_i − 1/n)² + 1."""
        ...


def vector(v: ArrayLike, n: int, what: str = "vector") -> Vector:
    """v as n finite float64 numbers, or one clear line.

    >>> vector([1, 2], 3, "losses")
    Traceback (most recent call last):
    evenkeel.errors.InputError: losses: shape (2,), but the set has 3 clients; give one number a client
    """
    try:
        x = np.asarray(v, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what}: not an array of numbers; give one number a client") from None
    if x.shape != (n,):
        raise InputError(f"{what}: shape {x.shape}, but the set has {n} clients; give one number a client")
    if not np.isfinite(x).all():
        i = int(np.flatnonzero(~np.isfinite(x))[0])
        raise InputError(f"{what}: entry {i} is {x[i]}; every entry must be finite; drop or mend that client")
    return x


def probability(p: ArrayLike, what: str = "p") -> Vector:
    """p as a probability vector, or one clear line.

    >>> probability([0.5, 0.6])
    Traceback (most recent call last):
    evenkeel.errors.InputError: p: sums to 1.1; weights must be non-negative and sum to 1; divide them by their sum
    """
    x = np.asarray(p, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise InputError(f"{what}: shape {x.shape}; give a list with one weight a client")
    x = vector(x, x.size, what)
    if (x < 0).any() or abs(x.sum() - 1) > TOL:
        fault = f"entry {int(np.argmin(x))} is {x.min():.6g}" if (x < 0).any() else f"sums to {x.sum():.6g}"
        raise InputError(f"{what}: {fault}; weights must be non-negative and sum to 1; divide them by their sum")
    return np.asarray(np.maximum(x, 0.0) / x.sum())


def count(n: object) -> int:
    """n as a number of clients, or one clear line."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise InputError(f"n = {n!r}: the number of clients must be a whole number of at least 1")
    return int(n)


def share(alpha: object, n: int, name: str = "alpha") -> float:
    """α as a share of n clients, or one clear line.

    >>> share(0.05, 10)
    Traceback (most recent call last):
    evenkeel.errors.InputError: alpha = 0.05: must lie in [1/n, 1] = [0.1, 1]; give a larger share
    """
    if not isinstance(alpha, int | float | np.floating) or not np.isfinite(alpha):
        raise InputError(f"{name} = {alpha!r}: must be a number in [1/n, 1] = [{1 / n:.6g}, 1]")
    if alpha * n < 1 - TOL or alpha > 1 + TOL:
        remedy = "give a larger share" if alpha < 1 else "give a smaller share"
        raise InputError(f"{name} = {alpha:.6g}: must lie in [1/n, 1] = [{1 / n:.6g}, 1]; {remedy}")
    return float(min(max(alpha, 1 / n), 1.0))


def radius(rho: object, name: str = "rho") -> float:
    """A ball's radius, or one clear line."""
    if not isinstance(rho, int | float | np.floating) or not np.isfinite(rho) or rho < 0:
        raise InputError(f"{name} = {rho!r}: the radius must be a finite number of at least 0")
    return float(rho)


def spectral_skewness(w: Vector | Sequence[float]) -> float:
    """n·Σ(w_i − 1/n)² + 1, which is n·Σw_i² as Σw = 1.

    >>> spectral_skewness([1.0, 0.0])
    2.0
    """
    x = np.asarray(w, dtype=np.float64)
    return float(x.size * np.square(x - 1 / x.size).sum() + 1)
