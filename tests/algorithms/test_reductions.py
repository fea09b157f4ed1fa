"""Identities between algorithms, state for state, and the defects of public code that each one rules out."""

import numpy as np
import pytest
import torch

from evenkeel.algorithms import QFedAvg, ScaffPDIA, Work, algorithm
from evenkeel.clients import Client
from evenkeel.clients.steps import batch_loss
from evenkeel.draws import batches
from evenkeel.dual import Constant
from evenkeel.engine import Engine, Loop
from evenkeel.protocol import Key, drive
from evenkeel.sets import CVaR, Integrated, Point, Simplex
from tests.algorithms.bank import quadratic_mean, shared_hessian
from tests.algorithms.running import run
from tests.algorithms.test_contract import DATA, TASK, THETA, assert_same

N = DATA.n
STEPS = Constant(sigma=0.05, tau=0.1, eta=0.05)
WORK = Work(batch=3, steps=3, control_batch=3)
LOOP = Loop(TASK, DATA)


def family(ambiguity, **more):
    return ScaffPDIA(**{"ambiguity": ambiguity, "schedule": STEPS, "work": WORK} | more)


def test_phi_zero_is_scaff_pd():
    one, _ = run(family(Integrated(CVaR(N, 0.5), CVaR(N, 0.2), 0.0)), LOOP, THETA, 3)
    assert_same(one[-1], run(family(CVaR(N, 0.5)), LOOP, THETA, 3)[0][-1])


def test_uniform_point_sets_are_the_papers_scaffold():
    one, _ = run(family(Integrated(Point.uniform(N), Point.uniform(N), 0.4)), LOOP, THETA, 3)
    other, _ = run(algorithm("scaffold", DATA.train.sizes, tau=0.1, eta=0.05, work=WORK), LOOP, THETA, 3)
    np.testing.assert_allclose(one[-1].theta, other[-1].theta, atol=1e-12)
    np.testing.assert_allclose(one[-1].lam, 1 / N, atol=1e-15)


def test_one_full_step_is_plain_primal_dual_gradient():
    p = shared_hessian()
    x, y = p.federation.x.numpy(), p.federation.y.numpy()
    A = [np.hstack([x[p.federation.train[i]], np.ones((10, 1))]) for i in range(6)]
    Y = [y[p.federation.train[i]] for i in range(6)]

    def loss(t):
        return np.array([np.mean((a @ t - b) ** 2) for a, b in zip(A, Y, strict=True)]) + 0.1 * t @ t

    def slope(t):
        return np.array([2 / 10 * a.T @ (a @ t - b) for a, b in zip(A, Y, strict=True)]) + 0.2 * t

    theta, lam, before = np.zeros(4), np.full(6, 1 / 6), None
    for _ in range(5):
        f = loss(theta)
        s = 2 * f - (f if before is None else before)
        lam, before = p.ambiguity.project(lam + 0.05 * s), f
        theta = theta - 0.1 * lam @ slope(theta)

    alg = family(p.ambiguity, work=Work(batch=0, steps=1, control_batch=0))
    states, _ = run(alg, Loop(p.task, p.federation), torch.zeros(4, dtype=torch.float64), 5)
    np.testing.assert_allclose(states[-1].theta, theta, atol=1e-12)
    np.testing.assert_allclose(states[-1].lam, lam, atol=1e-12)


@pytest.mark.parametrize("local", [True, False])
def test_q_zero_is_plain_averaging(local):
    name = "fedavg" if local else "fedsgd"
    one, _ = run(QFedAvg(q=0.0, n=N, eta=0.05, local=local, work=WORK), LOOP, THETA, 3)
    other, _ = run(algorithm(name, DATA.train.sizes, eta=0.05, work=WORK), LOOP, THETA, 3)
    np.testing.assert_allclose(one[-1].theta, other[-1].theta, atol=1e-12)


def local_gradients(i, theta, c, c_i, key):
    """Algorithm 2 by hand: the gradients that client i sees on its way."""
    client, u, grads = Client.of(TASK, DATA, i), theta, []
    plan = batches(key, "local", [i], [client.train.size], batch=3, steps=3)
    for j in range(3):
        part = client.train.take(plan.rows[0, j][plan.weight[0, j] > 0])
        free = u.detach().requires_grad_()
        (g,) = torch.autograd.grad(batch_loss(TASK, free, part, None), free)
        grads.append(g)
        u = u - 0.05 * (g - c_i + c)
    return torch.stack(grads)


