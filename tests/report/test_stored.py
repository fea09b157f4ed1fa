"""Pages of real runs: small ones, trained here, with everything that a folder can hold."""

import json
import re
import shutil

import polars as pl
import pytest
import torch

from evenkeel.cli import phi
from evenkeel.cli.report import told
from evenkeel.data.describe import describe
from evenkeel.errors import InputError
from evenkeel.report import page, runs, stored
from evenkeel.runs import Run, Spec, execute, federation_of, store
from evenkeel.runs.mixture import PARTITION
from tests.report.test_page import Read
from tests.runs_many.small import command, spec, written


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Two specs under two seeds; their names are in the other order than the specs."""
    home = tmp_path_factory.mktemp("compared")
    files = written(home, spec("scaff-pd-ia", rounds=3), spec("fedavg", rounds=3))
    done = command("compare", *files, "--seeds", 2, "--out", home / "runs", "--processes", 1, "--quiet")
    assert done.exit_code == 0, done.output
    return home / "runs"


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    home = tmp_path_factory.mktemp("swept")
    (file,) = written(home, spec(rounds=3))
    done = command("sweep", file, "--phi", "0,0.3,0.6", "--out", home / "runs", "--processes", 1, "--quiet")
    assert done.exit_code == 0, done.output
    return home / "runs"


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """A run at φ = 0 and the φ that it leads to, with a measured curve."""
    place = tmp_path_factory.mktemp("chosen") / "small"
    table = {
        "name": "small", "rounds": 10, "data": {"source": "digits"},
        "partition": {"name": "dirichlet", "n": 5, "alpha": 1.0},
        "task": {"model": "logistic", "l2": 0.05, "dtype": "float64"},
        "algorithm": {"name": "scaff-pd-ia", "alpha": 0.4, "phi": 0.0, "sigma": 0.02, "tau": 0.01, "eta": 0.001},
        "work": {"batch": 0, "steps": 1, "control_batch": 0},
        "evaluation": {"every": 10}, "engine": {"transport": "loop"},
    }  # fmt: skip
    execute(Spec.of(table), place)
    done = command("phi", place, "--check", "0.2")
    assert done.exit_code == 0, done.output
    return place


def written_page(folder, tmp_path, *more):
    done = command("report", folder, "--out", tmp_path / "page.html", *more)
    assert done.exit_code == 0, done.output
    assert f"Written to {tmp_path / 'page.html'}" in done.output
    return (tmp_path / "page.html").read_text("utf-8")


def sections(html):
    return re.findall(r'<h2 id="([a-z]+)"', html)


def figures(html):
    return set(re.findall(r'<figure id="figure-([A-Za-z0-9_-]+)"', html))


def test_a_comparison_has_every_section_and_leads_with_what_the_terminal_said(compared, tmp_path):
    html = written_page(compared, tmp_path)
    read = Read(html)
    assert {"compared", "clients", "sure", "rounds", "weights", "data", "cost", "again", "meanings"} <= set(
        sections(html)
    )
    expected = {
        "losses", "accuracies", "lorenz", "gap", "rounds-mean", "rounds-R", "rounds-worst20_loss", "weights",
        "rounds-worst20_accuracy", "range", "weights-map", "mix", "sizes", "sent", "seconds",
    }  # fmt: skip
    assert expected <= figures(html)
    held = json.loads((compared / "compare.json").read_text())
    baseline = held["runs"]["scaff-pd-ia"]["R"]
    for said in (f"{baseline['mean']:.4g}", f"{baseline['low']:.4g} to {baseline['high']:.4g}"):
        assert said in re.search(r"<h1[^>]*>(.*?)</h1>", html, re.DOTALL)[1]
    assert held["baseline"] == "scaff-pd-ia"
    assert read.text.index("«fedavg» against «scaff-pd-ia»") > 0


def test_the_table_holds_the_means_and_intervals_of_the_comparison(compared, tmp_path):
    text = Read(written_page(compared, tmp_path)).text
    held = json.loads((compared / "compare.json").read_text())
    for index in ("mean", "R", "worst20_loss", "gini"):
        e = held["runs"]["fedavg"][index]
        assert f"{e['mean']:.4g}" in text, index


def test_the_mix_on_the_page_is_that_of_the_rows(compared):
    (run, *_) = (Run.open(folder) for folder in stored.folders(compared))
    mix, described = stored.series(run, "run").mix, describe(federation_of(run.spec))
    assert mix.client == described.names
    assert mix.counts.tolist() == described.counts.tolist()
    assert pl.read_parquet(run.folder / PARTITION)["count"].sum() == 1797


def test_another_split_is_never_shown_beside_the_seeds_of_the_first(compared, tmp_path):
    """Rounds, and so means over seeds, are of the spec's own split."""
    trained = runs.content([compared], told, split="train")
    assert trained.seeded is None
    assert trained.how.startswith("Of up to 2 seeds a run, the first is shown")
    for one in trained.series:
        assert one.table.split == "train"
        assert "R" not in one.rounds.columns
    everything = runs.content([compared], told, split="valid")
    assert everything.seeded is not None
    assert everything.how.startswith("Sentences and table: means over seeds 0, 1")


