"""Workers, nodes and drivers that are really killed: the run ends with the same bits."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from evenkeel.cluster import Cluster, group
from evenkeel.cluster.group import Group
from evenkeel.errors import RunFailedError
from evenkeel.runs import Run, Spec, execute
from evenkeel.runs.jobs import Chain, Job, complete, done
from evenkeel.runs.nodes import Nodes
from evenkeel.runs.pool import spread
from tests.clients.toy import federation
from tests.engine.test_engine import KEY, TASKS, question
from tests.runs import tiny

from .sockets import children, parent, used, words

ROOT = Path(__file__).parents[2]
PHASES = ("probe", "gradient", "local", "score")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def spec(**changes):
    """Eight rounds of Scaff-PD-IA on two workers, float32, so that the last bits depend on what a worker has kept."""
    own = {"rounds": 8, "engine__transport": "ray", "engine__workers": 2, "task__hidden": 32, "evaluation__every": 1}
    return tiny.spec(**own | {"work__steps": 2000} | changes)


@pytest.fixture(scope="module")
def whole(ray, tmp_path_factory):
    """What is left by the run that nobody disturbs."""
    return tiny.fingerprint(execute(spec(), tmp_path_factory.mktemp("whole") / "run", federation=tiny.federation()))


class Killer:
    """Kills worker 1 in each phase with the ask on its way, once half-way through its work, and twice between asks."""

    def __init__(self, monkeypatch):
        self.left = {(r, phase) for r, phase in enumerate(PHASES)} | {(4, "idle"), (5, "restarted"), (6, "at work")}
        self.ask = Group._ask
        monkeypatch.setattr(Group, "_ask", lambda *of: self.asked(*of))  # noqa: PLW0108 — a function is bound, this is not

    def asked(self, own, k, sent):
        phase, r = sent.question.phase, sent.key.round
        if k != 1:
            return self.ask(own, k, sent)
        pid = own._got(own.actors[1].ready.remote()) if self.left else None
        if phase == "gradient" and self.takes(r, "idle"):
            self.kill(pid)
        if phase == "gradient" and self.takes(r, "restarted"):
            self.kill(pid)
            until(lambda: own._got(own.actors[1].ready.remote()) is not None)
        if self.takes(r, phase):
            os.kill(pid, signal.SIGSTOP)  # it hears of the ask, and cannot answer
            waiting = self.ask(own, k, sent)
            self.kill(pid)
            return waiting
        before = used(pid) if phase == "local" and (r, "at work") in self.left else 0.0
        waiting = self.ask(own, k, sent)
        if before and self.takes(r, "at work"):
            until(lambda: used(pid) > before + 0.05)
            assert not own.ray.wait([waiting], timeout=0)[0], "it was done before it was killed"
            self.kill(pid)
        return waiting

    def takes(self, r, why):
        """Whether this is the moment; it comes once."""
        due = (r, why) in self.left
        self.left -= {(r, why)}
        return due

    @staticmethod
    def kill(pid):
        os.kill(pid, signal.SIGKILL)
        until(lambda: parent(pid) == 0)


def until(condition, longest=300):
    ends = time.monotonic() + longest
    while not condition():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.01)


def test_a_worker_killed_in_any_phase_changes_no_bit(whole, tmp_path, monkeypatch):
    killer = Killer(monkeypatch)
    with pytest.warns(RuntimeWarning, match="worker 1 of 2 was lost by") as told:
        run = execute(spec(), tmp_path / "run", federation=tiny.federation())
    assert not killer.left
    said = [str(w.message) for w in told]
    lost = [*enumerate(PHASES), (4, "gradient"), (5, "gradient"), (6, "local")]
    expected = [f"worker 1 of 2 was lost by {phase!r} of round {r}: " for r, phase in lost]
    assert all(line.startswith(start) for line, start in zip(said, expected, strict=True)), said
    assert tiny.fingerprint(run) == whole


def test_a_worker_killed_while_it_is_asked_for_curvature_changes_no_bit(ray, monkeypatch):
    """`evenkeel phi` asks for Hessian-vector products; a run never does."""
    task, row_shape, classes = TASKS["mlp"]
    ask = question(task, "hvp", {}, weights=True)
    cluster = Cluster(task, federation(row_shape=row_shape, classes=classes), workers=2)
    before, killer = cluster.answer(ask, KEY), Killer(monkeypatch)
    killer.left = {(KEY.round, "hvp")}
    with pytest.warns(RuntimeWarning, match="worker 1 of 2 was lost by 'hvp'"):
        after = cluster.answer(ask, KEY)
    cluster.close()
    assert np.array_equal(before["hvp"], after["hvp"])


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
    keys = ["rounds=12", "output.checkpoint=0", "evaluation.every=6", "work.batch=8"]
    sets = [word for key in keys for word in ("--set", key)]
    words_ = ["run", "-q", "--preset", "penguins", "--on", "ray", "--workers", "2", *sets, "--out", tmp_path / "run"]
    driver = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.halting", *words_], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    assert driver.stderr.readline() == "halted\n"
    own = children(driver.pid)
    assert any("raylet" in words(pid) for pid in own)
    driver.kill()
    assert driver.communicate()[1] == ""
    until(lambda: all(parent(pid) == 0 for pid in own))
    assert not Run.open(tmp_path / "run").finished
    on = subprocess.run(
        [sys.executable, "-m", "evenkeel", "run", "-q", "--resume", tmp_path / "run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert on.returncode == 0, on.stderr
    wanted = ["engine.transport=ray", "engine.workers=2", *keys]
    fresh = execute(Spec.preset("penguins", wanted), tmp_path / "fresh")
    assert tiny.fingerprint(Run.open(tmp_path / "run")) == tiny.fingerprint(fresh)


def test_a_run_of_a_sweep_that_is_killed_goes_on_elsewhere(ray, tmp_path):
    from tests.runs_many.small import spec as small

    def jobs(where):
        return [
            Job(label=f"{s}", spec=small(seed=s, rounds=12, engine__workers=1), folder=tmp_path / where / f"{s}")
            for s in (0, 1)
        ]

    def falling(job, fallen):
        """The job, whose process ends itself in round 5 of the first try."""

        def work(observer):
            def round_(row):
                if row["round"] == 5 and not fallen.exists():
                    fallen.touch()
                    os.kill(os.getpid(), signal.SIGKILL)

            observer.round = round_
            return complete(job, observer).folder

        return work

    here, there = jobs("here"), jobs("there")
    done([Chain((job,)) for job in here], 1)
    works = {job.label: falling(job, tmp_path / f"fallen-{job.label}") for job in there}
    spread(works, lambda told: None, 2, Nodes(None))
    assert len(list(tmp_path.glob("fallen-*"))) == 2
    for a, b in zip(here, there, strict=True):
        assert tiny.fingerprint(Run.open(a.folder)) == tiny.fingerprint(Run.open(b.folder))
