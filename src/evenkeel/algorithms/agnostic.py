"""Stochastic-AFL (Mohri, Sivek and Suresh 2019): one stochastic step in θ and one in λ a round, both from round r."""

from dataclasses import dataclass, field

import numpy as np
import torch

from evenkeel.algorithms.limits import check
from evenkeel.algorithms.primal_dual import State
from evenkeel.algorithms.regions import Everywhere, Region
from evenkeel.algorithms.work import Work, carry, scaled
from evenkeel.dual import dual_step
from evenkeel.errors import InputError
from evenkeel.protocol import Ask, Key, Round, Step
from evenkeel.sets import AmbiguitySet


@dataclass(frozen=True, slots=True, kw_only=True)
class StochasticAFL:
    """θ ← θ − η·Σ λ_i ∇f_i(θ, ξ);  λ ← Proj(λ + σL). With `work.steps` above 1 each client walks that far alone."""

    ambiguity: AmbiguitySet
    eta: float = 0.1
    sigma: float = 1e-3
    work: Work = field(default_factory=lambda: Work(steps=1))
    region: Region = field(default_factory=Everywhere)

    def __post_init__(self) -> None:
        check(self)

    def init(self, theta: torch.Tensor, n: int) -> State:
        """λ⁰: the member nearest to uniform."""
        if n != self.ambiguity.n:
            raise InputError(f"ambiguity set over {self.ambiguity.n} clients, but the federation has {n}")
        return State(theta=theta, lam=self.ambiguity.project(np.full(n, 1 / n)), loss=np.full(n, np.nan))

    def round(self, state: State, key: Key) -> Round:
        """Losses of all, then the weighted step, so that no loss is reset inside a loop over clients."""
        seen = yield Ask("probe", {"theta": state.theta})
        loss, s = carry(state.loss, seen, 0.0)
        lam = dual_step(self.ambiguity, state.lam, s, self.sigma)
        weights = scaled(state.lam, seen.who)
        config = self.work.local(self.eta, divisor=1)
        moved = yield Ask("local", {"theta": state.theta}, who=seen.who, weights=weights, config=config)
        free = state.theta - self.eta * (len(seen.who) / len(moved.who)) * moved["delta"]
        new = self.region.project(free)
        info = {"lam": lam, "loss": loss, "who": moved.who, "theta_bound": new is not free}
        return Step(State(theta=new, lam=lam, loss=loss, round=state.round + 1), info)
