"""Table 1 and Figure 4 from the command line, in the quick form: what is stored, repeated, gone on with, refused."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from evenkeel.cli import app
from evenkeel.paper import experiment, trained
from evenkeel.paper.experiment import specs
from evenkeel.paper.printed import ALGORITHMS, TABLE1
from evenkeel.paper.setting import Setting
from evenkeel.runs import jobs
from evenkeel.runs.compare import compare

QUICK = ("--quick", "--local", "steps", "--split", "shuffled", "--processes", "1", "--no-charts", "-q")


@pytest.fixture
def short(monkeypatch):
    """Three rounds: enough for everything but what is learned."""
    monkeypatch.setattr(experiment, "_SHRUNK_ROUNDS", 3)


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["reproduce", *map(str, arguments)])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def stored(folder, name="table1-mnist-steps-shuffled-quick"):
    held = json.loads((folder / f"{name}.json").read_text())
    return {key: held[key] for key in held if key != "measured"}


def test_the_specs_are_the_papers_experiment():
    for dataset in TABLE1:
        made = specs(Setting(dataset=dataset, split="class-ordered"))
        assert list(made) == list(TABLE1[dataset])
        for name, spec in made.items():
            own = spec.resolved()
            assert (own.rounds, own.partition.n, own.partition.options["alpha"]) == (100, 100, 0.5)
            assert (own.partition.split, own.partition.fraction) == ("class-ordered", 0.8)
            assert (own.task.options["hidden"], own.task.options["dropout"]) == (50, 0.5)
            assert own.work.epochs == (None if name == "safl" else 5)
            assert (own.evaluation.alpha, own.evaluation.beta) == (0.2, 0.2)
            for key, value in ALGORITHMS[name].items():
                assert spec.get(f"algorithm.{key}") == value


def test_a_rerun_repeats_every_number_and_one_in_place_runs_nothing(tmp_path, short, monkeypatch):
    for name in ("a", "b"):
        run("table1", *QUICK, "--seeds", 2, "--out", tmp_path / name)
    assert stored(tmp_path / "a") == stored(tmp_path / "b")
    monkeypatch.setattr(jobs, "execute", lambda *a, **k: pytest.fail("ran again"))
    run("table1", *QUICK, "--seeds", 2, "--out", tmp_path / "a")
    assert stored(tmp_path / "a") == stored(tmp_path / "b")


def test_a_stop_half_way_loses_nothing(tmp_path, short, monkeypatch):
    run("table1", *QUICK, "--out", tmp_path / "whole")
    done, real = [], jobs.execute

    def stopping(spec, *args, **more):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(spec.name)
        return real(spec, *args, **more)

    monkeypatch.setattr(jobs, "execute", stopping)
    result = run("table1", *QUICK, "--out", tmp_path / "cut", code=130)
    assert "the same command goes on" in " ".join(result.stderr.split())
    assert not list((tmp_path / "cut").glob("*.json"))
    done.clear()
    monkeypatch.setattr(jobs, "execute", lambda spec, *a, **k: done.append(spec.name) or real(spec, *a, **k))
    run("table1", *QUICK, "--out", tmp_path / "cut")
    assert done == ["scaff-pd", "scaff-pd-ia"]
    assert stored(tmp_path / "cut") == stored(tmp_path / "whole")


def test_partition_seeds_and_step_sizes_are_stored(tmp_path, short):
    run("table1", *QUICK, "--seeds", 2, "--out", tmp_path)
    held = stored(tmp_path)["result"]
    assert held["seeds"] == [0, 1]
    assert held["splits"]["shuffled"]["specs"]["scaff-pd-ia"].keys() == {"eta", "tau", "sigma", "alpha", "beta", "phi"}
    folder = tmp_path / "runs" / "mnist-shuffled-steps-quick"
    rows = [pl.read_parquet(folder / f"partition-seed-{seed}.parquet") for seed in (0, 1)]
    for own in rows:
        assert own["row"].to_list() == list(range(1797))  # every row of digits, once
        assert set(own["client"]) == set(range(100))
        assert set(own["part"]) == {"train", "valid"}
    assert not rows[0].equals(rows[1])
    again = jobs._loaded.__wrapped__(
        jobs._rows(specs(Setting(dataset="mnist", local="steps", quick=True))["safl"]).to_toml()
    )
    first = rows[0].filter(pl.col("part") == "train")
    assert all(sorted(again.train[i]) == first.filter(pl.col("client") == i)["row"].to_list() for i in range(100))


def test_figure_4_takes_the_runs_of_table_1_as_they_are(tmp_path, short, monkeypatch):
    run("table1", *QUICK, "--out", tmp_path)
    monkeypatch.setattr(jobs, "execute", lambda *a, **k: pytest.fail("ran again"))
    run("fig4", *QUICK, "--out", tmp_path)
    curves = stored(tmp_path, "fig4-mnist-steps-shuffled-quick")["result"]["curves"]["shuffled"]
    table = stored(tmp_path)["result"]["splits"]["shuffled"]["values"]
    assert list(curves) == list(table)
    for name, c in curves.items():
        x, share = np.array(c["x"]), np.array(c["share"])
        assert (x[0], share[0], x[-1], share[-1]) == (0, 0, pytest.approx(1), pytest.approx(1))
        assert (np.diff(share) >= 0).all()
        assert (np.diff(np.diff(share) / np.diff(x)) >= -1e-9).all()  # convex
        losses = np.diff(share) / np.diff(x)  # the losses over their mean; Gini from all pairs
        pairs = np.abs(losses[:, None] - losses[None]).mean() / 2
        assert c["area"] == pytest.approx(pairs, rel=1e-9)
        assert c["gini"] == pytest.approx(table[name]["gini"][0])


def test_both_splits_are_drawn_from_the_stored_result_alone(tmp_path, short):
    from evenkeel.paper.charts import lorenz, table
    from evenkeel.paper.charts.style import svg

    for name, draw in (("table1", table.draw), ("fig4", lorenz.draw)):
        run(name, "--quick", "--local", "steps", "--processes", 1, "--no-charts", "-q", "--out", tmp_path)
        text = svg(draw(stored(tmp_path, f"{name}-mnist-steps-quick")["result"]))
        assert all(word in text for word in ("Scaff-PD-IA", "shuffled", "class-ordered"))
        assert "NaN" not in text


def test_tuning_searches_all_six_on_one_budget_and_says_so(tmp_path, short, monkeypatch):
    monkeypatch.setitem(trained.CEILINGS, "quick", 1e3)  # three rounds teach little
    run("table1", *QUICK, "--tuned", "--trials", 1, "--out", tmp_path)
    held = stored(tmp_path, "table1-mnist-steps-shuffled-tuned-quick")
    assert any("lowest R with a mean loss of at most 1000 of 1 trials each" in note for note in held["notes"])
    assert not any("keeps" in note for note in held["notes"])
    searched = {p.parent.name for p in (tmp_path / "tuned" / "mnist-shuffled-steps-quick").glob("*/tune.db")}
    assert searched == set(ALGORITHMS)


def test_an_algorithm_that_cannot_meet_the_ceiling_keeps_the_papers_step_sizes(tmp_path, short, monkeypatch):
    monkeypatch.setitem(trained.CEILINGS, "quick", 1e-3)
    run("table1", *QUICK, "--tuned", "--trials", 1, "--out", tmp_path)
    held = stored(tmp_path, "table1-mnist-steps-shuffled-tuned-quick")
    assert sum("keeps the paper's step sizes" in note for note in held["notes"]) == len(ALGORITHMS)


def test_relative_fairness_has_lower_ratio_and_gini_than_averaging_over_seeds(tmp_path):
    made = specs(Setting(dataset="mnist", local="steps", quick=True))
    s, _ = compare({name: made[name] for name in ("fedavg", "scaff-pd-ia")}, range(4), tmp_path, asked=1)
    assert s.gap("scaff-pd-ia", "R").high < 0
    assert s.gap("scaff-pd-ia", "gini").high < 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("table1", "--dataset", "minst"), "--dataset minst: no such dataset; did you mean 'mnist'?"),
        (("table1", "--split", "shufled"), "--split shufled: no such split; did you mean 'shuffled'?"),
        (("table1", "--local", "epoch"), "--local epoch: no such local; did you mean 'epochs'?"),
        (("table1", "--seeds", "0"), "--seeds 0: must be a number of seeds from 1 to 1000; 5 gives intervals"),
        (("fig1", "--seeds", "3"), "reproduce fig1: takes no --seeds; it takes none"),
        (("all", "--dataset", "mnist"), "reproduce all: takes no --dataset; it takes --quick, --seeds"),
        (("table2",), "reproduce table2: no such figure; did you mean 'table1'?"),
        (("table1", "--processes", "-1"), "--processes -1: must be at least 0; 0 is one a core"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, arguments, says):
    result = run(*arguments, "--out", tmp_path / "new", code=2)
    assert result.stderr.strip() == f"error: {says}"
    assert not (tmp_path / "new").exists()
