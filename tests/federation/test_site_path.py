"""The way of a site's engineer: from an empty folder to a run, and what mistakes on it are told."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from typer.testing import CliRunner

from evenkeel.cli.app import app
from evenkeel.federation.deploy import writing
from evenkeel.runs import Run, Spec, execute, federation_of
from tests.federation.living import COMMAND, HURRIED, environment
from tests.federation.places import installed_nginx, made
from tests.federation.small import differences

SHORT = ["rounds=1", "evaluation.every=1", "engine.deadline=900"]


def told(*words):
    """A command in this process: its exit status and what it printed."""
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


def test_new_and_a_rehearsal_end_with_a_run_that_is_the_plain_loops(tmp_path):
    """Real processes, keys, TLS and the proxy; live progress on the way; nothing is left running."""
    installed_nginx()
    folder, run = tmp_path / "hospitals", tmp_path / "run"
    assert told("federate", "new", folder)[0] == 0
    sets = [word for one in SHORT for word in ("--set", one)]
    done = subprocess.run(
        [COMMAND, "federate", "up", folder, "--local", "3", "--out", run, *sets],
        capture_output=True, text=True, timeout=580, env=environment(HURRIED), cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("is there:") == 3
    assert "round 1/1" in done.stderr
    assert "3 clients" in done.stdout
    assert str(run) in done.stdout

    spec = Spec.load(folder / "spec.toml", SHORT).replace("partition.n", 3)
    described = importlib.util.spec_from_file_location("task", folder / "app" / "task.py")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    data = federation_of(spec)
    task = module.task(spec, tuple(data.x.shape[1:]), data.classes)
    loop = execute(spec.replace("engine.transport", "loop"), tmp_path / "alone", federation=data, task=task)
    assert differences(Run.open(run), loop) == []

    code, said = told("federate", "status", folder, "--json")
    place = json.loads(said)["places"][-1]
    assert (code, place["processes"], place["run"]["finished"], place["run"]["round"]) == (0, {}, True, 1)
    assert told("audit", run / "clients.parquet", "--only", "round=1", "--only", "split=valid")[0] == 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            assert str(folder).encode() not in (process / "cmdline").read_bytes()
        except OSError:
            continue


@pytest.fixture
def new(tmp_path):
    writing.new(tmp_path / "fed", "test")
    return tmp_path / "fed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["new", "."], "give a folder that does not exist yet"),
        (["up", "nowhere"], "nowhere: no such folder"),
        (["up", "fed", "--local", "0"], "--local 0: must lie in [1, 50]"),
        (["up", "fed", "--local", "3", "--wait", "0"], "--wait 0: must be above 0"),
        (["up", "fed", "--local", "3", "--set", "rouds=3"], "rounds"),
        (["up", "fed", "--local", "3", "--set", 'data.source="given"'], "dealt out already; leave it out"),
        (["up", "fed"], "federation.toml: no such file"),
        (["init", "fed", "--host", "a b", "--site", "north"], "must be a host name"),
        (["init", "fed", "--host", "a.org", "--site", "no/rth"], "must be 1 to 40 letters"),
        (["init", "fed", "--host", "a.org", "--site", "a", "--site", "A"], "is given twice"),
        (["init", "fed", "--host", "a.org", "--site", "a", "--port", "0"], "must lie in [1, 65535]"),
        (["init", "fed", "--host", "a.org", "--site", "a=nothing.pub"], "nothing.pub: cannot be read"),
        (["join", "fed"], "site.toml: no such file"),
        (["status", "nowhere"], "nowhere: no such folder"),
        (["stop", "nowhere"], "nowhere: no such folder"),
        (["revoke", "fed", "north"], "federation.toml: no such file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(new, monkeypatch, words, said):
    monkeypatch.chdir(new.parent)
    code, output = told("federate", *words)
    assert code == 2, output
    assert said in output
    assert len(output.strip().splitlines()) <= 2


def test_up_wants_rows_that_sites_bring(new):
    made(new)
    code, said = told("federate", "up", new)
    assert (code, 'give "given", or rehearse with --local' in said) == (2, True)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda site: (site / "key").unlink(), "key: no such file"),
        (lambda site: (site / "key").chmod(0o644), "others can read it"),
        (lambda site: (site / "executor.secret").chmod(0o640), "others can read it"),
        (lambda site: (site / "data.py").unlink(), "data.py: no such file"),
        (lambda site: (site / "app" / "task.py").write_text("import os"), "task.py: is not what app.fab holds"),
        (lambda site: (site / "app" / "more.py").write_text(""), "more.py: is not what app.fab holds"),
        (lambda site: (site / "app.fab").write_bytes(b"PK"), "app.fab: cannot be read"),
        (lambda site: (site / "site.toml").write_text("name = 3"), "put back what init wrote"),
    ],
)
def test_a_site_that_is_not_as_it_was_sent_does_not_join(new, spoil, said):
    server, _ = made(new)
    spoil(server.site("north"))
    code, output = told("federate", "join", server.site("north"))
    assert code == 2
    assert said in output


@pytest.mark.parametrize("name", ["server.key", "executor.secret", "control.secret"])
def test_secrets_that_others_can_read_are_none(new, name):
    (new / "spec.toml").write_text('[data]\nsource = "given"\n[task]\nmodel = "given"\n')
    server, _ = made(new)
    server.file(name).chmod(0o644)
    code, output = told("federate", "up", new, "--out", new / "run")
    assert code == 2
    assert "others can read it" in output
