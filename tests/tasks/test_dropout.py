"""Dropout is a value of its counters, keeps the right share, and reaches a model through every kind of call."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from evenkeel.errors import InputError
from evenkeel.protocol import Key
from evenkeel.tasks import Dropped, Task, draw_masks

KEY = Key(5, 2)


def test_a_mask_does_not_depend_on_which_clients_steps_or_rows_are_drawn_with_it():
    dropped = [Dropped(0.5, (7,)), Dropped(0.2, (2, 3))]
    together = draw_masks(KEY, "local", [3, 8, 9], range(4), 5, dropped)
    alone = draw_masks(KEY, "local", [8], [2], 3, dropped)
    for t, a in zip(together, alone, strict=True):
        assert torch.equal(t[1, 2, :3], a[0, 0])


@pytest.mark.parametrize(
    "other",
    [(Key(6, 2), "local", [1], [0]), (Key(5, 3), "local", [1], [0]), (KEY, "x", [1], [0]), (KEY, "local", [2], [0])],
)
def test_another_seed_round_phase_or_client_draws_another_mask(other):
    dropped = [Dropped(0.5, (64,))]
    assert not torch.equal(draw_masks(KEY, "local", [1], [0], 4, dropped)[0], draw_masks(*other, 4, dropped)[0])


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_share_kept_is_one_minus_p_and_the_mean_is_one(p):
    (mask,) = draw_masks(KEY, "local", np.arange(20), [0], 100, [Dropped(p, (50,))], torch.float64)
    n = mask.numel()
    assert abs((mask > 0).double().mean() - (1 - p)) < 5 * (p * (1 - p) / n) ** 0.5
    assert abs(mask.mean() - 1) < 5 * (p / (1 - p) / n) ** 0.5


@pytest.mark.parametrize(("p", "values"), [(0.0, [1.0]), (1.0, [0.0])])
def test_dropping_none_or_all_has_its_plain_meaning(p, values):
    assert draw_masks(KEY, "local", [0], [0], 9, [Dropped(p, (5,))])[0].unique().tolist() == values


class Odd(nn.Module):
    """Dropout by module, by function with a keyword, on channels, and switched off."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.3, inplace=True)

    def forward(self, x):
        h = functional.dropout(self.drop(self.fc(x)), p=0.6, training=self.training)
        h = functional.dropout1d(h.reshape(len(h), 2, 2), 0.4, self.training)
        return functional.dropout(h.flatten(1), training=False)


def test_every_call_of_dropout_is_recorded_with_the_shape_of_a_row():
    task = Task(model=Odd)
    assert task.dropped(torch.zeros(1, 4)) == (Dropped(0.3, (4,)), Dropped(0.6, (4,)), Dropped(0.4, (2, 1)))


def test_evaluation_ignores_dropout_and_training_applies_each_mask_once():
    task, x = Task(model=Odd), torch.randn(6, 4)
    theta = task.init(0)
    layer = task.unflatten(theta)
    plain = x @ layer["fc.weight"].T + layer["fc.bias"]
    torch.testing.assert_close(task.outputs(theta, x), plain)
    a, b, c = (m[0, 0] for m in draw_masks(KEY, "local", [0], [0], 6, task.dropped(x)))
    by_hand = ((plain * a * b).reshape(6, 2, 2) * c).flatten(1)
    torch.testing.assert_close(task.outputs(theta, x, [a, b, c]), by_hand)


def test_other_randomness_in_training_is_refused():
    with pytest.raises(InputError, match=r"outside nn\.Dropout"):
        Task(model=lambda: nn.Sequential(nn.Linear(4, 4), nn.RReLU())).dropped(torch.zeros(1, 4))


def test_rows_that_are_not_the_first_axis_are_refused():
    class Sideways(nn.Linear):
        def forward(self, x):
            return functional.dropout(super().forward(x).T, training=self.training).T

    with pytest.raises(InputError, match="put the batch first"):
        Task(model=lambda: Sideways(4, 4)).dropped(torch.zeros(1, 4))
