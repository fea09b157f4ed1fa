"""Workers, nodes and drivers that are really killed: the run ends with the same bits."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from evenkeel.cluster import group
from evenkeel.cluster.group import Group
from evenkeel.errors import RunFailedError
from evenkeel.runs import Run, Spec, execute
from evenkeel.runs.jobs import Chain, Job, done
from tests.runs import tiny

from .sockets import children, parent, words

ROOT = Path(__file__).parents[2]
PHASES = ("probe", "gradient", "local", "score")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def spec(**changes):
    """Six rounds of Scaff-PD-IA on two workers, float32, so that the last bits depend on what a worker has kept."""
    own = {"rounds": 6, "engine__transport": "ray", "engine__workers": 2, "task__hidden": 32, "evaluation__every": 1}
    return tiny.spec(**own | {"work__steps": 40} | changes)


@pytest.fixture(scope="module")
def whole(ray, tmp_path_factory):
    """What is left by the run that nobody disturbs."""
    return tiny.fingerprint(execute(spec(), tmp_path_factory.mktemp("whole") / "run", federation=tiny.federation()))


class Killer:
    """Kills worker 1 once in each phase, with the ask on its way or under work, and twice between two asks."""

    def __init__(self, monkeypatch):
        self.left = {(r, phase) for r, phase in enumerate(PHASES)} | {(4, "idle"), (5, "restarted")}
        self.ask, self.killed = Group._ask, []
        monkeypatch.setattr(Group, "_ask", lambda *of: self.asked(*of))  # noqa: PLW0108 — a function is bound, this is not

    def asked(self, own, k, sent):
        phase, r = sent.question.phase, sent.key.round
        if k != 1:
            return self.ask(own, k, sent)
        if phase == "gradient" and (r, "idle") in self.left:
            self.kill(own, (r, "idle"))
        if phase == "gradient" and (r, "restarted") in self.left:
            self.kill(own, (r, "restarted"))
            until(lambda: own._got(own.actors[1].ready.remote()) is not None)
        pid = own._got(own.actors[1].ready.remote()) if (r, phase) in self.left else None
        waiting = self.ask(own, k, sent)
        if pid is not None:
            time.sleep(0.005 * r)
            self.kill(own, (r, phase), pid)
        return waiting

    def kill(self, own, why, pid=None):
        self.left.remove(why)
        pid = pid or own._got(own.actors[1].ready.remote())
        os.kill(pid, signal.SIGKILL)
        until(lambda: parent(pid) == 0)
        self.killed.append(why)


def until(condition, longest=60):
    ends = time.monotonic() + longest
    while not condition():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.01)


def test_a_worker_killed_in_any_phase_changes_no_bit(whole, tmp_path, monkeypatch):
    killer = Killer(monkeypatch)
    with pytest.warns(RuntimeWarning, match="worker 1 of 2 was lost by") as told:
        run = execute(spec(), tmp_path / "run", federation=tiny.federation())
    assert not killer.left
    assert len(killer.killed) == 6
    said = " ".join(str(w.message) for w in told)
    for r, phase in ((0, "probe"), (1, "gradient"), (2, "local"), (3, "score"), (4, "gradient"), (5, "gradient")):
        assert f"was lost by '{phase}' of round {r}" in said
    assert tiny.fingerprint(run) == whole


def test_an_ask_that_ends_its_worker_every_time_ends_the_run_with_a_checkpoint(ray, tmp_path, monkeypatch):
    ask = Group._ask

    def fatal(own, k, sent):
        waiting = ask(own, k, sent)
        if sent.key.round == 2 and k == 0:
            own.ray.kill(own.actors[0], no_restart=False)
        return waiting

    monkeypatch.setattr(Group, "_ask", fatal)
    monkeypatch.setattr(group, "_IN_A_ROW", 2)  # each time takes seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(RunFailedError, match="worker 0 was lost 2 times in a row"):
            execute(spec(), tmp_path / "run", federation=tiny.federation())
    monkeypatch.undo()
    assert not Run.open(tmp_path / "run").finished
    kept = execute(spec(), tmp_path / "run", resume=True, federation=tiny.federation())
    assert kept.finished


def test_a_node_that_is_lost_changes_no_bit(whole, tmp_path):
    words_ = [sys.executable, "-m", "tests.cluster.losing", tmp_path / "run"]
    told = subprocess.run(words_, capture_output=True, text=True, cwd=ROOT)
    assert told.returncode == 0, told.stderr[-3000:]
    lines = told.stdout.splitlines()
    assert "lost a node with worker" in lines[-2]
    assert lines[-1] == whole


def test_a_driver_that_is_killed_leaves_nothing_running_and_its_run_goes_on_to_the_same_bits(ray, tmp_path):
    keys = ["rounds=300", "output.checkpoint=0", "evaluation.every=100", "work.batch=8"]
    command = [sys.executable, "-m", "evenkeel", "run", "-q"]
    sets = [word for key in keys for word in ("--set", key)]
    driver = subprocess.Popen(
        [*command, "--preset", "penguins", "--on", "ray", "--workers", "2", *sets, "--out", tmp_path / "run"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )
    until(lambda: driver.poll() is not None or len(list((tmp_path / "run").glob("state/*.safetensors"))) > 0)
    own = children(driver.pid)
    driver.kill()
    assert driver.communicate()[1] == b""
    assert any("raylet" in words(pid) for pid in own)
    until(lambda: all(parent(pid) == 0 for pid in own), 30)
    assert not Run.open(tmp_path / "run").finished
    on = subprocess.run([*command, "--resume", tmp_path / "run"], cwd=ROOT, capture_output=True, text=True)
    assert on.returncode == 0, on.stderr
    wanted = ["engine.transport=ray", "engine.workers=2", *keys]
    fresh = execute(Spec.preset("penguins", wanted), tmp_path / "fresh")
    assert tiny.fingerprint(Run.open(tmp_path / "run")) == tiny.fingerprint(fresh)


def test_runs_of_a_sweep_are_tasks_and_one_that_is_killed_goes_on(ray, tmp_path):
    from tests.runs_many.small import spec as small

    def jobs(where, **how):
        made = [small(seed=s, rounds=400) for s in (0, 1)]
        own = [s.replace("engine.workers", 1).replace("engine.transport", how.get("on", "engine")) for s in made]
        return [Job(label=f"{s.seed}", spec=s, folder=tmp_path / where / f"{s.seed}") for s in own]

    here, there = jobs("here"), jobs("there", on="ray")
    done([Chain((job,)) for job in here], 1)
    killed = []

    def kill():
        until(lambda: any((tmp_path / "there").glob("*/state/*.safetensors")))
        killed.extend(pid for pid in children() if words(pid).startswith("ray::_do"))
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    outcomes = done([Chain((job,)) for job in there], 2)
    thread.join()
    assert killed
    assert outcomes.keys() == {"0", "1"}
    for a, b in zip(here, there, strict=True):
        assert tiny.fingerprint(Run.open(a.folder)) == tiny.fingerprint(Run.open(b.folder))
