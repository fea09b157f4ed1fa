"""`evenkeel reproduce all`: one folder, one index, and nothing done twice."""

import json

import pytest
from typer.testing import CliRunner

from evenkeel.cli import app
from evenkeel.paper import EXPERIMENTS, FIGURES, Experiment
from evenkeel.paper.claims import Claim, Figure


@pytest.fixture
def parts(monkeypatch):
    """Two small figures in the place of the real ones, and a list of what was made."""
    made = []

    def figure(name):
        made.append(name)
        claim = Claim(what="it", printed="1", ours="1", agrees=True)
        return Figure(title=f"The {name}", draw=lambda result: None, claims=(claim,), result={})

    monkeypatch.setattr("evenkeel.paper.FIGURES", {"one": lambda: figure("one")})
    run = Experiment(
        lambda asked: figure(f"two {asked.dataset} {asked.seeds}"),
        frozenset({"dataset", "seeds", "quick"}),
        whole=({"dataset": "mnist"}, {"dataset": "cifar10"}),
    )
    monkeypatch.setattr("evenkeel.paper.EXPERIMENTS", {"two": run})
    return made


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["reproduce", "all", "--no-charts", *map(str, arguments)])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_everything_is_made_once(tmp_path, parts):
    out = run("--out", tmp_path).stdout
    assert parts == ["one", "two mnist 1", "two cifar10 1"]
    assert "The two cifar10 1" in out
    held = json.loads((tmp_path / "all.json").read_text())
    assert [p["files"] for p in held["parts"]] == [
        ["one.md", "one.json"],
        ["two-mnist.md", "two-mnist.json"],
        ["two-cifar10.md", "two-cifar10.json"],
    ]
    assert (tmp_path / "all.md").read_text().count("agrees with the paper") == len(parts)
    parts.clear()
    assert json.loads(run("--json", "--out", tmp_path).stdout) == held
    assert parts == []


def test_what_is_missing_or_asked_otherwise_is_made_again(tmp_path, parts):
    run("--out", tmp_path)
    parts.clear()
    (tmp_path / "one.json").unlink()
    run("--out", tmp_path)
    assert parts == ["one"]
    parts.clear()
    run("--seeds", 2, "--out", tmp_path)
    assert parts == ["two mnist 2", "two cifar10 2"]


def test_a_stop_keeps_what_is_done(tmp_path, parts, monkeypatch):
    def stop(asked):
        raise KeyboardInterrupt

    monkeypatch.setattr("evenkeel.paper.EXPERIMENTS", {"two": Experiment(stop, frozenset())})
    run("--out", tmp_path, code=130)
    assert [p["figure"] for p in json.loads((tmp_path / "all.json").read_text())["parts"]] == ["one"]


def test_an_index_that_is_damaged_is_made_again(tmp_path, parts):
    (tmp_path / "all.json").write_text("{")
    run("--out", tmp_path)
    assert len(parts) == 3


def test_the_quick_form_takes_one_of_each(tmp_path, parts):
    run("--quick", "--out", tmp_path)
    assert parts == ["one", "two mnist 1"]


def test_every_figure_and_table_of_the_paper_is_part_of_the_whole():
    assert {"fig1", "fig2", "fig3"} <= set(FIGURES)
    assert {"table1", "fig4"} <= set(EXPERIMENTS)
    assert all(e.whole for e in EXPERIMENTS.values())
    assert {o["dataset"] for o in EXPERIMENTS["table1"].whole} == {"mnist", "cifar10"}
