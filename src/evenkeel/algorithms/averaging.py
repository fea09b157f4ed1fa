"""FedSGD and FedAvg (McMahan et al. 2017): the mean of the clients' gradients, or of their local models."""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel import draws
from evenkeel.algorithms.limits import check
from evenkeel.algorithms.regions import Everywhere, Region
from evenkeel.algorithms.work import Ids, Work
from evenkeel.protocol import Ask, Key, Round, Step

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """θ^r and the round."""

    theta: torch.Tensor
    round: int = 0


def sampled(key: Key, n: int, cohort: int) -> Ids | None:
    """The clients of a round: all (None) where `cohort` is 0 or n, else that many at random."""
    return draws.cohort(key, "cohort", n, cohort) if 0 < cohort < n else None


def mass(weights: Vector, who: Ids) -> float:
    """What the weights of those that answered sum to; the average is over them."""
    return float(weights[who].sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class FedAvg:
    """θ ← θ − rate·Σ p_i(θ − u_i)/Σ p_i, u_i from local steps of size eta; `p` is uniform or by size."""

    p: Vector
    eta: float = 0.1
    rate: float = 1.0
    cohort: int = 0
    work: Work = field(default_factory=Work)
    region: Region = field(default_factory=Everywhere)

    def __post_init__(self) -> None:
        check(self)

    def init(self, theta: torch.Tensor, n: int) -> State:
        """θ⁰."""
        return State(theta=theta)

    def round(self, state: State, key: Key) -> Round:
        """One exchange."""
        who = sampled(key, len(self.p), self.cohort)
        weights = self.p if who is None else self.p[who]
        config = self.work.local(self.eta, divisor=1)
        moved = yield Ask("local", {"theta": state.theta}, who=who, weights=weights, config=config)
        free = state.theta - (self.rate * self.eta / mass(self.p, moved.who)) * moved["delta"]
        new = self.region.project(free)
        return Step(State(theta=new, round=state.round + 1), {"who": moved.who, "theta_bound": new is not free})


@dataclass(frozen=True, slots=True, kw_only=True)
class FedSGD:
    """θ ← θ − η·Σ p_i ∇f_i(θ, ξ)/Σ p_i."""

    p: Vector
    eta: float = 0.1
    cohort: int = 0
    work: Work = field(default_factory=Work)
    region: Region = field(default_factory=Everywhere)

    def __post_init__(self) -> None:
        check(self)

    def init(self, theta: torch.Tensor, n: int) -> State:
        """θ⁰."""
        return State(theta=theta)

    def round(self, state: State, key: Key) -> Round:
        """One exchange."""
        who = sampled(key, len(self.p), self.cohort)
        weights = self.p if who is None else self.p[who]
        slope = yield Ask("gradient", {"theta": state.theta}, who=who, weights=weights, config=self.work.gradient())
        free = state.theta - (self.eta / mass(self.p, slope.who)) * slope["grad"]
        new = self.region.project(free)
        return Step(State(theta=new, round=state.round + 1), {"who": slope.who, "theta_bound": new is not free})