def by_hand(lam, key):
    """c, every c_i, and every client's mean local gradient, without dropout."""
    c_i = []
    for i in range(N):
        client = Client.of(TASK, DATA, i)
        plan = batches(key, "gradient/0", [i], [client.train.size], batch=3, steps=1)
        part = client.train.take(plan.rows[0, 0][plan.weight[0, 0] > 0])
        free = THETA.detach().requires_grad_()
        c_i.append(torch.autograd.grad(batch_loss(TASK, free, part, None), free)[0])
    c = sum(w * g for w, g in zip(lam, c_i, strict=True))
    return c, c_i, torch.stack([local_gradients(i, THETA, c, c_i[i], key).mean(0) for i in range(N)])


NO_DROPOUT = Work(batch=3, steps=3, control_batch=3, dropout=False)


def test_corrections_cancel_in_the_sum():
    """Σλ_iΔu_i = Σλ_i·(mean of the local gradients), as Σλ_i = 1."""
    alg, key = family(Integrated(CVaR(N, 0.34), CVaR(N, 0.34), 0.3), work=NO_DROPOUT), Key(0, 0)
    step = drive(alg.round(alg.init(THETA, N), key), lambda ask: LOOP.answer(ask, key))
    lam = step.info["lam"]
    _, _, means = by_hand(lam, key)
    expected = THETA - 0.1 * torch.from_numpy(lam) @ means
    torch.testing.assert_close(step.state.theta, expected, atol=1e-12, rtol=0)


def test_a_client_lost_after_the_probe_counts_as_if_its_local_gradients_were_its_control():
    alg, key = family(Integrated(CVaR(N, 0.34), CVaR(N, 0.34), 0.3), work=NO_DROPOUT), Key(0, 0)
    transport = Loop(TASK, DATA, attendance=lambda key, phase, ids: ids[ids != 2] if phase == "local" else ids)
    step = drive(alg.round(alg.init(THETA, N), key), lambda ask: transport.answer(ask, key))
    lam = step.info["lam"]
    _, c_i, means = by_hand(lam, key)
    means[2] = c_i[2]
    expected = THETA - 0.1 * torch.from_numpy(lam) @ means
    torch.testing.assert_close(step.state.theta, expected, atol=1e-12, rtol=0)


def test_afl_uses_every_clients_own_loss_in_the_dual_step():
    """Guards against a loss vector that is reset inside the loop over clients."""
    alg, key = algorithm("safl", DATA.train.sizes, alpha=0.34, sigma=0.7, work=WORK), Key(0, 0)
    state = alg.init(THETA, N)
    step = drive(alg.round(state, key), lambda ask: LOOP.answer(ask, key))
    own = []
    for i in range(N):
        client = Client.of(TASK, DATA, i)
        own.append(float(batch_loss(TASK, THETA, client.train, None)))
    np.testing.assert_allclose(step.state.lam, CVaR(N, 0.34).project(state.lam + 0.7 * np.array(own)), atol=1e-12)


def test_scaffold_2020_starts_its_control_variates_at_zero_and_adds_their_change():
    alg, key = algorithm("scaffold-2020", DATA.train.sizes, eta=0.05, cohort=3, work=NO_DROPOUT), Key(0, 0)
    state = alg.init(THETA, N)
    assert not state.c.any()
    assert not state.c_i.any()
    states, infos = run(alg, LOOP, THETA, 4)
    for s in states:  # c is the mean of all c_i only if what is added is the change, not c_i itself
        torch.testing.assert_close(s.c, s.c_i.mean(0), atol=1e-12, rtol=0)
    # first round: c = 0, so c_i⁺ is the mean of the plain local gradients, and θ the plain mean of local models
    who, zero = infos[0]["who"], torch.zeros_like(THETA)
    means = torch.stack([local_gradients(int(i), THETA, zero, zero, key).mean(0) for i in who])
    torch.testing.assert_close(states[1].c_i[who], means, atol=1e-12, rtol=0)
    torch.testing.assert_close(states[1].theta, THETA - 0.05 * 3 * means.mean(0), atol=1e-12, rtol=0)


def test_scaffold_2020_finds_the_mean_solution_where_fedavg_drifts_away():
    p = quadratic_mean()
    zero, work = torch.zeros(4, dtype=torch.float64), Work(batch=0, steps=8, control_batch=0)
    transport = Engine(p.task, p.federation)
    with_c, _ = run(algorithm("scaffold-2020", p.federation.train.sizes, eta=0.03, work=work), transport, zero, 200)
    without, _ = run(algorithm("fedavg", p.federation.train.sizes, eta=0.03, work=work), transport, zero, 200)
    assert np.linalg.norm(with_c[-1].theta.numpy() - p.solution) < 1e-6
    assert np.linalg.norm(without[-1].theta.numpy() - p.solution) > 1e-3


