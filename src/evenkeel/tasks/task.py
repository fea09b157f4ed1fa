"""A task: a model and a per-row loss f over one flat vector θ (one torch tensor of d numbers)."""

import copy
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from evenkeel.draws import generator
from evenkeel.errors import InputError, nearest
from evenkeel.tasks.dropout import Dropped, Masks, fed, recorded
from evenkeel.tasks.losses import LOSSES, SCORES


class Place(NamedTuple):
    """Where one parameter lies in θ: θ[first:last], in this shape."""

    name: str
    shape: torch.Size
    first: int
    last: int


class _Modules(threading.local):
    """The model in both modes, one pair a thread: `functional_call` puts θ into a module while it runs."""

    def __init__(self, template: nn.Module) -> None:
        self.evaluating = copy.deepcopy(template).eval()
        self.training = copy.deepcopy(template).train()


@dataclass(frozen=True, kw_only=True)
class Task:
    """Any `torch.nn.Module` factory with a per-row loss; a client's f_i is the mean of its rows' losses + l2/2·‖θ‖².

    `kind` is "classification" (cross-entropy), "regression" (squared error) or "binary" (logistic). `dtype` and
    `device` are those of θ; floating data are brought to them, whole numbers (tokens) stay what they are. Parameters
    that do not require a gradient stay as the factory made them under seed 0, and are no part of θ.

    >>> task = Task(model=lambda: nn.Linear(3, 2), kind="classification")
    >>> theta = task.init(0)
    >>> task.d, theta.shape, task.losses(theta, torch.zeros(5, 3), torch.zeros(5)).shape
    (8, torch.Size([8]), torch.Size([5]))
    """

    model: Callable[[], nn.Module]
    kind: str = "classification"
    l2: float = 0.0
    dtype: torch.dtype = torch.float32
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.kind not in LOSSES:
            raise InputError(f"kind = {self.kind!r}: no such loss; {nearest(self.kind, LOSSES)}")
        if not self.l2 >= 0:
            raise InputError(f"l2 = {self.l2}: must be 0 or more; 0 switches the ridge term off")
        refuse_unfit(self.template)
        if self.d == 0:
            raise InputError("the model has no free parameters: nothing can be learned; give a model with at least one")

    @cached_property
    def template(self) -> nn.Module:
        """The model whose shapes and buffers are ours; its own weights are never used after `init`."""
        return self.fresh(0)

    @cached_property
    def _modules(self) -> "_Modules":
        return _Modules(self.template)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Where each parameter lies in θ, in the model's own order."""
        found, at = [], 0
        for name, p in self.template.named_parameters():
            if not p.requires_grad:
                continue
            found.append(Place(name, p.shape, at, at + p.numel()))
            at += p.numel()
        return tuple(found)

    @property
    def d(self) -> int:
        """The number of parameters."""
        return self.places[-1].last if self.places else 0

    def fresh(self, seed: int) -> nn.Module:
        """A new model whose start weights are a value of `seed` alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(generator(seed, "init").integers(2**63)))
            return self.model().to(self.device, self.dtype)

    def init(self, seed: int) -> Tensor:
        """Start values θ⁰, the factory's own initialisation under this seed."""
        return torch.cat([p.detach().reshape(-1) for p in self.fresh(seed).parameters() if p.requires_grad])

    def unflatten(self, theta: Tensor) -> dict[str, Tensor]:
        """θ as a state_dict: views of θ for the parameters (one view for shared ones), the model's own for the rest."""
        views = {p.name: theta[p.first : p.last].view(p.shape) for p in self.places}
        rest = {name: value.detach() for name, value in self._fixed.items()}
        return rest | views | {name: views[first] for name, first in self._shared.items()}

    @cached_property
    def _fixed(self) -> dict[str, Tensor]:
        """Buffers, and parameters that are not learned."""
        parameters = self.template.named_parameters(remove_duplicate=False)
        return {name: p for name, p in parameters if not p.requires_grad} | dict(self.template.named_buffers())

    @cached_property
    def _shared(self) -> dict[str, str]:
        """Further names of parameters that several layers share."""
        first = {id(p): name for name, p in self.template.named_parameters() if p.requires_grad}
        every = self.template.named_parameters(remove_duplicate=False)
        return {name: first[id(p)] for name, p in every if first.get(id(p), name) != name}

    def flatten(self, state: Mapping[str, Tensor]) -> Tensor:
        """A state_dict as θ: `flatten(unflatten(theta))` is `theta`."""
        return torch.cat([state[p.name].reshape(-1) for p in self.places])

    def fit(self, x: Tensor) -> Tensor:
        """Data on the task's device; floating numbers in its dtype."""
        return x.to(self.device, self.dtype if x.is_floating_point() else x.dtype)

    def dropped(self, x: Tensor) -> tuple[Dropped, ...]:
        """The model's dropout calls on rows like those of x."""
        return recorded(self._modules.training, self.fit(x[:0]))

    def outputs(self, theta: Tensor, x: Tensor, masks: Masks | None = None) -> Tensor:
        """The model's outputs; with `masks` in training mode, the k-th dropout call multiplied by `masks[k]`."""
        if masks is None:
            return cast("Tensor", functional_call(self._modules.evaluating, self.unflatten(theta), (x,)))
        module = self._modules.training
        with fed(masks):
            return cast("Tensor", functional_call(module, self.unflatten(theta), (x,)))

    def losses(self, theta: Tensor, x: Tensor, y: Tensor, masks: Masks | None = None) -> Tensor:
        """One loss a row; dropout is off without `masks`."""
        return LOSSES[self.kind](self.outputs(theta, x, masks), y)

    def losses_and_outputs(self, theta: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """One loss a row and the outputs themselves, dropout off."""
        out = self.outputs(theta, x)
        return LOSSES[self.kind](out, y), out

    def score(self, theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """One score a row: 1 or 0 for a right or wrong class, the squared error for regression."""
        return SCORES[self.kind](self.outputs(theta, x), y)


def refuse_unfit(module: nn.Module) -> None:
    """Raise on lazy layers, and on batch normalisation: its running statistics are state that no flat θ holds.

    >>> refuse_unfit(nn.GroupNorm(2, 4))
    """
    for name, parameter in module.named_parameters():
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            raise InputError(
                f"parameter {name!r} has no shape yet: give its layer the number of inputs; nn.Linear does"
            )
    for name, part in module.named_modules():
        if getattr(part, "track_running_stats", False) or isinstance(part, nn.modules.batchnorm._BatchNorm):
            raise InputError(
                f"layer {name or 'model'!r} is {type(part).__name__}: batch statistics mix a client's rows and are "
                "not part of theta; use nn.GroupNorm or nn.LayerNorm"
            )
