"""The permutahedron P(w) = conv{all orders of w}: support, membership and the isotonic projection.

P(w) is the base polytope of the symmetric submodular function S ↦ Σ of the |S| largest w. Projection of z: sort z
downwards, fit z↓ − w↓ by the best decreasing sequence g, answer z↓ − g in the old order (Lim and Wright 2016).
"""

import numpy as np

from evenkeel.sets.base import Vector


def greedy(v: Vector, w: Vector) -> Vector:
    """The order of w that maximises ⟨λ, v⟩: largest weight on the largest entry.

    >>> greedy(np.array([1.0, 3.0, 2.0]), np.array([2.0, 0.0, -1.0])).tolist()
    [-1.0, 2.0, 0.0]
    """
    lam = np.empty_like(w)
    lam[np.argsort(-v, kind="stable")] = w
    return lam


def project_isotonic(z: Vector, w: Vector) -> Vector:
    """The point of P(w) nearest to z, for w sorted downwards; O(n log n).

    >>> project_isotonic(np.array([9.0, 2.0, 1.0]), np.array([2.0, 0.0, -1.0])).tolist()
    [2.0, 0.0, -1.0]
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(-z, kind="stable")
    top = z[order]
    lam = np.empty_like(top)
    lam[order] = top - isotonic_regression(top - w, increasing=False).x
    return lam


def majorised(x: Vector, w: Vector, tol: float) -> bool:
    """x ∈ P(w): every sum of the k largest of x is at most that of w, and the totals agree (Rado)."""
    slack = np.cumsum(w) - np.cumsum(np.sort(x)[::-1])
    scale = max(1.0, float(np.abs(w).sum()))
    return bool((slack >= -tol * scale).all() and abs(slack[-1]) <= tol * scale)
