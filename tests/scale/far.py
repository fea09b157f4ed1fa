"""A device that is far away: an accelerator without one. It computes on the host, but knows what a real one would do.

Tensors that are far claim PyTorch's "meta" device and hold their numbers inside. Every operation passes through here:
one that mixes near and far is refused, as CUDA refuses it, and each way across is counted.
"""

from collections import Counter
from dataclasses import dataclass, field

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = "meta"
aten = torch.ops.aten
WAITS = {
    aten._local_scalar_dense,
    aten.equal,
    aten.nonzero,
    aten.is_nonzero,
    aten.masked_select,
}  # a GPU would be awaited


class Far(torch.Tensor):
    """A tensor on the far device."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls, held.shape, strides=held.stride(), dtype=held.dtype, device=DEVICE, requires_grad=False
        )

    def __init__(self, held):
        self.held = held

    def __deepcopy__(self, memo):
        return Far(self.held.clone())

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(f"{func} outside of `FarAway`")


def near(value):
    """The host's view of a far tensor."""
    return value.held if isinstance(value, Far) else value


def far(value):
    """A tensor brought to the far device, uncounted."""
    return Far(value) if isinstance(value, torch.Tensor) and not isinstance(value, Far) else value


@dataclass
class Crossings:
    """Tensors brought there, tensors brought back, and single numbers waited for."""

    there: Counter = field(default_factory=Counter)
    back: Counter = field(default_factory=Counter)
    waits: Counter = field(default_factory=Counter)


class FarAway(TorchDispatchMode):
    """Within this block, `device="meta"` is the far device."""

    def __init__(self):
        super().__init__()
        self.seen = Crossings()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        some_far = any(isinstance(t, Far) for t in tensors)
        op, target = func.overloadpacket, kwargs.get("device")
        target = None if target is None else torch.device(target).type
        if op is aten._to_copy and target is not None:
            goes_far = target == DEVICE
            kwargs["device"] = torch.device("cpu")
            done = func(*tree_map(near, args), **kwargs)
            if goes_far != some_far:
                (self.seen.there if goes_far else self.seen.back)[tuple(done.shape)] += 1
            return Far(done) if goes_far else done
        if op is aten.copy_ and isinstance(args[0], Far) != isinstance(args[1], Far):
            (self.seen.there if isinstance(args[0], Far) else self.seen.back)[tuple(args[1].shape)] += 1
            func(near(args[0]), near(args[1]), *args[2:])
            return args[0]
        if some_far and any(not isinstance(t, Far) and t.dim() for t in tensors):
            raise RuntimeError(f"{func}: expected all tensors on one device, found near and far")
        if some_far and op in WAITS:
            self.seen.waits[str(op)] += 1
        if target == DEVICE:
            kwargs["device"] = torch.device("cpu")
        done = func(*tree_map(near, args), **tree_map(near, kwargs))
        return tree_map(far, done) if some_far or target == DEVICE else done


class Inline:
    """An executor that does the work at once: modes belong to a thread."""

    def map(self, call, *over):
        return list(map(call, *over))
