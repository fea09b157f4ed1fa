"""Hull(P): the convex hull of given weight vectors, such as groups of clients (AFL over domains)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from evenkeel.errors import InputError
from evenkeel.sets.base import TOL, Vector, probability, spectral_skewness, vector

if TYPE_CHECKING:
    from evenkeel.sets.conic import Block


@dataclass(frozen=True, eq=False)
class Hull:
    """conv{P_1, …, P_k}, one weight vector a row; each a distribution.

    >>> Hull([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).support([1.0, 2.0, 4.0])
    4.0
    """

    P: ArrayLike

    def __post_init__(self) -> None:
        rows = np.asarray(self.P, dtype=np.float64)
        if rows.ndim != 2 or rows.size == 0:
            raise InputError(f"P: shape {rows.shape}; give a table with one weight vector a row")
        object.__setattr__(self, "P", np.stack([probability(row, f"P, row {i}") for i, row in enumerate(rows)]))

    @property
    def rows(self) -> Vector:
        """The given vectors."""
        return np.asarray(self.P)

    @property
    def n(self) -> int:
        """The number of clients."""
        return int(self.rows.shape[1])

    @property
    def spectrum(self) -> Vector | None:
        """None: the rows are not all orders of one vector."""
        return None

    @property
    def symmetric(self) -> bool:
        """False: groups have names."""
        return False

    def support(self, v: ArrayLike) -> float:
        """The largest of ⟨P_j, v⟩."""
        return float((self.rows @ vector(v, self.n)).max())

    def argmax(self, v: ArrayLike) -> Vector:
        """The row that attains it."""
        best = int(np.argmax(self.rows @ vector(v, self.n)))
        return np.array(self.rows[best])

    def project(self, v: ArrayLike) -> Vector:
        """By Clarabel over the weights of the rows; to about 1e-8."""
        from evenkeel.sets.conic import project_blocks

        return project_blocks(vector(v, self.n), [(self.block(), 1.0)])

    def contains(self, x: ArrayLike, tol: float = TOL) -> bool:
        """Whether some mixture of the rows comes within tol of x in every entry (a linear programme)."""
        return nearest_mixture(self.rows, vector(x, self.n)) <= tol

    def block(self) -> "Block":
        """a = Σμ_j·P_j with μ a distribution."""
        from evenkeel.sets.conic import mixture

        return mixture(self.rows)

    @property
    def l1_norm(self) -> float:
        """1: every member is a distribution."""
        return 1.0

    @property
    def skewness(self) -> float:
        """At the most skewed row, exactly."""
        return max(spectral_skewness(row) for row in self.rows)


def nearest_mixture(rows: Vector, x: Vector) -> float:
    """min over mixtures μ of the largest |Σμ_j·row_j − x|, by HiGHS.

    >>> nearest_mixture(np.eye(2), np.array([0.5, 0.5]))
    0.0
    """
    from scipy.optimize import linprog

    k, n = rows.shape
    ones = np.ones((n, 1))
    sides = np.block([[rows.T, -ones], [-rows.T, -ones]])
    cost = np.append(np.zeros(k), 1.0)
    total = np.append(np.ones(k), 0.0)[None, :]
    answer = linprog(cost, A_ub=sides, b_ub=np.concatenate([x, -x]), A_eq=total, b_eq=[1.0], method="highs")
    return float(answer.fun)
