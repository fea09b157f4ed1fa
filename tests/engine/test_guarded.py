"""Bounds on what one client may claim: what passes untouched, how far a lie reaches, and that liars are named."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evenkeel.algorithms import algorithm
from evenkeel.engine import Bounds, Engine, Guarded, Loop, heaviest
from evenkeel.engine.guarded import clipped, factors
from evenkeel.errors import InputError
from evenkeel.protocol import Ask, Key, drive
from evenkeel.runs import Spec, algorithm_of, federation_of
from evenkeel.sets import ChiSquareBall, CVaR, Hull, Integrated, Simplex
from evenkeel.tasks import build
from tests.clients.toy import SIZES, federation
from tests.engine.lying import Lying

TASK = build("mlp", (6,), 3, hidden=4, dtype=torch.float64)
DATA = federation()
N = len(SIZES)
THETA = TASK.init(0)
KEY = Key(3, 1)
LOCAL = Ask("local", {"theta": THETA}, config={"eta": 0.1, "batch": 3, "steps": 2})
MILD = Bounds(loss=3.0, norm=3.0)
losses = arrays(np.float64, st.integers(4, 30), elements=st.floats(0, 1e3))


@settings(deadline=None)
@given(losses, st.floats(0, 5))
def test_clipping_keeps_the_order_and_the_quartiles(x, k):
    kept = clipped(x, k)
    assert np.all(np.diff(kept[np.argsort(x, kind="stable")]) >= 0)
    q1, q3 = np.quantile(x, [0.25, 0.75])
    inside = (x >= q1) & (x <= q3)
    assert np.array_equal(kept[inside], x[inside])


@settings(deadline=None)
@given(losses, st.floats(0, 1e12), st.floats(0, 5))
def test_one_liar_among_many_stays_within_what_the_others_span(x, lie, k):
    """From eight clients on, no single claim moves a quartile out of the others' range."""
    x = np.resize(x, 8)
    span = x[1:].max() - x[1:].min()
    x[0] = lie
    assert clipped(x, k)[0] <= x[1:].max() + k * span + 1e-6


@settings(deadline=None)
@given(arrays(np.float64, st.integers(3, 20), elements=st.floats(0.1, 10)), st.floats(1, 4), st.floats(1, 1e9))
def test_no_vector_is_longer_than_b_times_the_median(norms, b, lie):
    norms[0] *= lie
    assert np.all(norms * factors(norms, b) <= b * np.median(norms) * (1 + 1e-12))


def test_where_nobody_lies_mild_bounds_change_nothing():
    plain, guarded = Loop(TASK, DATA), Guarded(Loop(TASK, DATA), Bounds(loss=100.0, norm=100.0))
    for ask in (LOCAL, LOCAL._replace(weights=np.linspace(-1, 1, N)), Ask("probe", {"theta": THETA})):
        one, two = plain.answer(ask, KEY), guarded.answer(ask, KEY)
        assert {name: np.asarray(v).tobytes() for name, v in one.values.items()} == {
            name: np.asarray(v).tobytes() for name, v in two.values.items()
        }


@pytest.mark.parametrize("by", [-1e6, -10.0, 10.0, 1e6])
def test_a_scaled_vector_moves_the_sum_no_further_than_its_bound(by):
    """‖Σ w_i x_i − Σ w_i x̃_i‖ ≤ |w_liar|·2b·median, whatever the liar sends."""
    weights = np.full(N, 1 / N)
    rows = Loop(TASK, DATA).answer(LOCAL, KEY)["delta"]
    told = []
    lied = Guarded(Lying(Loop(TASK, DATA), 2, vector=by), MILD, told.append, DATA.names)
    moved = lied.answer(LOCAL._replace(weights=weights), KEY)["delta"] - torch.from_numpy(weights) @ rows
    norms = np.array([float(row.norm()) for row in rows])
    norms[2] *= abs(by)
    assert float(moved.norm()) <= 2 * 3.0 * np.median(norms) / N * (1 + 1e-9)
    assert told
    assert repr(DATA.names[2]) in told[0]


