"""Two centres of points in the plane, exactly: of the smallest enclosing circle and of the thinnest ring.

Both are found among finitely many candidates. Let d_i(θ) = |θ − v_i|.

Smallest maximum, min max_i d_i: the optimum is held by two points (half-way between them) or by three (where two
perpendicular bisectors meet).

Smallest spread, min (max_i d_i − min_j d_j). Where one v_i alone is farthest and one v_j alone is nearest, the spread
is d_i − d_j, whose gradient is the difference of two unit vectors; it vanishes only if v_j lies between θ and v_i, and
there d_i − d_j = |v_i − v_j| is a maximum. On a line where two points tie for the farthest (or the nearest) the
derivative of d_i − d_j vanishes only if θ sees v_i and v_j under the same angle to the line; mirrored to one side of it
they lie on one ray from θ, and the spread is again a maximum. So a minimum needs two ties at once: it lies where two
bisectors meet. A point v_j itself is no minimum, as −d_j falls in every direction from it. Far out the spread tends to
the width of the points in that direction, so a ring must be thinner than the thinnest strip to be the answer.
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evenkeel.errors import InputError

Points = NDArray[np.float64]
PARALLEL = 1e-12  # bisectors of a smaller determinant (points of size 1) do not meet


def distances(theta: Points, points: Points) -> Points:
    """|v − θ| for each point v, one row for each θ.

    >>> distances(np.array([0.0, 0.0]), np.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [5.0, 1.0]
    """
    return np.asarray(np.linalg.norm(theta[..., None, :] - points, axis=-1))


def meets(points: Points) -> Points:
    """Where the perpendicular bisectors of any two pairs of points meet.

    >>> meets(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]))[0].tolist()
    [1.0, 1.0]
    """
    pairs = np.array(list(combinations(range(len(points)), 2)))
    a, b = points[pairs[:, 0]], points[pairs[:, 1]]
    normals, offsets = b - a, ((b * b).sum(1) - (a * a).sum(1)) / 2
    p, q = np.array(list(combinations(range(len(pairs)), 2)), dtype=int).reshape(-1, 2).T
    det = normals[p, 0] * normals[q, 1] - normals[p, 1] * normals[q, 0]
    p, q, det = (x[np.abs(det) > PARALLEL] for x in (p, q, det))
    x = (offsets[p] * normals[q, 1] - offsets[q] * normals[p, 1]) / det
    y = (normals[p, 0] * offsets[q] - normals[q, 0] * offsets[p]) / det
    return np.stack([x, y], axis=1)


def _best(candidates: Points, points: Points, spread: Callable[[Points], Points]) -> Points:
    return np.asarray(candidates[np.argmin(spread(distances(candidates, points)))])


def smallest_maximum(points: Points) -> Points:
    """argmin over θ of max_i |v_i − θ|: the centre of the smallest enclosing circle.

    >>> smallest_maximum(np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.5]])).tolist()
    [0.0, 0.0]
    """
    halves = np.array([(a + b) / 2 for a, b in combinations(points, 2)])
    return _best(np.vstack([halves, meets(points)]), points, lambda d: np.asarray(d.max(-1)))


def smallest_spread(points: Points) -> Points:
    """argmin over θ of max_i |v_i − θ| − min_j |v_j − θ|: the centre of the thinnest ring that holds all points.

    >>> (smallest_spread(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])) + 1).tolist()
    [1.0, 1.0]
    """
    candidates = meets(points)
    theta = _best(candidates, points, _spread) if len(candidates) else np.zeros(2)
    if not len(candidates) or strip(points) < _spread(distances(theta, points)):
        raise InputError(f"points: a strip of width {strip(points):.6g} is thinner than any ring; there is no centre")
    return theta


def _spread(d: Points) -> Points:
    return np.asarray(d.max(-1) - d.min(-1))


def strip(points: Points) -> float:
    """The width of the thinnest strip that holds all points; one of its sides goes through two of them.

    >>> strip(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]]))
    0.5
    """
    along = np.array([b - a for a, b in combinations(points, 2) if (a != b).any()])
    normals = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
    heights = points @ normals.T
    return float((heights.max(0) - heights.min(0)).min())
