"""The engine against the plain loop in float64: every phase, ragged clients, cohorts, weights, all kinds of models."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from evenkeel.engine import Absent, Engine, Loop, rowspace
from evenkeel.errors import InputError, RunFailedError
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import MODELS, Task, build
from tests.clients.toy import SIZES, federation

KEY = Key(17, 6)
WHO = np.array([0, 1, 3])
F64 = torch.float64


class Tanh(nn.Module):
    """A model that no specialised path knows, with dropout on its input and inside."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer, self.drop = nn.Linear(6, 5), nn.Linear(5, 3), nn.Dropout(0.25)

    def forward(self, x):
        return self.outer(self.drop(torch.tanh(self.inner(self.drop(x)))))


def deep():
    """Three layers, one without bias, dropout before an activation, twice, and on nothing."""
    return nn.Sequential(
        nn.Linear(6, 5, bias=False),
        nn.Dropout(0.4),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(5, 4),
        nn.Identity(),
        nn.Sequential(nn.Linear(4, 4), nn.ReLU()),
        nn.Linear(4, 3),
    )


TASKS = {
    "mlp": (build("mlp", (6,), 3, hidden=5, l2=0.2, dtype=F64), (6,), 3),
    "deep": (Task(model=deep, dtype=F64), (6,), 3),
    "linear": (build("linear", (6,), 0, dtype=F64), (6,), 0),
    "ridge": (build("ridge", (2, 3), 0, l2=0.5, dtype=F64), (2, 3), 0),
    "logistic": (build("logistic", (6,), 2, dtype=F64), (6,), 2),
    "softmax": (build("logistic", (6,), 3, dtype=F64), (6,), 3),
    "cnn": (build("cnn", (1, 4, 4), 3, width=2, dropout=0.5, dtype=F64), (1, 4, 4), 3),
    "tanh": (Task(model=Tanh, l2=0.1, dtype=F64), (6,), 3),
}
CONFIGS = [
    ("probe", {}),
    ("gradient", {"batch": 3}),
    ("gradient", {"batch": 50, "index": 2}),
    ("gradient", {"dropout": False}),
    ("local", {"eta": 0.05, "batch": 3, "steps": 4, "control_batch": 2}),
    ("local", {"eta": 0.05, "batch": 4, "epochs": 2, "snapshot": 2, "divisor": 3}),
    ("local", {"eta": 0.05, "steps": 2, "dropout": False, "snapshot": 9}),
    ("score", {}),
    ("score", {"split": "train"}),
    ("hvp", {}),
]


def numbers(d, seed, rows=None):
    shape = (d,) if rows is None else (rows, d)
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64) / 10


def question(task, phase, config, *, who=None, n=5, weights=False, c=False, own=False):
    n = n if who is None else len(who)
    shared = {"theta": task.init(0)} | ({"v": numbers(task.d, 1)} if phase == "hvp" else {})
    if c:
        shared["c"] = numbers(task.d, 2)
    return Ask(
        phase,
        shared,
        {"c_i": numbers(task.d, 3, n)} if own else {},
        who=who,
        weights=np.linspace(-0.5, 1, n) if weights else None,
        config=config,
    )


def same(a, b, atol=1e-10):
    assert np.array_equal(a.who, b.who)
    assert a.values.keys() == b.values.keys()
    for name in a.values:
        np.testing.assert_allclose(a[name], b[name], rtol=1e-10, atol=atol, err_msg=name)


@pytest.fixture(scope="module", params=TASKS)
def pair(request):
    task, row_shape, classes = TASKS[request.param]
    data = federation(row_shape=row_shape, classes=classes, weighted=request.param in {"mlp", "cnn", "linear"})
    return task, Engine(task, data, workers=2), Loop(task, data)


def test_every_built_in_model_is_among_those_tried():
    assert set(MODELS) <= set(TASKS)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(("phase", "config"), CONFIGS)
def test_every_phase_agrees_with_the_loop(pair, phase, config, weights):
    task, engine, loop = pair
    ask = question(task, phase, config, weights=weights)
    same(engine.answer(ask, KEY), loop.answer(ask, KEY))


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("config", [config for phase, config in CONFIGS if phase == "local"])
def test_local_steps_with_a_control_agree_with_the_loop(pair, config, weights, own):
    task, engine, loop = pair
    ask = question(task, "local", config, weights=weights, c=True, own=own)
    same(engine.answer(ask, KEY), loop.answer(ask, KEY))


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("name", ["mlp", "deep", "ridge", "logistic"])
@pytest.mark.parametrize("sizes", [SIZES, (5, 5, 5)])
def test_the_first_layer_in_row_space_agrees_with_the_loop(monkeypatch, name, always, sizes):
    monkeypatch.setattr(rowspace.Work, "cheaper_in_rows", lambda work: always)
    task, row_shape, classes = TASKS[name]
    data = federation(row_shape=row_shape, classes=classes, weighted=name == "mlp", sizes=sizes)
    engine, loop = Engine(task, data), Loop(task, data)
    for phase, config in CONFIGS:
        if phase in {"probe", "gradient", "local"}:  # after the probe its first products are there
            for who in (None, np.arange(len(sizes))[::2]):
                ask = question(task, phase, config, who=who, n=len(sizes), weights=True, c=phase == "local")
                same(engine.answer(ask, KEY), loop.answer(ask, KEY))
                ask = question(task, phase, config, who=who, n=len(sizes), own=phase == "local", c=phase == "local")
                same(engine.answer(ask, KEY), loop.answer(ask, KEY))


