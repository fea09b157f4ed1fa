"""Each index against its definition by plain loops, against PySAL and SciPy, and against cases derived by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inequality.atkinson import Atkinson
from inequality.gini import Gini
from inequality.theil import Theil
from scipy.stats import variation

from evenkeel import indices
from evenkeel.indices import INDICES
from evenkeel.sets import CVaR, Point, Simplex, WeightedCVaR
from tests.indices.index_oracles import of_accuracies, of_losses, tail_mean

loss = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
vectors = st.lists(loss, min_size=1, max_size=30)
positive = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=30)
shares = st.integers(1, 100).map(lambda k: k / 100)
OF_LOSS = [name for name, index in INDICES.items() if index.of == "loss"]
OF_ACCURACY = [name for name, index in INDICES.items() if index.of == "accuracy"]


@given(vectors)
def test_every_index_of_losses_is_its_definition_by_plain_loops(losses):
    expected = of_losses(losses)
    assert set(expected) == set(OF_LOSS)
    for name in OF_LOSS:
        # cv and Atkinson take roots of a difference that cancels for clients that are almost equal
        tolerance = 1e-7 if name in ("cv", "atkinson") else 1e-12
        assert INDICES[name].function(losses) == pytest.approx(expected[name], rel=1e-9, abs=tolerance), name


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_every_index_of_accuracies_is_its_definition_by_plain_loops(accuracies):
    expected = of_accuracies(accuracies)
    assert set(expected) == set(OF_ACCURACY)
    for name in OF_ACCURACY:
        assert INDICES[name].function(accuracies) == pytest.approx(expected[name], rel=1e-12, abs=1e-300), name


@given(positive)
def test_gini_theil_and_atkinson_agree_with_pysal(losses):
    x = np.array(losses)
    assert indices.gini(x) == pytest.approx(Gini(x).g, rel=1e-9, abs=1e-12)
    assert indices.theil(x) == pytest.approx(float(np.squeeze(Theil(x).T)), rel=1e-9, abs=1e-12)
    for epsilon in (0.0, 0.5, 1, 2.0, 3.5):
        assert indices.atkinson(x, epsilon=epsilon) == pytest.approx(Atkinson(x, epsilon).A, rel=1e-8, abs=1e-12)


@given(positive)
def test_spread_agrees_with_scipy_and_numpy(losses):
    assert indices.cv(losses) == pytest.approx(float(variation(losses)), rel=1e-7, abs=1e-7)
    assert indices.variance(losses) == pytest.approx(np.var(losses), rel=1e-9, abs=1e-12 * max(losses) ** 2)


@pytest.mark.parametrize(
    ("a", "expected"),
    [(0, math.log(2.5) - math.log(2)), (1, (0.4 * math.log(0.4) + 1.6 * math.log(1.6)) / 2), (2, 0.18), (-1, 0.28125)],
)
def test_generalised_entropy_of_1_and_4_as_derived_by_hand(a, expected):
    # z = (.4, 1.6): GE(2) = (.16 + 2.56)/2 − 1 over 2 = .18; GE(−1) = ((2.5 + .625)/2 − 1)/2 = .28125
    assert indices.generalised_entropy([1.0, 4.0], a=a) == pytest.approx(expected, rel=1e-12)


def test_entropy_is_continuous_in_its_order_where_the_formula_changes():
    x = [0.5, 1.0, 4.0, 2.0]
    for a in (0.0, 1.0):
        assert indices.generalised_entropy(x, a=a + 1e-6) == pytest.approx(
            indices.generalised_entropy(x, a=a), rel=1e-5
        )


def test_palma_and_20_20_of_ten_clients_as_derived_by_hand():
    losses = [8.0, 1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 5.0, 6.0, 10.0]
    # worst 10 %: 10; best 40 %: (1 + 2 + 2 + 3)/4 = 2; worst 20 %: (10 + 8)/2 = 9; best 20 %: (1 + 2)/2 = 1.5
    assert indices.palma(losses) == pytest.approx(5.0, rel=1e-12)
    assert indices.ratio_20_20(losses) == pytest.approx(6.0, rel=1e-12)
    # the other way round, as the paper's Example prints it, would be (10 + 8 + 6 + 5)/4 over 1
    assert indices.tail_ratio(losses, alpha=0.4, beta=0.1) == pytest.approx(7.25, rel=1e-12)


def test_the_edge_client_counts_in_part_where_the_share_is_not_whole():
    # 20 % of 7 clients are 1.4 clients: (9 + .4 · 5)/1.4 and (1 + .4 · 2)/1.4
    losses = [9.0, 5.0, 4.0, 4.0, 3.0, 2.0, 1.0]
    assert indices.worst_loss(losses) == pytest.approx(11 / 1.4, rel=1e-12)
    assert indices.best_loss(losses) == pytest.approx(1.8 / 1.4, rel=1e-12)


@given(vectors, shares)
def test_worst_share_is_the_support_of_cvar_and_of_the_sorted_loop(losses, share):
    worst, best = indices.worst_loss(losses, share=share), indices.best_loss(losses, share=share)
    assert worst == pytest.approx(tail_mean(losses, share, largest=True), rel=1e-12, abs=1e-300)
    assert best == pytest.approx(tail_mean(losses, share, largest=False), rel=1e-12, abs=1e-300)
    if share * len(losses) >= 1:
        cvar = CVaR(len(losses), share)
        assert worst == pytest.approx(cvar.support(losses), rel=1e-9, abs=1e-9)
        assert best == pytest.approx(-cvar.support(-np.array(losses)), rel=1e-9, abs=1e-9)


@given(
    st.lists(st.tuples(st.floats(0.01, 100), st.integers(1, 9)), min_size=2, max_size=12),
    st.sampled_from([0.1, 0.37, 1]),
)
def test_with_client_weights_the_tails_are_those_of_weighted_cvar(rows, share):
    losses, weights = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    cvar = WeightedCVaR(weights / weights.sum(), share)
    expected = indices.relative_unfairness(losses, cvar, cvar)
    assert indices.tail_ratio(losses, weights, alpha=share, beta=share) == pytest.approx(expected, rel=1e-9)


@given(positive)
def test_named_ratios_are_r_of_the_sets_in_the_paper(losses):
    n = len(losses)
    if n >= 10:
        r = indices.relative_unfairness
        assert indices.ratio_20_20(losses) == pytest.approx(r(losses, CVaR(n, 0.2), CVaR(n, 0.2)), rel=1e-9)
        assert indices.palma(losses) == pytest.approx(r(losses, CVaR(n, 0.1), CVaR(n, 0.4)), rel=1e-9)
        assert indices.atkinson_inf(losses) == pytest.approx(r(losses, Simplex(n), Point(np.full(n, 1 / n))), rel=1e-9)


def test_atkinson_with_infinite_aversion_is_one_less_min_over_mean():
    assert indices.atkinson([1.0, 2.0, 6.0], epsilon=math.inf) == pytest.approx(1 - 1 / 3)
    assert indices.atkinson([1.0, 2.0, 6.0], epsilon=1e6) == pytest.approx(1 - 1 / 3, abs=1e-5)
