"""Faults at sites, with processes really killed, several at once: the run ends as if nothing had happened."""

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.federation.journal import read
from tests.federation.deployed import Deployment
from tests.federation.faulty import done
from tests.federation.small import spec
from tests.federation.storms import absent, killed, longest, ordered, site, unlike

A, B, C = NAMES = ("client-0", "client-1", "client-2")
DEADLINE = 900.0  # far more than this storm needs, for machines that do much else besides

STORM = {
    "raises when scored": site("raise", A, "score", 0),
    "dies when scored": site("die", B, "score", 0),
    "node killed when scored": killed([f"node-{C}"], C, "score", 0),
    "node killed in probe": killed([f"node-{A}"], A, "probe", 0),
    "dies in probe": site("die", B, "probe", 0),
    "raises in probe": site("raise", C, "probe", 0),
    "raises in gradient": site("raise", A, "gradient", 0),
    "node killed in gradient": killed([f"node-{B}"], B, "gradient", 0),
    "dies in gradient": site("die", C, "gradient", 0),
    "dies in local": site("die", A, "local", 0),
    "raises in local": site("raise", B, "local", 0),
    "node killed in local": killed([f"node-{C}"], C, "local", 0),
    "slow in the fused exchange": site("slow", A, "probe", 1, seconds=6),
    "executor killed in the fused exchange": killed([f"executor-{B}"], B, "probe", 1),
    "node and executor killed in the fused exchange": killed([f"node-{C}", f"executor-{C}"], C, "probe", 1),
    "every node killed in local": killed([f"node-{name}" for name in NAMES], A, "local", 1),
}


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    with Deployment(tmp_path_factory.mktemp("three") / "home", NAMES) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def stormy(three, tmp_path_factory):
    """One run through the whole storm."""
    folder = tmp_path_factory.mktemp("stormy")
    made = spec("scaff-pd-ia", len(NAMES), rounds=2, engine__deadline=DEADLINE)
    numbers = dict(zip(STORM, ordered(three.home, STORM.values()), strict=True))
    runs, run = three.through(made, folder / "run", 900)
    return made, folder, runs, run, {fault: number in done(three.home) for fault, number in numbers.items()}


@pytest.mark.parametrize("fault", STORM)
def test_the_fault_happened(fault, stormy):
    assert stormy[-1][fault]


def test_a_run_through_a_storm_ends_with_the_bits_of_one_without(stormy):
    made, folder, runs, run, _ = stormy
    assert absent(folder / "run") == {}
    assert runs == 1
    assert unlike(run, made, folder / "run", folder / "loop") == []


def test_no_exchange_of_the_storm_took_longer_than_its_deadline(stormy):
    assert longest(stormy[1] / "run") < DEADLINE + 2


def test_what_happened_is_in_the_journal(stormy):
    lines = [line["why"] for line in read(stormy[1] / "run") if line["event"] == "fault"]
    for name, words in {A: "a fault that was ordered", B: "stopped responding"}.items():
        assert any(repr(name) in line and words in line for line in lines), (name, words, lines)
