"""Work on many processes: same outcomes as here, failures kept apart, and stops that leave runs whole."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenkeel.errors import InputError, RunFailedError
from evenkeel.runs import Run
from evenkeel.runs.jobs import Chain, Job, done, finished
from evenkeel.runs.pool import Teller, Told, processes, spread

from .small import spec


class Add:
    """Work that a process can be sent."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, observer):
        observer.warn(f"adding {self.a}")
        return self.a + self.b


class Fail(Add):
    def __call__(self, observer):
        raise self.a(self.b)


@pytest.mark.parametrize("n", [1, 2])
def test_every_piece_of_work_is_done_once_and_heard_of(n):
    heard = []
    assert spread({f"{k}": Add(k, k) for k in range(5)}, heard.append, n) == {f"{k}": 2 * k for k in range(5)}
    assert sorted(heard) == [Told(f"{k}", "warn", f"adding {k}") for k in range(5)]


@pytest.mark.parametrize("n", [1, 2])
def test_a_run_that_fails_does_not_stop_the_others(n):
    outcomes = spread({"bad": Fail(RunFailedError, "diverged"), "good": Add(1, 2)}, lambda _: None, n)
    assert str(outcomes["bad"]) == "diverged"
    assert outcomes["good"] == 3


@pytest.mark.parametrize("n", [1, 2])
def test_a_mistake_of_the_users_stops_everything(n):
    with pytest.raises(InputError, match="no such key"):
        spread({"bad": Fail(InputError, "no such key"), "good": Add(1, 2)}, lambda _: None, n)


def test_a_worker_that_dies_is_one_line():
    with pytest.raises(RunFailedError, match="a worker process died"):
        spread({"a": Fail(os._exit, 9), "b": Fail(os._exit, 9)}, lambda _: None, 2)


def test_a_run_stops_between_rounds_when_asked():
    teller = Teller("a", lambda _: None, stop=lambda: True)
    with pytest.raises(KeyboardInterrupt):
        teller.round({"round": 1})


def test_there_are_never_more_processes_than_work():
    assert processes(8, 3) == 3
    assert processes(0, 1) == 1


def test_what_processes_compute_is_what_this_one_computes(tmp_path):
    jobs = {n: [Job(label=f"{s}", spec=spec(seed=s), folder=tmp_path / n / f"{s}") for s in (0, 1)] for n in "12"}
    for n, own in jobs.items():
        done([Chain((job,)) for job in own], int(n))
    for one, two in zip(*jobs.values(), strict=True):
        assert Run.open(one.folder).theta.equal(Run.open(two.folder).theta)


def test_what_is_finished_is_not_run_again(tmp_path):
    job = Job(label="a", spec=spec(), folder=tmp_path / "a")
    done([Chain((job,))], 1)
    before = (tmp_path / "a" / "final.safetensors").stat().st_mtime_ns
    assert done([Chain((job,))], 1) == {}
    assert (tmp_path / "a" / "final.safetensors").stat().st_mtime_ns == before


MAIN = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from runs_many.small import spec
from evenkeel.runs.jobs import Chain, Job, done
if __name__ == "__main__":
    jobs = [Job(label=str(s), spec=spec(seed=s, rounds={rounds}), folder=Path(sys.argv[1]) / str(s)) for s in (0, 1)]
    done([Chain((job,)) for job in jobs], 2)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stop_leaves_runs_that_go_on_to_the_same_end(tmp_path, how):
    program = tmp_path / "many.py"
    program.write_text(MAIN.format(tests=str(Path(__file__).parents[1]), rounds=300))
    process = subprocess.Popen([sys.executable, program, tmp_path / "out"], stderr=subprocess.PIPE)
    _until(lambda: any((tmp_path / "out").glob("*/state/*.safetensors")))
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode != 0
    jobs = [Job(label=f"{s}", spec=spec(seed=s, rounds=300), folder=tmp_path / "out" / f"{s}") for s in (0, 1)]
    assert not all(map(finished, jobs))
    _until(lambda: _went_on(jobs))
    fresh = done([Chain((Job(label="f", spec=jobs[0].spec, folder=tmp_path / "fresh"),))], 1)
    assert fresh
    assert Run.open(tmp_path / "fresh").theta.equal(Run.open(jobs[0].folder).theta)


def _went_on(jobs):
    """The runs, finished here; an orphaned worker may hold its folder for a moment after its parent was killed."""
    try:
        done([Chain((job,)) for job in jobs], 1)
    except InputError as error:
        assert "another process is running there" in str(error)  # noqa: PT017 — anything else is a failure
        return False
    return all(map(finished, jobs))


def _until(condition, longest=120):
    ends = time.monotonic() + longest
    while not condition():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.02)
