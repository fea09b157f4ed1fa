"""Sources of one's own arrays: kept as given, or refused with one line."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.data.source import Source, client_names, from_arrays, from_tensors
from evenkeel.errors import InputError


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 3))
def test_from_arrays_keeps_every_clients_rows_in_order(sizes, width):
    rng = np.random.default_rng(sum(sizes))
    pairs = [(rng.normal(size=(m, width)).astype(np.float32), rng.integers(0, 3, m)) for m in sizes]
    source = from_arrays(pairs, classes=3)
    for client, (x, y) in enumerate(pairs):
        mine = source.groups == client
        assert source.x[mine].numpy().tolist() == x.tolist()
        assert source.y[mine].tolist() == y.tolist()


def test_fractions_make_a_regression_and_whole_numbers_classes():
    assert from_tensors([[0.0]], [0.5]).classes == 0
    assert from_tensors([[0.0]], [0.5]).y.dtype == torch.float32
    assert from_tensors([[0.0], [0.0]], [0, 4]).classes == 5
    assert from_tensors([[0.0]], torch.tensor([1.0]), classes=2).y.dtype == torch.int64


def test_a_row_weight_goes_with_its_row():
    source = Source(x=torch.zeros(2, 1), y=torch.zeros(2), classes=0, name="t", row_weight=torch.tensor([1.0, 0.0]))
    assert source.row_weight.tolist() == [1.0, 0.0]


@given(st.integers(1, 2000))
def test_client_names_differ_and_sort_as_the_clients_do(n):
    names = client_names(n)
    assert len(set(names)) == n
    assert sorted(names) == list(names)


X = [[0.0], [1.0]]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: from_tensors([], []), "0 rows of x, 0 of y: must be as many, at least one"),
        (lambda: from_tensors(X, [0]), "2 rows of x, 1 of y"),
        (lambda: from_tensors(X, [0, -1]), "y = -1 in row 1: labels must lie in 0…0"),
        (lambda: from_tensors(X, [0, 7], classes=3), "y = 7 in row 1: labels must lie in 0…2"),
        (lambda: from_tensors(X, [0.0, 0.5], classes=3), "y has fractions: class numbers are whole"),
        (lambda: from_tensors([[0.0], [np.nan]], [0, 1]), "tensors: x in row 1 holds NaN or infinity"),
        (lambda: from_tensors([[0.0], [np.inf]], [0, 1]), "tensors: x in row 1 holds NaN or infinity"),
        (lambda: from_tensors(X, [0.0, np.nan]), "tensors: y in row 1 holds NaN or infinity"),
        (lambda: from_tensors(X, 3), "y is a single number"),
        (lambda: from_tensors([["a"]], [0]), "x is no array of numbers"),
        (lambda: from_tensors([[1.0], [1.0, 2.0]], [0, 1]), "x is no array of numbers"),
        (lambda: from_tensors(X, [0, 1], clients=["a"]), "clients names 1 rows, x is (2, 1): must be one a row"),
        (lambda: from_tensors(X, [0, 1], clients=["a", None]), "clients must be text or whole numbers"),
        (lambda: from_tensors(X, [0, 1], clients=[0.0, np.nan]), "clients must be text or whole numbers"),
        (lambda: from_tensors([0.0, 1.0], [0, 1]), "x of shape (2,): must be rows of features"),
        (lambda: from_tensors([[], []], [0, 1]), "x of shape (2, 0): must be rows of features"),
        (lambda: from_arrays([]), "0 clients, 0 names"),
        (lambda: from_arrays([(X, [0, 1])], names=["a", "b"]), "1 clients, 2 names"),
        (lambda: from_arrays([(X, [0, 1]), ([], [])]), "client 'client-1' has 0 rows of x and 0 of y"),
        (lambda: from_arrays([(X, [0, 1]), ([[1.0, 2.0]], [0])]), "rows of client 'client-1' have shape (2,)"),
        (lambda: from_arrays([(X, [0, 1]), (X, [0, 1])], names=["a", "a"]), "client 'a' is there twice"),
        (
            lambda: Source(
                x=torch.zeros(2, 1), y=torch.zeros(2), classes=0, name="t", row_weight=torch.tensor([-1.0, 1.0])
            ),
            "row_weight must be one number of at least 0 a row",
        ),
        (
            lambda: Source(
                x=torch.zeros(1, 1), y=torch.zeros(1), classes=0, name="t", groups=np.array([0]), group_names=("a", "b")
            ),
            "client 'b' has no rows",
        ),
    ],
)
def test_bad_arrays_are_refused_in_one_line(call, says):
    with pytest.raises(InputError) as caught:
        call()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_large_finite_values_whose_sum_overflows_are_no_error():
    assert len(from_tensors([[3e38], [3e38]], [0, 1])) == 2
