"""The exact search: against every point of small grids, and on the paper's grid against every point of chosen parts."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.errors import InputError
from evenkeel.paper import lattice
from evenkeel.paper.penguins import READINGS, SIZE, UNIT, design, forms, residuals, theta

SIZES = st.integers(1, 7)


def random_forms(seed, clients=3, rows=4, reach=9):
    """Whole residual rows whose first column is −1: every client curves alike along k₁."""
    r = np.random.default_rng(seed).integers(-reach, reach, size=(clients, rows, 4), endpoint=True)
    r[:, :, 0] = -1
    return r, np.einsum("ijk,ijl->ikl", r, r)


def brute(r, size, p, q):
    """Plain Python, exact fractions: the least objective and all places where it is attained."""
    phi, best, where = Fraction(p, q), None, []
    for k in product(range(size), repeat=3):
        losses = [sum(sum(int(c) * x for c, x in zip(row, (*k, 1), strict=True)) ** 2 for row in rows) for rows in r]
        value = max(losses) - phi * min(losses)
        if best is None or value < best:
            best, where = value, []
        if value == best:
            where.append(list(k))
    return best, where


@given(st.integers(0, 10**6), SIZES, st.integers(0, 99))
def test_every_point_of_a_small_grid_agrees_ties_included(seed, size, p):
    r, K = random_forms(seed, reach=3)
    value, where = brute(r, size, p, 100)
    found = lattice.least(lattice.rows(K, size), p)
    assert found.places.tolist() == where
    assert max(map(int, found.losses)) - Fraction(p, 100) * min(map(int, found.losses)) == value


@given(st.integers(0, 10**6), st.integers(20, 40), st.integers(0, 99))
def test_leaving_rows_out_changes_nothing(seed, size, p):
    grid = lattice.rows(random_forms(seed, reach=60)[1], size)
    short, whole = lattice.least(grid, p), lattice.least(grid, p, prune=False)
    assert short.places.tolist() == whole.places.tolist()
    assert short.rows <= whole.rows == size**2


@pytest.fixture(scope="module", params=READINGS)
def penguins(request):
    return request.param, lattice.rows(forms(request.param), SIZE)


@pytest.mark.parametrize("p", [0, 2, 5])
def test_no_point_of_whole_planes_and_blocks_of_the_papers_grid_is_better(penguins, p):
    name, grid = penguins
    found = lattice.least(grid, p)
    least = int(lattice.objective(found.losses, p, 100))
    rng = np.random.default_rng(p)
    k1, k2, k3 = found.places[0]
    everywhere, some = np.arange(SIZE), np.sort(rng.choice(SIZE, 60, replace=False))
    near = [np.unique(np.clip(k + np.arange(-15, 16), 0, SIZE - 1)) for k in (k1, k2, k3)]
    blocks = [(everywhere, [k2], everywhere), (everywhere, everywhere, [k3]), (some, some, some), tuple(near)]
    r = residuals(name)
    for block in blocks:
        places = np.stack(np.meshgrid(*block, indexing="ij"), -1).reshape(-1, 3)
        losses = np.zeros((3, len(places)), dtype=np.int64)
        for i, row in np.ndindex(3, 10):  # sums of squares, row by row: not by the forms
            losses[i] += (places @ r[i, row, :3] + r[i, row, 3]) ** 2
        assert (100 * losses.max(0) - p * losses.min(0)).min() >= least


def test_every_row_that_is_left_out_is_above_the_least_value(penguins):
    _, grid = penguins
    found = lattice.least(grid, 5)
    known = int(lattice.objective(found.losses, 5, 100))
    out = np.flatnonzero(95 * grid.floor > known)[::997]
    k = np.arange(SIZE)[:, None]
    losses = (grid.curve * k + grid.slope[:, None, out]) * k + grid.level[:, None, out]
    assert (100 * losses.max(0) - 5 * losses.min(0)).min(initial=2**62) > known


@pytest.mark.parametrize("name", READINGS)
def test_whole_losses_are_those_of_the_real_regression(name):
    places = np.random.default_rng(1).integers(0, SIZE, size=(50, 3))
    exact = np.einsum("nk,ikl,nl->in", h := np.insert(places, 3, 1, axis=1), forms(name), h)
    at = np.insert(theta(places), 3, 1.0, axis=1)
    real = np.square(np.einsum("ijk,nk->ijn", design(name), at)).sum(axis=1)
    np.testing.assert_allclose(exact * UNIT, real, rtol=1e-9)


def test_clients_that_curve_differently_are_refused():
    K = random_forms(0)[1]
    K[1, 0, 0] += 1
    with pytest.raises(InputError, match="same curvature"):
        lattice.rows(K, 5)


def test_losses_beyond_64_bits_are_refused():
    with pytest.raises(InputError, match="leave 64 bits"):
        lattice.rows(random_forms(0)[1] * 10**12, 1001)


@pytest.mark.parametrize(("p", "q"), [(-1, 100), (100, 100), (1, 101)])
def test_phi_outside_its_range_is_refused(p, q):
    with pytest.raises(InputError, match="must be a fraction"):
        lattice.least(lattice.rows(random_forms(0)[1], 3), p, q)
