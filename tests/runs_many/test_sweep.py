"""Sweeps: one table that another library reads, the frontier by brute force, warm starts from the run before."""

import itertools

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.cli.sweep import headline
from evenkeel.errors import InputError
from evenkeel.runs import Run, execute
from evenkeel.runs.grid import Axis
from evenkeel.runs.sweep import plan, points, sweep

from .small import command, spec, told

PHI = Axis("algorithm.phi", (0, 0.2, 0.4))


def test_one_table_holds_every_value_and_seed(tmp_path):
    found = sweep(spec(), PHI, [0, 1], tmp_path, asked=1)
    table = pl.read_parquet(tmp_path / "sweep.parquet")
    assert table.equals(found.table)
    assert table.select("algorithm.phi", "seed").rows() == list(itertools.product([0.0, 0.2, 0.4], [0, 1]))
    for row in table.to_dicts():
        run = Run.open(tmp_path / row["folder"])
        assert (run.spec.get("algorithm.phi"), run.spec.seed) == (row["algorithm.phi"], row["seed"])
        assert pytest.approx(row["R"]) == run.audit(draws=0).R
    mean = table.filter(pl.col("algorithm.phi") == 0.2)["mean"].mean()
    assert found.points[1].measure.mean == pytest.approx(mean)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8), st.booleans())
def test_the_frontier_is_what_no_other_value_beats(pairs, accuracy):
    values = tuple(range(len(pairs)))
    name = "accuracy" if accuracy else "mean"
    table = pl.DataFrame({"k": values, name: [float(a) for a, _ in pairs], "R": [float(r) for _, r in pairs]})
    for point, (a, r) in zip(points(table, Axis("k", values), name), pairs, strict=True):
        better = [(b >= a if accuracy else b <= a) and s <= r and (b, s) != (a, r) for b, s in pairs]
        assert point.best == (not any(better))


def test_a_warm_value_starts_from_the_theta_before_it(tmp_path):
    chain = plan(spec(), PHI, [0], tmp_path, warm=True)[0].jobs
    sweep(spec(), PHI, [0], tmp_path, warm=True, asked=1)
    cold = execute(chain[0].spec, tmp_path / "cold")
    assert Run.open(chain[0].folder).theta.equal(cold.theta)
    by_hand = execute(chain[1].spec, tmp_path / "by-hand", start=cold.theta)
    assert Run.open(chain[1].folder).theta.equal(by_hand.theta)
    assert not torch.equal(by_hand.theta, execute(chain[1].spec, tmp_path / "cold-1").theta)
    started = pl.read_parquet(tmp_path / "sweep.parquet")["started_from"].to_list()
    assert started == [None, *(job.folder.relative_to(tmp_path).as_posix() for job in chain[:-1])]


def test_a_warm_folder_is_taken_only_for_the_same_path_to_it(tmp_path):
    fine, coarse = (plan(spec(), Axis(PHI.key, v), [0], tmp_path, warm=True)[0].jobs for v in [(0, 0.2, 0.4), (0, 0.4)])
    assert fine[0].folder == coarse[0].folder
    assert fine[2].folder != coarse[1].folder


def test_any_number_of_a_spec_can_be_swept(tmp_path):
    held = told("sweep", _file(tmp_path), "--over", "work.steps=1,2", "--against", "accuracy", "--out", tmp_path / "o")
    assert [p["value"] for p in held["points"]] == [1, 2]
    assert held["key"] == "work.steps"
    assert all(0 <= p["accuracy"]["mean"] <= 1 for p in held["points"])


def test_the_terminal_draws_every_value(tmp_path):
    words = ("sweep", _file(tmp_path), "--phi", "0:0.4:0.2", "--out", tmp_path / "o", "--quiet", "--processes", 1)
    out = command(*words, env={"COLUMNS": "100"}).stdout
    assert "ratio R" in out.splitlines()[0]
    drawing = "".join(line.split("│")[1] for line in out.splitlines() if "│" in line)
    assert set(drawing) - {" "} <= set("abc*")
    assert out.splitlines()[-1].startswith("Written to")


def test_values_that_changed_nothing_are_said_to_have_ended_alike(tmp_path):
    """One round is over before λ could meet any bound, so every φ takes the same step."""
    found = sweep(spec(rounds=1), Axis("algorithm.phi", (0.0, 0.3)), [0], tmp_path, asked=1)
    assert headline(found, "mean loss").startswith("Every phi ended alike, ratio R ")
    assert "larger algorithm.sigma" in headline(found, "mean loss")


def test_a_regression_has_no_accuracy_to_draw(tmp_path):
    file = tmp_path / "p.toml"
    table = spec("fedavg").table() | {"data": {"source": "penguins"}, "partition": {}, "evaluation": {"alpha": 0.4}}
    file.write_text(type(spec()).of(table | {"algorithm": {"name": "fedavg", "eta": 1e-9}}).to_toml())
    words = ("sweep", file, "--over", "seed=1,2", "--against", "accuracy", "--out", tmp_path / "o", "--processes", 1)
    result = command(*words)
    assert result.exit_code == 2
    assert "a regression has no accuracy" in result.stderr


def test_means_over_seeds_have_intervals(tmp_path):
    found = sweep(spec(), Axis("algorithm.phi", (0.1,)), [0, 1, 2], tmp_path, asked=1)
    assert found.points[0].R.low < np.mean(found.table["R"].to_numpy()) < found.points[0].R.high


def test_a_value_that_the_spec_refuses_shows_before_anything_runs(tmp_path):
    with pytest.raises(InputError, match=r"algorithm.phi = 1"):
        plan(spec(), Axis("algorithm.phi", (0, 1)), [0], tmp_path, warm=False)
    assert not list(tmp_path.iterdir())


def _file(folder):
    file = folder / "a.toml"
    file.write_text(spec().to_toml())
    return file
