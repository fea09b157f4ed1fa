"""The first layer's local steps without its weights: for clients whose rows are fewer than the work on them.

Every gradient of the first layer is slope·xᵀ over the client's own rows, so after any number of steps
W = ρʲ·W(θ) − η·t_j·shift − η·S·X, with S (units, rows) the sum of the slopes so far. A step then needs no product with
the inputs, only with their Gram matrix K = X·Xᵀ + 1 (the 1 is the bias), which is the same in every round:
W·x + b = ρʲ·(W·x + b)(θ) − η·t_j·(shift·x) − η·S·K. X itself is used twice a round, not twice a step.
ρ = 1 − η·l2 and t_j = 1 + ρ + … + ρ^{j−1}.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.engine.asked import Ids
from evenkeel.engine.chunks import Chunk
from evenkeel.engine.kept import Kept, Scratch
from evenkeel.engine.layers import Layer, affine, parameters
from evenkeel.engine.table import Table

_SLOW = 2  # measured: docs/decisions/0006-engine.md


def gram(x: Tensor, *, bias: bool) -> Tensor:
    """X·Xᵀ (+ 1 with a bias) of one client.

    >>> gram(torch.tensor([[1.0], [2.0]]), bias=True).tolist()
    [[2.0, 3.0], [3.0, 5.0]]
    """
    product = torch.mm(x, x.T)
    return product.add_(1) if bias else product


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What decides between weights and rows: the sizes of a chunk's first layer, of its largest client, and its steps.

    >>> few = Work(rows=160, inputs=784, units=50, batch=32, steps=5, shifted=True, known=True, grams=0.0)
    >>> from dataclasses import replace
    >>> few.cheaper_in_rows(), replace(few, steps=25).cheaper_in_rows(), replace(few, rows=5000).cheaper_in_rows()
    (False, True, False)
    """

    rows: int
    inputs: int
    units: int
    batch: int
    steps: int
    shifted: bool
    known: bool  # the products at θ are there already
    grams: float  # the share of its Gram matrix that a client is charged with

    def cheaper_in_rows(self) -> bool:
        """Whether a client's products take less time; those with K count _SLOW times, as K streams from memory."""
        passes = self.rows * self.inputs * self.units * (1 + self.shifted + (not self.known))
        inner = _SLOW * self.steps * self.batch * self.rows * self.units
        outer = self.grams * self.rows**2 * self.inputs
        return passes + inner + outer < self.steps * 2 * self.batch * self.inputs * self.units


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSpace:
    """The state of one chunk's first layer during its local steps; S changes in place."""

    layer: Layer
    eta: float
    decay: float  # ρ
    offsets: Tensor  # (clients, 1): the place of each client's first row
    x: list[Tensor]  # (rows, in) of each client
    gram: Tensor  # (clients, rows, rows): K
    start: Tensor  # (clients, rows, units): W·x + b at θ
    drift: Tensor | None  # (clients, rows, units): shift·x
    slopes: Tensor  # (clients, rows, units): S

    @property
    def last(self) -> int:
        """The first layer's parameters are θ[:last]."""
        return (self.layer.bias or self.layer.weight).last

    def _flat(self, places: Tensor) -> Tensor:
        """Places (clients, slots) as row numbers of the blocks laid one after the other."""
        n, rows = len(places), self.start.shape[1]
        return (places - self.offsets[:n] + torch.arange(0, n * rows, rows, device=places.device)[:, None]).flatten()

    def products(self, j: int, places: Tensor) -> Tensor:
        """W·x + b of step j for these places (clients, slots), as (clients, units, slots)."""
        n, rows, units = len(places), self.start.shape[1], self.start.shape[2]
        flat = self._flat(places)
        z = self.start.view(-1, units).index_select(0, flat)
        if j:
            z.mul_(self.decay**j)
        if j and self.drift is not None:
            drift = self.drift.view(-1, units).index_select(0, flat)
            z.sub_(drift, alpha=self.eta * float(grown(self.decay, j)))
        z = z.view(n, -1, units).transpose(1, 2).contiguous()
        if j:
            picked = self.gram.view(-1, rows).index_select(0, flat).view(n, -1, rows)
            z.baddbmm_(self.slopes[:n].transpose(1, 2), picked.transpose(1, 2), alpha=-self.eta)
        return z

    def add(self, places: Tensor, slope: Tensor) -> None:
        """S ← ρ·S + the slopes of this step's rows."""
        mine = self.slopes[: len(places)]
        if self.decay != 1:
            mine.mul_(self.decay)
        units = mine.shape[2]
        mine.view(-1, units).index_add_(0, self._flat(places), slope.transpose(1, 2).reshape(-1, units))

    def write(self, u: Tensor, theta: Tensor, shift: Tensor | None, taken: Ids) -> None:
        """The first layer's parameters after so many steps of each client, into u."""
        first, place = u[:, : self.last], self.layer.weight
        torch.mul(theta[: self.last], torch.from_numpy(self.decay**taken).to(u)[:, None], out=first)
        if shift is not None:
            first.addcmul_(shift[:, : self.last], torch.from_numpy(-self.eta * grown(self.decay, taken)).to(u)[:, None])
        weight = u[:, place.first : place.last].view(len(u), *place.shape)
        for i, x in enumerate(self.x):
            weight[i].addmm_(self.slopes[i, : len(x)].T, x, alpha=-self.eta)
        if self.layer.bias is not None:
            u[:, self.layer.bias.first : self.last].sub_(self.slopes.sum(1), alpha=self.eta)