def test_the_liars_length_is_measured_and_not_believed():
    told = Guarded(Lying(Loop(TASK, DATA), 2, vector=1e3), MILD).answer(LOCAL, KEY)
    found = torch.linalg.vector_norm(told["delta"], dim=1).square().numpy()
    np.testing.assert_allclose(told["norm2"], found, rtol=1e-9)


def test_an_inflated_loss_counts_as_the_fence_and_is_named():
    told = []
    lied = Guarded(Lying(Loop(TASK, DATA), 1, loss=1e6), Bounds(loss=1.5), told.append, DATA.names)
    honest, heard = (t.answer(Ask("probe", {"theta": THETA}), KEY)["loss"] for t in (Loop(TASK, DATA), lied))
    assert heard[1] <= 10 * honest.max()
    assert np.array_equal(np.delete(heard, 1), np.delete(honest, 1))
    assert len(told) == 1
    assert repr(DATA.names[1]) in told[0]


def test_scores_are_never_bounded():
    score = Ask("score", {"theta": THETA}, config={"split": "train"})
    one, two = (t.answer(score, KEY)["loss"] for t in (Loop(TASK, DATA), Guarded(Loop(TASK, DATA), MILD)))
    assert np.array_equal(one, two)


def walk(transport, rounds=6):
    made = algorithm("scaff-pd-ia", DATA.train.sizes, alpha=0.4, beta=0.4, phi=0.2, sigma=0.05, tau=0.5, eta=0.1)
    state, heaviest_seen = made.init(THETA, N), 0.0
    for r in range(rounds):
        state = drive(made.round(state, Key(0, r)), lambda ask, r=r: transport.answer(ask, Key(0, r))).state
        heaviest_seen = max(heaviest_seen, float(state.lam[0]))
    return state, heaviest_seen, heaviest(made.ambiguity)


def test_whatever_it_claims_to_lose_a_liar_never_weighs_more_than_the_cap():
    _, seen, cap = walk(Lying(Engine(TASK, DATA, workers=1), 0, loss=1e12))
    assert seen == pytest.approx(cap, rel=1e-9)


def test_with_a_norm_bound_a_run_stays_near_the_honest_one_and_without_it_does_not():
    honest, *_ = walk(Engine(TASK, DATA, workers=1))
    lied = Lying(Engine(TASK, DATA, workers=1), 0, loss=100.0, vector=-100.0)
    wild, bound = walk(lied)[0], walk(Guarded(lied, MILD))[0]
    gone, held = (float((s.theta - honest.theta).norm() / (honest.theta - THETA).norm()) for s in (wild, bound))
    assert held < 10
    assert gone > 100 * held


@pytest.mark.parametrize(
    ("made", "most"),
    [
        (Simplex(5), 1.0),
        (CVaR(20, 0.2), 0.25),
        (Integrated(CVaR(20, 0.2), CVaR(20, 0.2), 0.2), 0.3125),
        (Hull([[0.6, 0.4, 0.0], [0.1, 0.2, 0.7]]), 0.7),
    ],
)
def test_the_heaviest_weight_is_the_largest_entry_of_any_member(made, most):
    assert heaviest(made) == pytest.approx(most)


def test_the_heaviest_weight_of_a_ball_is_attained():
    made = ChiSquareBall(6, 0.3)
    e = np.eye(6)[0]
    assert heaviest(made) == pytest.approx(float(made.argmax(e)[0]), rel=1e-6)


def test_a_weight_bound_refuses_a_set_that_can_break_it_and_says_what_to_do():
    spec = Spec.of({
        "name": "t", "data": {"source": "digits"}, "partition": {"name": "dirichlet", "n": 10},
        "task": {"model": "mlp"}, "algorithm": {"name": "scaff-pd-ia", "alpha": 0.2, "phi": 0.2},
        "clients": {"weight_bound": 0.3},
    })  # fmt: skip
    data = federation_of(spec)
    with pytest.raises(
        InputError, match=r"weight_bound = 0.3: .* 10 clients a weight of 0.625; raise alpha, or the bound"
    ):
        algorithm_of(spec, data)
    algorithm_of(spec.replace("algorithm.alpha", 0.5), data)
    algorithm_of(spec.replace("clients.weight_bound", 0.7), data)
