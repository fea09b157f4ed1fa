"""The first layer's local steps without its weights: for clients whose rows are fewer than the work on them.

Every gradient of the first layer is slope·xᵀ over the client's own rows, so after any number of steps
W = ρʲ·W(θ) − η·t_j·shift − η·S·X, with S (units, rows) the sum of the slopes so far. A step then needs no product with
the inputs, only with their Gram matrix K = X·Xᵀ + 1 (the 1 is the bias), which is the same in every round:
W·x + b = ρʲ·(W·x + b)(θ) − η·t_j·(shift·x) − η·S·K. X itself is used twice a round, not twice a step.
ρ = 1 − η·l2 and t_j = 1 + ρ + … + ρ^{j−1}.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.engine.asked import Ids
from evenkeel.engine.chunks import Chunk
from evenkeel.engine.kept import Kept
from evenkeel.engine.layers import Layer, affine, parameters
from evenkeel.engine.table import Table


def gram(x: Tensor, *, bias: bool) -> Tensor:
    """X·Xᵀ (+ 1 with a bias) of each client.

    >>> gram(torch.tensor([[[1.0], [2.0]]]), bias=True).tolist()
    [[[2.0, 3.0], [3.0, 5.0]]]
    """
    product = torch.bmm(x, x.transpose(1, 2))
    return product.add_(1) if bias else product


def cheaper(*, rows: int, inputs: int, units: int, batch: int, steps: int, shifted: bool, known: bool) -> bool:
    """Whether a round's products are fewer this way: counted per client, the Gram matrix not (it outlives the round).

    >>> cheaper(rows=160, inputs=784, units=50, batch=32, steps=25, shifted=True, known=True)
    True
    >>> cheaper(rows=5000, inputs=784, units=50, batch=32, steps=5, shifted=True, known=True)
    False
    """
    here = rows * inputs * units * (1 + shifted + (not known)) + steps * batch * rows * units
    return here < steps * 2 * batch * inputs * units


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSpace:
    """The state of one chunk's first layer during its local steps; S changes in place."""

    layer: Layer
    eta: float
    decay: float  # ρ
    offsets: Tensor  # (clients, 1): the place of each client's first row
    x: Tensor  # (clients, rows, in)
    gram: Tensor  # (clients, rows, rows): K
    start: Tensor  # (clients, units, rows): W·x + b at θ
    drift: Tensor | None  # (clients, units, rows): shift·x
    slopes: Tensor  # (clients, units, rows): S

    @property
    def last(self) -> int:
        """The first layer's parameters are θ[:last]."""
        return (self.layer.bias or self.layer.weight).last

    def products(self, j: int, places: Tensor) -> Tensor:
        """W·x + b of step j for these places (clients, slots), as (clients, units, slots)."""
        n, units, rows = len(places), self.start.shape[1], self.start.shape[2]
        at = places - self.offsets[:n]
        columns = at[:, None].expand(-1, units, -1)
        z = self.start[:n].gather(2, columns)
        if j == 0:
            return z
        z.mul_(self.decay**j)
        if self.drift is not None:
            z.sub_(self.drift[:n].gather(2, columns), alpha=self.eta * float(grown(self.decay, j)))
        flat = (torch.arange(n)[:, None] * rows + at).flatten()
        picked = self.gram.flatten(0, 1).index_select(0, flat).view(n, -1, rows)
        return z.baddbmm_(self.slopes[:n], picked.transpose(1, 2), alpha=-self.eta)

    def add(self, places: Tensor, slope: Tensor) -> None:
        """S ← ρ·S + the slopes of this step's rows."""
        n = len(places)
        columns = (places - self.offsets[:n])[:, None].expand(-1, slope.shape[1], -1)
        if self.decay != 1:
            self.slopes[:n].mul_(self.decay)
        self.slopes[:n].scatter_add_(2, columns, slope)

    def write(self, u: Tensor, theta: Tensor, shift: Tensor | None, taken: Ids) -> None:
        """The first layer's parameters after so many steps of each client, into u."""
        first, place = u[:, : self.last], self.layer.weight
        torch.mul(theta[: self.last], torch.from_numpy(self.decay**taken).to(u)[:, None], out=first)
        if shift is not None:
            first.addcmul_(shift[:, : self.last], torch.from_numpy(-self.eta * grown(self.decay, taken)).to(u)[:, None])
        weight = u[:, place.first : place.last].view(len(u), *place.shape)
        weight.baddbmm_(self.slopes, self.x, alpha=-self.eta)
        if self.layer.bias is not None:
            u[:, self.layer.bias.first : self.last].sub_(self.slopes.sum(2), alpha=self.eta)


def grown(decay: float, steps: Ids | int) -> NDArray[np.float64]:
    """t_j = 1 + ρ + … + ρ^{j−1}.

    >>> grown(0.5, 3), grown(1.0, np.array([2, 3]))
    (array(1.75), array([2., 3.]))
    """
    j = np.asarray(steps, dtype=np.float64)
    return j if decay == 1 else np.asarray((1 - decay**j) / (1 - decay))


def row_space(
    layer: Layer, table: Table, kept: Kept, chunk: Chunk, *, theta: Tensor, shift: Tensor | None, eta: float
) -> RowSpace:
    """Lay out a chunk: its rows as blocks of one height, K, and the products at θ and with the shift."""
    places, n, bias = table.padded(chunk.ids), len(chunk.ids), layer.bias is not None
    x = table.slab(chunk.ids)
    x = (table.inputs(places.flatten()) if x is None else x).view(*places.shape, -1)
    columns = x.transpose(1, 2)
    start = kept.columns_at(places)
    if start is None:
        start = affine(*parameters([layer], theta.expand(n, -1))[0], columns)
    return RowSpace(
        layer=layer,
        eta=eta,
        decay=1 - eta * table.task.l2,
        offsets=torch.from_numpy(table.offsets[chunk.ids])[:, None],
        x=x,
        gram=kept.gram(chunk.ids, lambda: gram(x, bias=bias)),
        start=start,
        drift=None if shift is None else affine(*parameters([layer], shift)[0], columns),
        slopes=torch.zeros_like(start, memory_format=torch.contiguous_format),
    )
