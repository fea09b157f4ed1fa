"""What the choice of φ asks of the clients: losses, weighted gradients, weighted Hessian–vector products."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel.errors import RunFailedError
from evenkeel.phi.solve import MatVec, Vector
from evenkeel.protocol import Ask, Key, Replies, Scalar, Transport

KEY = Key(seed=0, round=0)  # whole passes without dropout: nothing is drawn
WHOLE: dict[str, Scalar] = {"batch": 0, "dropout": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """The clients at one θ: what the choice of φ asks of them, each a whole pass with dropout off."""

    transport: Transport
    theta: torch.Tensor

    def losses(self) -> Vector:
        """f_i(θ) of every client."""
        return np.asarray(self._all(Ask("probe", {"theta": self.theta}))["loss"], dtype=np.float64)

    def gradient(self, weights: Vector) -> Vector:
        """Σ w_i ∇f_i(θ)."""
        return _numpy(self._all(self._weighted("gradient", weights, WHOLE))["grad"])

    def gradients(self, who: NDArray[np.int64]) -> Vector:
        """∇f_i(θ), one row a client in `who`: single vectors leave the clients here."""
        return _numpy(self._all(Ask("gradient", {"theta": self.theta}, who=who, config=WHOLE))["grad"])

    def hessian(self, weights: Vector) -> MatVec:
        """v ↦ Σ w_i ∇²f_i(θ)v, one exchange with the clients of non-zero weight."""
        ask = self._weighted("hvp", weights, {})

        def product(v: Vector) -> Vector:
            shared = {**ask.shared, "v": torch.as_tensor(v).to(self.theta)}
            return _numpy(self._all(ask._replace(shared=shared))["hvp"])

        return product

    def _weighted(self, phase: str, weights: Vector, config: dict[str, Scalar]) -> Ask:
        who = np.flatnonzero(np.abs(weights) > 1e-12)
        return Ask(phase, {"theta": self.theta}, who=who, weights=weights[who], config=config)

    def _all(self, ask: Ask) -> Replies:
        replies = self.transport.answer(ask, KEY)
        asked = self.transport.n if ask.who is None else len(ask.who)
        if len(replies.who) < asked:
            raise RunFailedError(f"phi: {asked - len(replies.who)} of {asked} clients did not answer; try again")
        return replies


def _numpy(v: torch.Tensor) -> Vector:
    return v.detach().cpu().double().numpy()
