"""The exchange over a post in memory: what the plain loop says, whatever nodes do to their letters."""

import json

import numpy as np
import pytest
import torch

from evenkeel.engine import Loop
from evenkeel.errors import InputError, RunFailedError
from evenkeel.federation.codec import Envelope
from evenkeel.federation.exchange import Fault
from evenkeel.federation.journal import read
from evenkeel.federation.packing import pack
from evenkeel.federation.serving import Time, serve
from evenkeel.runs import execute
from tests.federation.posts import Clock, MemoryPost, changed
from tests.federation.small import SEVEN, alone, differences, spec, travels

N = 5


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def served(post, made, folder, heard=None):
    said = [] if heard is None else heard
    settings = {"spec": made.to_toml(), "folder": str(folder), "n": post.federation.n, "wait": 50.0}
    time_ = Time(clock=post.clock, sleep=post.clock.sleep)
    return serve(post, settings, tell=said.append, time_=time_)


def without(made, folder, absent):
    """The plain loop in which `absent(round, phase)` says who is away."""

    def attendance(key, phase, ids):
        return np.setdiff1d(ids, absent(key.round, phase))

    post = MemoryPost(made)
    return execute(made, folder, transport=Loop(post.task, post.federation, attendance))


@pytest.mark.parametrize("name", SEVEN)
def test_every_algorithm_is_bit_identical_to_the_plain_loop(name, tmp_path):
    made = spec(name, N)
    run = served(MemoryPost(made).everybody(), made, tmp_path / "ours")
    assert differences(run, alone(made, tmp_path / "loop")) == []


@pytest.mark.parametrize("name", ["scaffold-2020", "fedfv", "fedsgd", "q-fedsgd"])
def test_algorithms_that_need_single_vectors_or_their_own_row_run_unchanged(name, tmp_path):
    made = spec("fedavg", N).replace("algorithm.name", name)
    run = served(MemoryPost(made).everybody(), made, tmp_path / "ours")
    assert differences(run, alone(made, tmp_path / "loop")) == []


def test_probe_and_control_are_one_exchange_from_the_second_round_on(tmp_path):
    made = spec("scaff-pd-ia", N, rounds=4)
    served(MemoryPost(made).everybody(), made, tmp_path / "run")
    phases = [(line["round"], line["phase"]) for line in read(tmp_path / "run") if line["event"] == "exchange"]
    assert [p for r, p in phases if r == 0] == ["score", "probe", "gradient", "local"]
    assert [p for r, p in phases if r == 2] == ["probe+gradient", "local"]


def in_phase(phase, round_, act):
    """A node that behaves, but for one phase of one round."""

    def behave(asked, answer):
        if (asked.facts["phase"], asked.facts["round"]) != (phase, round_):
            return [(0.0, answer())]
        return act(asked, answer)

    return behave


def spoilt(change):
    """A reply with other scalars or arrays."""
    return lambda asked, answer: [(0.0, change(answer()))]


def scalar(name, value):
    return lambda reply: changed(reply, scalars={**reply.facts["scalars"], name: value})


def array(change):
    return lambda reply: Envelope(
        kind=reply.kind, facts=reply.facts, arrays={name: change(packed) for name, packed in reply.arrays.items()}
    )


def first_entry(value):
    def change(packed):
        numbers = np.frombuffer(packed.data, "<f4").copy()
        numbers[0] = value
        return pack(numbers)

    return array(change)


