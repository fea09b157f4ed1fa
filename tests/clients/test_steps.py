"""Each client step against the same arithmetic written in NumPy for least squares, and against its own identities."""

import numpy as np
import pytest
import torch

from evenkeel.clients import STEPS, Client, answer_one
from evenkeel.draws import batches
from evenkeel.errors import InputError
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import build, draw_masks
from tests.clients.toy import SIZES, federation

KEY = Key(11, 4)
L2, ETA = 0.3, 0.05


class LeastSquares:
    """f(θ) = mean of weight·(x·w + b − y)² + l2/2·‖θ‖², its gradient and Hessian, in NumPy."""

    def __init__(self, data, i):
        rows = data.train[i]
        x = data.x[rows].numpy()
        self.x = np.hstack([x, np.ones((len(x), 1))])
        self.y = data.y[rows].numpy()
        self.w = data.row_weight[rows].numpy()

    def loss(self, theta, at=slice(None)):
        return np.mean(self.w[at] * (self.x[at] @ theta - self.y[at]) ** 2) + L2 / 2 * theta @ theta

    def grad(self, theta, at=slice(None)):
        x = self.x[at]
        return 2 * x.T @ (self.w[at] * (x @ theta - self.y[at])) / len(x) + L2 * theta

    def hessian(self):
        return 2 * self.x.T @ (self.w[:, None] * self.x) / len(self.x) + L2 * np.eye(self.x.shape[1])


TASK = build("linear", (6,), 0, l2=L2, dtype=torch.float64)
DATA = federation(classes=0, weighted=True)
THETA = TASK.init(0)


def ask(i, phase, each=None, config=None, **shared):
    question = Ask(phase, {"theta": THETA, **shared}, each or {}, config=config or {})
    return answer_one(TASK, Client.of(TASK, DATA, i), question, KEY)


def drawn(phase, i, j=0, **how):
    plan = batches(KEY, phase, [i], [SIZES[i]], **how)
    return plan.rows[0, j][plan.weight[0, j] > 0]


@pytest.mark.parametrize("i", range(len(SIZES)))
def test_probe_is_the_weighted_mean_loss_with_the_ridge_term(i):
    assert ask(i, "probe")["loss"] == pytest.approx(LeastSquares(DATA, i).loss(THETA.numpy()), rel=1e-12)


@pytest.mark.parametrize("i", range(len(SIZES)))
@pytest.mark.parametrize(("batch", "index"), [(0, 0), (3, 0), (3, 2), (50, 1)])
def test_gradient_is_the_formula_on_the_rows_that_the_draws_name(i, batch, index):
    reply, f = ask(i, "gradient", config={"batch": batch, "index": index}), LeastSquares(DATA, i)
    rows = drawn(f"gradient/{index}", i, batch=batch, steps=1)
    np.testing.assert_allclose(reply["grad"], f.grad(THETA.numpy(), rows), rtol=1e-12, atol=1e-14)
    assert reply["loss"] == pytest.approx(f.loss(THETA.numpy(), rows), rel=1e-12)
    assert reply["norm2"] == pytest.approx(float(reply["grad"] @ reply["grad"]), rel=1e-12)


def by_hand(i, how, shift):
    f, u, path = LeastSquares(DATA, i), THETA.numpy().copy(), []
    for j in range(int(batches(KEY, "local", [i], [SIZES[i]], **how).steps[0])):
        u = u - ETA * (f.grad(u, drawn("local", i, j, **how)) + shift)
        path.append(u)
    return path


@pytest.mark.parametrize("i", range(len(SIZES)))
@pytest.mark.parametrize("how", [{"batch": 3, "steps": 4}, {"batch": 0, "steps": 2}, {"batch": 4, "epochs": 2}])
@pytest.mark.parametrize("control", ["none", "recomputed", "given"])
def test_local_is_algorithm_2_by_hand(i, how, control):
    c, own = torch.linspace(-1, 1, TASK.d, dtype=torch.float64), torch.linspace(2, 0, TASK.d, dtype=torch.float64)
    f = LeastSquares(DATA, i)
    recomputed = f.grad(THETA.numpy(), drawn("gradient/0", i, batch=2, steps=1))
    shift = {"none": 0.0, "recomputed": c.numpy() - recomputed, "given": c.numpy() - own.numpy()}[control]
    shared = {} if control == "none" else {"c": c}
    reply = ask(
        i,
        "local",
        each={"c_i": own} if control == "given" else None,
        config={"eta": ETA, "control_batch": 2, "snapshot": 1, **how},
        **shared,
    )
    path = by_hand(i, how, shift)
    delta = (THETA.numpy() - path[-1]) / (ETA * len(path))
    np.testing.assert_allclose(reply["delta"], delta, rtol=1e-9, atol=1e-12)
    assert reply["norm2"] == pytest.approx(delta @ delta, rel=1e-9)
    assert reply["steps"] == len(path)
    np.testing.assert_allclose(reply["snapshot"], path[min(1, len(path) - 1)], rtol=1e-12)


