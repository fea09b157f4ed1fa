"""A deployment of separate processes on loopback computes what the plain loop computes, bit for bit."""

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.federation.journal import read
from tests.federation.deployed import Deployment
from tests.federation.small import SEVEN, alone, differences, spec, travels

NAMES = ("client-0", "client-1", "client-2")
D = 460  # numbers in θ of the small model: 64·6 + 6 + 6·10 + 10


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    with Deployment(tmp_path_factory.mktemp("three") / "home", NAMES) as deployment:
        yield deployment


@pytest.mark.parametrize("name", SEVEN)
def test_separate_processes_are_bit_identical_to_the_plain_loop(name, three, tmp_path):
    made = spec(name, len(NAMES), rounds=2)
    runs, run = three.through(made, tmp_path / "run", 400)
    assert runs == 1
    assert differences(run, alone(made, tmp_path / "loop")) == []
    lines = [line for line in read(tmp_path / "run") if line["event"] == "exchange"]
    assert lines
    for line in lines:
        down, up = travels(name, line["phase"])
        per = 4 * D * line["messages"]
        assert (line["down"], line["up"]) == (down * per, up * per), line
