"""Building a federation and describing it: rows shared, text that says all, figures against independent oracles."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from evenkeel.data.build import build
from evenkeel.data.describe import describe, jensen_shannon, total_variation
from evenkeel.data.partitions import PARTITIONS
from evenkeel.data.source import from_arrays, from_tensors
from evenkeel.data.sources import load
from evenkeel.data.splits import SPLITS
from evenkeel.errors import InputError

DIGITS = load("digits")


@pytest.mark.parametrize("split", sorted(SPLITS))
@pytest.mark.parametrize("partition", sorted(set(PARTITIONS) - {"column"}))
def test_every_pair_of_partition_and_split_uses_each_row_once(partition, split):
    f = build(DIGITS, partition=partition, n=30, split=split, seed=5)
    assert sorted([*f.train.rows, *f.valid.rows]) == list(range(1797))
    assert f.n == len(f.names) == 30
    assert f.x is DIGITS.x


def test_the_origin_says_data_partition_split_and_seed():
    f = build(DIGITS, partition="dirichlet", n=10, options={"alpha": 0.3}, split="stratified", fraction=0.7, seed=9)
    assert f.origin == (
        "digits, 1,797 rows; partition dirichlet(alpha=0.3, cap=False, min_rows=1, redraws=20), 10 clients; "
        "split stratified 0.7; seed 9"
    )


def test_the_origin_owns_up_to_moved_rows_and_to_clients_without_validation():
    source = from_tensors(np.zeros((20, 1)), np.zeros(20, int))
    f = build(source, partition="dirichlet", n=20, options={"redraws": 0})
    assert f.origin.split("; ")[-2] == "20 clients have one row, which trains, and no validation rows"
    assert "rows moved from the largest clients so that each has 1" in f.origin


def test_rows_with_clients_of_their_own_keep_them_by_default():
    f = build(load("penguins", first=10))
    assert f.names == ("Adelie", "Chinstrap", "Gentoo")
    assert f.train.sizes.tolist() == [8, 8, 8]
    assert f.classes == 0


def test_the_default_is_the_papers_hundred_clients():
    f = build(DIGITS)
    assert f.n == 100
    assert "dirichlet(alpha=0.5, cap=False" in f.origin


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"partition": "dirichlett"}, "partition = 'dirichlett': no such partition; did you mean 'dirichlet'?"),
        ({"partition": "shards", "options": {"per_clients": 3}}, "no option 'per_clients'; did you mean 'per_client'?"),
        ({"partition": "iid", "options": {"alpha": 1}}, "partition 'iid': no option 'alpha'; it has none"),
        ({"partition": "iid", "options": {"seed": 1}}, "partition 'iid': no option 'seed'"),
        ({"partition": "column"}, "the rows of 'digits' have no client"),
        ({"n": 5000}, "n = 5000: 5000 clients with at least 1 each need 5000, the data has 1797 rows"),
        ({"split": "random"}, "split = 'random': no such split"),
    ],
)
def test_unknown_names_and_impossible_numbers_are_refused(options, says):
    with pytest.raises(InputError) as caught:
        build(DIGITS, **options)
    assert says in str(caught.value)


def test_a_regression_has_no_dirichlet_partition():
    with pytest.raises(InputError, match="partition 'dirichlet': needs classes"):
        build(load("penguins"), partition="dirichlet", n=3)


def test_counts_are_those_of_a_plain_loop():
    f = build(DIGITS, n=20)
    counts = [[0] * 10 for _ in range(20)]
    for c in range(20):
        for row in [*f.train[c], *f.valid[c]]:
            counts[c][int(f.y[row])] += 1
    d = describe(f)
    assert d.counts.tolist() == counts
    assert d.sizes.tolist() == [sum(row) for row in counts]


def test_the_table_has_a_line_for_each_client_and_class():
    d = describe(build(DIGITS, n=5))
    table = d.table()
    assert table.columns == ["client", "class", "count"]
    assert table.height == 50
    assert table.filter(client="client-3")["count"].to_list() == d.counts[3].tolist()


matrices = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=6).map(
    np.array
)


@given(matrices)
def test_the_distances_are_those_of_scipy_and_of_the_largest_event(counts):
    """TV is the largest difference of any event's probability: here over all 8 sets of 3 classes."""
    pooled = counts.sum(axis=0) / counts.sum()
    for row, tv, js in zip(counts, total_variation(counts), jensen_shannon(counts), strict=True):
        own = row / row.sum()
        events = [[(k >> c) & 1 for c in range(3)] for k in range(8)]
        assert tv == pytest.approx(max(np.dot(e, own - pooled) for e in events), abs=1e-12)
        assert js == pytest.approx(jensenshannon(own, pooled, base=2) ** 2, abs=1e-7)
        assert 0 <= tv <= 1
        assert -1e-12 <= js <= 1


@given(matrices, st.permutations(range(3)))
def test_the_names_of_the_classes_do_not_matter(counts, order):
    assert total_variation(counts[:, order]) == pytest.approx(total_variation(counts))
    assert jensen_shannon(counts[:, order]) == pytest.approx(jensen_shannon(counts), abs=1e-12)


def test_smaller_alpha_is_more_heterogeneous():
    values = [
        describe(build(DIGITS, n=20, options={"alpha": alpha})).to_dict()["mean_tv"] for alpha in (100.0, 1.0, 0.05)
    ]
    assert values == sorted(values)


def test_the_description_is_plain_json_and_has_no_distances_for_a_regression():
    d = describe(build(load("penguins")))
    out = json.loads(json.dumps(d.to_dict()))
    assert out["mean_tv"] is None
    assert out["sizes"] == [151, 68, 123]
    assert d.table().height == 0


def test_one_client_has_the_pooled_distribution():
    d = describe(build(from_arrays([([[0.0]] * 4, [0, 1, 1, 2])])))
    assert d.tv.tolist() == [0.0]
    assert d.js.tolist() == [0.0]