def test_a_sweep_ends_in_a_frontier_in_the_order_of_its_setting(swept, tmp_path):
    held = runs.content([swept], told)
    assert held.setting == "algorithm.phi"
    assert held.frontier["order"].to_list() == [0.0, 0.3, 0.6]
    for row in held.frontier.to_dicts():
        (run,) = (r for r in map(Run.open, stored.folders(swept)) if r.spec.get("algorithm.phi") == row["order"])
        assert row["R"] == pytest.approx(run.audit(draws=0).R)
        assert row["mean"] == pytest.approx(run.audit(draws=0).mean)
    assert "frontier-figure" in figures(written_page(swept, tmp_path))


def test_the_choice_of_phi_is_drawn_with_what_was_measured(chosen, tmp_path):
    held = runs.content([chosen], told)
    kept = json.loads((chosen.with_name("small-phi") / phi.CHOICE).read_text())
    assert held.chosen == kept["phi"]
    measured = held.curve.filter(pl.col("kind") == "measured")
    assert measured["u"].to_list() == [row["utility"] for row in kept["measured"]]
    at_zero = held.curve.filter(pl.col("kind") == "predicted", pl.col("phi") == 0)["u"].item()
    assert at_zero == pytest.approx(kept["predicted"]["at_0"])
    assert "utility" in figures(written_page(chosen, tmp_path))


def test_runs_that_only_served_to_choose_phi_stand_on_no_page(chosen):
    assert stored.folders(chosen.parent) == [chosen]
    assert len(stored.folders(chosen.with_name("small-phi"))) >= 1


def test_what_a_page_says_to_run_again_gives_the_same_run(compared, tmp_path, monkeypatch):
    run = Run.open(stored.folders(compared)[0])
    words = stored.series(run, "run").again.split()
    assert words[:2] == ["evenkeel", "run"]
    done = command(*words[1:4], tmp_path / "again", "--quiet")
    assert done.exit_code == 0, done.output
    again = Run.open(tmp_path / "again")
    assert again.clients.equals(run.clients)
    assert again.rounds["R"].to_list() == run.rounds["R"].to_list()


def test_a_run_without_any_learning_is_marked(tmp_path):
    run = execute(spec(rounds=2).replace("algorithm.eta", 1e-9), tmp_path / "idle")
    html = page.html(runs.content([run.folder], told))
    assert "has learned nothing." in Read(html).text


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_figures_are_had_as_files_without_a_browser(swept, tmp_path, form):
    done = command("report", swept, "--out", tmp_path / "page.html", "--figures", tmp_path / form, "--form", form)
    assert done.exit_code == 0, done.output
    begins = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}[form]
    found = {file.stem: file.read_bytes() for file in (tmp_path / form).iterdir()}
    assert all(content.startswith(begins) for content in found.values())
    html = (tmp_path / "page.html").read_text("utf-8")
    assert {name.partition("--")[0] for name in found} == figures(html)


