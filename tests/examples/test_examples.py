"""Every example and the notebook run on small data, in a process of their own, as a reader would start them."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import torch

import evenkeel

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {
    "audit_csv.py": ["--clients", "12"],
    "choose_phi.py": ["--rows", "400", "--rounds", "20", "--others", "0"],
    "compare_own_table.py": ["--rows", "400", "--rounds", "2", "--seeds", "2"],
    "hospitals.py": ["--rows", "400", "--rounds", "3"],
    "own_cnn.py": ["--clients", "5", "--rounds", "2"],
}
OTHERS = {"federation.py"}  # needs Flower: test_federation.py


def start(folder, *words):
    done = subprocess.run([sys.executable, "-W", "error", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What each example printed and left, run once."""
    held = {}

    def once(name):
        if name not in held:
            folder = tmp_path_factory.mktemp("example")
            held[name] = (start(folder, EXAMPLES / name, *SMALL[name], "--out", folder / "out"), folder / "out")
        return held[name]

    return once


def test_no_example_is_left_out():
    assert {file.name for file in EXAMPLES.glob("*.py")} - OTHERS == SMALL.keys()


def test_the_audit_is_of_the_table_that_was_written(ran):
    printed, out = ran("audit_csv.py")
    losses = pl.read_csv(out / "losses.csv").filter(pl.col("model") == "plain")["loss"].sort()
    fifth = losses.tail(3).to_numpy(), losses.head(3).to_numpy()  # a fifth of twelve clients is 2.4 of them
    ratio = (fifth[0] @ [0.4, 1, 1]) / (fifth[1] @ [1, 1, 0.4])
    assert f"plain  R {ratio:.2f} (" in printed


def test_the_chosen_phi_is_the_one_that_ran(ran):
    printed, out = ran("choose_phi.py")
    chosen = evenkeel.Run.open(out / "chosen").spec.get("algorithm.phi")
    assert f"chosen: phi {chosen:.3f}" in printed
    assert 0 < chosen < 1
    assert evenkeel.Run.open(out / "phi-0.0").spec.get("algorithm.phi") == 0


def test_own_tables_are_compared_under_both_seeds(ran):
    printed, out = ran("compare_own_table.py")
    assert "| scaff-pd-ia |" in printed
    assert len(list(out.rglob("final.safetensors"))) == 4
    assert {evenkeel.Run.open(file.parent).spec.seed for file in out.rglob("final.safetensors")} == {0, 1}


def test_every_hospital_is_shown(ran):
    printed, out = ran("hospitals.py")
    for name, folder in (("fedavg", "fedavg"), ("scaff-pd-ia", "ia")):
        assert f"mean loss {evenkeel.Run.open(out / folder).audit(draws=0).mean:.3f}" in printed, name
    assert all(f"│ {hospital} " in printed for hospital in "ABCDEFGH")


def test_the_network_that_comes_back_is_the_one_trained(ran):
    printed, out = ran("own_cnn.py")
    run = evenkeel.Run.open(out)
    assert run.finished
    assert f"R {run.audit(draws=0).R:.2f} (" in printed
    assert run.theta.isfinite().all()
    assert torch.equal(run.state_dict()["out.bias"], run.theta[-10:])


def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    book = json.loads((EXAMPLES / "quickstart.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] for cell in book["cells"] if cell["cell_type"] == "code")
    assert cells[0].count("rounds = 60") == 1
    shorter = [cells[0].replace("rounds = 60", "rounds = 3"), *cells[1:]]
    checks = "assert runs['fedavg'].finished and even.finished and clients.height == 20 and not net.training"
    (tmp_path / "book.py").write_text("\n".join([*shorter, checks]), "utf-8")
    start(tmp_path, "book.py")
