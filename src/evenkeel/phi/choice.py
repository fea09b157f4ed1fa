"""φ from the φ = 0 solution: which weights a₀, b₀, which curvature, and what to distrust."""

from dataclasses import dataclass

import numpy as np
import torch

from evenkeel.errors import InputError
from evenkeel.phi.asks import At
from evenkeel.phi.expansion import Expansion
from evenkeel.phi.solve import MatVec, Solve, Vector, solve
from evenkeel.protocol import Transport
from evenkeel.sets import AmbiguitySet
from evenkeel.sets.capped import CappedSimplex

MOST = 0.9  # ‖Λ_φ‖₁ = (1 + φ)/(1 − φ) is 19 here; beyond it the dual's weights drown the primal steps
TIED = 1e-3  # a weight this share of its cap away from both ends is taken to be strictly between them


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The φ chosen, what it was computed from, and how far that can be trusted (`notes`)."""

    phi: float
    expansion: Expansion
    a0: Vector
    b0: Vector
    losses: Vector
    solve: Solve
    notes: tuple[str, ...]


def choose_phi(
    transport: Transport,
    theta: torch.Tensor,
    A: AmbiguitySet,
    B: AmbiguitySet,
    *,
    lam: Vector | None = None,
    ties: str = "free",
    rtol: float = 1e-5,
    most: int = 200,
    damping: float = 0.0,
) -> Choice:
    """φ = 𝔞/(𝔟 + √(𝔟² + 1.5𝔞𝔠)) at the φ = 0 solution θ, clipped to at most 0.9.

    `lam` is the dual that the φ = 0 training ended with: it is a₀. Without it a₀ is the maximiser over A at θ, which
    is right only where no clients tie. b₀ is the minimiser over B at θ; clients that tie share it evenly.
    `ties` = "free" is the paper's 𝔠; "held" moves θ only where clients that share the worst loss keep doing so, which
    is the true first-order response (capped simplexes only).
    """
    if ties not in {"free", "held"}:
        raise InputError(f"ties = {ties!r}: must be 'free' (the paper's c) or 'held' (worst-off clients stay tied)")
    at = At(transport=transport, theta=theta)
    losses = at.losses()
    a0, b0 = extreme(A, losses) if lam is None else _dual(A, lam), extreme(B, -losses)
    g, matvec = at.gradient(b0), at.hessian(a0)
    size = float(np.linalg.norm(g))
    if ties == "held":
        g, matvec = _held(at, A, a0, g, matvec)
    floor = 100 * torch.finfo(theta.dtype).eps
    found = solve(matvec, g, rtol=rtol, most=most, damping=damping, floor=floor)
    expansion = Expansion(float(a0 @ losses), float(b0 @ losses), max(float(found.x @ g), 0.0))
    drift = float(np.linalg.norm(at.gradient(a0))) / max(size, 1e-300)
    return Choice(
        phi=min(expansion.root, MOST),
        expansion=expansion,
        a0=a0,
        b0=b0,
        losses=losses,
        solve=found,
        notes=_notes(expansion, found, A.support(losses), drift),
    )


def extreme(S: AmbiguitySet, v: Vector) -> Vector:
    """The maximiser of ⟨s, v⟩ of least norm: entries of v within about 1e-4 of the mean one tie, and share evenly.

    Any maximiser has the same value but not the same gradient, and sorting noise should not choose among them.

    >>> from evenkeel.sets import CVaR
    >>> extreme(CVaR(4, 0.5), np.array([1.0, 2.0, 2.0, 5.0])).round(9).tolist()
    [0.0, 0.25, 0.25, 0.5]
    """
    scale = 1e-4 * float(np.abs(v).mean()) * S.n
    return S.project(v / scale) if scale > 0 else S.argmax(v)


def _dual(A: AmbiguitySet, lam: Vector) -> Vector:
    if not A.contains(lam, 1e-6):
        raise InputError("lam: not a member of A; give the dual of a run with phi = 0, or none")
    return np.asarray(lam, dtype=np.float64)


def _held(at: At, A: AmbiguitySet, a0: Vector, g: Vector, matvec: MatVec) -> tuple[Vector, MatVec]:
    """g and H on the directions that keep the tied clients tied: those of weight strictly between 0 and the cap."""
    if not isinstance(A, CappedSimplex):
        raise InputError("ties = 'held': only Simplex, CVaR, WeightedCVaR and Point tell which clients tie; use 'free'")
    filled = a0 / np.maximum(A.caps, 1e-300)
    tied = np.flatnonzero((filled > TIED) & (filled < 1 - TIED))
    if len(tied) < 2:
        return g, matvec
    rows = at.gradients(tied)
    left, sizes, _ = np.linalg.svd((rows[1:] - rows[0]).T, full_matrices=False)
    normal = left[:, sizes > 1e-9 * sizes[0]] if sizes[0] > 0 else left[:, :0]

    def inside(v: Vector) -> Vector:
        return v - normal @ (normal.T @ v)

    left_over = inside(g)
    none = float(np.linalg.norm(left_over)) <= 1e-12 * float(np.linalg.norm(g))
    return np.zeros_like(g) if none else left_over, lambda v: inside(matvec(inside(v)))


def _notes(e: Expansion, found: Solve, worst: float, drift: float) -> tuple[str, ...]:
    """What a reader of φ must know, one line each."""
    said = {
        f"the formula gives {e.root:.3g}: clipped to {MOST}": e.root > MOST,
        f"H is not positive at theta_0: damped by {found.damping:.3g}, so c and phi depend on it": found.damping > 0,
        f"conjugate gradients stopped at residual {found.residual:.2g}: c is a lower bound": not found.converged,
        f"a0 is {worst - e.a:.3g} short of max_A = {worst:.6g}: the phi = 0 run is not at its saddle": worst - e.a
        > 0.01 * worst,
        f"the a0-weighted gradient is {drift:.2g} of the b0-weighted one, and 0 at a saddle": drift > 0.1,
    }
    return tuple(line for line, holds in said.items() if holds)
