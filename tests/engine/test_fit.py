"""Models that are not what they look like, and models or labels that do not belong to the rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from evenkeel.engine import Engine, Loop
from evenkeel.engine.dense import Dense
from evenkeel.errors import InputError
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import Task, build
from tests.clients.toy import federation

KEY, F64 = Key(1, 2), torch.float64
DATA = federation(sizes=(7, 1, 5))


def again():
    """One ReLU and one Dropout, each used twice."""
    relu, drop = nn.ReLU(), nn.Dropout(0.5)
    return nn.Sequential(nn.Linear(6, 4), relu, drop, nn.Linear(4, 4), relu, drop, nn.Linear(4, 3))


def layer_again():
    layer = nn.Linear(6, 6)
    return nn.Sequential(layer, nn.ReLU(), layer, nn.Linear(6, 3))


def tied(part):
    """Two layers that share their weights or their bias."""
    net = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.Linear(6, 3))
    setattr(net[2], part, getattr(net[0], part))
    return net


def hooked():
    layer = nn.Linear(6, 3)
    layer.register_forward_hook(lambda module, given, out: 2 * out)
    return nn.Sequential(layer)


def fixed():
    """A first layer that is not learned."""
    net = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
    net[0].requires_grad_(requires_grad=False)
    return net


MODELS = {
    "a module used twice": again,
    "a layer used twice": layer_again,
    "shared weights": lambda: tied("weight"),
    "shared bias": lambda: tied("bias"),
    "a hook": hooked,
    "a fixed layer": fixed,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_computed_as_it_runs_and_not_as_it_looks(name):
    task = Task(model=MODELS[name], dtype=F64)
    engine, loop = Engine(task, DATA), Loop(task, DATA)
    assert isinstance(engine.path, Dense) == (name == "a module used twice")
    for phase, config in (("probe", {}), ("gradient", {"batch": 3}), ("local", {"eta": 0.1, "batch": 3, "steps": 3})):
        ask = Ask(phase, {"theta": task.init(0)}, config=config)
        got, right = engine.answer(ask, KEY), loop.answer(ask, KEY)
        for value in right.values:
            np.testing.assert_allclose(got[value], right[value], atol=1e-10, err_msg=f"{phase} {value}")


@pytest.mark.parametrize("name", MODELS)
def test_theta_comes_back_as_the_models_own_state(name):
    task = Task(model=MODELS[name], dtype=F64)
    theta, net = task.init(3), MODELS[name]().double()
    net.load_state_dict(task.unflatten(theta))
    assert torch.equal(task.flatten(net.state_dict()), theta)
    x = torch.ones(2, 6, dtype=F64)
    torch.testing.assert_close(net.eval()(x), task.outputs(theta, x))


def test_a_fixed_layer_is_no_part_of_theta():
    assert Task(model=fixed).d == 4 * 3 + 3


@pytest.mark.parametrize(
    ("task", "data", "says"),
    [
        (Task(model=lambda: nn.Linear(5, 3)), DATA, r"model: cannot take rows of shape \(6,\)"),
        (Task(model=lambda: nn.Linear(6, 2)), DATA, "model: has 2 outputs a row, the data 3 classes"),
        (Task(model=lambda: nn.Linear(6, 2), kind="regression"), federation(classes=0), "2 outputs a row, the data 1"),
        (build("mlp", (6,), 3), replace(DATA, y=torch.where(DATA.y == 2, 7, DATA.y)), r"y = 7 in row \d+: labels must"),
        (build("mlp", (6,), 3), replace(DATA, y=DATA.y - 1), r"y = -1 in row \d+: labels must lie in 0…2"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line_before_any_work(task, data, says):
    with pytest.raises(InputError, match=says) as caught:
        Engine(task, data).answer(Ask("probe", {"theta": task.init(0)}), KEY)
    assert "\n" not in str(caught.value)


def test_a_lazy_layer_is_refused_by_name():
    with pytest.raises(InputError, match=r"'0\.weight' has no shape yet"):
        Task(model=lambda: nn.Sequential(nn.LazyLinear(3)))


@pytest.mark.parametrize("option", [{"workers": -1}, {"workers": 1.5}, {"memory": -1}])
def test_an_engine_without_sense_is_refused(option):
    with pytest.raises(InputError, match="must be a whole number"):
        Engine(build("mlp", (6,), 3), DATA, **option)


def test_an_ask_without_theta_is_refused():
    for transport in (Engine(build("mlp", (6,), 3), DATA), Loop(build("mlp", (6,), 3), DATA)):
        with pytest.raises(InputError, match="no 'theta' among what it shares"):
            transport.answer(Ask("probe"), KEY)
