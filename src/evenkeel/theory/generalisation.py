"""Theorem «generalization» and Proposition «skewness»: what an ambiguity set costs on new data."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from evenkeel.errors import InputError
from evenkeel.sets import AmbiguitySet


def skewness(lam: ArrayLike) -> float:
    """s(λ) = n·Σ(λ_i − 1/n)² + 1, which is n·Σλ_i² as Σλ_i = 1. `AmbiguitySet.skewness` is the maximum over a set.

    >>> skewness([0.25, 0.25, 0.25, 0.25]), skewness([1.0, 0.0, 0.0, 0.0])
    (1.0, 4.0)
    """
    x = np.asarray(lam, dtype=np.float64)
    return float(x.size * np.square(x - 1 / x.size).sum() + 1)


def cvar_skewness(alpha: float, phi: float, beta: float | None = None) -> float:
    """s(Λ_φ(CVaR(α), CVaR(β))), β = α unless given; exact for whole αn and βn, else up to O(1/n).

    (1/α + φ²/β)/(1−φ)² if α + β ≤ 1, so (1+φ²)/((1−φ)²α) for α = β. Where the two shares overlap, the overlap of
    α + β − 1 has the weight 1/α − φ/β over 1 − φ, and only 1 − β and 1 − α of the clients have the extremes.

    >>> from evenkeel.sets import CVaR, Integrated
    >>> S = Integrated(CVaR(10, 0.2), CVaR(10, 0.2), 0.2)
    >>> round(cvar_skewness(0.2, 0.2), 9), round(S.skewness, 9)
    (8.125, 8.125)
    """
    b = alpha if beta is None else beta
    high, low = 1 / ((1 - phi) * alpha), -phi / ((1 - phi) * b)
    overlap = max(alpha + b - 1, 0.0)
    return (alpha - overlap) * high**2 + (b - overlap) * low**2 + overlap * (high + low) ** 2


def printed_skewness(alpha: float, phi: float) -> float:
    """The paper's form, α[(1/((1−φ)α) − 1)² + (φ/((1−φ)α) + 1)²] + 1; for 2α ≤ 1 it is 1 − 2α too small.

    It leaves out the 1 − 2α of clients with weight 0, whose n·(1/n)² each adds up to 1 − 2α.

    >>> round(cvar_skewness(0.2, 0.2) - printed_skewness(0.2, 0.2), 9)
    0.6
    """
    high, low = 1 / ((1 - phi) * alpha), phi / ((1 - phi) * alpha)
    return alpha * ((high - 1) ** 2 + (low + 1) ** 2) + 1


def log_covering(ambiguity: AmbiguitySet, eps: float) -> float:
    """A bound of log 𝒩(Λ, ‖·‖₁, ε), the smaller of two.

    By volume, in the hyperplane of dimension n − 1: (n−1)·log(1 + 2ρ/ε), where Λ lies within ρ of uniform. By rounding:
    Λ lies in the simplex enlarged about uniform t = 1 − n·min λ_i times, whose points with coordinates in multiples of
    1/k leave at most n/(2k) in ‖·‖₁; k = ⌈nt/(2ε)⌉ makes (n+k−1 choose n−1) centres.

    >>> from evenkeel.sets import Point, Simplex
    >>> log_covering(Point.uniform(10), 0.1), round(log_covering(Simplex(2), 0.5), 3)     # one centre; three
    (0.0, 1.099)
    """
    if not eps > 0:
        raise InputError(f"eps = {eps}: the covering radius must be above 0; 0.01 is a start")
    n = ambiguity.n
    radius = _radius(ambiguity)
    if radius <= eps:
        return 0.0
    k = math.ceil(n * _enlargement(ambiguity) / (2 * eps))
    rounding = float(gammaln(n + k) - gammaln(n) - gammaln(k + 1))
    return min((n - 1) * math.log1p(2 * radius / eps), rounding)


def _radius(ambiguity: AmbiguitySet) -> float:
    """max ‖λ − 1/n‖₁: exact for permutahedra, else at most ‖Λ‖₁ + 1."""
    w = ambiguity.spectrum
    return ambiguity.l1_norm + 1 if w is None else float(np.abs(w - 1 / ambiguity.n).sum())


def _enlargement(ambiguity: AmbiguitySet) -> float:
    """t = 1 − n·min λ_i: the factor by which the simplex about uniform has to grow to hold Λ."""
    n = ambiguity.n
    corners = -np.eye(1 if ambiguity.symmetric else n, n)
    return 1 + n * max(ambiguity.support(v) for v in corners)


def gap(ambiguity: AmbiguitySet, *, N: int, vc: float, eps: float = 0.01, delta: float = 0.05, M: float = 1.0) -> float:
    """The theorem's bound of L_λ(h) − L_λ,Nn(h), for all h and λ at once, with probability 1 − δ.

    Mε + √(s(Λ)/(2Nn))·(4√VC·√(1 + log(Nn/VC)) + M√(log(𝒩(Λ, ‖·‖₁, ε)/δ))), for N rows a client and losses in [0, M].
    Like all bounds of its kind it is far above what is seen; read its growth with φ, N and n.

    >>> from evenkeel.sets import Point
    >>> round(gap(Point.uniform(100), N=10_000, vc=10, eps=1e-9), 4)
    0.0329
    """
    n = ambiguity.n
    if not (0 < vc < N * n and 0 < delta < 1 and M > 0):
        raise InputError(f"vc = {vc}, N·n = {N * n}, delta = {delta}, M = {M}: need 0 < vc < N·n, 0 < delta < 1, M > 0")
    complexity = 4 * math.sqrt(vc) * math.sqrt(1 + math.log(N * n / vc))
    chance = M * math.sqrt(log_covering(ambiguity, eps) - math.log(delta))
    return M * eps + math.sqrt(ambiguity.skewness / (2 * N * n)) * (complexity + chance)
