"""Projection by a maintained conic solver (Clarabel), for sets without a structure to exploit.

Each set gives a `Block`: a is a member ⇔ h − G·(a, e) ∈ K for some extra variables e and a product K of cones. A
projection of z on Σ scale_k·S_k (Minkowski) stacks the blocks and minimises ½‖Σ scale_k·a_k − z‖². This module loads
the solver, so sets import it only when they are asked for their block.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import clarabel
import numpy as np
from scipy import sparse

from evenkeel.sets.base import Vector


class Block(NamedTuple):
    """h − G·(a, extra) in the product of `cones`; the first n columns are a."""

    G: Any
    h: Vector
    cones: list[Any]


def distribution(n: int, extra: int = 0) -> Block:
    """Σa = 1 and a ≥ 0, with `extra` further variables that it leaves alone."""
    pad = sparse.csc_matrix((n, extra))
    total = sparse.hstack([np.ones((1, n)), sparse.csc_matrix((1, extra))])
    G = sparse.vstack([total, sparse.hstack([-sparse.eye(n), pad])])
    return Block(G, np.append(1.0, np.zeros(n)), [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)])


def at_most(caps: Vector | float, n: int) -> Block:
    """a ≤ caps."""
    return Block(sparse.eye(n), np.broadcast_to(np.asarray(caps, float), (n,)), [clarabel.NonnegativeConeT(n)])


def join(*blocks: Block) -> Block:
    """All constraints at once."""
    return Block(
        sparse.vstack([b.G for b in blocks], format="csc"),
        np.concatenate([b.h for b in blocks]),
        [cone for b in blocks for cone in b.cones],
    )


def mixture(rows: Vector) -> Block:
    """a = Σμ_j·row_j with μ a distribution: the μ are the extra variables."""
    k, n = rows.shape
    weights = distribution(k)
    link = sparse.hstack([sparse.eye(n), -rows.T])
    G = sparse.vstack([link, sparse.hstack([sparse.csc_matrix((k + 1, n)), weights.G])])
    return Block(G, np.append(np.zeros(n), weights.h), [clarabel.ZeroConeT(n), *weights.cones])


def within_euclid(n: int, radius: float) -> Block:
    """One second-order cone: ‖a − 1/n‖ ≤ radius."""
    G = sparse.vstack([sparse.csc_matrix((1, n)), -sparse.eye(n)])
    h = np.append(radius, np.full(n, -1 / n))
    return join(distribution(n), Block(G, h, [clarabel.SecondOrderConeT(n + 1)]))


def within_entropy(n: int, rho: float) -> Block:
    """t_i ≥ a_i·log(n·a_i) ⇔ (−t_i, a_i, 1/n) in the exponential cone; Σt ≤ ρ."""
    each, triples = np.arange(n), sparse.lil_matrix((3 * n, 2 * n))
    triples[3 * each, n + each] = 1.0
    triples[3 * each + 1, each] = -1.0
    cones = Block(triples, np.tile([0.0, 0.0, 1 / n], n), [clarabel.ExponentialConeT()] * n)
    return join(distribution(n, n), _budget(n, rho), cones)


def within_variation(n: int, rho: float) -> Block:
    """|a_i − 1/n| ≤ t_i, Σt ≤ 2ρ."""
    unit = sparse.eye(n)
    sides = sparse.vstack([sparse.hstack([unit, -unit]), sparse.hstack([-unit, -unit])])
    limits = Block(sides, np.repeat([1 / n, -1 / n], n), [clarabel.NonnegativeConeT(2 * n)])
    return join(distribution(n, n), limits, _budget(n, 2 * rho))


def _budget(n: int, most: float) -> Block:
    """Σ of n extra variables ≤ most."""
    row = sparse.hstack([sparse.csc_matrix((1, n)), np.ones((1, n))])
    return Block(row, np.array([most]), [clarabel.NonnegativeConeT(1)])


def project_blocks(z: Vector, parts: Sequence[tuple[Block, float]]) -> Vector:
    """The point of Σ scale·S nearest to z.

    The squared distance first. Where the solver stops short of its tolerance (points on a face of a cone), an error of
    ε in the square is one of √ε in the point; so the distance itself is tried as well, and the nearer answer taken.

    >>> project_blocks(np.array([0.9, 0.5]), [(distribution(2), 1.0)]).round(6).tolist()
    [0.7, 0.3]
    """
    n, blocks = z.size, [b for b, _ in parts]
    widths = [b.G.shape[1] for b in blocks]
    inside = sum(widths)
    G = sparse.block_diag([b.G for b in blocks], format="csc")

    # y = Σ scale·a − z gets variables of its own: the quadratic form stays diagonal
    link = sparse.hstack([scale * sparse.eye(n, b.G.shape[1]) for b, scale in parts] + [-sparse.eye(n)])
    A = sparse.vstack([sparse.hstack([G, sparse.csc_matrix((G.shape[0], n))]), link], format="csc")
    b = np.concatenate([*(b.h for b in blocks), z])
    cones = [cone for block in blocks for cone in block.cones] + [clarabel.ZeroConeT(n)]

    P = sparse.block_diag([sparse.csc_matrix((inside, inside)), sparse.eye(n)], format="csc")
    square = _solved(P, np.zeros(inside + n), A, b, cones)
    if square.status == clarabel.SolverStatus.Solved:
        return np.asarray(z + np.asarray(square.x)[inside:])
    radius = sparse.hstack([sparse.csc_matrix((n + 1, inside)), -sparse.eye(n + 1, n, -1), -sparse.eye(n + 1, 1)])
    A = sparse.vstack([sparse.hstack([A, sparse.csc_matrix((A.shape[0], 1))]), radius], format="csc")
    q = np.append(np.zeros(inside + n), 1.0)
    distance = _solved(
        sparse.csc_matrix((q.size, q.size)),
        q,
        A,
        np.append(b, np.zeros(n + 1)),
        [*cones, clarabel.SecondOrderConeT(n + 1)],
    )
    found = [np.asarray(s.x)[inside : inside + n] for s in (square, distance)]
    return np.asarray(z + min(found, key=lambda y: float(y @ y)))


def _solved(P: Any, q: Vector, A: Any, b: Vector, cones: list[Any]) -> Any:  # noqa: ANN401 — Clarabel ships no types
    """Clarabel's answer at tight tolerances."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.max_iter = 500
    return clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
