"""The live page, as a reader leaves it open: the run is really killed and goes on, and so is the server."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from evenkeel.report import stored
from evenkeel.runs import Run, execute
from tests.runs_many.small import spec, written

PATIENCE = 90  # seconds; a busy machine is slow, and no time decides


class Process:
    """A command of ours in a session of its own; what is killed is that session and nothing else."""

    def __init__(self, *words, **options):
        command = [sys.executable, "-m", "evenkeel", *map(str, words)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.popen = subprocess.Popen(command, start_new_session=True, **{**quiet, **options})

    def pause(self):
        os.killpg(self.popen.pid, signal.SIGSTOP)

    def kill(self):
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        if self.popen.stdout:
            self.popen.stdout.close()


@pytest.fixture
def start():
    begun = []

    def start_(*words, **options):
        begun.append(Process(*words, **options))
        return begun[-1]

    yield start_
    for process in begun:
        process.kill()


def watched(start, folder, port=0):
    """A server for the folder, and its address."""
    process = start("watch", folder, "--port", port, stdout=subprocess.PIPE, text=True)
    line = process.popen.stdout.readline()
    assert "http://127.0.0.1:" in line, line
    return process, line.split(" at ")[1].split()[0]


def asked(address, since=""):
    """(status, x-state, what came) of one question of the page's program."""
    with urllib.request.urlopen(f"{address}live?since={since}", timeout=PATIENCE) as answer:  # noqa: S310 - our own
        return answer.status, answer.headers["x-state"], json.loads(answer.read() or b"null")


def until(what, *, patience=PATIENCE):
    """What is true first; a wait, not a measurement."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError(f"nothing came of it in {patience} s")


def rounds(told):
    """The last round that the page's data hold."""
    blocks = told["payload"]["data"]["tables"].get("rounds", [])
    return max((dict(block["columns"])["round"][-1] for block in blocks), default=-1)


@pytest.fixture
def long(tmp_path):
    """A run long enough to be killed under way, with tables on disk after every round."""
    return written(tmp_path, spec(rounds=150))[0]


def test_a_page_follows_a_run_through_its_death_and_return_without_a_reload(start, browser, long, tmp_path):
    folder = tmp_path / "run"
    server, address = watched(start, folder)
    page, wrong = browser.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(address)
    assert page.inner_text("h1") == "Nothing to show yet."
    page.evaluate("window.kept = 'the same document'")

    def says(words):
        begins = "(words) => document.getElementById('live').textContent.startsWith(words)"
        page.wait_for_function(begins, arg=words, timeout=PATIENCE * 1000)

    def shown():
        return page.locator('[data-table="rounds-mean"] tbody tr').count() - 1

    run = start("run", long, "--out", folder, "--quiet")
    until(lambda: (folder / "rounds.parquet").exists() and Run.open(folder).rounds.height > 3)
    run.pause()  # it holds its lock and goes on, as far as anybody sees, while the page catches up
    page.wait_for_selector("#figure-rounds-mean .chart[data-drawn]", timeout=PATIENCE * 1000)
    page.locator('[data-table="rounds-mean"] summary').click()
    says("running")
    run.kill()
    assert not Run.open(folder).finished
    says("stopped, at round")
    died = until(shown)
    server.kill()
    says("nobody answers")
    server, again = watched(start, folder, address.rsplit(":", 1)[1].strip("/"))
    assert again == address
    start("run", "--resume", folder, "--quiet")
    until(lambda: shown() > died)
    says("finished, 150 rounds")
    assert page.evaluate("window.kept") == "the same document"
    assert wrong == []
    page.close()


def test_the_stamp_says_whether_anything_is_new(start, tmp_path):
    folder = tmp_path / "run"
    execute(spec(rounds=2), folder)
    _, address = watched(start, folder)
    status, state, told = asked(address)
    assert (status, state) == (200, "finished, 2 rounds")
    assert rounds(told) == 2
    assert asked(address, told["stamp"]) == (204, "finished, 2 rounds", None)
    (folder / "rounds.parquet").touch()
    assert asked(address, told["stamp"])[0] == 200


def test_a_sweep_is_followed_while_it_grows_and_after_it_is_killed(start, long, tmp_path):
    folder = tmp_path / "sweep"
    _, address = watched(start, folder)
    assert asked(address)[1] == "not there yet"
    words = ["sweep", long, "--phi", "0,0.3,0.6", "--out", folder, "--processes", 1, "--quiet"]
    sweep = start(*words)
    until(lambda: rounds(asked(address)[2]) >= 2)
    sweep.kill()
    begun = len(stored.below(folder))
    assert begun >= 1
    state = asked(address)[1]
    assert "running" not in state
    assert "stopped" in state
    start(*words)
    until(lambda: asked(address)[1] == "3 finished", patience=2 * PATIENCE)
    told = asked(address)[2]
    assert "figure-frontier-figure" in told["inside"]
    assert len(told["payload"]["data"]["tables"]["frontier"][0]["columns"][0][1]) == 3


def test_it_listens_on_this_machine_alone_and_answers_to_no_other_name(start, tmp_path):
    execute(spec(rounds=2), tmp_path / "run")
    _, address = watched(start, tmp_path / "run")
    port = int(address.rsplit(":", 1)[1].strip("/"))
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=5):  # noqa: PT011 - refused, however the system says it
        pass
    request = urllib.request.Request(address, headers={"Host": "elsewhere.example"})  # noqa: S310 - our own
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request, timeout=PATIENCE)  # noqa: S310 - our own
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{address}../../etc/passwd", timeout=PATIENCE)  # noqa: S310 - our own


def test_a_port_that_is_taken_is_said_in_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = [sys.executable, "-m", "evenkeel", "watch", tmp_path, "--port", str(taken.getsockname()[1])]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "give another, or 0 for any" in done.stderr


def test_what_cannot_be_read_for_a_moment_leaves_the_page_as_it_was(tmp_path):
    from evenkeel.cli.report import told
    from evenkeel.report.watch import Latest

    folder = tmp_path / "run"
    execute(spec(rounds=2), folder)
    latest = Latest([folder], told)
    before = latest.get()[1]
    whole = (folder / "clients.parquet").read_bytes()
    (folder / "clients.parquet").write_bytes(whole[: len(whole) // 2])
    assert latest.get()[1] is before
    (folder / "clients.parquet").write_bytes(whole)
    assert latest.get()[1].headline == before.headline
