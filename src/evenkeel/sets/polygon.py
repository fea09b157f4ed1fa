"""The corners of a set of three clients, in order round the plane Σ = 1: what a drawing needs."""

from itertools import permutations

import numpy as np

from evenkeel.errors import InputError
from evenkeel.sets.balls import ChiSquareBall, KLBall
from evenkeel.sets.base import AmbiguitySet, Vector
from evenkeel.sets.hull import Hull
from evenkeel.sets.integrated import Integrated

# an orthonormal basis of the plane Σ = 0: client 1 to the lower left, 2 to the lower right, 3 at the top
PLANE = np.array([[-1.0, 1.0, 0.0], [-1.0, -1.0, 2.0]]) / np.sqrt([[2.0], [6.0]])


def vertices(s: AmbiguitySet, points: int = 360) -> Vector:
    """The vertices of S, one a row; for sets with a curved edge, `points` boundary points.

    >>> from evenkeel.sets import Simplex
    >>> vertices(Simplex(3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if s.n != 3:
        raise InputError(f"n = {s.n}: vertices are for drawing sets of three clients")
    corners = np.stack([s.argmax(v) for v in _directions(s, points)])
    corners = corners[np.unique(corners.round(9), axis=0, return_index=True)[1]]
    flat = (corners - corners.mean(axis=0)) @ PLANE.T
    turn = np.argsort(np.arctan2(flat[:, 1], flat[:, 0]), kind="stable")
    return np.asarray(corners[turn])


def _directions(s: AmbiguitySet, points: int) -> Vector:
    """Directions whose maximisers are all the corners: the six orders of three clients for a base polytope."""
    parts = (s.A, s.B) if isinstance(s, Integrated) else (s,)
    if any(isinstance(p, ChiSquareBall | KLBall | Hull) for p in parts):
        angle = np.arange(points) * 2 * np.pi / points + 1e-6
        return np.stack([np.cos(angle), np.sin(angle)], axis=1) @ PLANE
    return np.array(list(permutations([0.0, 1.0, 2.0])))