def test_a_given_divisor_replaces_the_number_of_steps():
    config = {"eta": ETA, "batch": 2, "epochs": 2}
    own, fixed = ask(2, "local", config=config), ask(2, "local", config=config | {"divisor": 5})
    torch.testing.assert_close(fixed["delta"], own["delta"] * own["steps"] / 5)


def test_one_full_step_without_control_returns_the_full_gradient():
    task = build("mlp", (6,), 3, dropout=0.0, dtype=torch.float64)
    client, theta = Client.of(task, federation(), 2), task.init(0)
    grad = answer_one(task, client, Ask("gradient", {"theta": theta}), KEY)["grad"]
    local = answer_one(task, client, Ask("local", {"theta": theta}, config={"eta": 0.1, "steps": 1}), KEY)
    torch.testing.assert_close(local["delta"], grad)


def test_dropout_is_on_in_gradients_unless_switched_off_and_off_in_probes():
    task = build("mlp", (6,), 3, dtype=torch.float64)
    data, theta = federation(), task.init(0)
    client = Client.of(task, data, 2)

    def reply(phase, **config):
        return answer_one(task, client, Ask(phase, {"theta": theta}, config=config), KEY)

    order = drawn("gradient/0", 2, batch=0, steps=1)
    x, y = client.train.x[order], client.train.y[order]
    (mask,) = draw_masks(KEY, "gradient/0", [2], [0], len(order), task.dropped(x), torch.float64)
    with_masks = task.losses(theta, x, y, [mask[0, 0]]).mean()
    assert reply("gradient")["loss"] == pytest.approx(float(with_masks), rel=1e-12)
    assert reply("gradient", dropout=False)["loss"] == pytest.approx(reply("probe")["loss"], rel=1e-12)


@pytest.mark.parametrize("i", range(len(SIZES)))
def test_hvp_is_the_hessian_times_v(i):
    v = torch.linspace(-1, 2, TASK.d, dtype=torch.float64)
    expected = LeastSquares(DATA, i).hessian() @ v.numpy()
    np.testing.assert_allclose(ask(i, "hvp", v=v)["hvp"], expected, rtol=1e-10, atol=1e-12)


def test_score_counts_right_classes_and_has_no_answer_without_rows():
    task, data = build("linear", (6,), 3, dtype=torch.float64), federation()
    theta = task.init(0)
    w, b = (p.numpy() for p in task.unflatten(theta).values())
    rows = data.valid[0]
    right = (data.x[rows].numpy() @ w.T + b).argmax(1) == data.y[rows].numpy()
    reply = answer_one(task, Client.of(task, data, 0), Ask("score", {"theta": theta}), KEY)
    assert (reply["accuracy"], reply["error"], reply["size"]) == (right.mean(), 1 - right.mean(), 2)
    empty = answer_one(task, Client.of(task, data, 4), Ask("score", {"theta": theta}), KEY)
    assert np.isnan([empty["loss"], empty["accuracy"], empty["error"]]).all()
    assert empty["size"] == 0


def test_the_score_of_the_training_part_has_the_probes_loss_and_regression_has_no_accuracy():
    reply = ask(2, "score", config={"split": "train"})
    f = LeastSquares(DATA, 2)
    assert reply["loss"] == pytest.approx(ask(2, "probe")["loss"], rel=1e-12)
    assert np.isnan(reply["accuracy"])
    assert reply["error"] == pytest.approx(np.mean((f.x @ THETA.numpy() - f.y) ** 2), rel=1e-12)


@pytest.mark.parametrize(
    ("phase", "config", "words"),
    [
        ("prob", {}, "did you mean 'probe'"),
        ("probe", {"batch": 1}, "unknown setting 'batch'"),
        ("gradient", {"bacth": 1}, "did you mean 'batch'"),
        ("local", {"steps": 1}, "set eta"),
        ("local", {"eta": 0.1}, "give one of them"),
        ("local", {"eta": 0.1, "steps": 1, "epochs": 1}, "give one of them"),
        ("local", {"eta": 0.0, "steps": 1}, "above 0"),
        ("score", {"split": "test"}, "'valid' or 'train'"),
    ],
)
def test_a_wrong_phase_or_setting_is_refused_with_a_remedy(phase, config, words):
    with pytest.raises(InputError, match=words):
        ask(0, phase, config=config)


def test_every_phase_refuses_a_client_without_training_rows():
    data = federation(sizes=(3, 0))
    for phase in STEPS:
        with pytest.raises(InputError, match="'site-1' has no training rows"):
            answer_one(TASK, Client.of(TASK, data, 1), Ask(phase, {"theta": THETA}), KEY)
