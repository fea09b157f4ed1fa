"""The measured curve u(φ) beside the predicted one, and φ = "auto"."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from evenkeel.indices.relative import absolute_unfairness, best_weighting, negative_utility, relative_unfairness
from evenkeel.phi.asks import At
from evenkeel.phi.choice import Choice, choose_phi
from evenkeel.phi.expansion import Expansion
from evenkeel.phi.solve import Vector
from evenkeel.protocol import Transport
from evenkeel.sets import AmbiguitySet

Trained = tuple[torch.Tensor, Vector | None]  # θ and, where the algorithm has one, the dual λ
Train = Callable[[float], Trained]


def resolve_auto_phi(train: Train, transport: Transport, A: AmbiguitySet, B: AmbiguitySet) -> Choice:
    """`phi = "auto"`: train at φ = 0 and choose φ there. `train(phi)` returns (θ, λ) of a run with that φ."""
    theta, lam = train(0.0)
    return choose_phi(transport, theta, A, B, lam=lam)


class Measured(NamedTuple):
    """One trained φ: max_A, min_B, their ratio R, the measured u, and the u that the expansion predicted."""

    phi: float
    large: float
    small: float
    ratio: float
    utility: float
    predicted: float


def measure(
    train: Train, transport: Transport, A: AmbiguitySet, B: AmbiguitySet, *, grid: Sequence[float], expansion: Expansion
) -> tuple[Measured, ...]:
    """The measured curve beside the predicted one: train at each φ of a grid and probe all clients."""
    rows = []
    for phi in grid:
        f = At(transport=transport, theta=train(phi)[0]).losses()
        large, small = absolute_unfairness(f, A), best_weighting(f, B)
        ratio, u = relative_unfairness(f, A, B), negative_utility(f, A, B)
        rows.append(Measured(phi, large, small, ratio, u, expansion.predicted(phi)))
    return tuple(rows)
