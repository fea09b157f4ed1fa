"""The client steps, one client and one function each. They are the reference that every transport must agree with.

f_i(θ) = (1/m_i) Σ_rows w_row·loss_row(θ) + l2/2·‖θ‖². A step's ask has shared values and this client's own row of each
`each` value; a step returns plain floats and vectors of d numbers.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from evenkeel.clients.config import Gradient, Local, Probe, Score, demand_theta, settings
from evenkeel.clients.rows import Client, Part
from evenkeel.draws import batches
from evenkeel.errors import InputError, nearest
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import Task, draw_masks
from evenkeel.tasks.dropout import Masks

Reply = Mapping[str, Any]  # floats and (d,) tensors
ClientStep = Callable[[Task, Client, Ask, Key], Reply]
_ROWS_AT_ONCE = 8192  # a full pass is cut into blocks, so that no client is too large for memory


def weighted(losses: Tensor, part: Part) -> Tensor:
    """Each row's loss times its weight."""
    return losses if part.weight is None else losses * part.weight


def batch_loss(task: Task, theta: Tensor, part: Part, masks: Masks | None) -> Tensor:
    """The mean of these rows' weighted losses plus l2/2·‖θ‖², a differentiable scalar."""
    mean = weighted(task.losses(theta, part.x, part.y, masks), part).mean()
    return mean + task.l2 / 2 * theta.square().sum() if task.l2 else mean


def gradient_of(task: Task, theta: Tensor, part: Part, masks: Masks | None) -> tuple[Tensor, float]:
    """∇f and f of these rows at θ."""
    theta = theta.detach().requires_grad_()
    loss = batch_loss(task, theta, part, masks)
    return torch.autograd.grad(loss, theta)[0], float(loss.detach())


def _masks(task: Task, client: Client, key: Key, at: tuple[str, int], rows: int) -> Masks | None:
    dropped = task.dropped(client.train.x)
    phase, step = at
    masks = draw_masks(key, phase, [client.id], [step], rows, dropped, task.dtype)
    return [m[0, 0].to(task.device) for m in masks] if dropped else None


def _blocks(part: Part) -> list[Part]:
    cuts = range(0, part.size, _ROWS_AT_ONCE)
    slices = [slice(a, a + _ROWS_AT_ONCE) for a in cuts]
    return [Part(x=part.x[s], y=part.y[s], weight=None if part.weight is None else part.weight[s]) for s in slices]


def _full_loss(task: Task, theta: Tensor, part: Part) -> float:
    if part.size == 0:
        return float("nan")
    with torch.no_grad():
        rows = [weighted(task.losses(theta, b.x, b.y), b).double().sum() for b in _blocks(part)]
        ridge = task.l2 / 2 * theta.double().square().sum() if task.l2 else 0.0
        return float(sum(rows) / part.size + ridge)


def probe(task: Task, client: Client, ask: Ask, key: Key) -> Reply:
    """f_i(θ) over the whole training part, dropout off."""
    settings(Probe, ask.config)
    return {"loss": _full_loss(task, ask.shared["theta"], client.train)}


def _stochastic(task: Task, client: Client, theta: Tensor, key: Key, cfg: Gradient) -> tuple[Tensor, float]:
    plan = batches(key, cfg.phase, [client.id], [client.train.size], batch=cfg.batch, steps=1)
    part = client.train.take(plan.rows[0, 0][plan.weight[0, 0] > 0])
    masks = _masks(task, client, key, (cfg.phase, 0), part.size) if cfg.dropout else None
    return gradient_of(task, theta, part, masks)


def gradient(task: Task, client: Client, ask: Ask, key: Key) -> Reply:
    """One stochastic gradient ∇f_i(θ, ξ), its squared norm and the loss of that batch."""
    grad, loss = _stochastic(task, client, ask.shared["theta"], key, settings(Gradient, ask.config))
    return {"grad": grad, "loss": loss, "norm2": float(grad.double().square().sum())}


