"""`evenkeel reproduce`: what it prints, what it leaves on disk, and how it ends."""

import json
import sys

import pytest
from typer.testing import CliRunner

from evenkeel.cli import app
from evenkeel.paper import FIGURES


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_a_figure_leaves_its_json_and_its_charts(tmp_path):
    result = run("fig1", "--out", str(tmp_path / "new" / "folder"))
    folder = tmp_path / "new" / "folder"
    assert sorted(p.name for p in folder.iterdir()) == ["fig1.json", "fig1.md", "fig1.png", "fig1.svg"]
    assert (folder / "fig1.png").read_bytes().startswith(b"\x89PNG")
    stored = json.loads((folder / "fig1.json").read_text())
    assert f"Verdict: {stored['verdict']}." in result.stdout
    assert result.stdout.splitlines()[-1].startswith("Written to")


def test_json_is_alone_on_standard_output_and_the_same_as_the_file(tmp_path):
    result = run("fig2", "--json", "--no-charts", "--out", str(tmp_path))
    held = json.loads(result.stdout)
    assert held == json.loads((tmp_path / "fig2.json").read_text())
    keys = ["evenkeel", "schema", "figure", "title", "verdict", "agrees", "notes", "claims", "result", "measured"]
    assert list(held) == keys
    assert held["agrees"] == all(c["agrees"] for c in held["claims"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fig2.json", "fig2.md"]


def test_figure_3_states_for_each_phi_what_was_found(tmp_path):
    held = json.loads(run("fig3", "--json", "--no-charts", "--out", str(tmp_path)).stdout)
    for point in held["result"]["readings"]["model"]["grid"]:
        assert {"phi", "theta", "losses", "max", "min", "R"} <= set(point)
    assert held["result"]["grid"]["points"] == 1001**3
    assert held["measured"]["peak_mib"] is None or held["measured"]["peak_mib"] > 0


def test_an_unknown_figure_is_one_line_with_the_nearest_name(tmp_path):
    result = run("fgi3", "--out", str(tmp_path), code=2)
    assert result.stderr.strip() == "error: reproduce fgi3: no such figure; did you mean 'fig3'?"


def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("evenkeel.paper.FIGURES", {"fig1": lambda: pytest.fail("computed")})
    (tmp_path / "taken").write_text("mine")
    result = run("fig1", "--out", str(tmp_path / "taken"), code=2)
    assert len(result.stderr.splitlines()) == 1
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_a_missing_chart_library_is_one_line_and_not_needed_without_charts(tmp_path, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    result = run("fig1", "--out", str(tmp_path), code=2)
    assert len(result.stderr.splitlines()) == 1
    assert "evenkeel[report]" in result.stderr
    run("fig1", "--no-charts", "--out", str(tmp_path))


def test_help_names_every_figure_and_has_one_example():
    text = run("--help").stdout
    assert all(name in text for name in FIGURES)
    assert text.count("Example:") == 1
