"""The corners of sets of three clients, and what importing the sets costs."""

import subprocess
import sys

import numpy as np
import pytest

from evenkeel.errors import InputError
from evenkeel.sets import CVaR, Hull, Integrated, KLBall, Point, Simplex, TVBall, WeightedCVaR, vertices

POLYGONS = [
    Simplex(3),
    CVaR(3, 0.5),
    WeightedCVaR([0.5, 0.3, 0.2], 0.6),
    TVBall(3, 0.2),
    Hull([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]]),
    Integrated(CVaR(3, 0.5), CVaR(3, 0.5), 0.5),
    Integrated(WeightedCVaR([0.5, 0.3, 0.2], 0.6), Simplex(3), 0.3),
    Integrated(Simplex(3), Hull([[1, 0, 0], [0, 0.5, 0.5]]), 0.4),
]


@pytest.mark.parametrize("s", POLYGONS, ids=str)
def test_vertices_are_members_and_hold_every_support(s):
    corners = vertices(s)
    assert all(s.contains(c, 1e-6) for c in corners)
    for v in np.random.default_rng(0).normal(size=(200, 3)):
        assert (corners @ v).max() == pytest.approx(s.support(v), abs=1e-9)


@pytest.mark.parametrize("s", POLYGONS, ids=str)
def test_vertices_go_round_and_none_is_inside(s):
    from scipy.spatial import ConvexHull

    from evenkeel.sets.polygon import PLANE

    flat = vertices(s) @ PLANE.T
    if len(flat) > 2:
        edge = np.roll(flat, -1, 0) - flat
        then = np.roll(edge, -1, 0)
        assert (edge[:, 0] * then[:, 1] - edge[:, 1] * then[:, 0] > 0).all()
        assert len(ConvexHull(flat).vertices) == len(flat)


def test_the_hexagon_of_figure_2_by_hand():
    """φ = .5, α = .5: w = (u↓ − φu↑)/(1 − φ) with u = (2/3, 1/3, 0), so w = (4/3, 1/3, −2/3) and six orders of it."""
    corners = vertices(Integrated(CVaR(3, 0.5), CVaR(3, 0.5), 0.5))
    assert len(corners) == 6
    np.testing.assert_allclose(np.sort(corners, axis=1), np.tile([-2 / 3, 1 / 3, 4 / 3], (6, 1)), atol=1e-12)


def test_a_point_has_one_corner_and_a_ball_many():
    assert vertices(Point.uniform(3)).shape == (1, 3)
    assert len(vertices(KLBall(3, 0.1))) > 100


def test_only_three_clients_can_be_drawn():
    with pytest.raises(InputError, match="n = 4"):
        vertices(Simplex(4))


def test_sets_and_indices_load_neither_torch_nor_a_solver():
    heavy = ("torch", "scipy", "clarabel", "polars")
    code = f"import sys, evenkeel.sets, evenkeel.indices; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
