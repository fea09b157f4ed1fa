"""Faults at the server, with processes really killed: a new Flower run goes on, and ends with the same bits."""

import os
import subprocess

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.federation.journal import read
from tests.federation.deployed import Deployment
from tests.federation.faulty import done
from tests.federation.small import spec
from tests.federation.storms import absent, killed, ordered, unlike

A, B, _ = NAMES = ("client-0", "client-1", "client-2")


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    with Deployment(tmp_path_factory.mktemp("three") / "home", NAMES) as deployment:
        yield deployment


SERVER = ("server",)
KILLS = {
    "while it waits for scores": killed(SERVER, A, "score", 0),
    "in probe": killed(SERVER, B, "probe", 0),
    "in gradient": killed(SERVER, A, "gradient", 0),
    "in local": killed(SERVER, B, "local", 0),
    "in the fused exchange": killed(SERVER, A, "probe", 1),
    "with a node": killed(("server", f"node-{B}"), A, "local", 1),
}
WRITES = (1, 4, 7, 11)  # steps of writing files: the spec, a checkpoint, the tables beside it


def test_a_server_that_is_killed_in_each_phase_and_while_it_writes_loses_nothing(three, tmp_path):
    made = spec("scaff-pd-ia", len(NAMES), rounds=2, engine__deadline=600.0)
    orders = [*KILLS.values(), *({"side": "server", "act": "write", "k": k} for k in WRITES)]
    numbers = ordered(three.home, orders)
    runs, run = three.through(made, tmp_path / "run", 900)
    assert set(numbers) <= set(done(three.home))
    assert runs > len(KILLS)
    assert absent(tmp_path / "run") == {}
    assert unlike(run, made, tmp_path / "run", tmp_path / "loop") == []


def test_at_most_the_round_in_hand_is_done_again(three, tmp_path):
    made = spec("fedavg", len(NAMES), rounds=4, engine__deadline=600.0)
    ordered(three.home, [killed(SERVER, A, "local", 2)])
    three.through(made, tmp_path / "run", 400)
    begun = [line["round"] for line in read(tmp_path / "run") if line["event"] == "begin"]
    assert begun == [0, 2]


@pytest.mark.parametrize("phase", ["probe", "local"])
def test_a_superlink_that_is_killed_comes_back_and_the_run_with_it(phase, three, tmp_path):
    made = spec("scaff-pd-ia", len(NAMES), rounds=2, engine__deadline=600.0)
    number = ordered(three.home, [killed(("superlink",), A, phase, 1)])
    tended = []
    _, run = three.through(made, tmp_path / "run", 600, tended)  # in one Flower run, or in one more
    assert set(number) <= set(done(three.home))
    assert "superlink" in tended
    assert unlike(run, made, tmp_path / "run", tmp_path / "loop") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_full_disk_at_the_server_stops_the_run_and_it_goes_on_when_there_is_space(three, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]).returncode:
        pytest.skip("this machine does not let us mount")
    try:
        made = spec("scaff-pd-ia", len(NAMES), rounds=2, task__hidden=150, engine__deadline=600.0)
        last = three.finish(three.submit(made, disk / "run"), 200)
        assert not last.good
        assert "the disk is full" in (three.home / "executor.log").read_text() + last.details
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        _, run = three.through(made, disk / "run", 400)
        assert unlike(run, made, disk / "run", tmp_path / "loop") == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
