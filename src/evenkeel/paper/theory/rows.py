"""Clients of one linear layer in plain NumPy: losses, gradients and Hessians by hand, for solutions to start from.

f_i(θ) = mean over rows of ℓ(x·θ, y) + l2/2·‖θ‖², with ℓ the squared or the logistic loss; x ends with a 1. Training
goes through torch and the engine; nothing here does, so a solution found here checks what was trained there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Designs (one a client, the last column is 1), targets and the ridge term; `binary` takes the logistic loss.

    >>> r = Rows(xs=(np.array([[1.0, 1.0], [2.0, 1.0]]),), ys=(np.array([1.0, 3.0]),), l2=2.0)
    >>> r.losses(np.array([1.0, 0.0])).tolist(), r.gradients(np.array([1.0, 0.0])).tolist()
    ([1.5], [[0.0, -1.0]])
    """

    xs: Sequence[Real]
    ys: Sequence[Real]
    l2: float
    binary: bool = False

    @property
    def n(self) -> int:
        """The number of clients."""
        return len(self.xs)

    @property
    def d(self) -> int:
        """The number of parameters."""
        return int(self.xs[0].shape[1])

    @cached_property
    def grams(self) -> Real:
        """(1/m_i)·Σ xxᵀ, one d × d matrix a client."""
        return np.stack([x.T @ x / len(x) for x in self.xs])

    def losses(self, theta: Real) -> Real:
        """f_i(θ)."""
        means = []
        for x, y in zip(self.xs, self.ys, strict=True):
            z = x @ theta
            means.append(np.mean(np.logaddexp(0.0, z) - y * z if self.binary else (z - y) ** 2))
        return np.array(means) + self.l2 / 2 * theta @ theta

    def gradients(self, theta: Real) -> Real:
        """∇f_i(θ), one row a client."""
        slopes = [
            x.T @ ((_sigmoid(x @ theta) - y) if self.binary else 2 * (x @ theta - y)) / len(x)
            for x, y in zip(self.xs, self.ys, strict=True)
        ]
        return np.array(slopes) + self.l2 * theta

    def hessians(self, theta: Real) -> Real:
        """∇²f_i(θ), one d × d matrix a client."""
        if not self.binary:
            return np.asarray(2 * self.grams + self.l2 * np.eye(self.d))
        bends = [_sigmoid(x @ theta) * _sigmoid(-x @ theta) for x in self.xs]
        bent = [(x.T * w) @ x / len(x) for x, w in zip(self.xs, bends, strict=True)]
        return np.asarray(np.stack(bent) + self.l2 * np.eye(self.d))

    def convexity(self, lam: Real) -> float:
        """μ with Σλ_i∇²f_i(θ) ⪰ μ·I at every θ, for weights that sum to 1 and may be negative.

        Exact for squares. The logistic loss bends by 0 to ¼ a row: only negative weights can take convexity away.
        """
        if not self.binary:
            return float(np.linalg.eigvalsh(np.tensordot(lam, self.hessians(np.zeros(self.d)), 1))[0])
        lost = np.tensordot(np.maximum(-lam, 0.0), self.grams, 1) / 4
        return self.l2 - float(np.linalg.eigvalsh(lost)[-1])

    def forms(self, theta: Real) -> Real:
        """K_i with f_i(t) ≈ (t, 1)ᵀK_i(t, 1) to second order about θ; exact for squares.

        >>> r = Rows(xs=(np.array([[1.0, 1.0]]),), ys=(np.array([1.0]),), l2=0.0)
        >>> h = np.array([3.0, 2.0, 1.0])
        >>> float(h @ r.forms(np.zeros(2))[0] @ h), float(r.losses(h[:2])[0])
        (16.0, 16.0)
        """
        f, g, H = self.losses(theta), self.gradients(theta), self.hessians(theta)
        K = np.empty((self.n, self.d + 1, self.d + 1))
        K[:, :-1, :-1] = H / 2
        K[:, :-1, -1] = K[:, -1, :-1] = (g - H @ theta) / 2
        K[:, -1, -1] = f - g @ theta + theta @ H @ theta / 2
        return K


def _sigmoid(z: Real) -> Real:
    from scipy.special import expit

    return np.asarray(expit(z))
