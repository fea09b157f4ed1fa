"""Every algorithm, one file a family; each reads as its paper's pseudo-code and knows no transport."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenkeel.algorithms.agnostic import StochasticAFL
from evenkeel.algorithms.averaging import FedAvg, FedSGD
from evenkeel.algorithms.control_variates import Scaffold2020
from evenkeel.algorithms.drfa import DRFA
from evenkeel.algorithms.fedfv import FedFV
from evenkeel.algorithms.primal_dual import ScaffPDIA, scaff_pd, scaff_pd_ia, scaffold
from evenkeel.algorithms.qffl import QFedAvg
from evenkeel.algorithms.regions import Ball, Box, Everywhere, Region
from evenkeel.algorithms.work import Work
from evenkeel.errors import InputError, nearest
from evenkeel.protocol import Algorithm
from evenkeel.sets import AmbiguitySet, CVaR

__all__ = [
    "ALGORITHMS",
    "DRFA",
    "AlgorithmEntry",
    "Ball",
    "Box",
    "Everywhere",
    "FedAvg",
    "FedFV",
    "FedSGD",
    "QFedAvg",
    "Region",
    "ScaffPDIA",
    "Scaffold2020",
    "StochasticAFL",
    "Work",
    "algorithm",
]

Sizes = NDArray[np.int64]
_OURS = {"n", "p", "ambiguity", "longest", "local"}  # what `build` makes of the sizes and the name


class AlgorithmEntry(NamedTuple):
    """One line of `evenkeel list algorithms`: how to build it for n clients of given sizes.

    A spec takes its parameters and their defaults from the signature of `takes`, and from `more`.
    """

    build: Callable[..., Algorithm]
    meaning: str
    takes: Callable[..., Algorithm]
    more: Mapping[str, float | str] = {}


def _weights(sizes: Sizes, weighting: str) -> NDArray[np.float64]:
    if weighting not in {"clients", "size"}:
        raise InputError(f"weighting = {weighting!r}: must be 'clients' (each counts once) or 'size'")
    p = np.ones(len(sizes)) if weighting == "clients" else sizes.astype(np.float64)
    return np.asarray(p / p.sum())


def _set(sizes: Sizes, alpha: float) -> AmbiguitySet:
    return CVaR(len(sizes), alpha)


ALGORITHMS: dict[str, AlgorithmEntry] = {
    "fedsgd": AlgorithmEntry(
        lambda sizes, weighting="clients", **k: FedSGD(p=_weights(sizes, weighting), **k),
        "mean gradient, one step a round",
        takes=FedSGD,
        more={"weighting": "clients"},
    ),
    "fedavg": AlgorithmEntry(
        lambda sizes, weighting="clients", **k: FedAvg(p=_weights(sizes, weighting), **k),
        "mean of local models",
        takes=FedAvg,
        more={"weighting": "clients"},
    ),
    "scaffold": AlgorithmEntry(
        lambda sizes, **k: scaffold(len(sizes), **k),
        "controlled averaging, uniform weights (the paper's Scaffold)",
        takes=scaffold,
    ),
    "scaffold-2020": AlgorithmEntry(
        lambda sizes, **k: Scaffold2020(**k),
        "the original SCAFFOLD, control variates kept across rounds",
        takes=Scaffold2020,
    ),
    "safl": AlgorithmEntry(
        lambda sizes, alpha=0.2, **k: StochasticAFL(ambiguity=_set(sizes, alpha), **k),
        "Stochastic-AFL: one weighted stochastic step a round, weights follow the worst share α",
        takes=StochasticAFL,
        more={"alpha": 0.2},
    ),
    "drfa": AlgorithmEntry(
        lambda sizes, alpha=0.2, **k: DRFA(
            ambiguity=_set(sizes, alpha), longest=k.get("work", Work()).longest(sizes), **k
        ),
        "walkers drawn by weight, losses at a random step",
        takes=DRFA,
        more={"alpha": 0.2},
    ),
    "scaff-pd": AlgorithmEntry(
        lambda sizes, **k: scaff_pd(len(sizes), **k),
        "controlled averaging for the worst share α: absolute unfairness",
        takes=scaff_pd,
    ),
    "scaff-pd-ia": AlgorithmEntry(
        lambda sizes, **k: scaff_pd_ia(len(sizes), **k),
        "the same over Λ_φ(A, B): relative unfairness, weights may be negative",
        takes=scaff_pd_ia,
    ),
    "q-fedsgd": AlgorithmEntry(
        lambda sizes, **k: QFedAvg(n=len(sizes), local=False, **k),
        "losses to the power q + 1, one gradient a round",
        takes=QFedAvg,
    ),
    "q-fedavg": AlgorithmEntry(
        lambda sizes, **k: QFedAvg(n=len(sizes), **k),
        "losses to the power q + 1, local steps",
        takes=QFedAvg,
    ),
    "fedfv": AlgorithmEntry(
        lambda sizes, **k: FedFV(n=len(sizes), **k),
        "updates freed of conflicts with one another",
        takes=FedFV,
    ),
}


def algorithm(name: str, sizes: Sizes, **parameters: Any) -> Algorithm:  # noqa: ANN401 — each family has its own
    """The algorithm of this name for clients of these training sizes.

    >>> type(algorithm("scaff-pd", np.array([10, 20, 30, 40, 50]))).__name__
    'ScaffPDIA'
    >>> algorithm("scaf-pd", np.array([10, 20]))
    Traceback (most recent call last):
    evenkeel.errors.InputError: algorithm = 'scaf-pd': no such algorithm; did you mean 'scaff-pd'?
    """
    if name not in ALGORITHMS:
        raise InputError(f"algorithm = {name!r}: no such algorithm; {nearest(name, ALGORITHMS)}")
    known = (set(inspect.signature(ALGORITHMS[name].takes).parameters) | set(ALGORITHMS[name].more)) - _OURS
    for parameter in parameters:
        if parameter not in known:
            raise InputError(f"{name}: unknown parameter {parameter!r}; {nearest(parameter, known)}")
    return ALGORITHMS[name].build(np.asarray(sizes), **parameters)
