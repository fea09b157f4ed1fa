"""Sites that lie, hang, or die before their reply is handed over: named, and the run is that without them."""

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.federation.journal import read
from tests.federation.deployed import Deployment
from tests.federation.faulty import done
from tests.federation.small import spec
from tests.federation.storms import absent, ordered, site, unlike

A, B, C = NAMES = ("client-0", "client-1", "client-2")


@pytest.fixture
def three(tmp_path):
    with Deployment(tmp_path / "home", NAMES) as deployment:
        yield deployment


def test_who_lies_or_stays_away_is_named_and_the_run_is_that_without_them(three, tmp_path):
    made = spec("scaff-pd-ia", len(NAMES), rounds=3, engine__deadline=90.0)  # three attempts of 30 s
    lies = [site("nan", A, "probe", 1), site("replay", B, "local", 1), site("unsent", C, "local", 2)]
    late = site("slow", B, "local", 2, seconds=8)  # it comes while C's reply is waited for, which never comes whole
    numbers = ordered(three.home, [site("hang", C, "local", 0), *lies, late])
    runs, run = three.through(made, tmp_path / "run", 600)
    assert set(numbers) <= set(done(three.home))
    assert runs == 1
    assert absent(tmp_path / "run") == {(1, "probe"): [A], (1, "local"): [B], (2, "local"): [C]}
    assert unlike(run, made, tmp_path / "run", tmp_path / "loop") == []
    why = [line["why"] for line in read(tmp_path / "run") if line["event"] == "fault"]
    assert any("'client-2'" in line and "no answer after 30 s" in line for line in why)  # and then it answered
    refused = [line["why"] for line in read(tmp_path / "run") if line["event"] == "refused"]
    assert any("'client-0' refused" in why and "loss nan" in why for why in refused)
    assert any("'client-1' refused: answers another question" in why for why in refused)
