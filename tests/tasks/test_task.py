"""Task: one flat θ, per-row losses that agree with formulas written out by hand, models refused or accepted."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from evenkeel.errors import InputError
from evenkeel.tasks import MODELS, Task, build

ROW_SHAPES = {"mlp": (6,), "linear": (6,), "ridge": (6,), "logistic": (6,), "cnn": (1, 8, 8)}
CLASSES = {"mlp": 3, "linear": 3, "ridge": 0, "logistic": 2, "cnn": 3}


def made(name, **options):
    return build(name, ROW_SHAPES[name], CLASSES[name], dtype=torch.float64, **options)


@pytest.mark.parametrize("name", MODELS)
def test_flatten_is_the_inverse_of_unflatten(name):
    task = made(name)
    theta = task.init(3)
    assert theta.shape == (task.d,)
    assert torch.equal(task.flatten(task.unflatten(theta)), theta)


@pytest.mark.parametrize("name", MODELS)
def test_start_values_are_a_value_of_the_seed_and_leave_the_global_generator_alone(name):
    task, before = made(name), torch.get_rng_state()
    first = task.init(3)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, task.init(3))
    assert not torch.equal(first, task.init(4))


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_of_every_model_agrees_with_finite_differences(name):
    task = made(name)
    gen = torch.Generator().manual_seed(0)
    x = torch.randn(3, *ROW_SHAPES[name], dtype=torch.float64, generator=gen)
    y = torch.tensor([0, 1, 1])
    theta = task.init(0).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: task.losses(t, x, y), (theta,), fast_mode=True)


def test_a_linear_row_loss_is_the_squared_distance_to_the_line():
    task = build("linear", (2,), 0, dtype=torch.float64)
    theta = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)
    x = torch.tensor([[1.0, 1.0], [0.0, 3.0]], dtype=torch.float64)
    losses = task.losses(theta, x, torch.tensor([1.0, 0.0]))
    assert losses.tolist() == [(2 - 1 + 0.5 - 1) ** 2, (-3 + 0.5) ** 2]
    assert torch.equal(task.score(theta, x, torch.tensor([1.0, 0.0])), losses)


def test_the_binary_loss_is_minus_the_log_likelihood():
    task = build("logistic", (1,), 2, dtype=torch.float64)
    theta = torch.tensor([2.0, -1.0], dtype=torch.float64)
    p = 1 / (1 + math.exp(-(2 * 3 - 1)))
    x = torch.tensor([[3.0], [3.0]], dtype=torch.float64)
    assert task.losses(theta, x, torch.tensor([1, 0])).tolist() == pytest.approx([-math.log(p), -math.log(1 - p)])
    assert task.score(theta, x, torch.tensor([1, 0])).tolist() == [1, 0]


def test_the_mlp_with_masks_is_the_formula_written_out():
    task = build("mlp", (4,), 3, hidden=5, dtype=torch.float64)
    theta, gen = task.init(1), np.random.default_rng(0)
    x, mask = gen.normal(size=(7, 4)), gen.choice([0.0, 2.0], size=(7, 5))
    y = gen.integers(0, 3, size=7)
    w1, b1, w2, b2 = (p.numpy() for p in task.unflatten(theta).values())
    out = (np.maximum(x @ w1.T + b1, 0) * mask) @ w2.T + b2
    expected = np.log(np.exp(out).sum(1)) - out[np.arange(7), y]
    losses = task.losses(theta, torch.from_numpy(x), torch.from_numpy(y), [torch.from_numpy(mask)])
    np.testing.assert_allclose(losses, expected, rtol=1e-12)


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(3), nn.InstanceNorm1d(3, track_running_stats=True)])
def test_batch_statistics_are_refused_with_the_alternatives_named(layer):
    with pytest.raises(InputError, match=r"GroupNorm or nn\.LayerNorm"):
        Task(model=lambda: nn.Sequential(nn.Linear(3, 3), layer))


def test_a_model_without_parameters_is_refused():
    with pytest.raises(InputError, match="no free parameters"):
        Task(model=nn.ReLU)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: build("mlpp", (3,), 2), "did you mean 'mlp'"),
        (lambda: Task(model=lambda: nn.Linear(1, 1), kind="regresion"), "did you mean 'regression'"),
        (lambda: build("linear", (3,), 0, l2=-1.0), "l2 = -1.0"),
        (lambda: build("ridge", (3,), 2), "use 'logistic'"),
        (lambda: build("cnn", (9,), 2), "channels, h, w"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_remedy(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_whole_numbers_stay_tokens_and_floats_take_the_dtype_of_theta():
    task = Task(model=lambda: nn.Linear(1, 1), dtype=torch.float64)
    assert task.fit(torch.tensor([1])).dtype == torch.int64
    assert task.fit(torch.tensor([1.0])).dtype == torch.float64
