"""Partitions: every row dealt out once, nobody empty, the same for the same seed; and each one's own law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.data.partitions import PARTITIONS, column, dirichlet, iid, quantity, shards
from evenkeel.errors import InputError

CASES = [
    ("iid", {}, 1),
    ("dirichlet", {}, 1),
    ("dirichlet", {"alpha": 1e-6, "redraws": 2}, 1),
    ("dirichlet", {"alpha": 1e6, "min_rows": 3, "redraws": 1}, 3),
    ("dirichlet", {"cap": True, "alpha": 0.05, "min_rows": 2, "redraws": 0}, 2),
    ("quantity", {}, 1),
    ("quantity", {"alpha": 1e-6, "min_rows": 2}, 2),
    ("shards", {}, 2),
    ("shards", {"per_client": 1}, 1),
]


@st.composite
def problems(draw):
    name, options, least = draw(st.sampled_from(CASES))
    labels = draw(st.lists(st.integers(0, 4), min_size=least, max_size=60))
    n = draw(st.integers(1, len(labels) // least))
    return name, options, least, np.array(labels), n, draw(st.integers(0, 2**31))


def test_every_registered_partition_is_among_those_tried():
    assert {name for name, _, _ in CASES} | {"column"} == set(PARTITIONS)


@given(problems())
def test_every_partition_deals_each_row_out_once_and_leaves_nobody_below_the_least(problem):
    name, options, least, labels, n, seed = problem
    dealt = PARTITIONS[name](labels, n, seed, **options)
    assert dealt.n == n
    assert sorted(dealt.rows.tolist()) == list(range(len(labels)))
    assert dealt.sizes.min() >= least


@given(problems())
def test_every_partition_is_the_same_for_the_same_seed(problem):
    name, options, _, labels, n, seed = problem
    once, again = (PARTITIONS[name](labels, n, seed, **options) for _ in range(2))
    assert once.rows.tolist() == again.rows.tolist()
    assert once.offsets.tolist() == again.offsets.tolist()


@given(problems())
def test_a_clients_rows_come_class_by_class(problem):
    name, options, _, labels, n, seed = problem
    dealt = PARTITIONS[name](labels, n, seed, **options)
    for client in range(n):
        assert (np.diff(labels[dealt[client]]) >= 0).all()


@given(problems(), st.integers(1, 5))
def test_other_class_numbers_in_the_same_order_change_nothing(problem, gap):
    name, options, _, labels, n, seed = problem
    plain, spread = (PARTITIONS[name](y, n, seed, **options) for y in (labels, 3 + gap * labels))
    assert plain.rows.tolist() == spread.rows.tolist()


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=40), st.integers(0, 9))
def test_the_column_partition_gives_each_mark_its_rows(marks, seed):
    dealt = column(marks, None, seed)
    expected = [[i for i, m in enumerate(marks) if m == mark] for mark in sorted(set(marks))]
    assert [dealt[c].tolist() for c in range(dealt.n)] == expected


@pytest.mark.parametrize("name", ["iid", "dirichlet", "quantity", "shards"])
def test_another_seed_gives_another_partition(name):
    labels = np.arange(200) % 4
    assert PARTITIONS[name](labels, 10, 0).rows.tolist() != PARTITIONS[name](labels, 10, 1).rows.tolist()


def test_iid_sizes_differ_by_at_most_one():
    sizes = iid(np.zeros(103), 10, 0).sizes
    assert sizes.max() - sizes.min() == 1


def test_dirichlet_shares_of_a_class_have_the_mean_and_variance_of_the_law():
    """p_i of Dirichlet_n(α): mean 1/n, variance (1/n)(1 − 1/n)/(nα + 1); rounding to rows moves it by 1/1000."""
    n, alpha, rows = 5, 0.5, 1000
    shares = np.array(
        [dirichlet(np.zeros(rows, int), n, seed, alpha=alpha, redraws=0).sizes / rows for seed in range(2000)]
    )
    variance = (1 / n) * (1 - 1 / n) / (n * alpha + 1)
    assert shares.mean(axis=0) == pytest.approx(1 / n, abs=5 * np.sqrt(variance / 2000) + 1e-3)
    assert shares.var(axis=0) == pytest.approx(variance, rel=0.15)


def test_each_class_has_its_own_dirichlet_vector():
    """Independent vectors: over many draws a client's shares of two classes are not correlated."""
    labels = np.repeat([0, 1], 200)
    shares = []
    for seed in range(400):
        dealt = dirichlet(labels, 4, seed, redraws=0)
        shares.append([(dealt[0] < 200).sum(), (dealt[0] >= 200).sum()])
    assert abs(np.corrcoef(np.array(shares).T)[0, 1]) < 5 / np.sqrt(400)


