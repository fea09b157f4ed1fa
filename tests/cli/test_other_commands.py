"""list, doctor, help, exit codes and the sign of life."""

import json
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from evenkeel.cli import app, screen
from evenkeel.cli.app import Commands
from evenkeel.cli.doctor import cache
from evenkeel.cli.listing import CATALOGUES, catalogue, facts
from evenkeel.errors import InputError, RunFailedError


def run(*arguments, **given):
    result = CliRunner().invoke(app, arguments, **given)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize("kind", CATALOGUES)
def test_every_catalogue_is_listed_with_what_its_entries_mean(kind):
    held = json.loads(run("list", kind, "--json"))
    assert list(held) == list(catalogue(kind))
    assert all(entry["meaning"] for entry in held.values())
    text = run("list", kind, env={"COLUMNS": "200"})
    assert all(name in text for name in held)


def test_an_entry_without_fields_is_described_by_its_docstring():
    def ridge():
        """Least squares with a penalty.

        More of it.
        """

    assert facts(ridge) == {"meaning": "Least squares with a penalty."}


def test_doctor_reports_versions_and_machine():
    held = json.loads(run("doctor", "--json"))
    assert held["python"] == ".".join(map(str, sys.version_info[:3]))
    assert held["packages"]["numpy"]
    assert held["cores"] >= 1
    assert all(name in run("doctor") for name in ("evenkeel", "torch", "cores", "cache"))


def test_doctor_lists_the_data_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "images").write_bytes(b"\0" * 3_000_000)
    assert json.loads(run("doctor", "--json"))["data"] == {"mnist": "3.0 MB"}


@pytest.mark.parametrize("named", [None, "cached"])
def test_doctor_and_the_data_sources_agree_on_the_cache(tmp_path, monkeypatch, named):
    from evenkeel.data.sources.cache import folder

    monkeypatch.delenv("EVENKEEL_CACHE", raising=False)
    if named:
        monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / named))
    assert cache() == folder("x").parent


@pytest.mark.parametrize("command", [[], ["audit"], ["list"], ["doctor"]])
def test_every_help_has_one_example(command):
    text = run(*command, "--help")
    assert text.count("Example:") == 1
    assert text.split("Example:")[1].split()[0] == "evenkeel"


def test_no_command_is_the_help():
    assert "Usage: evenkeel" in run()


def test_completion_is_offered():
    assert "--install-completion" in run("--help")


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (InputError("x"), 2),
        (RunFailedError("x"), 3),
        (typer.BadParameter("x"), 2),
        (KeyboardInterrupt(), 130),
        (typer.Abort(), 130),
    ],
)
def test_each_way_to_stop_has_its_exit_code(raised, code):
    small = typer.Typer(cls=Commands, pretty_exceptions_enable=False)
    small.callback()(lambda: None)

    @small.command()
    def stop() -> None:
        raise raised

    result = CliRunner().invoke(small, ["stop"])
    assert result.exit_code == code
    assert "Traceback" not in result.output
    assert len(result.stderr.splitlines()) == (0 if code == 130 else 1)


def test_a_defect_of_ours_is_not_dressed_up_as_the_users():
    small = typer.Typer(cls=Commands, pretty_exceptions_enable=False)
    small.callback()(lambda: None)

    @small.command()
    def stop() -> None:
        raise ZeroDivisionError

    assert isinstance(CliRunner().invoke(small, ["stop"]).exception, ZeroDivisionError)


@pytest.mark.parametrize(("terminal", "after", "said"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)])
def test_a_sign_of_life_comes_only_when_it_takes_long_and_somebody_looks(monkeypatch, terminal, after, said):
    seen = StringIO()
    monkeypatch.setattr(screen, "stderr", lambda: Console(file=seen, force_terminal=terminal, width=60))
    with screen.patience("reading [red]t.csv", after=after):
        until = time.monotonic() + 30 * said
        while time.monotonic() < until and "reading" not in seen.getvalue():
            time.sleep(0.01)
    assert ("reading [red]t.csv" in seen.getvalue()) == said


def test_make_run_ends_with_the_page_of_what_it_has_compared():
    lines = (Path(__file__).parents[2] / "Makefile").read_text().partition("\nrun: ")[2].partition("\n\n")[0]
    compared, reported = lines.splitlines()[1:]
    out = compared.partition(" --out ")[2]
    assert "evenkeel compare --preset digits" in compared
    assert f"evenkeel report {out} --out {out}/report.html" in reported
