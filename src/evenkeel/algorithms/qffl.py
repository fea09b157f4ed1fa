"""q-FFL (Li, Sanjabi, Beirami and Smith 2020): q-FedSGD and q-FedAvg.

With Lipschitz guess L = 1/η:  Δ_i = F_i^q·g_i,  h_i = q·F_i^{q−1}·‖g_i‖² + L·F_i^q,  θ ← θ − ΣΔ_i/Σh_i; g_i is ∇F_i(θ)
for q-FedSGD and L(θ − u_i) for q-FedAvg. F_i is the client's mean loss. q = 0 is uniform averaging.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel.algorithms.averaging import State, sampled
from evenkeel.algorithms.limits import check
from evenkeel.algorithms.regions import Everywhere, Region
from evenkeel.algorithms.work import Work
from evenkeel.protocol import Ask, Key, Round, Step

_SMALL = 1e-10  # keeps F^{q−1} finite where a client's loss is zero


@dataclass(frozen=True, slots=True, kw_only=True)
class QFedAvg:
    """q ≥ 0: the larger, the more the worst-off count. `local` False is q-FedSGD."""

    q: float = 1.0
    eta: float = 0.1
    cohort: int = 0
    local: bool = True
    n: int
    work: Work = field(default_factory=Work)
    region: Region = field(default_factory=Everywhere)

    def __post_init__(self) -> None:
        check(self)

    def init(self, theta: torch.Tensor, n: int) -> State:
        """θ⁰."""
        return State(theta=theta)

    def round(self, state: State, key: Key) -> Round:
        """Losses first: F_i^q are the weights of the sum, so no vector is sent alone."""
        seen = yield Ask("probe", {"theta": state.theta}, who=sampled(key, self.n, self.cohort))
        F = np.asarray(seen["loss"]) + _SMALL
        phase, config = (
            ("local", self.work.local(self.eta, divisor=1)) if self.local else ("gradient", self.work.gradient())
        )
        moved = yield Ask(phase, {"theta": state.theta}, who=seen.who, weights=F**self.q, config=config)

        here = F[np.searchsorted(seen.who, moved.who)]
        h = step_bounds(here, np.asarray(moved["norm2"]), self.q, 1 / self.eta)
        free = state.theta - moved["delta" if self.local else "grad"] / float(h.sum())
        new = self.region.project(free)
        return Step(State(theta=new, round=state.round + 1), {"who": moved.who, "theta_bound": new is not free})


def step_bounds(F: NDArray[np.float64], norm2: NDArray[np.float64], q: float, L: float) -> NDArray[np.float64]:
    """h_i = q·F_i^{q−1}·‖g_i‖² + L·F_i^q: local Lipschitz bounds of F^{q+1}/(q+1).

    >>> step_bounds(np.array([2.0]), np.array([3.0]), 1.0, 10.0).tolist()
    [23.0]
    """
    bounds: NDArray[np.float64] = q * F ** (q - 1) * norm2 + L * F**q
    return bounds
