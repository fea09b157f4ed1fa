"""FedFV (Wang et al. 2021): each client's update is freed of what conflicts with the others', then averaged.

Internal conflicts: for client k, in rising order of loss, if ⟨g_k, g_i⟩ < 0 then g_k loses its part along g_i; the
share α of clients with the largest losses keep theirs. External conflicts, once `memory` rounds have passed: for each
of these rounds, the oldest first, the mean loses its part along the sum of those updates that conflict with it, of
clients last seen in that round. The mean keeps the length it had before.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel.algorithms.averaging import sampled
from evenkeel.algorithms.limits import check
from evenkeel.algorithms.regions import Everywhere, Region
from evenkeel.algorithms.work import Work
from evenkeel.protocol import Ask, Key, Round, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """θ, every client's last update (empty without memory), the round it is from (−1: none) and the round."""

    theta: torch.Tensor
    last: torch.Tensor
    when: NDArray[np.int64]
    round: int = 0


def without(g: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """g without its part along `other`, if the two conflict.

    >>> without(torch.tensor([1.0, -1.0]), torch.tensor([0.0, 2.0]))
    tensor([1., 0.])
    """
    dot = g @ other
    return g - dot / (other @ other) * other if float(dot) < 0 else g


def mitigated(updates: torch.Tensor, losses: NDArray[np.float64], alpha: float) -> torch.Tensor:
    """The mean of the updates after internal conflicts are taken out."""
    order = np.argsort(losses, kind="stable")
    spared = set(order[len(order) - int(alpha * len(order) + 1e-9) :].tolist())  # .29·100 is 28.999…
    total = torch.zeros_like(updates[0])
    for k in range(len(updates)):
        g = updates[k]
        for i in () if k in spared else order:
            g = without(g, updates[i]) if i != k else g
        total += g
    return total / len(updates)


def freed(g: torch.Tensor, last: torch.Tensor, when: NDArray[np.int64], rounds: range) -> torch.Tensor:
    """The mean after external conflicts are taken out: `last[k]` is client k's update, from round `when[k]`.

    >>> last = torch.tensor([[-1.0, 0.0], [0.0, -2.0], [9.0, 9.0]])
    >>> freed(torch.tensor([1.0, 1.0]), last, np.array([0, 0, 0]), range(1))    # two conflict, their sum is (−1, −2)
    tensor([ 0.4000, -0.2000])
    """
    for r in rounds:
        own = last[torch.from_numpy(when == r)]
        opposed = own[own @ g < 0]
        if len(opposed):
            g = without(g, opposed.sum(dim=0))
    return g


@dataclass(frozen=True, slots=True, kw_only=True)
class FedFV:
    """Needs every client's vector by itself: n·d numbers at the server."""

    n: int
    eta: float = 0.1
    rate: float = 1.0
    alpha: float = 0.1
    memory: int = 0
    cohort: int = 0
    work: Work = field(default_factory=Work)
    region: Region = field(default_factory=Everywhere)

    def __post_init__(self) -> None:
        check(self)

    def init(self, theta: torch.Tensor, n: int) -> State:
        """No memory of updates yet."""
        last = theta.new_zeros((n if self.memory else 0, theta.numel()))
        return State(theta=theta, last=last, when=np.full(n, -1, np.int64))

    def round(self, state: State, key: Key) -> Round:
        """One probe for the order of losses, one walk."""
        seen = yield Ask("probe", {"theta": state.theta}, who=sampled(key, self.n, self.cohort))
        config = self.work.local(self.eta, divisor=1)
        moved = yield Ask("local", {"theta": state.theta}, who=seen.who, config=config)
        losses = np.asarray(seen["loss"])[np.searchsorted(seen.who, moved.who)]
        updates = self.eta * moved["delta"]
        g, plain = mitigated(updates, losses, self.alpha), updates.mean(dim=0)

        last, when = state.last, state.when.copy()
        when[moved.who] = state.round
        if 0 < self.memory <= state.round:
            g = freed(g, last, when, range(state.round - self.memory, state.round))
        length = torch.linalg.vector_norm(g)
        g = g / length * torch.linalg.vector_norm(plain) if float(length) > 0 else plain

        if self.memory:
            last = last.clone()
            last[torch.from_numpy(moved.who)] = updates
        free = state.theta - self.rate * g
        new = self.region.project(free)
        info = {"who": moved.who, "theta_bound": new is not free}
        return Step(State(theta=new, last=last, when=when, round=state.round + 1), info)
