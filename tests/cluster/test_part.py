"""Which clients a worker has: the cuts, and that its clients draw and answer as in the whole federation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.cluster.part import digest, edges, part
from evenkeel.engine import Engine
from evenkeel.protocol import Key
from tests.clients.toy import SIZES, federation
from tests.engine.test_engine import CONFIGS, TASKS, question

KEY = Key(5, 2)


@given(sizes=st.lists(st.integers(1, 500), min_size=1, max_size=60), workers=st.integers(1, 70))
def test_every_client_has_one_worker_and_every_worker_a_client(sizes, workers):
    cuts = edges(np.array(sizes), workers)
    assert cuts[0] == 0
    assert cuts[-1] == len(sizes)
    assert min(np.diff(cuts)) >= 1
    assert len(cuts) - 1 == min(workers, len(sizes))


@given(sizes=st.lists(st.integers(1, 500), min_size=2, max_size=60), workers=st.integers(2, 8))
def test_no_worker_has_more_than_its_share_and_one_client(sizes, workers):
    own = np.array(sizes) + np.mean(sizes)
    k = min(workers, len(sizes))
    loads = np.add.reduceat(own, edges(np.array(sizes), workers)[:-1])
    if k * 3 <= len(sizes):  # with a few clients each, everybody's having one may cost more than that
        assert loads.max() <= own.sum() / k + 2 * own.max()


@pytest.mark.parametrize(("n", "workers"), [(100, 2), (99, 3), (10_000, 8)])
def test_equal_clients_are_shared_equally(n, workers):
    counts = np.diff(edges(np.full(n, 7), workers))
    assert counts.max() - counts.min() <= n % workers


@pytest.mark.parametrize("name", ["mlp", "tanh", "logistic"])
@pytest.mark.parametrize(("phase", "config"), CONFIGS)
def test_clients_in_a_part_answer_as_in_the_whole(name, phase, config):
    task, row_shape, classes = TASKS[name]
    whole = federation(row_shape=row_shape, classes=classes, weighted=True)
    ask = question(task, phase, config, c=phase == "local")
    told = Engine(task, whole, workers=1).answer(ask, KEY)
    for first, last in ((0, 2), (2, len(SIZES))):
        own = Engine(task, part(whole, first, last), workers=1).answer(ask, KEY)
        for value in told.values:
            np.testing.assert_allclose(own[value], told[value][first:last], rtol=1e-12, atol=1e-14)


def test_a_part_of_a_part_keeps_the_numbers_of_the_whole():
    whole = federation()
    assert part(part(whole, 1, 4), 1, 3).first == 2
    assert digest(part(part(whole, 1, 4), 1, 3)) == digest(part(whole, 2, 4))


def test_other_rows_have_another_digest():
    one, other = federation(), federation()
    other.x[other.train[1][0]] += 1
    assert digest(part(one, 0, 1)) == digest(part(other, 0, 1))
    assert digest(part(one, 1, 2)) != digest(part(other, 1, 2))
