"""The minimiser of max_i f_i − φ·min_i f_i over a whole box, for sums of squares f_i, with a certificate.

The problem need not be convex: f_i − φf_j curves downwards somewhere unless H_i ⪰ φH_j, and the penguins break
that from φ = .01 on. So a lower bound is computed beside the solution. With h = (θ, 1) every f_i is hᵀK_ih, and hhᵀ is
relaxed to any Z ⪰ 0 with Z₄₄ = 1 (Shor's relaxation; the box adds (θ_k − low_k)(θ_k − high_k) ≤ 0, linear in Z):

    min t   s.t.   ⟨K_i − φK_j, Z⟩ ≤ t for all i ≠ j,   Z ⪰ 0.

Its multipliers, whatever the solver's accuracy, prove a lower bound: μ ≥ 0 with Σμ = 1 for the pairs and ν ≥ 0 for the
box give objective(θ) ≥ hᵀ(Σμ(K_i − φK_j) − ΣνB)h, whose minimum over all θ is found by completing the square. The
relaxed θ is polished by sequential quadratic programming; if the value found meets the bound, it is the global minimum.
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize

Real = NDArray[np.float64]
CLOSE = 1e-5  # a value within this share of the bound counts as met: what the solver leaves open
LAST = np.array([0.0, 0.0, 0.0, 1.0])
UPPER = np.array([(i, j) for j in range(4) for i in range(j + 1)])  # Clarabel's order of a symmetric matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """A minimiser, its losses and value, and the bound that no point of the box can beat."""

    theta: Real
    losses: Real
    value: float
    bound: float

    @property
    def certified(self) -> bool:
        """Whether the value meets the bound."""
        return bool(self.value - self.bound <= CLOSE * abs(self.value))


def solve(design: Real, low: Real, high: Real, phi: float, *starts: Real) -> Solution:
    """argmin over low ≤ θ ≤ high of max f − φ·min f, f_i(θ) = |design_i·(θ, 1)|²; `starts` are tried besides.

    >>> two = np.array([[[1.0, 0, 0, -1], [0, 1, 0, 0], [0, 0, 1, 0]], [[1.0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]])
    >>> found = solve(two, np.full(3, -9.0), np.full(3, 9.0), 0.1)  # |θ − e₁|² and |θ + e₁|²
    >>> (found.theta.round(6) + 0.0).tolist(), round(found.value, 6), found.certified
    ([0.0, 0.0, 0.0], 0.9, True)
    """
    T, scale = _coordinates(design, low, high)
    rows = design @ T
    K = np.einsum("ijk,ijl->ikl", rows, rows) / scale
    walls = _walls(T, low, high)
    relaxed, bound = _relaxed(K, walls, phi)
    points = [relaxed, *(np.linalg.solve(T, np.append(s, 1.0))[:3] for s in starts)]
    candidates = [np.clip((T @ np.append(_polished(K, walls, phi, z), 1.0))[:3], low, high) for z in points]
    losses = [np.square(design @ np.append(theta, 1.0)).sum(axis=1) for theta in candidates]
    values = [float(f.max() - phi * f.min()) for f in losses]
    i = int(np.argmin(values))
    return Solution(theta=candidates[i], losses=losses[i], value=values[i], bound=bound * scale)


def _coordinates(design: Real, low: Real, high: Real) -> tuple[Real, float]:
    """T with (θ, 1) = T(z, 1), about the pooled least squares, in which the pooled Hessian is 1; a typical loss."""
    pooled = design.reshape(-1, 4)
    centre = np.linalg.lstsq(pooled[:, :3], -pooled[:, 3], rcond=None)[0]
    T = np.eye(4)
    T[:3, :3] = np.linalg.inv(np.linalg.qr(pooled[:, :3], mode="r"))
    T[:3, 3] = centre
    free, boxed = (float(np.square(pooled @ np.append(x, 1.0)).sum()) for x in (centre, np.clip(centre, low, high)))
    return T, max(free, boxed / 100) or 1.0


def _walls(T: Real, low: Real, high: Real) -> Real:
    """Rows w with w·(z, 1) ≥ 0: first θ_k ≥ low_k, then θ_k ≤ high_k, each over the width of the box."""
    width = (high - low)[:, None]
    above, below = T[:3].copy(), -T[:3]
    above[:, 3] -= low
    below[:, 3] += high
    return np.vstack([above / width, below / width])


def _relaxed(K: Real, walls: Real, phi: float) -> tuple[Real, float]:
    """Shor's relaxation by Clarabel: the relaxed z, and the bound that its multipliers prove."""
    pairs = np.array([K[i] - phi * K[j] for i, j in permutations(range(len(K)), 2)])
    least = np.array([_symmetric(a, b) for a, b in combinations_with_replacement([*walls, LAST], 2)])
    n, m = len(pairs), len(least)
    A = np.vstack([_flat(np.outer(LAST, LAST)), _flat(pairs), -_flat(least), -np.eye(10)])
    t = np.concatenate([[0.0], np.full(n, -1.0), np.zeros(m + 10)])
    b = np.append(1.0, np.zeros(n + m + 10))
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n + m), clarabel.PSDTriangleConeT(4)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cost, matrix = np.append(np.zeros(10), 1.0), sparse.csc_matrix(np.column_stack([A, t]))
    answer = clarabel.DefaultSolver(sparse.csc_matrix((11, 11)), cost, matrix, b, cones, settings).solve()
    weights = np.maximum(np.asarray(answer.z)[1 : 1 + n + m], 0.0)
    mixture = np.tensordot(weights[:n] / weights[:n].sum(), pairs, 1) - np.tensordot(weights[n:], least, 1)
    return np.asarray(answer.x)[[6, 7, 8]] / np.sqrt(2), _floor(mixture)


def _floor(Q: Real) -> float:
    """min over z of (z, 1)ᵀQ(z, 1), by completing the square; −∞ if Q curves downwards."""
    if np.linalg.eigvalsh(Q[:3, :3])[0] <= 0:
        return -np.inf
    return float(Q[3, 3] - Q[3, :3] @ np.linalg.solve(Q[:3, :3], Q[:3, 3]))


def _symmetric(a: Real, b: Real) -> Real:
    return np.asarray((np.outer(a, b) + np.outer(b, a)) / 2)


def _flat(m: Real) -> Real:
    """The upper triangle with √2 off the diagonal, so that ⟨A, B⟩ is a dot product."""
    i, j = UPPER.T
    return np.asarray(m[..., i, j] * np.where(i == j, 1.0, np.sqrt(2)))


def _polished(K: Real, walls: Real, phi: float, z: Real) -> Real:
    """The nearest local minimiser: min t with f_i − φf_j ≤ t and the box, from z."""
    i, j = np.array(list(permutations(range(len(K)), 2))).T

    def room(x: Real) -> Real:
        h = np.append(x[:3], 1.0)
        f = np.einsum("ikl,k,l->i", K, h, h)
        return np.concatenate([x[3] - f[i] + phi * f[j], walls @ h])

    def slopes(x: Real) -> Real:
        df = 2 * K[:, :3] @ np.append(x[:3], 1.0)
        return np.vstack(
            [np.column_stack([phi * df[j] - df[i], np.ones(len(i))]), np.column_stack([walls[:, :3], np.zeros(6)])]
        )

    start = np.append(z, 0.0)
    start[3] = -room(start)[: len(i)].min()
    constraint: dict[str, Any] = {"type": "ineq", "fun": room, "jac": slopes}
    found = minimize(
        lambda x: x[3],
        start,
        jac=lambda _: LAST,
        constraints=[constraint],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return np.asarray(found.x[:3])