def test_q_fedavg_uses_mean_losses_of_this_model():
    """Guards against a default loss of 1 and against summed losses: doubling a client's rows changes nothing."""
    key, q = Key(0, 0), 2.0
    alg = QFedAvg(q=q, n=N, eta=0.05, work=Work(batch=0, steps=2, dropout=False))
    step = drive(alg.round(alg.init(THETA, N), key), lambda ask: LOOP.answer(ask, key))
    top, bottom = torch.zeros_like(THETA), 0.0
    for i in range(N):
        part, u = Client.of(TASK, DATA, i).train, THETA
        F = float(batch_loss(TASK, THETA, part, None))
        for _ in range(2):
            free = u.detach().requires_grad_()
            u = u - 0.05 * torch.autograd.grad(batch_loss(TASK, free, part, None), free)[0]
        g = (THETA - u) / 0.05
        top += F**q * g
        bottom += q * F ** (q - 1) * float(g @ g) + F**q / 0.05
    torch.testing.assert_close(step.state.theta, THETA - top / bottom, atol=1e-8, rtol=0)


def test_drfa_probes_at_the_walkers_mean_snapshot_and_scales_by_the_cohort():
    alg = algorithm("drfa", DATA.train.sizes, alpha=1.0, sigma=0.01, cohort=3, work=NO_DROPOUT)
    key, asks = Key(4, 0), []

    def answer(ask):
        reply = LOOP.answer(ask, key)
        asks.append((ask, reply))
        return reply

    step = drive(alg.round(alg.init(THETA, N), key), answer)
    (walk, walked), (told, losses) = asks
    assert abs(walk.weights.sum() - 1) < 1e-12
    torch.testing.assert_close(told.shared["theta"], walked["snapshot"])
    v = np.zeros(N)
    v[told.who] = losses["loss"] * N / 3
    np.testing.assert_allclose(step.state.lam, CVaR(N, 1.0).project(np.full(N, 1 / N) + 3 * 0.01 * v), atol=1e-12)


def test_fedfv_removes_the_conflict_of_two_opposed_clients():
    from evenkeel.algorithms.fedfv import mitigated

    g = torch.tensor([[1.0, 0.0], [-0.5, 1.0]], dtype=torch.float64)
    mean = mitigated(g, np.array([1.0, 2.0]), alpha=0.0)
    # by hand: g0 loses its part along g1, −0.5/1.25·g1 = (0.2, −0.4): (0.8, 0.4); g1 loses −0.5·g0: (0, 1)
    torch.testing.assert_close(mean, torch.tensor([0.4, 0.7], dtype=torch.float64))
    assert (g @ mean >= 0).all()
    spared = mitigated(g, np.array([1.0, 2.0]), alpha=0.5)  # the worse-off half keeps its own
    torch.testing.assert_close(spared, torch.tensor([0.15, 0.7], dtype=torch.float64))


def test_regularisation_pulls_the_weights_to_uniform():
    spread = [np.ptp(run(family(Simplex(N), psi=psi), LOOP, THETA, 6)[0][-1].lam) for psi in (0.0, 1.0, 100.0)]
    assert spread[0] > spread[1] > spread[2]


def test_fedfv_frees_the_mean_of_rounds_before_the_oldest_first():
    from evenkeel.algorithms.fedfv import freed

    last = torch.tensor([[-1.0, 1.0], [-1.0, -2.0], [5.0, 5.0], [0.0, -1.0]], dtype=torch.float64)
    g = torch.tensor([2.0, 1.0], dtype=torch.float64)
    # round 3 has clients 0 and 1, both opposed: their sum (−2, −1) is −g, so nothing is left of it but 0
    torch.testing.assert_close(freed(g, last, np.array([3, 3, 3, 4]), range(3, 5)), torch.zeros(2, dtype=torch.float64))
    # client 1 alone in round 3: g + 4/5·(−1, −2) = (1.2, −.6), which no longer opposes client 3; then client 0 (−1.8)
    got = freed(g, last, np.array([4, 3, 9, 4]), range(3, 5))
    torch.testing.assert_close(got, torch.tensor([0.3, 0.3], dtype=torch.float64))


def test_fedfv_forgets_what_is_older_than_its_memory():
    alg = algorithm("fedfv", DATA.train.sizes, memory=2, cohort=2, eta=0.05, work=WORK)
    states, infos = run(alg, LOOP, THETA, 6)
    for r, info in enumerate(infos):
        assert (states[r + 1].when[info["who"]] == r).all()
        for i in info["who"]:
            assert states[r + 1].last[i].any()