def test_namesakes_are_told_apart_by_what_they_differ_in(swept):
    shown = runs.content([swept], told)
    name = Run.open(next(swept.glob("*/seed-0-*"))).name
    assert sorted(one.name for one in shown.series) == [f"{name}, phi {phi}" for phi in ("0", "0.3", "0.6")]


def test_a_run_that_was_made_again_counts_once(swept, tmp_path):
    """The page says how to run a run again; a report of the folder with both is that of the first."""
    (first, *_) = sorted(swept.glob("*/seed-0-*"))
    for name in ("a", "again"):
        shutil.copytree(first, tmp_path / name)
    (tmp_path / "a" / store.FINAL).unlink()  # the finished one is shown, wherever it stands
    both = runs.content([tmp_path], told)
    assert [one.name for one in both.series] == [Run.open(first).name]
    assert both.series[0].state.startswith("finished")
    assert both.how == ""


@pytest.mark.parametrize("name", [store.ROUNDS, store.CLIENTS, store.ENV, PARTITION, "choice.json", "compare.json"])
def test_a_file_that_cannot_be_read_is_one_line_that_names_it(compared, tmp_path, name):
    (first, *_) = sorted(compared.glob("fedavg/seed-0-*"))
    shutil.copytree(first, tmp_path / "run")
    place = {"choice.json": tmp_path / "run-phi", "compare.json": tmp_path}.get(name, tmp_path / "run")
    place.mkdir(exist_ok=True)
    (place / name).write_bytes(b"{ not what it was")
    said = command("report", tmp_path)
    assert said.exit_code == 2
    assert said.stderr.count("\n") == 1
    assert name in said.stderr
    assert "cannot be read" in said.stderr


def test_a_table_of_a_finished_run_comes_back_as_the_message_says(compared, tmp_path):
    (first, *_) = sorted(compared.glob("fedavg/seed-0-*"))
    shutil.copytree(first, tmp_path / "run")
    before = Run.open(first)
    (tmp_path / "run" / store.CLIENTS).write_bytes(b"")
    with pytest.raises(InputError, match=f"of a finished one remove {store.FINAL}"):
        Run.open(tmp_path / "run").losses()
    (tmp_path / "run" / store.FINAL).unlink()
    after = execute(before.spec, tmp_path / "run", resume=True)
    assert after.clients.equals(before.clients)
    assert torch.equal(after.theta, before.theta)
    assert after.finished


def test_a_run_before_its_first_evaluation_is_said_so(swept, tmp_path):
    (first, *_) = sorted(swept.glob("*/seed-0-*"))
    (tmp_path / "run").mkdir()
    for name in (store.SPEC, store.ENV):
        shutil.copy(first / name, tmp_path / "run")
    with pytest.raises(InputError, match="has stored no evaluation yet"):
        runs.content([tmp_path / "run"], told)


def test_wrong_words_are_answered_in_one_line(tmp_path, swept):
    for words in (
        ["report", tmp_path / "nothing"],
        ["report", swept, "--out", "page.pdf"],
        ["report", swept, "--figures", tmp_path / "f", "--form", "gif"],
        ["watch", swept / "sweep.parquet"],
        ["watch", swept, "--port", "70000"],
    ):
        done = command(*words)
        assert done.exit_code == 2, words
        assert len(done.stderr.strip().splitlines()) <= 3, done.stderr


def test_a_page_of_one_run_needs_no_more_than_its_folder(swept, tmp_path):
    folder = stored.folders(swept)[0]
    html = written_page(folder, tmp_path)
    assert "compared" not in sections(html)
    assert "numbers" in sections(html)


def test_the_weights_of_a_panel_are_shares_of_all_clients(tmp_path):
    """λ starts uniform: n·λ is 1 for everybody at first, whoever is scored."""
    run = execute(spec(rounds=2, evaluation__clients=4), tmp_path / "panel")
    held = stored.series(run, "run").weights
    assert len(held.client) == 4
    assert held.n == 6
    assert held.n * held.lam[0] == pytest.approx(1)
