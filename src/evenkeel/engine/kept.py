"""What is kept between operations and between asks, to save time alone: nothing changes where it is missing."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from evenkeel.clients import Gradient
from evenkeel.engine.asked import Ids
from evenkeel.engine.slopes import Slopes
from evenkeel.protocol import Key


class Scratch(threading.local):
    """Buffers that a worker uses again and again: fresh memory of a megabyte costs more than the work on it.

    >>> scratch = Scratch()
    >>> a = scratch.take("rows", (2, 3), torch.zeros(1))
    >>> scratch.take("rows", (3, 1), torch.zeros(1)).data_ptr() == a.data_ptr()
    True
    """

    def __init__(self) -> None:
        self.held: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """The worker's buffer of this name with this shape, and the dtype and device of `like`; it holds anything."""
        size, held = math.prod(shape), self.held.get(name)
        if held is None or held.numel() < size or held.dtype != like.dtype or held.device != like.device:
            self.held[name] = like.new_empty(size)
        return self.held[name][:size].view(shape)


@dataclass(slots=True, kw_only=True)
class Kept:
    """What an ask leaves for the next one at the same θ, in at most `room` bytes each.

    `first` is W·x + b of the first layer for every training row, a column a row, from a probe (`units` is its height;
    0: not wanted). `own` are the c_i of whole chunks from the phase "gradient". Gram matrices belong to the rows alone
    and outlive θ: `stacks` has those of whole chunks, `grams` those of each client (mostly views of the former), in
    `gram_room` bytes.
    """

    room: int
    gram_room: int = 0
    units: int = 0
    theta: Tensor | None = None
    first: Tensor | None = None
    own: dict[tuple[Key, Gradient, bytes], Tensor | Slopes] = field(default_factory=dict)
    buffer: Tensor | None = None
    grams: dict[int, Tensor] = field(default_factory=dict)
    stacks: dict[bytes, Tensor] = field(default_factory=dict)
    gram_bytes: int = 0

    def renew(self, theta: Tensor) -> None:
        """Forget everything if θ is another one."""
        if self.theta is None or not torch.equal(self.theta, theta):
            self.theta, self.first, self.own = theta.clone(), None, {}

    def columns(self, rows: int) -> Tensor | None:
        """A buffer (units, rows) for a probe to fill; None if it is not wanted or there is no room."""
        self.first = None
        like = self.theta
        if self.buffer is None and like is not None and 0 < self.units * rows * like.itemsize <= self.room:
            self.buffer = like.new_empty(self.units, rows)
        return self.buffer

    def columns_at(self, places: Tensor) -> Tensor | None:
        """W·x + b of the first layer at θ for places (clients, slots), as (clients, units, slots), if kept."""
        if self.first is None:
            return None
        flat = places.flatten().to(self.first.device)
        return self.first.index_select(1, flat).view(-1, *places.shape).transpose(0, 1)

    def put(self, key: Key, cfg: Gradient, ids: Ids, own: Tensor | Slopes) -> None:
        """Keep the gradients of a chunk, while there is room."""
        if own.nbytes + sum(held.nbytes for held in list(self.own.values())) <= self.room:
            self.own[key, cfg, ids.tobytes()] = own

    def pop(self, key: Key, cfg: Gradient, ids: Ids) -> Tensor | Slopes | None:
        """The gradients of a chunk, which the caller may then overwrite."""
        return self.own.pop((key, cfg, ids.tobytes()), None)

    def stack(self, ids: Ids) -> Tensor | None:
        """The Gram matrices of a whole chunk, if they were kept."""
        return self.stacks.get(ids.tobytes())

    def new_stack(self, ids: Ids, most: int, like: Tensor) -> Tensor | None:
        """Room for those of a chunk of which no client's is known; None where some are, or there is no room."""
        shape = len(ids), most, most
        if any(int(i) in self.grams for i in ids) or not self.room_for(math.prod(shape) * like.itemsize):
            return None
        return like.new_empty(shape)

    def keep_grams(self, ids: Ids, sizes: Sequence[int], stack: Tensor, *, whole: bool) -> None:
        """Keep a new stack as it is, or else copies of those in it that are not known, while there is room."""
        if whole:
            self.stacks[ids.tobytes()] = stack
            self.gram_bytes += stack.nbytes
        for i, size, gram in zip(ids.tolist(), sizes, stack, strict=True):
            own = gram[:size, :size]
            if whole:
                self.grams[i] = own
            elif i not in self.grams and self.room_for(own.nbytes):
                self.grams[i] = own.clone()
                self.gram_bytes += own.nbytes

    def room_for(self, more: int) -> bool:
        """Whether more Gram matrices of so many bytes may be kept."""
        return self.gram_bytes + more <= self.gram_room
