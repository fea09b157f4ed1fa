"""Processes of one machine: started again when they end, ended by their ids, and never somebody else's."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from evenkeel.errors import InputError, RunFailedError
from evenkeel.federation.deploy import processes
from evenkeel.federation.deploy.processes import Family

SLEEP = (sys.executable, "-c", "import time; time.sleep(60)")
DEAF = (sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)")
_PARENT = """import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)"""
PARENT = (sys.executable, "-c", _PARENT)


def alive(pid):
    return processes.started_at(pid) != 0


def until(true, seconds=20.0):
    late = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < late, "it took too long"
        time.sleep(0.02)


@pytest.fixture
def state(tmp_path):
    return tmp_path / "running.json"


def test_leaving_ends_everything(state, tmp_path):
    with Family(state) as family:
        family.start("a", SLEEP, {}, tmp_path / "a.log")
        family.start("b", SLEEP, {}, tmp_path / "b.log")
        pids = [child.process.pid for child in family.children]
        assert all(map(alive, pids))
    assert not any(map(alive, pids))
    assert not state.exists()


def test_an_error_ends_everything_too(state, tmp_path):
    def failing():
        with Family(state) as family:
            family.start("a", SLEEP, {}, tmp_path / "a.log")
            pids.append(family.children[0].process.pid)
            raise RuntimeError

    pids = []
    with pytest.raises(RuntimeError):
        failing()
    assert not alive(pids[0])


def test_one_that_does_not_listen_is_ended_all_the_same(state, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_PATIENCE", 0.5)
    with Family(state) as family:
        family.start("deaf", DEAF, {}, tmp_path / "a.log")
        pid = family.children[0].process.pid
        time.sleep(0.3)
    assert not alive(pid)


def test_what_a_child_started_ends_with_it(state, tmp_path):
    with Family(state) as family:
        family.start("parent", PARENT, {}, tmp_path / "a.log")
        until(lambda: (tmp_path / "a.log").read_text().strip())
        grandchild = int((tmp_path / "a.log").read_text())
        assert alive(grandchild)
    until(lambda: not alive(grandchild))


def test_what_ends_is_started_again(state, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_SHORTEST", 0.05)
    with Family(state) as family:
        family.start("a", SLEEP, {}, tmp_path / "a.log")
        first = family.children[0].process.pid
        family.children[0].pause = 0.05
        os.kill(first, signal.SIGKILL)
        said = []

        def again():
            said.extend(family.tend())
            return family.children[0].process.pid != first

        until(again)
        assert said == ["a ended (signal 9); starting it again"]
        assert alive(family.children[0].process.pid)
        assert processes.running(state)["children"]["a"] == family.children[0].process.pid


def test_each_early_end_is_answered_later_and_at_last_given_up(state, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_LONGEST", 0.4)
    with Family(state) as family:
        family.start(
            "broken", (sys.executable, "-c", "print('no such thing'); raise SystemExit(3)"), {}, tmp_path / "a.log"
        )
        child, pauses = family.children[0], []
        child.pause = 0.05

        def hopeless():
            if family.tend():
                pauses.append(child.pause)
            return child.early >= processes._HOPELESS

        until(hopeless)
        assert pauses == sorted(pauses)
        assert pauses[-1] == 0.4
        with pytest.raises(RunFailedError, match="broken ended 5 times in a row: no such thing"):
            family.demand_hope()


def test_one_that_cannot_be_started_is_told(state, tmp_path):
    with Family(state) as family, pytest.raises(RunFailedError, match="no/such/program: cannot be started"):
        family.start("a", ("/no/such/program",), {}, tmp_path / "a.log")


def test_a_log_is_private_and_never_cut(state, tmp_path):
    log = tmp_path / "logs" / "a.log"
    for _ in range(2):
        with Family(state) as family:
            family.start("a", (sys.executable, "-c", "print('hello')"), {}, log)
            family.children[0].process.wait()
    assert log.read_text() == "hello\nhello\n"
    assert log.stat().st_mode & 0o077 == 0


def test_a_second_family_is_refused(state, tmp_path):
    other = subprocess.Popen(SLEEP, start_new_session=True)
    try:
        state.write_text(json.dumps({"self": processes.ticket(other.pid), "children": {}}))
        with pytest.raises(InputError, match=f"runs already \\(process {other.pid}\\)"), Family(state):
            pass
    finally:
        other.kill()
        other.wait()


def test_what_a_killed_one_left_is_named_and_can_be_ended(state):
    child = subprocess.Popen(SLEEP, start_new_session=True)
    try:
        state.write_text(json.dumps({"self": [2**22 + 1, 7], "children": {"node": processes.ticket(child.pid)}}))
        with pytest.raises(InputError, match=f"left from before: node {child.pid}"), Family(state):
            pass
        threading.Thread(target=child.wait, daemon=True).start()  # it is our child here: collect it while stop waits
        assert processes.stop(state) == ["node"]
        assert not alive(child.pid)
    finally:
        child.kill()
        child.wait()


def test_an_id_that_was_given_out_again_is_not_touched(state):
    """The file names a process by id and moment of start: another one under the id is a stranger."""
    stranger = subprocess.Popen(SLEEP, start_new_session=True)
    try:
        pid, born = processes.ticket(stranger.pid)
        state.write_text(json.dumps({"self": [pid, born - 1], "children": {"node": [pid, born + 1]}}))
        assert processes.running(state) == {}
        assert processes.stop(state) == []
        assert alive(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"self": 3}'])
def test_a_file_that_is_no_list_of_processes_names_nobody(state, content):
    state.write_text(content)
    assert processes.running(state) == {}
