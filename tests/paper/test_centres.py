"""Figure 1: both centres against closed forms, known figures, and every other point of the plane."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from evenkeel.errors import InputError
from evenkeel.paper import FIGURES
from evenkeel.paper.centres import distances, smallest_maximum, smallest_spread, strip
from evenkeel.paper.fig1 import POINTS

coordinates = st.integers(-20, 20).map(lambda k: k / 10)
clouds = st.lists(st.tuples(coordinates, coordinates), min_size=4, max_size=8, unique=True).map(np.array)


def spread(theta, points):
    d = np.linalg.norm(points - theta, axis=1)
    return d.max() - d.min()


def test_the_points_are_the_papers():
    printed = {(1, 0), (-1, 0), (0, 0.5), (0, -1)}
    printed |= {(s / 2**0.5, 0.5 / 2**0.5) for s in (1, -1)} | {(s / 2**0.5, -1 / 2**0.5) for s in (1, -1)}
    assert {tuple(p) for p in POINTS.round(12)} == {tuple(np.round(p, 12)) for p in printed}


def test_the_absolute_centre_is_the_origin():
    # five points lie on the unit circle, and no half of it is free of them
    assert smallest_maximum(POINTS) == pytest.approx([0, 0], abs=1e-15)


def test_the_relative_centre_is_a_quarter_below_the_origin():
    # on the axis of symmetry (0, 1/2) and (0, −1) are equally near at −1/4, where (±1, 0) are the farthest
    assert smallest_spread(POINTS) == pytest.approx([0, -0.25], abs=1e-15)
    assert spread(smallest_spread(POINTS), POINTS) == pytest.approx((1 + 1 / 16) ** 0.5 - 0.75)


def test_sums_by_hand_are_those_of_the_figure():
    found = FIGURES["fig1"]().result["centres"]
    absolute = 5 + 0.5 + 2 * (1 / 2 + 1 / 8) ** 0.5
    root = 0.5**0.5
    relative = (
        2 * (17 / 16) ** 0.5 + 1.5 + 2 * (0.5 + (root / 2 + 0.25) ** 2) ** 0.5 + 2 * (0.5 + (root - 0.25) ** 2) ** 0.5
    )
    assert found["absolute"]["sum"] == pytest.approx(absolute)
    assert found["relative"]["sum"] == pytest.approx(relative)


@given(clouds)
def test_three_or_two_points_hold_the_smallest_circle_and_it_holds_all(points):
    theta = smallest_maximum(points)
    d = distances(theta, points)
    held = points[d > d.max() - 1e-9]
    # optimal if and only if the centre is a mean of the points that hold it (no direction leads away from all)
    away = np.linspace(0, 2 * np.pi, 721)
    assert ((held - theta) @ np.stack([np.cos(away), np.sin(away)])).max(axis=0).min() >= -1e-7


@settings(max_examples=20)
@given(clouds, st.integers(0, 2**32 - 1))
def test_no_search_from_anywhere_finds_a_thinner_ring(points, seed):
    try:
        least = spread(smallest_spread(points), points)
    except InputError:
        least = strip(points)  # the thinnest ring is infinitely large
    for start in np.random.default_rng(seed).normal(scale=2, size=(3, 2)):
        found = minimize(spread, start, args=(points,), method="Nelder-Mead", options={"maxiter": 100})
        assert found.fun >= least - 1e-9


def test_points_on_a_line_have_no_thinnest_ring():
    with pytest.raises(InputError, match="thinner than any ring"):
        smallest_spread(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [5.0, 5.0]]))
