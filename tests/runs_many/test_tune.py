"""Tuning: the stated criterion picks the trial, every algorithm has the same budget, a stop changes nothing."""

import math

import pytest

from evenkeel.errors import InputError, RunFailedError
from evenkeel.runs import Run, Spec, study
from evenkeel.runs.compare import last
from evenkeel.runs.tune import Criterion, Search, tune, with_steps

from .small import command, spec, told, written


def searched(out, *, trials=4, ceiling=None, index="worst20_loss", width=30.0, **keys):
    return Search(
        name="a",
        spec=spec(rounds=4, **keys),
        out=out,
        criterion=Criterion(index=index, ceiling=ceiling),
        trials=trials,
        seeds=(1000,),
        width=width,
    )


class Silent:
    def begin(self, spec, first): ...
    def round(self, row): ...
    def warn(self, line): ...
    def end(self, outcome): ...


class StopAt(Silent):
    """Ctrl-C after so many rounds in all."""

    def __init__(self, rounds):
        self.left = rounds

    def round(self, row):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_the_best_trial_is_the_one_that_a_plain_loop_over_the_runs_finds(tmp_path):
    what = searched(tmp_path)
    found = what(Silent())
    runs = [Run.open(f.parent) for f in (tmp_path / "a").rglob("final.safetensors")]
    lowest = min(runs, key=lambda run: last(run)["worst20_loss"])
    assert found["best"]["steps"] == {k: lowest.spec.get(f"algorithm.{k}") for k in ("eta", "tau", "sigma")}
    assert found["best"]["measured"]["worst20_loss"] == last(lowest)["worst20_loss"]


def test_the_first_trial_has_the_specs_own_step_sizes_and_all_stay_in_range(tmp_path):
    what = searched(tmp_path, width=10.0)
    found = what(Silent())
    assert found["own"]["steps"] == {"eta": 0.1, "tau": 0.5, "sigma": 0.1}
    for trial in found["trials"]:
        for key, value in trial["steps"].items():
            assert what.own[key] / 10.0001 <= value <= what.own[key] * 10.0001


@pytest.mark.parametrize("rounds", [3, 9, 12])
def test_a_search_that_was_stopped_goes_on_with_the_trials_it_would_have_had(tmp_path, rounds):
    whole = searched(tmp_path / "whole")(Silent())
    with pytest.raises(KeyboardInterrupt):
        searched(tmp_path / "stopped")(StopAt(rounds))
    assert searched(tmp_path / "stopped")(Silent()) == whole


def test_a_larger_budget_begins_with_the_smaller_one(tmp_path):
    few = searched(tmp_path, trials=2)(Silent())
    more = searched(tmp_path, trials=4)(Silent())
    assert more["trials"][:2] == few["trials"]


def test_a_trial_that_diverges_counts_and_is_not_chosen(tmp_path):
    table = spec("fedavg", rounds=4).table()
    table["algorithm"]["eta"] = 1e30
    what = Search(
        name="a",
        spec=Spec.of(table),
        out=tmp_path,
        criterion=Criterion(),
        trials=3,
        seeds=(1000,),
        width=1e6,
    )
    with pytest.raises(RunFailedError, match="every trial diverged"):
        what(Silent())


def test_the_ceiling_on_the_mean_is_kept(tmp_path):
    means = [t["measured"]["mean"] for t in searched(tmp_path / "free")(Silent())["trials"] if t["measured"]]
    ceiling = (min(means) + sorted(means)[1]) / 2
    found = searched(tmp_path / "bound", index="R", ceiling=ceiling)(Silent())
    assert found["best"]["measured"]["mean"] <= ceiling
    with pytest.raises(RunFailedError, match="no trial has a mean loss of at most"):
        searched(tmp_path / "none", index="R", ceiling=1e-9)(Silent())


@pytest.mark.parametrize("index", ["R", "gini", "cv", "theil", "jain", "palma", "atkinson_inf"])
def test_an_index_that_is_best_for_a_model_that_learned_nothing_needs_a_ceiling(index):
    with pytest.raises(InputError, match="--most-mean"):
        Criterion(index=index)


def test_accuracies_are_maximised_and_losses_minimised():
    better, worse = {"accuracy": 0.9, "mean": 0.1}, {"accuracy": 0.8, "mean": 0.2}
    assert Criterion(index="accuracy").value(better) < Criterion(index="accuracy").value(worse)
    assert Criterion(index="mean").value(better) < Criterion(index="mean").value(worse)
    assert math.isfinite(Criterion(index="R", ceiling=1.0).value({"R": math.inf, "mean": 0.5}))


def test_every_algorithm_has_the_same_budget_and_a_tuned_spec(tmp_path):
    specs = {"fedavg": spec("fedavg", rounds=4), "ia": spec(rounds=4)}
    found = tune(specs, tmp_path, criterion=Criterion(), trials=3, asked=2)
    assert {name: len(f["trials"]) for name, f in found.items()} == {"fedavg": 3, "ia": 3}
    for name, own in specs.items():
        tuned = Spec.load(tmp_path / f"{name}.toml")
        assert tuned.seed == own.seed
        for key, value in found[name]["best"]["steps"].items():
            assert tuned.get(f"algorithm.{key}") == value
        assert tuned.digest() == with_steps(own, found[name]["best"]["steps"]).digest()


def test_pruning_stops_runs_that_are_worse_than_the_median(tmp_path):
    found = searched(tmp_path, trials=16, evaluation__every=1)(Silent())
    assert found["counts"]["pruned"] > 0
    assert sum(found["counts"].values()) == 16
    assert all(t["measured"] is None for t in found["trials"] if t["state"] == "pruned")


def test_the_command_says_budget_and_criterion_and_where_to_go_on(tmp_path):
    files = written(tmp_path, spec("fedavg"))
    held = told("tune", *files, "--trials", 2, "--out", tmp_path / "out")
    assert held["criterion"] == "lowest worst20_loss"
    assert held["trials"] == 2
    assert held["seeds"] == [1000]
    words = ("tune", *files, "--trials", 2, "--out", tmp_path / "out", "--quiet", "--processes", 1)
    out = command(*words, env={"COLUMNS": "120"}).stdout
    assert out.startswith("Step sizes by lowest worst20_loss; 2 trials of 1 seed(s) from 1000, each.")
    assert "evenkeel compare" in out.splitlines()[-1]


def test_without_optuna_there_is_one_line_that_says_how_to_get_it(tmp_path, monkeypatch):
    import importlib
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'evenkeel\[tune\]'"):
        importlib.reload(study)
    monkeypatch.undo()
    importlib.reload(study)