@given(st.integers(0, 500), st.sampled_from([0.05, 0.5, 5.0]))
def test_with_the_cap_a_full_client_gets_nothing_of_the_next_class(seed, alpha):
    labels, n = np.arange(400) % 8, 6
    dealt = dirichlet(labels, n, seed, alpha=alpha, cap=True)
    counts = np.array([np.bincount(labels[dealt[c]], minlength=8) for c in range(n)])
    held = np.zeros(n)
    for c in range(8):
        assert dealt.note or (counts[held >= 400 / n, c] == 0).all()
        held += counts[:, c]


def test_without_the_cap_a_client_may_pass_the_mean_size_and_still_get_rows():
    labels = np.arange(400) % 8
    dealt = dirichlet(labels, 6, 3, alpha=0.05)
    counts = np.array([np.bincount(labels[dealt[c]], minlength=8) for c in range(6)])
    before = np.cumsum(counts, axis=1) - counts
    assert (counts[before >= 400 / 6] > 0).any()


def test_a_minimum_that_draws_cannot_reach_is_filled_from_the_largest_and_said():
    dealt = dirichlet(np.zeros(100, int), 50, 0, alpha=0.01, min_rows=2, redraws=3)
    assert dealt.sizes.tolist() == [2] * 50
    assert "rows moved from the largest clients so that each has 2 (3 redraws did not do)" in dealt.note


def test_a_draw_that_satisfies_the_minimum_has_no_note():
    assert dirichlet(np.arange(1000) % 10, 10, 0, alpha=100.0).note == ""


def test_quantity_skew_keeps_every_clients_classes_near_the_pool():
    """Rows are dealt without regard to class: with 2 classes and m rows the share's deviation is about ½/√m."""
    labels = np.arange(20_000) % 2
    dealt = quantity(labels, 10, 0)
    shares = np.array([labels[dealt[c]].mean() for c in range(10)])
    assert (np.abs(shares - 0.5) < 2.5 / np.sqrt(dealt.sizes)).all()
    assert dealt.sizes.max() > 4 * dealt.sizes.min()


def test_shards_give_a_client_at_most_one_class_more_than_its_pieces():
    """Classes of equal size that the pieces divide: k pieces hold k classes at most (McMahan et al.: two digits)."""
    labels = np.repeat(np.arange(10), 60)
    dealt = shards(labels, 10, 0, per_client=2)
    assert dealt.sizes.tolist() == [60] * 10
    assert max(len(np.unique(labels[dealt[c]])) for c in range(10)) == 2


def test_an_absent_class_is_no_obstacle():
    assert dirichlet(np.array([0, 2] * 30), 4, 0).sizes.sum() == 60


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: iid([0, 1], 3, 0), "n = 3: 3 clients with at least 1 each need 3, the data has 2 rows"),
        (lambda: dirichlet([0] * 9, 5, 0, min_rows=2), "n = 5: 5 clients with at least 2 each need 10"),
        (lambda: shards([0] * 9, 5, 0), "n = 5: 5 clients with at least 2 each need 10"),
        (lambda: iid([0], 0, 0), "n = 0: must be a whole number of at least 1"),
        (lambda: iid([0], 1.5, 0), "n = 1.5: must be a whole number of at least 1"),
        (lambda: iid([0], 1, -1), "seed = -1: must be a whole number of at least 0"),
        (lambda: iid([], 1, 0), "the data has 0 rows"),
        (lambda: iid([[0]], 1, 0), "labels of shape (1, 1): must be one a row"),
        (lambda: dirichlet([0], 1, 0, alpha=0), "alpha = 0: must be a number in [1e-06, 1e+06]"),
        (lambda: dirichlet([0], 1, 0, alpha=float("nan")), "alpha = nan: must be a number"),
        (lambda: dirichlet([0], 1, 0, alpha="x"), "alpha = 'x': must be a number"),
        (lambda: quantity([0], 1, 0, alpha=-1), "alpha = -1: must be a number"),
        (lambda: dirichlet([0], 1, 0, redraws=-1), "redraws = -1: must be a whole number of at least 0"),
        (lambda: dirichlet([0.5], 1, 0), "needs classes, the target holds other numbers"),
        (lambda: column(["a", "b"], 3, 0), "n = 3: partition 'column' has 2 groups, one client each"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, says):
    with pytest.raises(InputError) as caught:
        call()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
