"""The chosen φ against exact solutions, and what the expansion gets right and wrong."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from evenkeel.algorithms import ScaffPDIA, Work
from evenkeel.dual import Constant
from evenkeel.engine import Absent, Engine, Loop
from evenkeel.errors import InputError, RunFailedError
from evenkeel.phi import MOST, choose_phi, measure, resolve_auto_phi
from evenkeel.sets import ChiSquareBall, CVaR, Integrated
from evenkeel.tasks import build
from tests.algorithms.running import run
from tests.clients.toy import federation
from tests.phi.oracle import (
    clients_of,
    curve,
    dual,
    logistic_problem,
    penguins_problem,
    quadratic_problem,
    solution,
    utility,
)

CASES = {"penguins": (penguins_problem, 1), "logistic": (logistic_problem, 3), "quadratic": (quadratic_problem, 1)}
EXACT = Work(batch=0, steps=2, control_batch=0)


@dataclass(frozen=True)
class Case:
    """A problem, its exact φ = 0 solution and dual, and the choice made there."""

    task: object
    federation: object
    k: int

    @property
    def clients(self):
        return clients_of(self.task, self.federation)

    @property
    def worst(self):
        return CVaR(self.federation.n, self.k / self.federation.n)

    def start(self):
        rough = solution(self.clients, 0, self.k, np.zeros(self.task.d))
        return solution(self.clients, 0, self.k, rough)

    def choice(self, theta, **more):
        lam = dual(self.clients, theta, self.k)
        transport = Loop(self.task, self.federation)
        return choose_phi(transport, torch.from_numpy(theta), self.worst, self.worst, **{"lam": lam} | more)


def case(name):
    make, k = CASES[name]
    return Case(*make(), k)


@pytest.mark.parametrize("name", CASES)
def test_a_b_c_are_those_of_dense_linear_algebra(name):
    p = case(name)
    theta = p.start()
    got, f = p.choice(theta), p.clients.losses(theta)
    low = np.sort(f)[: p.k].mean()
    g, H = got.b0 @ p.clients.gradients(theta), np.einsum("i,ijk->jk", got.a0, p.clients.hessians(theta))
    np.testing.assert_allclose(got.expansion, (got.a0 @ f, low, g @ np.linalg.solve(H, g)), rtol=1e-5)
    np.testing.assert_allclose(got.a0 @ p.clients.gradients(theta), 0, atol=1e-3)  # the saddle's dual balances


def test_clients_that_tie_at_the_edge_of_the_best_share_it_evenly():
    """Two clients tie at the third-smallest loss here: either alone gives another c (0.12 and 0.30)."""
    p = case("logistic")
    theta = p.start()
    second, third = np.argsort(p.clients.losses(theta))[2:4]
    np.testing.assert_allclose(p.choice(theta).b0[[second, third]], 1 / 6, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_chosen_phi_is_within_two_percent_of_the_best_on_a_fine_grid(name):
    p = case(name)
    theta = p.start()
    phi = p.choice(theta).phi
    grid = np.sort(np.r_[np.linspace(0, MOST, 31), phi])
    u = np.array([utility(p.clients, p.k, t) for t in curve(p.clients, p.k, grid, theta)])
    assert u[np.searchsorted(grid, phi)] < 1.02 * u.min()
    assert u[np.searchsorted(grid, phi)] < u[0]  # and better than no φ at all


def test_held_ties_give_the_true_slope_of_min_b_and_the_papers_c_does_not():
    """d/dφ of min_B at 0, by exact solutions: four clients tie here, so θ may move on a line only."""
    p = case("quadratic")
    theta = p.start()
    free, held = p.choice(theta).expansion, p.choice(theta, ties="held").expansion
    h = 0.01
    slope = (np.sort(p.clients.losses(solution(p.clients, h, p.k, theta)))[0] - free.b) / h
    assert held.c == pytest.approx(slope, rel=0.05)
    assert free.c > 50 * slope


def test_held_ties_change_nothing_where_no_clients_tie():
    p = case("penguins")
    theta = p.start()
    vertex = np.array([1.0, 0.0, 0.0])
    assert p.choice(theta, lam=vertex, ties="held").expansion == p.choice(theta, lam=vertex).expansion


def test_trained_dual_leads_to_the_phi_of_the_exact_dual():
    p = case("logistic")
    alg = ScaffPDIA(ambiguity=p.worst, schedule=Constant(sigma=0.3, tau=0.5, eta=0.02), work=EXACT)
    transport = Engine(p.task, p.federation)

    def train(phi):
        assert phi == 0
        state = run(alg, transport, torch.zeros(p.task.d, dtype=torch.float64), 200)[0][-1]
        return state.theta, state.lam

    got = resolve_auto_phi(train, transport, p.worst, p.worst)
    assert got.phi == pytest.approx(p.choice(p.start()).phi, rel=0.01)
    assert got.notes == ()


def test_loop_and_engine_choose_alike():
    p = case("quadratic")
    theta = p.start()
    lam = dual(p.clients, theta, p.k)
    engine = choose_phi(Engine(p.task, p.federation), torch.from_numpy(theta), p.worst, p.worst, lam=lam)
    np.testing.assert_allclose(engine.expansion, p.choice(theta).expansion, rtol=1e-8)


def test_no_client_sends_a_vector_of_its_own_unless_ties_are_held():
    p, asks = case("quadratic"), []
    theta, loop = p.start(), Loop(p.task, p.federation)

    class Spy:
        n = loop.n

        def answer(self, ask, key):
            asks.append(ask)
            return loop.answer(ask, key)

    lam = dual(p.clients, theta, p.k)
    for ties in ("free", "held"):
        asks.clear()
        got = choose_phi(Spy(), torch.from_numpy(theta), p.worst, p.worst, lam=lam, ties=ties)
        single = [a for a in asks if a.phase != "probe" and a.weights is None]
        assert len(single) == (ties == "held")
        assert sum(a.phase == "hvp" for a in asks) == got.solve.products


def test_without_a_dual_the_note_says_that_theta_is_not_its_saddle():
    p = case("quadratic")
    got = p.choice(p.start(), lam=None)
    assert got.a0.max() == pytest.approx(0.25, abs=1e-6)  # four clients tie
    assert any("0 at a saddle" in note for note in got.notes)


def test_phi_above_the_limit_is_clipped_and_told():
    p = case("quadratic")
    got = p.choice(p.start())
    assert got.expansion.root > MOST
    assert got.phi == MOST
    assert any("clipped" in note for note in got.notes)


def test_a_networks_indefinite_hessian_is_damped_and_told():
    task = build("mlp", (6,), 3, hidden=5)
    fed = federation(dtype=torch.float32)
    worst = CVaR(fed.n, 0.4)
    got = choose_phi(Engine(task, fed), task.init(0), worst, worst)
    assert got.solve.damping > 0
    assert any("damped" in note for note in got.notes)
    assert 0 < got.phi <= MOST


def test_measured_curve_starts_where_the_prediction_does():
    p = case("logistic")
    theta = p.start()
    got = p.choice(theta)
    path = dict(zip((0.0, got.phi), curve(p.clients, p.k, (0.0, got.phi), theta), strict=True))
    rows = measure(
        lambda phi: (torch.from_numpy(path[phi]), None),
        Loop(p.task, p.federation),
        p.worst,
        p.worst,
        grid=tuple(path),
        expansion=got.expansion,
    )
    assert rows[0].utility == pytest.approx(rows[0].predicted, rel=1e-4)
    assert rows[1].utility == pytest.approx(utility(p.clients, p.k, path[got.phi]))
    assert rows[1].ratio < rows[0].ratio
    assert rows[1].ratio == pytest.approx(rows[1].large / rows[1].small)


def test_wrong_requests_get_one_line():
    p = case("quadratic")
    theta = p.start()
    outside = Integrated(p.worst, p.worst, 0.2).argmax(p.clients.losses(theta))
    with pytest.raises(InputError, match="not a member of A"):
        p.choice(theta, lam=outside)
    with pytest.raises(InputError, match="'free'"):
        p.choice(theta, ties="none")
    ball = ChiSquareBall(p.federation.n, 0.5)
    with pytest.raises(InputError, match="'free'"):
        choose_phi(Loop(p.task, p.federation), torch.from_numpy(theta), ball, ball, ties="held")
    with pytest.raises(RunFailedError, match="did not answer"):
        choose_phi(Loop(p.task, p.federation, Absent(0.5)), torch.from_numpy(theta), p.worst, p.worst)
