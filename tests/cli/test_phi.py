"""`evenkeel phi` on a small run: from a run at 0, from one at another φ, with a measured curve, and wrongly asked."""

import json

import pytest
import typer
from typer.testing import CliRunner

from evenkeel.cli import phi
from evenkeel.cli.app import Commands
from evenkeel.errors import InputError
from evenkeel.runs import Run, Spec, execute
from evenkeel.runs.observers import Quiet

SPEC = {
    "name": "small",
    "rounds": 10,
    "data": {"source": "digits"},
    "partition": {"name": "dirichlet", "n": 5, "alpha": 1.0},
    "task": {"model": "logistic", "l2": 0.05, "dtype": "float64"},
    "algorithm": {"name": "scaff-pd-ia", "alpha": 0.4, "phi": 0.0, "sigma": 0.02, "tau": 0.01, "eta": 0.001},
    "work": {"batch": 0, "steps": 1, "control_batch": 0},
    "evaluation": {"every": 10, "splits": ["train"], "split": "train"},
    "engine": {"transport": "loop"},
}
app = typer.Typer(cls=Commands)
app.callback()(lambda: None)
app.command(name="phi")(phi.phi)


def invoked(*arguments, code=0):
    result = CliRunner().invoke(app, ["phi", *map(str, arguments)], env={"COLUMNS": "200"})
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout if code == 0 else result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs") / "small"
    execute(Spec.of(SPEC), place)
    return place


def test_choice_and_measured_curve_are_told_as_json(folder):
    got = json.loads(invoked(folder, "--check", "0,0.3", "--json"))
    assert 0 < got["phi"] <= 0.9
    root = got["a"] / (got["b"] + (got["b"] ** 2 + 1.5 * got["a"] * got["c"]) ** 0.5)
    assert got["phi"] == pytest.approx(min(root, 0.9))
    first, second = got["measured"]
    assert (first["phi"], second["phi"]) == (0, 0.3)
    assert first["utility"] == pytest.approx(first["large"] / first["small"] ** 0.5)
    assert sorted(p.name for p in folder.with_name("small-phi").iterdir()) == ["choice.json", "phi-0", "phi-0.3"]


def test_choice_is_told_in_words(folder):
    text = invoked(folder, "--check", "0,0.3")
    assert "phi = 0." in text
    assert "predicted" in text
    assert "--set algorithm.phi=0." in text


def test_weights_that_never_reach_the_bound_of_their_set_are_told(tmp_path):
    still = Spec.of(SPEC).replace("algorithm.sigma", 0.0).replace("rounds", 1)
    execute(still, tmp_path / "still")
    assert "never reached the bound" in invoked(tmp_path / "still", "--check", "0,0.3")


def test_a_run_with_another_phi_is_trained_again_at_zero_and_auto_finds_the_same(folder, tmp_path):
    spec = Run.open(folder).spec.replace("algorithm.phi", 0.3)
    execute(spec, tmp_path / "other")
    expected = json.loads(invoked(folder, "--json"))["phi"]
    assert json.loads(invoked(tmp_path / "other", "--json"))["phi"] == expected
    auto = phi.with_auto_phi(spec.replace("algorithm.phi", "auto"), tmp_path / "other", Quiet())
    assert auto.get("algorithm.phi") == expected
    assert phi.with_auto_phi(spec, tmp_path / "other", Quiet()) is spec


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--check", "0,x"), "numbers between commas"),
        (("--check", "1"), "phi must lie in [0, 1)"),
        (("--ties", "none"), "'free'"),
    ],
)
def test_wrong_requests_get_one_line(folder, arguments, said):
    error = invoked(folder, *arguments, code=2)
    assert said in error
    assert error.count("\n") == 1


def test_an_algorithm_without_phi_is_refused(tmp_path):
    table = SPEC | {"rounds": 1, "algorithm": {"name": "fedavg"}, "evaluation": {"every": 1}}
    execute(Spec.of(table), tmp_path / "other")
    assert "has no phi" in invoked(tmp_path / "other", code=2)
    scaff_pd = Spec.of(SPEC | {"algorithm": {"name": "scaff-pd", "alpha": 0.4}})
    study = phi.Study.of(scaff_pd, tmp_path / "x", Quiet())
    with pytest.raises(InputError, match="scaff-pd-ia"):
        study.train(0.1)
