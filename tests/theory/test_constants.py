"""m, M and the conditions on ‖Λ‖₁, against dense Hessians."""

import numpy as np
import pytest
import torch

from evenkeel.dual import conditions
from evenkeel.engine import Loop
from evenkeel.errors import InputError
from evenkeel.sets import CVaR, Integrated, Simplex
from evenkeel.tasks import build
from evenkeel.theory import Constants, closed_form, estimated, largest_phi, limits, theorem_schedule, warnings_of
from tests.algorithms.bank import logistic_cvar, quadratic_cvar
from tests.clients.toy import federation
from tests.phi.oracle import clients_of


def dense(task, fed, theta):
    """Each client's Hessian by torch.autograd, from its rows' losses."""
    result = []
    for i in range(fed.n):
        rows = fed.train[i]
        w = 1 if fed.row_weight is None else fed.row_weight[rows]

        def f(t, rows=rows, w=w):
            return (w * task.losses(t, fed.x[rows], fed.y[rows])).mean() + task.l2 / 2 * t @ t

        result.append(torch.autograd.functional.hessian(f, theta).numpy())
    return np.linalg.eigvalsh(np.stack(result))


def test_least_squares_constants_are_the_hessians_eigenvalues():
    p = quadratic_cvar()
    values = np.linalg.eigvalsh(clients_of(p.task, p.federation).hessians(np.zeros(p.task.d)))
    c = closed_form(p.task, p.federation)
    np.testing.assert_allclose(c.smallest, values[:, 0])
    np.testing.assert_allclose(c.largest, values[:, -1])
    assert (c.m, c.M, c.everywhere) == (c.smallest.min(), c.largest.max(), True)


def test_logistic_constants_hold_everywhere_and_are_attained_at_zero():
    p = logistic_cvar()
    c, clients = closed_form(p.task, p.federation), clients_of(p.task, p.federation)
    for theta in np.random.default_rng(0).normal(size=(20, p.task.d)) * 3:
        values = np.linalg.eigvalsh(clients.hessians(theta))
        assert (values[:, 0] >= c.smallest).all()
        assert (values[:, -1] <= c.largest).all()
    at_zero = np.linalg.eigvalsh(clients.hessians(np.zeros(p.task.d)))
    np.testing.assert_allclose(at_zero[:, -1], c.largest)  # p(1 − p) = 1/4 there


@pytest.mark.parametrize("weighted", [False, True])
def test_softmax_constants_hold_also_with_row_weights_and_single_rows(weighted):
    task = build("logistic", (6,), 3, l2=0.1, dtype=torch.float64)
    fed = federation(weighted=weighted)
    c = closed_form(task, fed)
    for seed in range(5):
        values = dense(task, fed, 3 * task.init(seed))
        assert (values[:, 0] >= c.smallest - 1e-12).all()
        assert (values[:, -1] <= c.largest + 1e-12).all()


def test_weighted_least_squares_constants_are_exact():
    task, fed = build("linear", (6,), 0, dtype=torch.float64), federation(classes=0, weighted=True)
    values, c = dense(task, fed, task.init(0)), closed_form(task, fed)
    np.testing.assert_allclose(c.largest, values[:, -1])
    np.testing.assert_allclose(c.smallest, np.maximum(values[:, 0], 0), atol=1e-10)


@pytest.mark.parametrize("hidden", [2, 6])
def test_estimates_by_products_are_the_dense_eigenvalues(hidden):
    """d = 23 is found from d products, d = 63 by Lanczos; an untrained network's loss is not convex."""
    task, fed = build("mlp", (6,), 3, hidden=hidden, dtype=torch.float64), federation()
    theta = task.init(1)
    assert closed_form(task, fed) is None
    values, c = dense(task, fed, theta), estimated(Loop(task, fed), theta, clients=[0, 2, 4], rtol=1e-8)
    np.testing.assert_allclose(c.largest, values[[0, 2, 4], -1], rtol=1e-6)
    np.testing.assert_allclose(c.smallest, values[[0, 2, 4], 0], rtol=1e-6)
    assert not c.everywhere
    assert c.m < 0


def made(m, M):
    return Constants(smallest=np.array([m]), largest=np.array([M]), everywhere=True)


@pytest.mark.parametrize("m", [0.2, 1.0, 1.9])
def test_largest_phi_is_where_each_condition_turns(m):
    c = made(m, 2.0)
    for k, phi in enumerate(largest_phi(c)):
        for shift, expected in ((-1e-6, True), (1e-6, False)):
            held = conditions(Integrated(Simplex(5), Simplex(5), phi + shift), c.m, c.M)
            assert (held.unique, held.theorem, held.appendix)[k] is expected


def test_limits_carry_their_numbers_and_the_failed_ones_warn():
    ambiguity, c = Integrated(CVaR(10, 0.2), CVaR(10, 0.2), 0.2), made(1.0, 3.0)
    assert [x.below for x in limits(ambiguity, c)] == pytest.approx([2.0, 5 / 3, 7 / 6])
    (only,) = warnings_of(ambiguity, c)
    assert only.startswith("appendix: l1 norm 1.5 is not below 1.167")
    assert warnings_of(CVaR(10, 0.2), c) == ()


def test_a_loss_that_is_not_convex_warns_and_is_not_refused():
    c = Constants(smallest=np.array([-1.0]), largest=np.array([3.0]), everywhere=False)
    said = warnings_of(Integrated(CVaR(10, 0.2), CVaR(10, 0.2), 0.2), c)
    assert len(said) == 4
    assert "one theta" in said[-1]
    assert largest_phi(c) == (0, 0, 0)
    assert theorem_schedule(CVaR(10, 0.2), c, L=1.0).kappa == 0


def test_losses_without_curvature_are_refused():
    with pytest.raises(InputError, match="M = 0"):
        limits(Simplex(3), made(0.0, 0.0))