def _correction(task: Task, client: Client, ask: Ask, key: Key, cfg: Local) -> Tensor | None:
    """c − c_i, or None where there is no control; c_i is recomputed unless the ask brings it."""
    if "c" not in ask.shared:
        return None
    own = ask.each.get("c_i")
    if own is None:
        own = _stochastic(task, client, ask.shared["theta"], key, cfg.control)[0]
    shift: Tensor = ask.shared["c"] - own
    return shift


def local(task: Task, client: Client, ask: Ask, key: Key) -> Reply:
    """Algorithm 2: u ← u − η(∇f_i(u, ξ_j) − c_i + c) from u = θ; returns Δ = (θ − u)/(η·divisor)."""
    cfg = settings(Local, ask.config)
    theta: Tensor = ask.shared["theta"]
    shift = _correction(task, client, ask, key, cfg)
    size = client.train.size
    plan = batches(key, "local", [client.id], [size], batch=cfg.batch, steps=cfg.steps, epochs=cfg.epochs)
    steps = int(plan.steps[0])
    u, snapshot = theta, theta
    for j in range(steps):
        part = client.train.take(plan.rows[0, j][plan.weight[0, j] > 0])
        masks = _masks(task, client, key, ("local", j), part.size) if cfg.dropout else None
        grad, _ = gradient_of(task, u, part, masks)
        u = u - cfg.eta * (grad if shift is None else grad + shift)
        if j == min(cfg.snapshot, steps - 1):
            snapshot = u
    delta = (theta - u) / (cfg.eta * (cfg.divisor or steps))
    reply = {"delta": delta, "norm2": float(delta.double().square().sum()), "steps": steps}
    return reply | {"snapshot": snapshot} if cfg.snapshot >= 0 else reply


def score(task: Task, client: Client, ask: Ask, key: Key) -> Reply:
    """Loss, accuracy (NaN for regression), error (1 − accuracy, or the mean squared error) and size of one part."""
    part = client.valid if settings(Score, ask.config).split == "valid" else client.train
    theta = ask.shared["theta"]
    nan = float("nan")
    if part.size == 0:
        return {"loss": nan, "accuracy": nan, "error": nan, "size": 0}
    with torch.no_grad():
        mean = float(sum(task.score(theta, b.x, b.y).double().sum() for b in _blocks(part)) / part.size)
    regression = task.kind == "regression"
    error = mean if regression else 1 - mean
    accuracy = nan if regression else mean
    return {"loss": _full_loss(task, theta, part), "accuracy": accuracy, "error": error, "size": part.size}


def hvp(task: Task, client: Client, ask: Ask, key: Key) -> Reply:
    """∇²f_i(θ)·v over the whole training part, dropout off: the derivative of ⟨∇f_i(θ), v⟩."""
    settings(Probe, ask.config)
    v: Tensor = ask.shared["v"]
    total = task.l2 * v
    for block in _blocks(client.train):
        theta = ask.shared["theta"].detach().requires_grad_()
        loss = weighted(task.losses(theta, block.x, block.y), block).sum() / client.train.size
        (grad,) = torch.autograd.grad(loss, theta, create_graph=True)
        if grad.requires_grad:  # a loss that is linear in θ has no Hessian
            total = total + torch.autograd.grad(grad @ v, theta)[0]
    return {"hvp": total}


STEPS: dict[str, ClientStep] = {"probe": probe, "gradient": gradient, "local": local, "score": score, "hvp": hvp}


def answer_one(task: Task, client: Client, ask: Ask, key: Key) -> Reply:
    """Answer an ask whose `each` values are this client's own."""
    if ask.phase not in STEPS:
        raise InputError(f"phase = {ask.phase!r}: no such client step; {nearest(ask.phase, STEPS)}")
    demand_theta(ask.phase, ask.shared)
    if client.train.size == 0:
        raise InputError(f"client {client.name!r} has no training rows; drop it or give it some before training")
    return STEPS[ask.phase](task, client, ask, key)
