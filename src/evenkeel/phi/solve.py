"""H⁻¹g by conjugate gradients on Hessian–vector products, with damping where H is not positive."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenkeel.errors import InputError

Vector = NDArray[np.float64]
MatVec = Callable[[Vector], Vector]


@dataclass(frozen=True, slots=True, kw_only=True)
class Solve:
    """x with (H + damping·I)x ≈ g by conjugate gradients: relative residual, and products with H that it took."""

    x: Vector
    residual: float
    products: int
    damping: float
    converged: bool


class _NotPositive(Exception):  # noqa: N818 — leaves SciPy's loop; it is no error
    """A search direction met curvature that is negative, or nothing beside the largest one seen."""

    def __init__(self, damping: float) -> None:
        self.damping = damping


@dataclass(slots=True)
class _Watched:
    """v ↦ Hv + damping·v that counts its calls and leaves when H is not positive along v."""

    matvec: MatVec
    damping: float
    floor: float
    products: int = 0
    largest: float = 0.0

    def __call__(self, v: Vector) -> Vector:
        self.products += 1
        image = self.matvec(v)
        curvature = float(v @ image / (v @ v))
        self.largest = max(self.largest, abs(curvature))
        if self.largest + self.damping == 0:
            raise InputError("phi: the weighted losses have no curvature along the gradient; give damping above 0")
        if curvature + self.damping <= self.floor * self.largest:
            raise _NotPositive(max(-2 * curvature, 1e-3 * self.largest, 4 * self.damping))
        return image + self.damping * v


def solve(
    matvec: MatVec, g: Vector, *, rtol: float = 1e-5, most: int = 200, damping: float = 0.0, floor: float = 2e-14
) -> Solve:
    """H⁻¹g from products with H alone; where H is not positive, (H + μI)⁻¹g with the μ that made it so.

    μ starts at `damping` and grows to twice the negative curvature met (at least 1e-3 of the largest one, at least
    fourfold), until none is met; curvature below `floor` times the largest one counts as none. Cut off after `most`
    products a try, ⟨x, g⟩ is still a bound of 𝔠 from below.

    >>> H = np.diag([1.0, 4.0])
    >>> solve(lambda v: H @ v, np.array([1.0, 2.0])).x.round(9).tolist()
    [1.0, 0.5]
    >>> solve(lambda v: -H @ v, np.array([1.0, 2.0])).damping > 4.0
    True
    """
    from scipy.sparse.linalg import LinearOperator, cg

    size = float(np.linalg.norm(g))
    if size == 0:
        return Solve(x=np.zeros_like(g), residual=0.0, products=0, damping=damping, converged=True)
    products = 0
    while True:
        watched = _Watched(matvec, damping, floor)
        try:
            x, failed = cg(
                LinearOperator((g.size, g.size), matvec=watched, dtype=np.float64), g, rtol=rtol, maxiter=most
            )
            residual = float(np.linalg.norm(watched(x) - g)) / size
        except _NotPositive as met:
            products, damping = products + watched.products, met.damping
            continue
        products += watched.products
        return Solve(x=x, residual=residual, products=products, damping=damping, converged=not failed)
