"""The dual step of Algorithm 1 and the step-size schedules (constant; Assumption «hyperparameters» of the appendix)."""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenkeel.errors import InputError
from evenkeel.sets import AmbiguitySet

Vector = NDArray[np.float64]


def extrapolate(losses: Vector, previous: Vector, varsigma: float) -> Vector:
    """s = (1 + ς)·L^r − ς·L^{r−1}.

    >>> extrapolate(np.array([2.0, 3.0]), np.array([1.0, 3.0]), 0.5).tolist()
    [2.5, 3.0]
    """
    return (1 + varsigma) * losses - varsigma * previous


def dual_step(ambiguity: AmbiguitySet, lam: Vector, s: Vector, sigma: float, psi: float = 0.0) -> Vector:
    """λ⁺ = argmin over λ in Λ of ψ(λ) − ⟨s, λ⟩ + ‖λ − λ^r‖²/(2σ), with ψ(λ) = (psi·n/2)·‖λ − 1/n‖² (χ² up to psi/2).

    Completing the square leaves one projection: of (λ + σs + σ·psi·1) / (1 + σ·psi·n). With psi = 0 it is
    Proj_Λ(λ + σs), the argmin over (a, b) of Algorithm 1.

    >>> from evenkeel.sets import Simplex
    >>> dual_step(Simplex(2), np.array([0.5, 0.5]), np.array([1.0, 0.0]), 0.4).round(12).tolist()
    [0.7, 0.3]
    """
    pull = sigma * psi * lam.size
    return ambiguity.project((lam + sigma * s + pull / lam.size) / (1 + pull))


class Rates(NamedTuple):
    """The step sizes of one round: dual σ, extrapolation ς, server τ, client η."""

    sigma: float
    varsigma: float
    tau: float
    eta: float


class Schedule(Protocol):
    """Step sizes as a function of the round, so that a resumed run needs no schedule state."""

    def rates(self, round_: int) -> Rates:
        """The step sizes of round r, counted from 0."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """The same step sizes in every round, as in the experiments.

    >>> Constant(sigma=1e-3, tau=2.5e-2, eta=1e-2).rates(7)
    Rates(sigma=0.001, varsigma=1.0, tau=0.025, eta=0.01)
    """

    sigma: float
    tau: float
    eta: float
    varsigma: float = 1.0

    def __post_init__(self) -> None:
        for name in ("sigma", "tau", "eta", "varsigma"):
            value = getattr(self, name)
            if not (isinstance(value, int | float | np.floating) and math.isfinite(value) and value >= 0):
                raise InputError(f"{name} = {value!r}: step sizes must be finite and at least 0")

    def rates(self, round_: int) -> Rates:
        """The same every round."""
        return Rates(self.sigma, self.varsigma, self.tau, self.eta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """γ_{r+1} = γ_r(1 + κτ_r), τ_{r+1} = τ_r√(γ_r/γ_{r+1}), σ = γτ, ς_{r+1} = σ_r/σ_{r+1}, η = τ/(Jβ).

    κ = m/4 − M(‖Λ‖₁ − 1)/2 for m-strongly convex, M-smooth losses. Where κ ≤ 0 the proof gives no rate; the steps then
    stay constant (`conditions` says so).

    >>> first, later = (Theorem(tau_0=0.1, gamma_0=1.0, kappa=0.25, J=5).rates(r) for r in (0, 100))
    >>> later.tau < first.tau and later.sigma > first.sigma and abs(later.tau * later.sigma - 0.01) < 1e-12
    True
    """

    tau_0: float
    gamma_0: float
    kappa: float
    J: int = 1
    beta: float = 1.0

    def __post_init__(self) -> None:
        finite = all(math.isfinite(value) for value in (self.tau_0, self.gamma_0, self.kappa, self.J, self.beta))
        if not (finite and self.tau_0 > 0 and self.gamma_0 > 0 and self.J >= 1 and self.beta >= 1):
            raise InputError(
                f"theorem schedule: tau_0 = {self.tau_0}, gamma_0 = {self.gamma_0}, kappa = {self.kappa}, "
                f"J = {self.J}, beta = {self.beta}: must be finite, tau_0 and gamma_0 above 0, J and beta at least 1"
            )

    def rates(self, round_: int) -> Rates:
        """By the recursion from round 0, so there is no state to store."""
        path = _growth(self.tau_0, max(self.kappa, 0.0), 1 << max(round_, 255).bit_length())
        growth = path[round_]  # γ_r/γ_0; τ_r = τ_0/√growth and σ_r = γ_rτ_r follow
        varsigma = math.sqrt(path[round_ - 1] / growth) if round_ else 1.0
        tau = self.tau_0 / math.sqrt(growth)
        return Rates(self.gamma_0 * growth * tau, varsigma, tau, tau / (self.J * self.beta))


@lru_cache(maxsize=32)
def _growth(tau_0: float, kappa: float, rounds: int) -> tuple[float, ...]:
    """γ_r/γ_0 for the first rounds: each is the one before times 1 + κτ_0/√(γ_r/γ_0)."""
    return tuple(accumulate(range(rounds - 1), lambda g, _: g + kappa * tau_0 * math.sqrt(g), initial=1.0))


class Conditions(NamedTuple):
    """The three conditions on ‖Λ‖₁ that the paper states, in rising order of strength, and κ."""

    l1_norm: float
    unique: bool
    theorem: bool
    appendix: bool
    kappa: float


def conditions(ambiguity: AmbiguitySet, m: float, M: float) -> Conditions:
    """‖Λ‖₁ against 1 + 2m/(M−m) (uniqueness), 1 + 2m/M (the theorem), 1 + m/(2M) (its proof: κ > 0).

    >>> from evenkeel.sets import CVaR, Integrated
    >>> conditions(Integrated(CVaR(10, 0.2), CVaR(10, 0.2), 0.2), m=1.0, M=3.0)
    Conditions(l1_norm=1.5, unique=True, theorem=True, appendix=False, kappa=-0.5)
    """
    norm = ambiguity.l1_norm
    unique = m >= M or norm < 1 + 2 * m / (M - m)
    return Conditions(norm, unique, norm < 1 + 2 * m / M, norm < 1 + m / (2 * M), round(m / 4 - M * (norm - 1) / 2, 12))
