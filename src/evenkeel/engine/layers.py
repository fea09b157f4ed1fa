"""Fully connected networks read from a task, and their forward and backward passes written out.

Everything is feature-major: activations have the shape (clients, units, rows). So the long axis of every product is
contiguous, and the pass over rows at a shared θ is the same code with one client. See docs/decisions/0006-engine.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from evenkeel.tasks import Task
from evenkeel.tasks.losses import LOSSES
from evenkeel.tasks.task import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """a ↦ post(W·a + b), where post is a ReLU or nothing, times the masks of the dropout calls that follow."""

    weight: Place
    bias: Place | None
    relu: bool
    masks: tuple[int, ...]

    @property
    def last(self) -> int:
        """Where its parameters end in θ; those of the first layer are θ[:last]."""
        return (self.bias or self.weight).last


def _modules(module: nn.Module, name: str = "") -> Iterator[tuple[str, nn.Module]]:
    """The modules of nested Sequentials in the order in which they run, one that runs twice twice."""
    if type(module) is not nn.Sequential:
        yield name, module
        return
    for child, part in module._modules.items():  # `named_children` leaves out repetitions
        yield from _modules(part, f"{name}.{child}" if name else child)


def _plain(module: nn.Module) -> bool:
    """Whether modules do what their type says and no more: no hooks, no shared, fixed or computed parameters."""
    parts = list(module.modules())
    hooked = any(m._forward_hooks or m._forward_pre_hooks or "forward" in vars(m) for m in parts)
    held = [p for m in parts for p in m._parameters.values() if p is not None]
    return not hooked and len({id(p) for p in held}) == len(held) and all(p.requires_grad for p in held)


def layers_of(task: Task, row_dim: int) -> tuple[Layer, ...] | None:
    """The layers of a Sequential of Linear, ReLU, Dropout and Flatten; None for any other model.

    `row_dim` is the number of axes of a row: rows of more than one axis need a Flatten first.

    >>> from evenkeel.tasks import build
    >>> [(layer.weight.shape, layer.relu, layer.masks) for layer in layers_of(build("mlp", (4,), 3), 1)]
    [(torch.Size([50, 4]), True, (0,)), (torch.Size([3, 50]), False, ())]
    >>> layers_of(build("cnn", (1, 4, 4), 3), 3) is None
    True
    """
    if not _plain(task.template):
        return None
    places = {place.name: place for place in task.places}
    layers: list[Layer] = []
    flat, calls, seen = row_dim == 1, 0, set[nn.Module]()
    for name, module in _modules(task.template):
        kind = type(module)
        if kind is nn.Flatten and module.start_dim == 1 and module.end_dim == -1:
            flat = True
        elif kind is nn.Linear and flat and module not in seen:
            seen.add(module)
            of = f"{name}." if name else ""  # the model itself may be the layer
            layers.append(Layer(weight=places[f"{of}weight"], bias=places.get(f"{of}bias"), relu=False, masks=()))
        elif kind is nn.ReLU and layers:
            layers[-1] = replace(layers[-1], relu=True)
        elif kind is nn.Dropout and layers:
            layers[-1] = replace(layers[-1], masks=(*layers[-1].masks, calls))
            calls += 1
        elif kind is not nn.Identity:
            return None
    return tuple(layers) or None


Parameters = list[tuple[Tensor, Tensor | None]]  # one (clients, out, in) and one (clients, out, 1) a layer


def parameters(layers: Sequence[Layer], theta: Tensor, skip: int = 0) -> Parameters:
    """Views of stacked θ (clients, d) as weights and biases; later layers may come without the first `skip` numbers."""
    n = len(theta)

    def view(place: Place, *shape: int) -> Tensor:
        return theta[:, place.first - skip : place.last - skip].view(n, *shape)

    return [
        (view(layer.weight, *layer.weight.shape), view(layer.bias, *layer.bias.shape, 1) if layer.bias else None)
        for layer in layers
    ]


def affine(weight: Tensor, bias: Tensor | None, a: Tensor, out: Tensor | None = None) -> Tensor:
    """W·a + b of each client."""
    return torch.bmm(weight, a, out=out) if bias is None else torch.baddbmm(bias, weight, a, out=out)


def forward(
    layers: Sequence[Layer],
    stack: Parameters,
    x: Tensor,
    masks: Sequence[Tensor] = (),
    first: Tensor | None = None,
) -> list[Tensor]:
    """The input of each layer and the output, from x (clients, in, rows).

    `masks[k]` is (clients, units, rows); without masks dropout is off. `first` is W·x + b of the first layer where it
    is known already; then nothing looks at x.
    """
    acts = [x]
    for k, (layer, (weight, bias)) in enumerate(zip(layers, stack, strict=True)):
        z = first if k == 0 and first is not None else affine(weight, bias, acts[-1])
        a = torch.relu(z) if layer.relu else z
        for m in layer.masks if masks else ():
            a = a * masks[m]
        acts.append(a)
    return acts


def backward(
    layers: Sequence[Layer], stack: Parameters, acts: Sequence[Tensor], slope: Tensor, masks: Sequence[Tensor] = ()
) -> list[Tensor]:
    """∂loss/∂(W·a + b) of each layer, from the slope ∂loss/∂output."""
    slopes = []
    for k in reversed(range(len(layers))):
        for m in layers[k].masks if masks else ():
            slope = slope * masks[m]
        if layers[k].relu:  # the activation is positive exactly where the ReLU passed and every mask kept
            slope = torch.ops.aten.threshold_backward(slope, acts[k + 1], 0)
        slopes.append(slope)
        if k:
            slope = torch.bmm(stack[k][0].transpose(1, 2), slope)
    return slopes[::-1]


def slope_of(kind: str, out: Tensor, y: Tensor) -> Tensor:
    """∂(per-row loss)/∂output, for outputs (clients, units, rows) and targets (clients, rows[, units]).

    >>> slope_of("regression", torch.tensor([[[3.0]]]), torch.tensor([[1.0]])).tolist()
    [[[4.0]]]
    """
    if kind == "classification":
        return torch.softmax(out, 1).scatter_add_(1, y.long()[:, None], out.new_full((), -1.0).expand_as(y)[:, None])
    target = y.reshape(len(out), out.shape[2], -1).transpose(1, 2).to(out.dtype)
    return (torch.sigmoid(out) if kind == "binary" else 2 * out) - (target if kind == "binary" else 2 * target)


def losses_of(kind: str, out: Tensor, y: Tensor) -> Tensor:
    """Per-row losses (clients, rows) of such outputs and targets.

    >>> losses_of("regression", torch.tensor([[[3.0]]]), torch.tensor([[1.0]])).tolist()
    [[4.0]]
    """
    if kind == "classification":  # the classes are the second axis, as PyTorch wants them: no copy
        return functional.cross_entropy(out, y.long(), reduction="none")
    return LOSSES[kind](out.transpose(1, 2).flatten(0, 1), y.flatten(0, 1)).view(len(out), -1)
