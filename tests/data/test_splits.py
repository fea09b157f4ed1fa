"""Splits: each client's rows cut once, training never empty, validation only where there is a single row."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.data.shards import Shards
from evenkeel.data.splits import SPLITS, split, train_count
from evenkeel.errors import InputError

how_to = st.sampled_from(sorted(SPLITS))
fractions = st.floats(0.01, 0.99)


@st.composite
def federations(draw):
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
    total = sum(sizes)
    rows = draw(st.permutations(range(total)))
    cuts = np.concatenate([[0], np.cumsum(sizes)])
    labels = draw(st.lists(st.integers(0, 3), min_size=total, max_size=total))
    return Shards.of([rows[a:b] for a, b in pairwise(cuts)]), np.array(labels)


@given(federations(), how_to, fractions, st.integers(0, 99))
def test_every_split_cuts_each_clients_rows_in_two(federation, how, fraction, seed):
    shards, labels = federation
    train, valid = split(shards, labels, how=how, fraction=fraction, seed=seed)
    for c in range(shards.n):
        assert sorted([*train[c], *valid[c]]) == sorted(shards[c])
        assert len(train[c]) >= 1
        assert len(valid[c]) >= 1 or len(shards[c]) == 1


@given(federations(), how_to, fractions, st.integers(0, 99))
def test_every_split_is_the_same_for_the_same_seed(federation, how, fraction, seed):
    shards, labels = federation
    once, again = (split(shards, labels, how=how, fraction=fraction, seed=seed) for _ in range(2))
    assert [p.rows.tolist() for p in once] == [p.rows.tolist() for p in again]


@given(federations(), how_to, st.integers(0, 99))
def test_a_clients_cut_does_not_depend_on_the_other_clients(federation, how, seed):
    shards, labels = federation
    alone = Shards.of([shards[0]])
    assert (
        split(shards, labels, how=how, seed=seed)[0][0].tolist()
        == split(alone, labels, how=how, seed=seed)[0][0].tolist()
    )


@given(st.integers(2, 10_000), st.integers(1, 99))
def test_the_share_of_training_rows_is_the_fraction_rounded_down(rows, percent):
    exact = rows * percent // 100  # in whole numbers, so without rounding
    assert train_count(rows, percent / 100) == min(max(exact, 1), rows - 1)


@given(federations(), fractions, st.integers(0, 99))
def test_stratified_takes_each_class_in_proportion_up_to_one_row(federation, fraction, seed):
    shards, labels = federation
    train, _ = split(shards, labels, how="stratified", fraction=fraction, seed=seed)
    for c in range(shards.n):
        share = len(train[c]) / len(shards[c])
        for kind in np.unique(labels[shards[c]]):
            taken, had = ((labels[rows] == kind).sum() for rows in (train[c], shards[c]))
            assert abs(taken - share * had) < 1 + 1e-9


@given(federations(), fractions, st.integers(0, 99))
def test_class_ordered_validates_on_the_last_classes_only(federation, fraction, seed):
    shards, labels = federation
    train, valid = split(shards, labels, how="class-ordered", fraction=fraction, seed=seed)
    for c in range(shards.n):
        if len(valid[c]):
            assert labels[train[c]].max() <= labels[valid[c]].min()


def test_class_ordered_holds_back_a_class_that_never_trains():
    """Ten rows, two of the last class: 80:20 without a shuffle trains on the first class alone."""
    train, valid = split(Shards.of([range(10)]), [0] * 8 + [1] * 2, how="class-ordered")
    assert train[0].tolist() == list(range(8))
    assert valid[0].tolist() == [8, 9]


def test_shuffled_puts_every_row_into_validation_about_as_often():
    """Each of 10 rows validates with probability ⅕: 2,000 splits, 5 standard deviations."""
    counts = np.zeros(10)
    for seed in range(2000):
        counts[split(Shards.of([range(10)]), [0] * 10, seed=seed)[1][0]] += 1
    assert (np.abs(counts - 400) < 5 * np.sqrt(2000 * 0.2 * 0.8)).all()


@pytest.mark.parametrize("how", sorted(SPLITS))
def test_a_single_row_trains_and_does_not_validate(how):
    train, valid = split(Shards.of([[3]]), [0, 0, 0, 1], how=how)
    assert (train[0].tolist(), valid[0].tolist()) == ([3], [])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"how": "shufled"}, "split = 'shufled': no such split; did you mean 'shuffled'?"),
        ({"fraction": 1.0}, "fraction = 1.0: must be a number in"),
        ({"fraction": 0}, "fraction = 0: must be a number in"),
        ({"fraction": "0.8"}, "fraction = '0.8': must be a number in"),
        ({"seed": -1}, "seed = -1: must be a whole number"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, says):
    with pytest.raises(InputError) as caught:
        split(Shards.of([[0, 1]]), [0, 1], **options)
    assert says in str(caught.value)


def test_stratified_needs_classes():
    with pytest.raises(InputError, match="split 'stratified': needs classes"):
        split(Shards.of([[0, 1]]), [0.5, 1.5], how="stratified")
