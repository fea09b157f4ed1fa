"""Dropout whose masks are values of (seed, round, phase, client, step, row slot, layer, unit).

Masks are drawn by NumPy before a model runs and fed in at each call of dropout, in the order of the calls. So a plain
loop, a vectorised engine and a federation drop the same units.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from evenkeel.draws import bits
from evenkeel.errors import InputError
from evenkeel.protocol import Key

Masks = Sequence[Tensor]
_SLICE = 16  # bits a unit
_CHANNELS = {functional.dropout1d, functional.dropout2d, functional.dropout3d}


class Dropped(NamedTuple):
    """One dropout call of a model: its probability p and the shape of one row's mask."""

    p: float
    shape: tuple[int, ...]


class _Intercept(TorchFunctionMode):
    """Hands every dropout call to `replace(input, p, whole_channels)`."""

    def __init__(self, replace: Callable[[Tensor, float, bool], Tensor]) -> None:
        super().__init__()
        self.replace = replace

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        if func is not functional.dropout and func not in _CHANNELS:
            return func(*args, **kwargs)
        given: dict[str, Any] = dict(zip(("input", "p", "training"), args, strict=False)) | dict(kwargs)
        if not given.get("training", True):
            return given["input"]
        return self.replace(given["input"], float(given.get("p", 0.5)), func in _CHANNELS)


def recorded(call: Callable[[Tensor], object], like: Tensor) -> tuple[Dropped, ...]:
    """The dropout calls that `call` makes, found by a dry run on rows of zeros with the shape of those of `like`.

    >>> recorded(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.25)), torch.ones(5, 3))
    (Dropped(p=0.25, shape=(2,)),)
    """
    rows, found = 3, list[Dropped]()  # a batch of 3 tells the row axis from most others

    def note(given: Tensor, p: float, channels: bool) -> Tensor:
        if given.shape[0] != rows:
            raise InputError(
                f"dropout on a tensor of shape {tuple(given.shape)}: the first axis must be the rows ({rows} here); "
                "put the batch first"
            )
        rest = tuple(given.shape[1:])
        found.append(Dropped(p, (rest[0],) + (1,) * (len(rest) - 1) if channels else rest))
        return given

    state = torch.get_rng_state()
    with torch.no_grad(), _Intercept(note):
        call(torch.zeros(rows, *like.shape[1:], dtype=like.dtype, device=like.device))
    if not torch.equal(state, torch.get_rng_state()):
        torch.set_rng_state(state)
        raise InputError(
            "the model draws random numbers outside nn.Dropout in training mode: such draws cannot be repeated; "
            "use nn.Dropout, or write the noise as an input"
        )
    return tuple(found)


@contextmanager
def fed(masks: Masks) -> Iterator[None]:
    """Within this block, the k-th dropout call multiplies by `masks[k]`.

    >>> with fed([torch.tensor([[0.0, 2.0]])]):
    ...     functional.dropout(torch.ones(1, 2)).tolist()
    [[0.0, 2.0]]
    """
    left = iter(masks)
    with _Intercept(lambda given, p, channels: given * next(left)):
        yield


def draw_masks(  # noqa: PLR0917  the counters, in the order in which they are folded
    key: Key,
    phase: str,
    clients: ArrayLike,
    steps: ArrayLike,
    rows: int,
    dropped: Sequence[Dropped],
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """One tensor a dropout call, of shape (clients, steps, rows, *unit shape), with entries 0 or 1/(1 − p).

    Unit u of a row takes the u-th 16-bit slice of the row's random words, and is dropped where it is below p·2¹⁶.

    >>> masks = draw_masks(Key(0, 0), "local", [4, 7], [0], 1000, [Dropped(0.5, (50,))])
    >>> masks[0].shape, masks[0].unique().tolist(), bool((masks[0].mean() - 1).abs() < 0.01)
    (torch.Size([2, 1, 1000, 50]), [0.0, 2.0], True)
    """
    client = np.asarray(clients)[:, None, None, None]
    step = np.asarray(steps)[:, None, None]
    slot = np.arange(rows)[:, None]
    masks = []
    for layer, (p, shape) in enumerate(dropped):
        units, cut = math.prod(shape), round(p * 2**_SLICE)
        words = bits(key, f"{phase}/dropout", client, step, slot, layer, np.arange(-(-units * _SLICE // 64)))
        kept = torch.from_numpy(words.astype("<u8", copy=False).view("<u2") >= cut)[..., :units]
        scale = 2**_SLICE / (2**_SLICE - cut) if cut < 2**_SLICE else 0.0
        masks.append(kept.to(dtype).mul_(scale).reshape(*kept.shape[:-1], *shape))
    return tuple(masks)
