"""Projection by a maintained conic solver (Clarabel), for sets without a structure to exploit.

Each set gives a `Block`: a is a member ⇔ h − G·(a, e) ∈ K for some extra variables e and a product K of cones. A
projection of z on Σ scale_k·S_k (Minkowski) stacks the blocks and minimises ½‖Σ scale_k·a_k − z‖².
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vector = NDArray[np.float64]


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


def project_blocks(z: Vector, parts: Sequence[tuple[Block, float]]) -> Vector:
    """The point of Σ scale·S nearest to z.

    >>> project_blocks(np.array([0.9, 0.5]), [(distribution(2), 1.0)]).round(6).tolist()
    [0.7, 0.3]
    """
    n, blocks = z.size, [b for b, _ in parts]
    widths = [b.G.shape[1] for b in blocks]
    G = sparse.block_diag([b.G for b in blocks], format="csc")

    # x = Σ scale·a gets variables of its own: the quadratic form stays diagonal
    link = sparse.hstack([scale * sparse.eye(n, b.G.shape[1]) for b, scale in parts] + [-sparse.eye(n)])
    A = sparse.vstack([sparse.hstack([G, sparse.csc_matrix((G.shape[0], n))]), link], format="csc")
    P = sparse.block_diag([sparse.csc_matrix((sum(widths), sum(widths))), sparse.eye(n)], format="csc")
    q = np.concatenate([np.zeros(sum(widths)), -z])
    b = np.concatenate([*(b.h for b in blocks), np.zeros(n)])
    cones = [cone for block in blocks for cone in block.cones] + [clarabel.ZeroConeT(n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.max_iter = 500
    return np.asarray(clarabel.DefaultSolver(P, q, A, b, cones, settings).solve().x)[-n:]
