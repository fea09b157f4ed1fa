"""DRFA (Deng, Kamani and Mahdavi 2020): a cohort drawn by λ walks J steps; a second, uniform cohort reports its losses
at the mean of the walkers' models at one random step; λ ← Proj(λ + J·σ·v) with v_i = (n/m)·f_i on that cohort.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel import draws
from evenkeel.algorithms.limits import check
from evenkeel.algorithms.primal_dual import State
from evenkeel.algorithms.regions import Everywhere, Region
from evenkeel.algorithms.work import Ids, Work
from evenkeel.dual import dual_step
from evenkeel.errors import InputError
from evenkeel.protocol import Ask, Key, Round, Step
from evenkeel.sets import AmbiguitySet


def by_weight(key: Key, lam: NDArray[np.float64], m: int) -> tuple[Ids, NDArray[np.float64]]:
    """m clients drawn with replacement with probabilities λ: who, and how often each over m.

    >>> by_weight(Key(0, 0), np.array([0.0, 1.0]), 5)
    (array([1]), array([1.]))
    """
    edges = np.cumsum(np.maximum(lam, 0.0))
    picks = np.searchsorted(edges, draws.uniform(key, "drfa/walkers", np.arange(m)) * edges[-1], side="right")
    who, times = np.unique(picks, return_counts=True)
    return who, times / m


@dataclass(frozen=True, slots=True, kw_only=True)
class DRFA:
    """`cohort` m walkers (0: n draws) and as many reporters; `sigma` is multiplied by J, the steps or epochs, as there.

    `longest` is the most local steps of any client: the random step is drawn below it, and a client that takes fewer
    reports its last model.
    """

    ambiguity: AmbiguitySet
    longest: int
    eta: float = 0.1
    sigma: float = 1e-3
    cohort: int = 0
    work: Work = field(default_factory=Work)
    region: Region = field(default_factory=Everywhere)

    def __post_init__(self) -> None:
        check(self)

    def init(self, theta: torch.Tensor, n: int) -> State:
        """λ⁰: the member nearest to uniform."""
        if n != self.ambiguity.n:
            raise InputError(f"ambiguity set over {self.ambiguity.n} clients, but the federation has {n}")
        return State(theta=theta, lam=self.ambiguity.project(np.full(n, 1 / n)), loss=np.full(n, np.nan))

    def round(self, state: State, key: Key) -> Round:
        """Two exchanges: walk, then report."""
        n, m = len(state.lam), self.cohort or len(state.lam)
        who, weights = by_weight(key, state.lam, m)
        snapshot = int(draws.uniform(key, "drfa/snapshot", 0) * self.longest)
        config = self.work.local(self.eta, divisor=1, snapshot=snapshot)
        moved = yield Ask("local", {"theta": state.theta}, who=who, weights=weights, config=config)
        mass = float(weights[np.searchsorted(who, moved.who)].sum())

        middle = moved["snapshot"] / mass
        told = yield Ask("probe", {"theta": middle}, who=draws.cohort(key, "drfa/reporters", n, min(m, n)))
        v = np.zeros(n)
        v[told.who] = told["loss"] * (n / len(told.who))
        lam = dual_step(self.ambiguity, state.lam, v, (self.work.steps or self.work.epochs) * self.sigma)
        loss = state.loss.copy()
        loss[told.who] = told["loss"]

        free = state.theta - (self.eta / mass) * moved["delta"]
        new = self.region.project(free)
        info = {"lam": lam, "loss": loss, "who": moved.who, "theta_bound": new is not free}
        return Step(State(theta=new, lam=lam, loss=loss, round=state.round + 1), info)
