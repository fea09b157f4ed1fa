"""The original SCAFFOLD (Karimireddy et al. 2020), option II: control variates that persist across rounds.

y ← y − η(∇f_i(y) − c_i + c);  c_i⁺ = c_i − c + (x − y)/(Jη);  x ← x + rate·mean(y − x);  c ← c + Σ(c_i⁺ − c_i)/n.
The server holds every c_i here, n·d numbers: what is sent is Δc, and c starts at 0, not at the model's weights.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from evenkeel.algorithms.averaging import sampled
from evenkeel.algorithms.limits import check
from evenkeel.algorithms.regions import Everywhere, Region
from evenkeel.algorithms.work import Work
from evenkeel.protocol import Ask, Key, Round, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """θ, the server's c, every client's c_i, and the round."""

    theta: torch.Tensor
    c: torch.Tensor
    c_i: torch.Tensor
    round: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold2020:
    """SCAFFOLD, option II, over a cohort."""

    eta: float = 1e-2
    rate: float = 1.0
    cohort: int = 0
    work: Work = field(default_factory=Work)
    region: Region = field(default_factory=Everywhere)

    def __post_init__(self) -> None:
        check(self)

    def init(self, theta: torch.Tensor, n: int) -> State:
        """c = c_i = 0."""
        return State(theta=theta, c=torch.zeros_like(theta), c_i=theta.new_zeros((n, theta.numel())))

    def round(self, state: State, key: Key) -> Round:
        """One exchange; clients that do not answer keep their c_i."""
        n = len(state.c_i)
        who = sampled(key, n, self.cohort)
        place = state.c_i.device
        own = state.c_i if who is None else state.c_i[torch.from_numpy(who).to(place)]
        shared = {"theta": state.theta, "c": state.c}
        moved = yield Ask("local", shared, {"c_i": own}, who=who, config=self.work.local(self.eta, divisor=0))

        delta, at = moved["delta"], torch.from_numpy(moved.who).to(place)  # Δ = (x − y)/(Jη)
        change = delta - state.c  # c_i⁺ − c_i
        c_i = state.c_i.clone()
        c_i[at] += change
        steps = torch.from_numpy(np.asarray(moved["steps"])).to(delta)
        free = state.theta - self.rate * self.eta * (steps[:, None] * delta).mean(dim=0)
        new = self.region.project(free)
        c = state.c + change.sum(dim=0) / n
        info = {"who": moved.who, "theta_bound": new is not free}
        return Step(State(theta=new, c=c, c_i=c_i, round=state.round + 1), info)
