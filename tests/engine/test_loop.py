"""The plain loop: replies in client order, sums by weight, absent clients, errors that name client and round."""

import numpy as np
import pytest
import torch

from evenkeel.clients import Client, answer_one
from evenkeel.engine import Absent, Loop
from evenkeel.errors import InputError, RunFailedError
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import build
from tests.clients.toy import SIZES, federation

TASK = build("mlp", (6,), 3, hidden=4, dtype=torch.float64)
DATA = federation()
THETA = TASK.init(0)
KEY = Key(3, 1)
ASK = Ask("local", {"theta": THETA}, config={"eta": 0.1, "batch": 3, "steps": 2})


def test_replies_are_what_each_client_says_alone():
    replies = Loop(TASK, DATA).answer(ASK, KEY)
    assert replies.who.tolist() == list(range(len(SIZES)))
    for i in replies.who:
        own = answer_one(TASK, Client.of(TASK, DATA, int(i)), ASK, KEY)
        assert torch.equal(replies["delta"][i], own["delta"])
        assert replies["norm2"][i] == own["norm2"]


def test_weights_sum_vectors_and_leave_scalars_alone():
    one, weights = Loop(TASK, DATA).answer(ASK, KEY), np.array([0.5, -1.0, 2.0, 0.0, 0.25])
    summed = Loop(TASK, DATA).answer(ASK._replace(weights=weights), KEY)
    torch.testing.assert_close(summed["delta"], torch.from_numpy(weights) @ one["delta"])
    assert np.array_equal(summed["norm2"], one["norm2"])


def test_a_cohort_draws_the_same_as_the_whole():
    whole, some = Loop(TASK, DATA).answer(ASK, KEY), Loop(TASK, DATA).answer(ASK._replace(who=np.array([1, 3])), KEY)
    assert torch.equal(some["delta"], whole["delta"][[1, 3]])


def test_absent_clients_are_left_out_of_who_sums_and_rows():
    loop = Loop(TASK, DATA, attendance=lambda key, phase, ids: ids[ids != 2])
    shared, own = {"theta": THETA, "c": torch.zeros_like(THETA)}, torch.randn(3, TASK.d, dtype=torch.float64)
    question = ASK._replace(
        shared=shared, each={"c_i": own}, who=np.array([1, 2, 4]), weights=np.array([1.0, 9.0, 3.0])
    )
    there = question._replace(each={"c_i": own[[0, 2]]}, who=np.array([1, 4]), weights=np.array([1.0, 3.0]))
    replies = loop.answer(question, KEY)
    assert replies.who.tolist() == [1, 4]
    assert torch.equal(replies["delta"], Loop(TASK, DATA).answer(there, KEY)["delta"])


def test_absence_lasts_a_round_and_changes_with_it():
    away, ids = Absent(0.4), np.arange(400)
    assert np.array_equal(away(Key(1, 1), "probe", ids), away(Key(1, 1), "local", ids))
    assert not np.array_equal(away(Key(1, 1), "probe", ids), away(Key(1, 2), "probe", ids))
    assert np.array_equal(away(Key(1, 1), "probe", ids[:9]), [i for i in away(Key(1, 1), "probe", ids) if i < 9])


def test_a_round_that_nobody_answers_fails_and_can_be_resumed():
    with pytest.raises(RunFailedError, match="round 1: no client answered 'local'"):
        Loop(TASK, DATA, attendance=lambda key, phase, ids: ids[:0]).answer(ASK, KEY)


def test_a_diverged_client_is_named_with_its_round():
    data = federation()
    data.x[data.train[3][0]] = float("nan")
    with pytest.raises(RunFailedError, match="diverged: client 'site-3' round 1 loss nan"):
        Loop(TASK, data).answer(Ask("probe", {"theta": THETA}), KEY)


@pytest.mark.parametrize("who", [[2, 1], [1, 1], [5], [-1]])
def test_clients_must_be_ascending_numbers_within_range(who):
    with pytest.raises(InputError, match="ascending client numbers from 0 to 4"):
        Loop(TASK, DATA).answer(ASK._replace(who=np.array(who)), KEY)


def test_weights_must_be_one_a_client_asked():
    with pytest.raises(InputError, match="weights: 2 rows for 5 clients"):
        Loop(TASK, DATA).answer(ASK._replace(weights=np.ones(2)), KEY)