def test_an_answer_does_not_depend_on_what_was_asked_before():
    """Whether a chunk goes through row space decides last digits: an engine that is new must choose as an old one."""
    task, row_shape, classes = build("mlp", (64,), 3, hidden=2), (64,), 3
    data = federation(row_shape=row_shape, classes=classes, sizes=(60,) * 6, dtype=torch.float32)
    old, new = Engine(task, data, workers=1), Engine(task, data, workers=1)

    def ask(steps, who):
        config = {"eta": 0.05, "batch": 16, "steps": steps, "control_batch": 16}
        found = question(task, "local", config, who=who, weights=True, c=True)
        return found._replace(shared={name: value.float() for name, value in found.shared.items()})

    old.answer(ask(200, np.arange(4)), KEY)  # makes Gram matrices: 200 steps pay for them, 30 alone would not
    assert old.path.kept.grams
    told = [engine.answer(ask(30, np.arange(2)), KEY)["delta"] for engine in (old, new)]
    assert torch.equal(*told)


@pytest.mark.parametrize(("phase", "config"), CONFIGS)
def test_a_cohort_agrees_with_the_loop(pair, phase, config):
    task, engine, loop = pair
    ask = question(task, phase, config, who=WHO, weights=True, c=phase == "local")
    same(engine.answer(ask, KEY), loop.answer(ask, KEY))


@pytest.mark.parametrize("phase", ["probe", "gradient", "local", "hvp"])
def test_a_second_run_and_other_workers_give_the_same_numbers(pair, phase):
    task, engine, _ = pair
    ask = question(task, phase, dict(CONFIGS)[phase], weights=True)
    first, second = engine.answer(ask, KEY), engine.answer(ask, KEY)
    for name in first.values:
        assert np.array_equal(first[name], second[name]), name
    same(replace(engine, workers=3).answer(ask, KEY), first, atol=1e-14)


@pytest.mark.parametrize("in_rows", [None, False, True])
@pytest.mark.parametrize("who", [None, WHO])
def test_a_round_that_uses_what_its_earlier_asks_left_agrees_with_the_loop(monkeypatch, pair, who, in_rows):
    """The probe leaves first products, the gradient leaves c_i; another θ must find neither."""
    task, engine, loop = pair
    if in_rows is not None:
        monkeypatch.setattr(rowspace.Work, "cheaper_in_rows", lambda work: in_rows)
    gradient = {"batch": 3}
    local = {"eta": 0.05, "batch": 2, "steps": 3, "control_batch": 3}
    for seed in (0, 1):
        for phase, config in (("probe", {}), ("gradient", gradient), ("local", local), ("local", local)):
            ask = question(task, phase, config, who=who, weights=True, c=phase == "local")
            ask = ask._replace(shared=ask.shared | {"theta": task.init(seed)})
            same(engine.answer(ask, KEY), loop.answer(ask, KEY))


def test_c_i_that_were_kept_by_rows_serve_steps_by_weights_and_the_other_way(monkeypatch, pair):
    task, engine, loop = pair
    for in_rows in (True, False):
        for phase, now in (("gradient", in_rows), ("local", not in_rows)):
            monkeypatch.setattr(rowspace.Work, "cheaper_in_rows", lambda work, now=now: now)
            config = {"batch": 3} if phase == "gradient" else {"eta": 0.05, "batch": 2, "steps": 3, "control_batch": 3}
            ask = question(task, phase, config, weights=True, c=phase == "local")
            same(engine.answer(ask, KEY), loop.answer(ask, KEY))


def test_gram_matrices_are_kept_within_their_room_and_serve_other_cohorts(monkeypatch):
    monkeypatch.setattr(rowspace.Work, "cheaper_in_rows", lambda work: True)
    task, row_shape, classes = TASKS["mlp"]
    data = federation(row_shape=row_shape, classes=classes, sizes=(5, 4, 3, 5))
    ask = question(task, "gradient", {"batch": 3}, n=4, weights=True)
    for room, least in ((2**20, 4), (8 * 25, 1), (0, 0)):
        engine, loop = Engine(task, data, workers=2), Loop(task, data)
        engine.path.kept.gram_room = room
        for who in (np.array([0, 2]), None, np.array([1, 3])):
            own = ask if who is None else ask._replace(who=who, weights=ask.weights[who])
            same(engine.answer(own, KEY), loop.answer(own, KEY))
        assert len(engine.path.kept.grams) >= least
        assert engine.path.kept.gram_bytes <= room


