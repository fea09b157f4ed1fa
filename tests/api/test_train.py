"""The Python API: your rows, your model, one call; what comes back is what the run folder holds."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from torch import nn

import evenkeel
from evenkeel.algorithms import algorithm
from evenkeel.engine import Loop
from evenkeel.errors import InputError, RunFailedError
from evenkeel.phi import choose_phi
from evenkeel.runs import board
from evenkeel.runs.board import Board
from evenkeel.runs.parts import work_of
from evenkeel.tasks import Task
from tests.algorithms.running import run as plain_run

QUICK = {"work.batch": 0, "work.steps": 1, "work.control_batch": 0, "engine.workers": 1}
ROWS, CLIENTS = 60, 5


def rows(seed=0, classes=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 3)).astype(np.float32)
    return x, (x.sum(axis=1) > 0).astype(int) if classes == 2 else rng.integers(0, classes, ROWS)


def frame():
    x, y = rows()
    owner = [f"h{i % CLIENTS}" for i in range(ROWS)]
    return pl.DataFrame({"hospital": owner, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y})


def tensors(**how):
    x, y = rows()
    return evenkeel.Federation.from_tensors(x, y, clients=[f"h{i % CLIENTS}" for i in range(ROWS)], **how)


def train(tmp_path, model="logistic", data=None, name="scaff-pd-ia", **how):
    how = {"rounds": 3, "settings": QUICK, "out": tmp_path / "run", "progress": False} | how
    if name == "scaff-pd-ia":
        how = {"alpha": 0.4, "phi": 0.2, "tau": 0.5, "eta": 0.1, "sigma": 0.05} | how
    return evenkeel.train(model, data or tensors(), name, **how)


def held(federation):
    """Who owns which rows, as plain values."""
    shares = []
    for part in (federation.train, federation.valid):
        for k in range(federation.n):
            at = part.rows[part.offsets[k] : part.offsets[k + 1]]
            shares.append((federation.names[k], federation.x[at].tolist(), federation.y[at].tolist()))
    return shares


def test_a_frame_tensors_and_arrays_of_the_same_rows_are_the_same_federation(tmp_path):
    x, y = rows()
    own = [(x[k::CLIENTS], y[k::CLIENTS]) for k in range(CLIENTS)]
    names = [f"h{k}" for k in range(CLIENTS)]
    frame().write_csv(tmp_path / "rows.csv")
    ways = {
        "tensors": tensors(),
        "arrays": evenkeel.Federation.from_arrays(own, names=names),
        "polars": evenkeel.Federation.from_frame(frame(), client="hospital", target="y"),
        "pandas": evenkeel.Federation.from_frame(pd.DataFrame(frame().to_dict()), client="hospital", target="y"),
    }
    for name, made in ways.items():
        assert isinstance(made, evenkeel.Federation), name
        assert made.names == tuple(names), name
        assert held(made) == held(ways["tensors"]), name
    read = evenkeel.Federation.from_frame(tmp_path / "rows.csv", client="hospital", target="y")
    assert torch.allclose(read.x, ways["polars"].x)
    assert read.names == tuple(names)


@given(st.integers(2, 6), st.floats(0.2, 0.9), st.integers(0, 3))
def test_every_row_has_one_place(n, fraction, seed):
    x, y = rows(seed)
    made = evenkeel.Federation.from_tensors(x, y, partition="iid", n=n, fraction=fraction, seed=seed)
    at = np.concatenate([made.train.rows, made.valid.rows])
    assert sorted(at) == list(range(ROWS))
    assert made.n == n


def test_a_run_of_a_named_model_is_what_a_plain_loop_over_rounds_gives(tmp_path):
    data = tensors()
    run = train(tmp_path, data=data)
    task = run.task
    how = {"alpha": 0.4, "phi": 0.2, "tau": 0.5, "eta": 0.1, "sigma": 0.05}
    made = algorithm("scaff-pd-ia", data.train.sizes, work=work_of(run.spec), **how)
    states, _ = plain_run(made, Loop(task, data), task.init(0), 3)
    assert torch.allclose(run.theta, states[-1].theta, atol=1e-6)
    assert np.allclose(run.lam, states[-1].lam, atol=1e-9)


def test_the_audit_is_of_the_losses_that_the_model_gives_today(tmp_path):
    data = tensors()
    run = train(tmp_path, data=data, rounds=5)
    net, losses = run.model(), []
    for k in range(data.n):
        at = data.valid.rows[data.valid.offsets[k] : data.valid.offsets[k + 1]]
        with torch.no_grad():
            logit = net(data.x[at]).reshape(-1)
        losses.append(float(nn.functional.binary_cross_entropy_with_logits(logit, data.y[at].float())))
    audit = run.audit(draws=0)
    assert audit.n == CLIENTS
    assert audit.mean == pytest.approx(np.mean(losses), rel=1e-5)
    assert audit.worst_off[0][0] == data.names[int(np.argmax(losses))]
    assert run.lam.shape == (CLIENTS,)
    assert run.lam.sum() == pytest.approx(1.0)
    assert not net.training


MODELS = {
    "a function": lambda: nn.Linear(3, 2),
    "a module": nn.Linear(3, 2),
    "one output": nn.Linear(3, 1),
    "a task": Task(model=lambda: nn.Linear(3, 2), kind="classification"),
    "a name": "mlp",
}


@pytest.mark.parametrize("what", MODELS)
def test_a_model_may_be_a_name_a_function_a_module_or_a_task(tmp_path, what):
    run = train(tmp_path, MODELS[what], rounds=2)
    assert run.finished
    flat = torch.cat([p.detach().reshape(-1) for p in run.model().parameters()])
    assert torch.equal(flat, run.theta)


def test_a_module_is_where_training_starts_and_stays_as_it_is(tmp_path):
    net = nn.Linear(3, 2)
    before = [p.detach().clone() for p in net.parameters()]
    run = train(tmp_path, net, name="fedavg", eta=1e-30, rounds=1)
    assert all(torch.equal(p, q) for p, q in zip(net.parameters(), before, strict=True))
    assert torch.equal(run.theta, torch.cat([p.reshape(-1) for p in before]))


def test_a_run_opened_again_gives_the_same_model(tmp_path):
    data = tensors()
    run = train(tmp_path, lambda: nn.Linear(3, 2), data)
    again = evenkeel.Run.open(run.folder)
    assert torch.equal(again.model(into=nn.Linear(3, 2))(data.x), run.model()(data.x))
    assert again.audit(draws=0).to_dict() == run.audit(draws=0).to_dict()
    with pytest.raises(InputError, match=r"give one: run\.model"):
        again.model()


def test_a_run_of_names_alone_needs_nothing_to_be_opened(tmp_path):
    settings = QUICK | {"data.first": 10, "evaluation.alpha": 0.34, "evaluation.beta": 0.34}
    run = train(tmp_path, "linear", "penguins", "fedavg", eta=1e-9, settings=settings)
    again = evenkeel.Run.open(run.folder).model()
    assert torch.equal(torch.cat([p.detach().reshape(-1) for p in again.parameters()]), run.theta)


def test_a_call_that_was_stopped_goes_on(tmp_path, monkeypatch):
    whole = train(tmp_path, out=tmp_path / "whole", rounds=4)
    passed = Board._round

    def stop(self, label, row):
        passed(self, label, row)
        if row["round"] == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Board, "_round", stop)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path, rounds=4, settings=QUICK | {"evaluation.every": 1})
    with pytest.raises(InputError, match="holds a run"):
        train(tmp_path, rounds=4)
    with pytest.raises(InputError, match="rounds = 5: the run began with 4"):
        train(tmp_path, rounds=5, resume=True, settings=QUICK | {"evaluation.every": 1})
    again = train(tmp_path, rounds=4, resume=True, settings=QUICK | {"evaluation.every": 1})
    assert torch.equal(again.theta, whole.theta)


def test_phi_auto_takes_the_phi_that_the_command_chooses_for_the_same_run(tmp_path):
    run = train(tmp_path, phi="auto", rounds=20)
    zero = evenkeel.Run.open(tmp_path / "run-phi" / "phi-0")
    assert zero.spec.get("algorithm.phi") == 0
    data = run.task, tensors()
    made = algorithm("scaff-pd-ia", data[1].train.sizes, work=work_of(run.spec), alpha=0.4, phi=0.0)
    chosen = choose_phi(Loop(*data), zero.theta, made.ambiguity.A, made.ambiguity.B, lam=zero.lam).phi
    assert 0 < chosen < 1
    assert run.spec.get("algorithm.phi") == pytest.approx(chosen, rel=1e-3)
    again = train(tmp_path, phi="auto", rounds=20, resume=True)
    assert torch.equal(again.theta, run.theta)


def test_without_a_folder_runs_are_numbered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [train(tmp_path, name="fedavg", out=None, rounds=1).folder.as_posix() for _ in range(3)]
    assert folders == ["runs/fedavg", "runs/fedavg-2", "runs/fedavg-3"]


@pytest.mark.parametrize("progress", [True, False])
def test_progress_goes_to_standard_error_or_nowhere(tmp_path, capsys, progress):
    train(tmp_path, progress=progress)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("scaff-pd-ia: done" in err) == progress
    assert bool(err) == progress


def test_a_notebook_with_widgets_gets_a_moving_bar_and_one_without_a_line(tmp_path, monkeypatch):
    notebook = Console(file=io.StringIO(), force_jupyter=True)
    monkeypatch.setattr(board, "find_spec", lambda name: object())
    assert board.moving(notebook)
    monkeypatch.setattr(board, "find_spec", lambda name: None)
    assert not board.moving(notebook)


BAD = [
    ({"model": "mpl"}, "did you mean 'mlp'"),
    ({"model": 3}, "must be a name, an nn.Module or a function"),
    ({"model": lambda: 3}, "must give an nn.Module"),
    ({"model": nn.Linear(7, 2)}, "cannot take rows of shape"),
    ({"model": nn.Linear(3, 5)}, "has 5 outputs, the data 2 classes"),
    ({"phy": 0.3}, "did you mean 'phi'"),
    ({"phi": 2}, "train: algorithm.phi = 2: must be"),
    ({"rounds": 0}, "train: rounds = 0: must be"),
    ({"seed": -1}, "train: seed = -1: must be"),
    ({"settings": {"work.bacth": 3}}, "did you mean 'batch'"),
    ({"settings": {"output.tracking": ["wandb"]}}, "not known"),
    ({"name": "fedavgg"}, "did you mean 'fedavg'"),
    ({"data": "pengiuns"}, "did you mean 'penguins'"),
]


@pytest.mark.parametrize(("how", "says"), BAD, ids=[says for _, says in BAD])
def test_a_mistake_is_one_line_and_leaves_no_folder(tmp_path, how, says):
    with pytest.raises(InputError) as error:
        train(tmp_path, **how)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


SHAPES = [
    (lambda x, y: evenkeel.Federation.from_tensors(x, y[:-1], clients=[0] * ROWS), "row"),
    (lambda x, y: evenkeel.Federation.from_tensors(x, y, clients=[0, 1]), "client"),
    (lambda x, y: evenkeel.Federation.from_tensors(x, y, partition="dirichelt", n=3), "dirichlet"),
    (lambda x, y: evenkeel.Federation.from_arrays([(x, y[:-1])]), "row"),
    (lambda x, y: evenkeel.Federation.from_arrays([]), "client"),
    (lambda x, y: evenkeel.Federation.from_frame(frame(), client="hospitl", target="y"), "hospital"),
    (lambda x, y: evenkeel.Federation.from_frame(frame(), client="hospital", target="z"), "z"),
    (lambda x, y: evenkeel.Federation.from_frame("no.csv", client="hospital", target="y"), "no.csv"),
    (lambda x, y: evenkeel.Federation.from_tensors(x, y, clients=[0] * ROWS, fraction=1.5), "fraction"),
    (lambda x, y: evenkeel.Federation.from_tensors(np.full_like(x, np.nan), y, clients=[0] * ROWS), "x"),
]


@pytest.mark.parametrize("k", range(len(SHAPES)))
def test_rows_that_do_not_fit_are_one_line(k):
    make, says = SHAPES[k]
    with pytest.raises(InputError) as error:
        make(*rows())
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_run_that_diverges_is_said_and_kept(tmp_path):
    with pytest.raises(RunFailedError, match="diverged"):
        train(tmp_path, name="fedavg", eta=1e38, rounds=5)
    assert not evenkeel.Run.open(tmp_path / "run").finished
