"""The installed command as a process: what it loads, how it ends, and what a shell sees."""

import os
import signal
import subprocess
import sys
import time

import pytest

import evenkeel

EVENKEEL = [sys.executable, "-m", "evenkeel"]


def start(*arguments, cwd, **given):
    return subprocess.run([*EVENKEEL, *arguments], cwd=cwd, capture_output=True, text=True, **given)


def loaded(code, cwd):
    """Which modules a piece of Python ends up with."""
    ask = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", ask], cwd=cwd, capture_output=True, text=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import evenkeel.indices", {"torch", "polars", "rich", "typer"}),
        ("import evenkeel.sets", {"torch", "polars", "rich", "typer"}),
        ("import evenkeel.data.table", {"torch"}),
        ("import evenkeel.cli", {"torch", "polars", "scipy"}),
        ("from evenkeel.cli.doctor import findings; findings()", {"torch", "polars", "scipy"}),
    ],
)
def test_light_parts_load_nothing_heavy(tmp_path, code, absent):
    modules = loaded(code, tmp_path)
    assert "evenkeel" in modules
    assert not modules & absent


@pytest.mark.parametrize("arguments", [["audit", "--example", "--draws", "100"], ["doctor"], ["list", "sets"], ["-h"]])
def test_the_usual_commands_load_no_torch(tmp_path, arguments):
    code = f"from evenkeel.cli import app\ntry: app({arguments})\nexcept SystemExit as end: assert end.code == 0"
    modules = loaded(code, tmp_path)
    assert "evenkeel.cli.app" in modules
    assert "torch" not in modules


def test_version_is_one_line(tmp_path):
    done = start("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"evenkeel {evenkeel.__version__}\n", "")


def test_a_mistake_is_exit_2_and_one_line(tmp_path):
    done = start("audit", "missing.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_a_pipe_is_read_and_the_place_comes_last(tmp_path):
    done = start("audit", "-", "--out", "a", cwd=tmp_path, input="client,loss\na,1\nb,2\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"Written to a{os.sep}audit.json"


def test_a_reader_that_leaves_early_sees_no_traceback(tmp_path):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*EVENKEEL, "list", "indices"], cwd=tmp_path, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 1


def test_a_terminal_without_unicode_still_gets_every_line(tmp_path):
    (tmp_path / "t.csv").write_text("client,loss\n🐙,1\nü,2\n", encoding="utf-8")
    done = start("audit", "t.csv", "--by", "client", cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\\U0001f419" in done.stdout


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="needs POSIX signals")
def test_an_interrupt_is_exit_130_without_traceback_or_file(tmp_path):
    """Interrupted while it waits for its input, which is the one place where the moment is certain."""
    with subprocess.Popen(
        [*EVENKEEL, "audit", "-", "--out", "a.json"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (stdout, stderr) == (b"", b"")
    assert list(tmp_path.iterdir()) == []


def wait_until_it_reads(pid):
    """Until polars is loaded and the process sleeps; where /proc is not, a generous while."""
    maps = f"/proc/{pid}/maps"
    for _ in range(600):
        time.sleep(0.1)
        if not os.path.exists(maps):  # noqa: PTH110
            time.sleep(5)
            return
        with open(maps) as file, open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            if "polars" in file.read() and stat.read().rsplit(")", 1)[1].split()[0] == "S":
                time.sleep(0.5)
                return
