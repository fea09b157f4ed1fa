"""m and M with m·I ⪯ ∇²f_i ⪯ M·I for every client: in closed form for linear models, else by Lanczos at one θ."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from evenkeel.clients import Part
from evenkeel.data.shards import Federation
from evenkeel.draws import generator
from evenkeel.errors import InputError, RunFailedError
from evenkeel.protocol import Ask, Key, Transport
from evenkeel.tasks import Task

Vector = NDArray[np.float64]

# the largest and smallest curvature of one row's loss in its outputs: 2·‖·‖², p(1 − p), diag(p) − ppᵀ
_CURVATURE = {"regression": (2.0, 2.0), "binary": (0.0, 0.25), "classification": (0.0, 0.5)}
_DENSE = 24  # up to this many parameters d products give the whole Hessian, exactly


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """Smallest and largest curvature of each client; `everywhere`, or only at the θ they were estimated at."""

    smallest: Vector
    largest: Vector
    everywhere: bool

    @property
    def m(self) -> float:
        """m_f = min over clients."""
        return float(self.smallest.min())

    @property
    def M(self) -> float:  # noqa: N802 — the paper's name
        """M_f = max over clients."""
        return float(self.largest.max())


def closed_form(task: Task, federation: Federation) -> Constants | None:
    """Constants that hold at every θ, for one linear layer; None for any other model.

    Least squares: the extreme eigenvalues of (2/m_i)·Σ w·x̃x̃ᵀ + l2, x̃ = (x, 1). Logistic and softmax losses: l2 below,
    and a quarter or a half of the largest eigenvalue of (1/m_i)·Σ w·x̃x̃ᵀ, plus l2, above.
    """
    leaves = [part for part in task.template.modules() if not list(part.children())]
    layers = [part for part in leaves if isinstance(part, nn.Linear)]
    if len(layers) != 1 or not all(isinstance(part, nn.Linear | nn.Flatten) for part in leaves):
        return None
    spectra = [
        _spectrum(Part.of(task, federation, federation.train[i]), bias=layers[0].bias is not None)
        for i in range(federation.n)
    ]
    below, above = _CURVATURE[task.kind]
    low, high = (np.array(ends) for ends in zip(*spectra, strict=True))
    return Constants(smallest=below * low + task.l2, largest=above * high + task.l2, everywhere=True)


def _spectrum(part: Part, *, bias: bool) -> tuple[float, float]:
    """The extreme eigenvalues of (1/m)·Σ w·x̃x̃ᵀ, from the smaller of its two Gram matrices."""
    x = part.x.reshape(part.size, -1).double().numpy()
    x = np.hstack([x, np.ones((part.size, 1))]) if bias else x
    if part.weight is not None:
        x = x * np.sqrt(part.weight.double().numpy())[:, None]
    wide = x.shape[0] < x.shape[1]
    values = np.linalg.eigvalsh((x @ x.T if wide else x.T @ x) / part.size)
    return 0.0 if wide else max(float(values[0]), 0.0), float(values[-1])


def estimated(
    transport: Transport, theta: torch.Tensor, *, clients: Sequence[int] | None = None, rtol: float = 1e-3
) -> Constants:
    """Extreme eigenvalues of ∇²f_i(θ) of each client (or of those named) from Hessian–vector products alone.

    They hold at this θ only; the smallest is negative where a network's loss is not convex.
    """
    who = range(transport.n) if clients is None else clients
    ends = np.array([_extremes(transport, theta, i, rtol) for i in who])
    return Constants(smallest=ends[:, 0], largest=ends[:, 1], everywhere=False)


def _extremes(transport: Transport, theta: torch.Tensor, client: int, rtol: float) -> tuple[float, float]:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    ask = Ask("hvp", {"theta": theta}, who=np.array([client]), weights=np.ones(1))

    def product(v: Vector) -> Vector:
        shared = {**ask.shared, "v": torch.as_tensor(v.reshape(-1)).to(theta)}
        reply: torch.Tensor = transport.answer(ask._replace(shared=shared), Key(0, 0))["hvp"]
        return np.asarray(reply.detach().cpu().double().numpy())

    d = theta.numel()
    if d <= _DENSE:
        H = np.stack([product(e) for e in np.eye(d)])
        values = np.linalg.eigvalsh((H + H.T) / 2)
        return float(values[0]), float(values[-1])
    start = generator(0, "lanczos", client).normal(size=d)
    operator = LinearOperator((d, d), matvec=product, dtype=np.float64)
    try:
        ends = eigsh(operator, k=2, which="BE", v0=start, tol=rtol, return_eigenvectors=False)
    except ArpackNoConvergence:
        raise RunFailedError(
            f"curvature of client {client}: Lanczos did not reach rtol {rtol}; give a larger one"
        ) from None
    return float(ends.min()), float(ends.max())


def demand_smooth(constants: Constants) -> None:
    """Refuse M ≤ 0: losses without curvature bound no step size."""
    if not constants.M > 0:
        raise InputError(f"M = {constants.M}: the largest curvature must be above 0; check the rows, or add l2")
