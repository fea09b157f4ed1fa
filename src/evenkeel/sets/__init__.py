"""Ambiguity sets: which weightings of the clients the training guards against (NumPy and SciPy only).

Every set answers support, argmax, project, contains, l1_norm and skewness (`AmbiguitySet`).
"""

from typing import NamedTuple

from evenkeel.sets.balls import ChiSquareBall, KLBall, TVBall
from evenkeel.sets.base import AmbiguitySet
from evenkeel.sets.capped import CVaR, Point, Simplex, WeightedCVaR
from evenkeel.sets.hull import Hull
from evenkeel.sets.integrated import Integrated
from evenkeel.sets.polygon import vertices

__all__ = [
    "SETS",
    "AmbiguitySet",
    "CVaR",
    "ChiSquareBall",
    "Hull",
    "Integrated",
    "KLBall",
    "Point",
    "SetEntry",
    "Simplex",
    "TVBall",
    "WeightedCVaR",
    "vertices",
]


class SetEntry(NamedTuple):
    """One line of `evenkeel list sets`."""

    factory: type
    parameters: str
    meaning: str


SETS: dict[str, SetEntry] = {
    "Simplex": SetEntry(Simplex, "n", "all distributions over clients: the worst client"),
    "CVaR": SetEntry(CVaR, "n, alpha", "weights at most 1/(αn): the worst share α of clients"),
    "WeightedCVaR": SetEntry(WeightedCVaR, "p, alpha", "weights at most p_i/α: clients of different importance"),
    "Point": SetEntry(Point, "p", "one weighting; uniform is plain averaging"),
    "Hull": SetEntry(Hull, "P", "mixtures of given weightings: groups of clients"),
    "ChiSquareBall": SetEntry(ChiSquareBall, "n, rho", "χ² distance of at most ρ from uniform"),
    "KLBall": SetEntry(KLBall, "n, rho", "Kullback–Leibler divergence of at most ρ from uniform"),
    "TVBall": SetEntry(TVBall, "n, rho", "total variation of at most ρ from uniform"),
    "Integrated": SetEntry(Integrated, "A, B, phi", "(a − φb)/(1−φ): relative fairness, weights may be negative"),
}