LIES = {
    "NaN loss": ("probe", scalar("loss", float("nan")), "loss nan"),
    "infinite loss": ("probe", scalar("loss", float("inf")), "loss inf"),
    "absurd loss": ("probe", scalar("loss", 1e9), "must lie in 0"),
    "negative loss": ("probe", scalar("loss", -1.0), "must lie in 0"),
    "text for a loss": ("probe", scalar("loss", "1.0"), "no number"),
    "missing loss": ("probe", lambda reply: changed(reply, scalars={}), "does not hold what was asked"),
    "NaN in a vector": ("local", first_entry(float("nan")), "delta nan"),
    "short vector": ("local", array(lambda packed: pack(np.zeros(3, np.float32))), "must be ("),
    "vector of doubles": ("local", array(lambda p: pack(np.zeros(p.shape))), "must be ("),
    "a length that is not the vector's": ("local", scalar("norm2", 1e-3), "is not that of delta"),
    "an older round": ("local", lambda reply: changed(reply, round=0), "answers another question"),
    "another client": ("local", lambda reply: changed(reply, client=0), "answers another question"),
    "another nonce": ("local", lambda reply: changed(reply, nonce="00"), "answers another question"),
    "another ask": ("local", lambda reply: changed(reply, ask="00"), "answers another question"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_reply_that_is_unfit_is_refused_and_named_and_its_client_counts_as_absent(lie, tmp_path):
    made = spec("scaff-pd-ia", N)
    phase, change, why = LIES[lie]
    post, heard = MemoryPost(made).everybody(), []
    post.join(102, 2, in_phase(phase, 1, spoilt(change)))
    run = served(post, made, tmp_path / "ours", heard)
    gone = ("probe", "gradient", "local") if phase == "probe" else ("local",)
    expected = without(made, tmp_path / "loop", lambda r, p: [2] if r == 1 and p in gone else [])
    assert differences(run, expected) == []
    assert [line for line in heard if why in line and "'client-2'" in line and "round 1" in line]


def test_a_reply_of_an_older_round_sent_again_is_refused(tmp_path):
    made, kept = spec("fedavg", N), []

    def behave(asked, answer):
        reply = answer()
        kept.append(reply)
        return [(0.0, kept[0] if asked.facts["phase"] == "local" and len(kept) > 2 else reply)]

    post, heard = MemoryPost(made).everybody(), []
    post.join(101, 1, behave)
    served(post, made, tmp_path / "run", heard)
    assert any("'client-1' refused: answers another question" in line for line in heard)


@pytest.mark.parametrize("phase", ["probe", "local"])
def test_a_client_that_never_answers_is_absent_and_nothing_hangs_past_the_deadline(phase, tmp_path):
    made = spec("scaff-pd-ia", N, engine__deadline=60.0)
    post, heard = MemoryPost(made).everybody(), []
    post.join(103, 3, in_phase(phase, 1, lambda asked, answer: []))
    run = served(post, made, tmp_path / "ours", heard)
    gone = ("probe", "gradient", "local") if phase == "probe" else ("local",)
    expected = without(made, tmp_path / "loop", lambda r, p: [3] if r == 1 and p in gone else [])
    assert differences(run, expected) == []
    seconds = [line["seconds"] for line in read(tmp_path / "ours") if line["event"] == "exchange"]
    assert 60 <= max(seconds) < 62
    assert any("'client-3' is absent: no answer in time" in line for line in heard)


@pytest.mark.parametrize("phase", ["score", "probe", "gradient", "local"])
def test_a_client_that_fails_once_is_asked_again_and_nothing_is_lost(phase, tmp_path):
    made, failed = spec("scaff-pd-ia", N, rounds=2), []

    def behave(asked, answer):
        if asked.facts["phase"] == phase and not failed:
            failed.append(phase)
            return [(1.0, Fault("error 8: process died"))]
        return [(0.0, answer())]

    post = MemoryPost(made).everybody()
    post.join(104, 4, behave)
    assert differences(served(post, made, tmp_path / "ours"), alone(made, tmp_path / "loop")) == []
    assert failed == [phase]


@pytest.mark.parametrize("phase", ["probe", "local"])
def test_a_node_that_dies_and_comes_back_under_another_number_finishes_the_round(phase, tmp_path):
    made = spec("scaff-pd-ia", N)
    post = MemoryPost(made).everybody()

    def die(asked, answer):
        del post.there[102]
        post.join(999, 2)
        return []

    post.join(102, 2, in_phase(phase, 1, die))
    assert differences(served(post, made, tmp_path / "ours"), alone(made, tmp_path / "loop")) == []


def test_replies_that_come_late_twice_and_out_of_order_change_nothing(tmp_path):
    made = spec("scaff-pd", N)
    post = MemoryPost(made).everybody()
    for i in range(N):
        post.join(100 + i, i, lambda asked, answer, i=i: [(5.0 - i, answer()), (5.0 - i, answer()), (9.0, answer())])
    assert differences(served(post, made, tmp_path / "ours"), alone(made, tmp_path / "loop")) == []


def test_too_few_answers_stop_the_run_and_it_goes_on_when_they_are_back(tmp_path):
    made = spec("scaff-pd-ia", N, rounds=4, engine__deadline=9.0, clients__quorum=0.8)
    post = MemoryPost(made).everybody()
    for i in (1, 3):
        post.join(100 + i, i, in_phase("local", 2, lambda asked, answer: []))
    with pytest.raises(RunFailedError, match=r"round 2: 3 of 5 clients answered 'local'.*client-1, client-3"):
        served(post, made, tmp_path / "ours")
    again = MemoryPost(made).everybody()
    assert differences(served(again, made, tmp_path / "ours"), alone(made, tmp_path / "loop")) == []
    assert max(e.facts["round"] for _, e in again.sent if e.kind == "ask" and e.facts["phase"] == "probe") == 3
    assert min(e.facts["round"] for _, e in again.sent if e.kind == "ask" and e.facts["phase"] == "probe") == 2


def test_a_site_that_is_away_when_the_run_goes_on_is_remembered(tmp_path):
    made = spec("scaff-pd-ia", N, rounds=4, engine__deadline=9.0, clients__quorum=1.0)
    post = MemoryPost(made).everybody()
    post.join(101, 1, in_phase("local", 2, lambda asked, answer: []))
    with pytest.raises(RunFailedError, match="round 2"):
        served(post, made, tmp_path / "ours")
    again = MemoryPost(made).everybody()

    def back(asked, answer):
        if 101 not in again.there:
            again.join(101, 1)
        return [(0.0, answer())]

    del again.there[101]
    again.join(100, 0, back)
    assert differences(served(again, made, tmp_path / "ours"), alone(made, tmp_path / "loop")) == []


def test_a_client_absent_when_scored_has_no_rows_there(tmp_path):
    made = spec("fedavg", N, engine__deadline=6.0)
    post = MemoryPost(made).everybody()
    post.join(101, 1, in_phase("score", 3, lambda asked, answer: []))
    last = served(post, made, tmp_path / "run").clients.filter(round=3)
    assert last["loss"].is_null().to_list() == [False, True, False, False, False]
    assert last["size"].to_list()[1] == 0


def test_what_travels_is_what_the_formula_counts(tmp_path):
    for name in SEVEN:
        made = spec(name, N, rounds=3)
        post = MemoryPost(made).everybody()
        served(post, made, tmp_path / name)
        for line in read(tmp_path / name):
            if line["event"] == "exchange":
                down, up = travels(name, line["phase"])
                per = 4 * post.task.d * line["asked"]
                assert (line["down"], line["up"]) == (down * per, up * per), (name, line)


def test_wires_that_lose_digits_stay_near_and_cost_what_they_should(tmp_path):
    exact = alone(spec("scaff-pd-ia", N), tmp_path / "loop").theta
    for wire, most in {"float32": 0.0, "float16": 2e-3, "int8": 5e-2}.items():
        made = spec("scaff-pd-ia", N, clients__wire=wire)
        run = served(MemoryPost(made).everybody(), made, tmp_path / wire)
        assert float((run.theta - exact).norm() / exact.norm()) <= most
        bytes_ = sum(line["up"] for line in read(tmp_path / wire) if line["event"] == "exchange")
        assert bytes_ > 0


def test_a_site_is_known_by_its_registered_name_alone(tmp_path):
    made = spec("fedavg", N)
    post, heard = MemoryPost(made).everybody(), []
    post.join(200, 1, name="client-3")
    post.registered = {100 + i: f"client-{i}" for i in range(N)} | {200: "client-1"}
    run = served(post, made, tmp_path / "ours", heard)
    assert any("calls itself 'client-3', but its key is registered to 'client-1'" in line for line in heard)
    assert differences(run, alone(made, tmp_path / "loop")) == []


def test_a_stranger_and_a_site_with_other_rows_are_refused(tmp_path):
    made = spec("fedavg", N)
    post, heard = MemoryPost(made).everybody(), []
    settings = {"spec": made.to_toml(), "folder": str(tmp_path / "run"), "wait": 50.0}
    settings["sites"] = ",".join(f"client-{i}" for i in range(N))
    post.join(300, 1, name="mallory")

    def swap(asked, answer):
        if 102 in post.there:
            del post.there[102]
            post.join(400, 4, name="client-2")
        return [(0.0, answer())]

    post.join(101, 1, in_phase("local", 1, swap))
    serve(post, settings, tell=heard.append, time_=Time(clock=post.clock, sleep=post.clock.sleep))
    assert any("'mallory' is not on the list of sites" in line for line in heard)
    assert any("'client-2' came back with other rows" in line for line in heard)


def test_a_site_says_why_it_refuses(tmp_path):
    made = spec("fedavg", N, engine__deadline=6.0)
    post, heard = MemoryPost(made).everybody(), []
    post.join(
        100, 0, in_phase("local", 0, lambda asked, answer: [(0.0, Envelope(kind="refusal", facts={"why": "no"}))])
    )
    served(post, made, tmp_path / "run", heard)
    assert any("'client-0' refused: no" in line for line in heard)


def test_sites_that_never_come_are_named(tmp_path):
    made = spec("fedavg", N)
    post = MemoryPost(made, Clock()).everybody()
    del post.there[103]
    settings = {"spec": made.to_toml(), "folder": str(tmp_path / "run"), "wait": 5.0, "sites": "client-0, client-3"}
    with pytest.raises(InputError, match="did not come within 5 s: client-3"):
        serve(post, settings, time_=Time(clock=post.clock, sleep=post.clock.sleep))


def test_the_journal_is_lines_of_json(tmp_path):
    made = spec("fedavg", N)
    served(MemoryPost(made).everybody(), made, tmp_path / "run")
    lines = (tmp_path / "run" / "federation.jsonl").read_text().splitlines()
    assert {json.loads(line)["event"] for line in lines} >= {"joined", "sites", "begin", "exchange", "round", "end"}
