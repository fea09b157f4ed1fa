"""Flower's grid as a post: envelopes survive it, and an answer of 500 costs an attempt at most, never the run."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

import httpx

from evenkeel.errors import InputError, RunFailedError
from evenkeel.federation.codec import Envelope, digest
from evenkeel.federation.exchange import Fault
from evenkeel.federation.packing import pack
from evenkeel.federation.wire import GridPost, envelope, record

ASKED = Envelope(
    kind="ask", facts={"round": 3, "phase": "local"}, arrays={"theta": pack(np.arange(4, dtype=np.float32))}
)


def failing(status, path):
    def call(*_):
        request = httpx.Request("POST", f"http://127.0.0.1/v1/runtime/{path}")
        raise httpx.HTTPStatusError("no", request=request, response=httpx.Response(status, request=request))

    return call


def reply(to):
    return SimpleNamespace(
        metadata=SimpleNamespace(reply_to_message_id=to), has_error=lambda: False, content=record(ASKED)
    )


def test_an_envelope_survives_flowers_record_and_an_altered_one_is_refused():
    assert digest(envelope(record(ASKED))) == digest(ASKED)
    spoilt = record(ASKED)
    spoilt["head"]["text"] = spoilt["head"]["text"].replace("local", "probe")
    with pytest.raises(InputError, match="altered on its way"):
        envelope(spoilt)


def test_a_busy_superlink_costs_nothing_where_nothing_was_delivered():
    grid = SimpleNamespace(get_nodes=lambda: [SimpleNamespace(node_id=7, name="north")], pull_messages=None)
    post = GridPost(grid)
    assert post.nodes() == {7: "north"}
    grid.get_nodes, grid.pull_messages = failing(500, "get-nodes"), failing(500, "pull-messages")
    assert post.nodes() == {7: "north"}
    assert list(post.fetch(["a", "b"])) == []
    grid.pull_messages = lambda letters: [reply(letter) for letter in letters]
    assert [letter for letter, _ in post.fetch(["a", "b"])] == ["a", "b"]


def test_what_a_busy_superlink_may_have_lost_is_asked_again(monkeypatch):
    monkeypatch.setattr("evenkeel.federation.wire.Message", lambda *_, **__: None)  # made inside a run only
    grid = SimpleNamespace(push_messages=failing(500, "push-messages"), pull_messages=failing(500, "pull-object"))
    post = GridPost(grid)
    letter = post.send(7, ASKED, 10.0)
    assert list(post.fetch([letter])) == [(letter, Fault("could not be sent"))]
    assert [found.why for _, found in post.fetch(["a"])] == ["SuperLink could not hand the reply over"]


def test_a_reply_that_never_comes_whole_is_waited_for_no_longer_than_its_question_lasts(monkeypatch):
    monkeypatch.setattr("evenkeel.federation.wire.Message", lambda *_, **__: None)
    from flwr.superlink.grid import http_grid

    waited = []
    grid = SimpleNamespace(push_messages=lambda _: ["a"])
    grid.pull_messages = lambda _: waited.append(http_grid.pull_objects.keywords["max_time"]) or []
    post = GridPost(grid)
    post.send(7, ASKED, 25.0)
    assert list(post.fetch(["a"])) == []
    assert 20 < waited[0] <= 25
    post.send(7, Envelope(kind="ask", facts={"patience": 5.0}), 25.0)  # others must be heard while there is time
    assert list(post.fetch(["a"])) == []
    assert waited[1] == 5


def test_a_superlink_that_is_away_for_long_stops_the_run_which_can_be_resumed():
    def away():
        raise httpx.ConnectError("refused")

    grid = SimpleNamespace(get_nodes=away, _retry_invoker=SimpleNamespace(max_time=None))
    post = GridPost(grid)
    assert grid._retry_invoker.max_time == 60
    with pytest.raises(RunFailedError, match=r"SuperLink does not answer \(refused\); start it again and resume"):
        post.nodes()


def test_what_superlink_refuses_is_an_error():
    grid = SimpleNamespace(get_nodes=failing(401, "get-nodes"), pull_messages=failing(403, "pull-messages"))
    with pytest.raises(httpx.HTTPStatusError):
        GridPost(grid).nodes()
    with pytest.raises(httpx.HTTPStatusError):
        list(GridPost(grid).fetch(["a"]))
