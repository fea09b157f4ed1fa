"""Figure 1 of the paper: eight points, the centre of absolute fairness and the centre of relative fairness.

Both centres are found exactly. Each is a point where two of the functions |v − θ| that attain a maximum or minimum
tie in two different pairs, so it lies where two perpendicular bisectors meet, or half-way between two points.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from evenkeel.sets import Simplex

D = np.array([[1, 0], [-1, 0], *np.array([[1, 0.5], [-1, 0.5], [1, -1], [-1, -1]]) / np.sqrt(2), [0, 0.5], [0, -1]])


def candidates():
    pairs = list(combinations(range(8), 2))
    normals = np.array([D[j] - D[i] for i, j in pairs])
    offsets = np.array([(D[j] @ D[j] - D[i] @ D[i]) / 2 for i, j in pairs])
    meets = [
        np.linalg.solve(normals[[k, m]], offsets[[k, m]])
        for k, m in combinations(range(len(pairs)), 2)
        if abs(np.linalg.det(normals[[k, m]])) > 1e-9
    ]
    return np.vstack([meets, [(D[i] + D[j]) / 2 for i, j in pairs]])


def best(objective):
    points = candidates()
    values = np.array([objective(d) for d in cdist(points, D)])
    theta = points[np.argmin(values)]
    return theta, np.linalg.norm(D - theta, axis=1)


def test_centre_of_absolute_fairness_has_the_printed_sum_of_distances():
    _, distances = best(Simplex(8).support)
    assert distances.sum() == pytest.approx(7.081, abs=5e-4)


def test_centre_of_relative_fairness_has_the_printed_sum_of_distances():
    _, distances = best(lambda d: Simplex(8).support(d) + Simplex(8).support(-d))
    assert distances.sum() == pytest.approx(7.105, abs=5e-4)


def test_no_point_of_a_fine_grid_beats_either_centre():
    axis = np.linspace(-2, 2, 401)
    grid = cdist(np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2), D)
    for objective in (lambda d: d.max(-1), lambda d: d.max(-1) - d.min(-1)):
        assert objective(best(objective)[1]) <= objective(grid).min() + 1e-12