def test_without_room_for_a_copy_of_the_rows_the_numbers_are_the_same():
    task, row_shape, classes = TASKS["mlp"]
    data = federation(row_shape=row_shape, classes=classes, weighted=True)
    small, large = Engine(task, data, memory=1), Engine(task, data)
    assert small.train.rows is not None
    assert large.train.rows is None
    for phase, config in CONFIGS:
        ask = question(task, phase, config, weights=True, c=phase == "local")
        same(small.answer(ask, KEY), large.answer(ask, KEY), atol=1e-14)


def test_float32_stays_close_to_the_float64_loop():
    exact, (row_shape, classes) = TASKS["mlp"][0], TASKS["mlp"][1:]
    data = federation(row_shape=row_shape, classes=classes)
    ask = question(exact, "local", {"eta": 0.05, "batch": 3, "steps": 4}, weights=True, c=True)
    single = ask._replace(shared={name: value.float() for name, value in ask.shared.items()})
    got = Engine(replace(exact, dtype=torch.float32), data).answer(single, KEY)
    np.testing.assert_allclose(got["delta"], Loop(exact, data).answer(ask, KEY)["delta"], rtol=1e-4, atol=1e-6)


def test_attendance_is_the_same_on_both_transports():
    task, row_shape, classes = TASKS["linear"]
    data = federation(row_shape=row_shape, classes=classes)
    ask = question(task, "local", {"eta": 0.1, "steps": 2}, weights=True, c=True, own=True)
    away = Absent(0.5)
    same(Engine(task, data, attendance=away).answer(ask, KEY), Loop(task, data, attendance=away).answer(ask, KEY))


class Recurrent(nn.Module):
    """A recurrent cell whose loop length looks at the data, which vmap cannot take."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(2, 3), nn.Linear(3, 3)

    def forward(self, x):
        h = x.new_zeros(len(x), 3)
        for t in range(3 if float(x.abs().sum()) >= 0 else 0):
            h = self.cell(x[:, 2 * t : 2 * t + 2], h)
        return self.out(h)


def test_a_model_that_vmap_cannot_take_is_looped_with_one_warning():
    task, data = Task(model=Recurrent, dtype=F64), federation()
    engine = Engine(task, data)
    ask = question(task, "local", {"eta": 0.1, "batch": 3, "steps": 2}, weights=True)
    with pytest.warns(RuntimeWarning, match="one after the other") as caught:
        first = engine.answer(ask, KEY)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.answer(question(task, "hvp", {}), KEY)
    same(first, Loop(task, data).answer(ask, KEY))


@pytest.mark.parametrize("name", ["mlp", "tanh"])
@pytest.mark.parametrize("phase", ["probe", "gradient", "local"])
@pytest.mark.parametrize("weights", [False, True])
def test_a_diverged_client_is_named_with_its_round(name, phase, weights):
    task, row_shape, classes = TASKS[name]
    data = federation(row_shape=row_shape, classes=classes)
    data.x[data.train[3]] = float("inf")
    ask = question(task, phase, {"eta": 0.1, "steps": 1} if phase == "local" else {}, weights=weights)
    with pytest.raises(RunFailedError, match=r"diverged: client 'site-3' round 6 .* (nan|inf)"):
        Engine(task, data).answer(ask, KEY)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"phase": "lokal"}, "did you mean 'local'"),
        ({"config": {"eta": 0.1, "stepz": 3}}, "did you mean 'steps'"),
        ({"shared": {"theta": torch.zeros(3)}}, r"theta has shape \(3,\): the task has"),
        ({"shared": {"theta": torch.zeros(7)}}, r"theta is torch\.float32, the task torch\.float64"),
        ({"weights": np.ones(2)}, "weights: 2 rows"),
    ],
)
def test_a_wrong_ask_is_refused_with_a_remedy(change, words):
    task, row_shape, classes = TASKS["linear"]
    ask = question(task, "local", {"eta": 0.1, "steps": 1})._replace(**change)
    with pytest.raises(InputError, match=words):
        Engine(task, federation(row_shape=row_shape, classes=classes)).answer(ask, KEY)


def test_a_client_without_training_rows_is_refused_by_name():
    with pytest.raises(InputError, match="'site-1' has no training rows"):
        Engine(TASKS["linear"][0], federation(sizes=(3, 0), classes=0)).answer(
            Ask("probe", {"theta": TASKS["linear"][0].init(0)}), KEY
        )


def test_the_engine_leaves_the_callers_threads_alone():
    task, row_shape, classes = TASKS["linear"]
    before = torch.get_num_threads()
    Engine(task, federation(row_shape=row_shape, classes=classes)).answer(question(task, "hvp", {}), KEY)
    assert torch.get_num_threads() == before
