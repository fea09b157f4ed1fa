"""The three conditions on ‖Λ‖₁ with their numbers. They warn and never refuse: training often works beyond them."""

from typing import NamedTuple

from evenkeel.dual import conditions
from evenkeel.sets import AmbiguitySet
from evenkeel.theory.constants import Constants, demand_smooth


class Limit(NamedTuple):
    """‖Λ‖₁ must lie below `below`; what holds then."""

    name: str
    l1_norm: float
    below: float
    holds: bool
    gives: str


def limits(ambiguity: AmbiguitySet, constants: Constants) -> tuple[Limit, Limit, Limit]:
    """1 + 2m/(M−m) (Proposition «unique»), 1 + 2m/M (the theorem), 1 + m/(2M) (Assumption «hyperparameters»).

    >>> import numpy as np
    >>> from evenkeel.sets import CVaR, Integrated
    >>> c = Constants(smallest=np.array([1.0]), largest=np.array([3.0]), everywhere=True)
    >>> [(round(x.below, 3), x.holds) for x in limits(Integrated(CVaR(10, 0.2), CVaR(10, 0.2), 0.2), c)]
    [(2.0, True), (1.667, True), (1.167, False)]
    """
    demand_smooth(constants)
    m, M = constants.m, constants.M
    met = conditions(ambiguity, m, M)
    unique = 1 + 2 * m / (M - m) if m < M else float("inf")
    return (
        Limit("uniqueness", met.l1_norm, unique, met.unique, "one solution theta, and convexity for every weighting"),
        Limit("theorem", met.l1_norm, 1 + 2 * m / M, met.theorem, "the rate as the theorem states it"),
        Limit("appendix", met.l1_norm, 1 + m / (2 * M), met.appendix, "kappa > 0, which the theorem's proof uses"),
    )


def warnings_of(ambiguity: AmbiguitySet, constants: Constants) -> tuple[str, ...]:
    """One line for each condition that fails, and one where m and M were estimated at one θ only."""
    m, M = constants.m, constants.M
    failed = [
        f"{x.name}: l1 norm {x.l1_norm:.4g} is not below {x.below:.4g} (m = {m:.3g}, M = {M:.3g}); "
        f"not guaranteed: {x.gives}"
        for x in limits(ambiguity, constants)
        if not x.holds
    ]
    local = [] if constants.everywhere else ["m and M were estimated at one theta; elsewhere they may differ"]
    return (*failed, *local)


def largest_phi(constants: Constants) -> tuple[float, float, float]:
    """The φ below which Λ_φ with disjoint supports, ‖Λ‖₁ = (1+φ)/(1−φ), meets each of the three: (b − 1)/(b + 1).

    For the strictest this is m/(4M + m): relative fairness within the proof is for well-conditioned losses.

    >>> import numpy as np
    >>> c = Constants(smallest=np.array([1.0]), largest=np.array([1.0]), everywhere=True)
    >>> [round(x, 3) for x in largest_phi(c)]
    [1.0, 0.5, 0.2]
    """
    demand_smooth(constants)
    m, M = max(constants.m, 0.0), constants.M
    return (m / M, m / (M + m), m / (4 * M + m))
