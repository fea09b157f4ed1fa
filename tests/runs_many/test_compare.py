"""Comparisons: paired by seed, equal to SciPy on the runs' own tables, never run twice, exported whole."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenkeel.errors import InputError
from evenkeel.runs import Run
from evenkeel.runs.compare import LINE_UPS, compare, line_up, plan
from evenkeel.runs.jobs import alike, named

from .small import command, spec, told, written


def last(folder, index):
    return pl.read_parquet(f"{folder}/rounds.parquet")[index].to_list()[-1]


def test_the_json_is_scipys_paired_t_interval_over_the_run_folders(tmp_path):
    files = written(tmp_path, spec("fedavg"), spec())
    held = told("compare", *files, "--seeds", 3, "--out", tmp_path / "out", "--level", 0.9)
    assert held["kind"] == "runs"
    assert held["seeds"] == [0, 1, 2]
    assert held["baseline"] == "fedavg"
    for index in ("R", "mean", "accuracy"):
        a, b = ([last(f, index) for f in held["folders"][name]] for name in ("fedavg", "scaff-pd-ia"))
        low, high = stats.ttest_rel(b, a).confidence_interval(0.9)
        found = held["differences"]["scaff-pd-ia"][index]
        assert (found["low"], found["high"]) == pytest.approx((low, high))
        assert found["mean"] == pytest.approx(np.mean(b) - np.mean(a))
        assert held["runs"]["fedavg"][index]["values"] == a


def test_a_seed_gives_every_spec_the_same_rows_and_the_same_start(tmp_path):
    _, runs = compare({"a": spec("fedavg"), "b": spec()}, [3, 4], tmp_path, asked=1)
    digests = {name: [run.env["data_sha256"] for run in own] for name, own in runs.items()}
    assert digests["a"] == digests["b"]
    assert digests["a"][0] != digests["a"][1]
    start = {name: own[0].clients.filter(pl.col("round") == 0)["loss"].to_list() for name, own in runs.items()}
    assert start["a"] == start["b"]


def test_a_second_comparison_runs_only_what_is_new(tmp_path):
    compare({"a": spec("fedavg")}, [0, 1], tmp_path, asked=1)
    before = {f: f.stat().st_mtime_ns for f in tmp_path.rglob("final.safetensors")}
    _, runs = compare({"a": spec("fedavg"), "b": spec()}, [0, 1, 2], tmp_path, asked=1)
    assert len(before) == 2
    assert all(f.stat().st_mtime_ns == t for f, t in before.items())
    assert sum(len(own) for own in runs.values()) == 6


def test_another_spec_of_the_same_name_has_another_folder(tmp_path):
    one, two = (plan({"a": s}, [0], tmp_path)[0].folder for s in (spec(), spec(algorithm__phi=0.3)))
    assert one != two
    assert one.parent == two.parent


def test_the_terminal_has_a_sentence_first_and_the_place_last(tmp_path):
    files = written(tmp_path, spec("fedavg"), spec())
    words = ("compare", *files, "--seeds", 2, "--out", tmp_path / "out", "--quiet", "--processes", 1)
    lines = command(*words, env={"COLUMNS": "150"}).stdout.splitlines()
    assert lines[0].startswith("Over 2 seeds, the worst-off 20 % of 6 clients have")
    assert lines[-1].startswith("Written to")
    assert any("n = 2 seeds" in line for line in lines)
    for name in ("compare.json", "compare.md", "compare.tex"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    json.loads((tmp_path / "out" / "compare.json").read_text())


def test_one_seed_is_compared_over_clients(tmp_path):
    files = written(tmp_path, spec("fedavg"), spec())
    words = ("compare", *files, "--seeds", 1, "--out", tmp_path / "out", "--quiet", "--processes", 1)
    assert "bootstrap draws" in command(*words, env={"COLUMNS": "150"}).stdout


def test_what_makes_specs_unlike_is_said_and_unlike_indices_are_refused():
    assert alike({"a": spec(), "b": spec(rounds=3, work__batch=5)}) == (
        "rounds differs: a 2, b 3",
        "work differs between the specs",
    )
    with pytest.raises(InputError, match=r"evaluation.alpha differs: a 0.2, b 0.5"):
        alike({"a": spec(), "b": spec(evaluation__alpha=0.5)})


def test_names_that_are_there_twice_are_numbered():
    assert list(named([spec(), spec(), spec("fedavg")])) == ["scaff-pd-ia", "scaff-pd-ia-2", "fedavg"]


@pytest.mark.parametrize("preset", LINE_UPS)
def test_a_line_up_differs_in_the_algorithm_alone(preset):
    specs = line_up(preset)
    tables = [s.replace("name", "x").table() for s in specs.values()]
    for table in tables:
        table.pop("algorithm")
    assert all(table == tables[0] for table in tables)
    assert len({s.algorithm.name for s in specs.values()}) == len(specs) == 3


def test_a_run_that_diverges_is_named_and_the_others_are_kept(tmp_path):
    bad = spec("fedavg", algorithm__eta=1e38).replace("name", "bad")
    files = written(tmp_path, spec(), bad)
    result = command("compare", *files, "--seeds", 1, "--out", tmp_path / "out", "--quiet", "--processes", 1)
    assert result.exit_code == 3
    assert "bad seed 0" in result.stderr
    assert "diverged" in result.stderr
    assert result.stderr.count("\n") == 1
    kept = [f.parent for f in (tmp_path / "out").rglob("final.safetensors")]
    assert [Run.open(f).name for f in kept] == ["scaff-pd-ia"]