def grown(decay: float, steps: Ids | int) -> NDArray[np.float64]:
    """t_j = 1 + ρ + … + ρ^{j−1}.

    >>> grown(0.5, 3), grown(1.0, np.array([2, 3]))
    (array(1.75), array([2., 3.]))
    """
    j = np.asarray(steps, dtype=np.float64)
    return j if decay == 1 else np.asarray((1 - decay**j) / (1 - decay))


@dataclass(frozen=True, slots=True, kw_only=True)
class Laying:
    """Lays out chunks in row space: their rows, K, and the first layer's products at θ and with the shift."""

    layer: Layer
    table: Table
    kept: Kept
    scratch: Scratch

    def of(self, chunk: Chunk, theta: Tensor, shift: Tensor | None, eta: float) -> RowSpace:
        """The row space of one chunk before its first step."""
        spans = [(int(self.table.offsets[i]), int(self.table.offsets[i + 1])) for i in chunk.ids]
        x = [self.table.block(*span).x.flatten(1) for span in spans]
        known = self.kept.first
        start = [
            self._products(theta, x_i) if known is None else known[:, slice(*s)]
            for x_i, s in zip(x, spans, strict=True)
        ]
        drift = None if shift is None else [self._products(s, rows) for s, rows in zip(shift, x, strict=True)]
        return RowSpace(
            layer=self.layer,
            eta=eta,
            decay=1 - eta * self.table.task.l2,
            offsets=self.table.indices(self.table.offsets[chunk.ids])[:, None],
            x=x,
            gram=self._grams(chunk, x),
            start=self._padded("start", start),
            drift=None if drift is None else self._padded("drift", drift),
            slopes=self._padded("slopes", start).zero_(),
        )

    def _products(self, theta: Tensor, x: Tensor) -> Tensor:
        """W·x + b of one client's rows, (units, rows)."""
        weight, bias = parameters([self.layer], theta[None])[0]
        return affine(weight, bias, x.T[None])[0]

    def _padded(self, name: str, blocks: list[Tensor]) -> Tensor:
        """Blocks (units, rows) as one (clients, most rows, units); what lies beyond a client's rows is never read."""
        most = max(block.shape[1] for block in blocks)
        into = self.scratch.take(name, (len(blocks), most, len(blocks[0])), blocks[0])
        for i, block in enumerate(blocks):
            into[i, : block.shape[1]] = block.T
        return into

    def _grams(self, chunk: Chunk, x: list[Tensor]) -> Tensor:
        """K of each client, with zeros beyond its rows."""
        most, bias = max(len(rows) for rows in x), self.layer.bias is not None
        into = self.scratch.take("gram", (len(x), most, most), x[0])
        for i, rows in enumerate(x):
            n = len(rows)
            into[i, :n, :n] = self.kept.gram(int(chunk.ids[i]), partial(gram, rows, bias=bias))
            into[i, :n, n:] = 0
        return into
