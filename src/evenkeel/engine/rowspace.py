"""The first layer by rows: for clients whose rows are few beside the work on them.

Every gradient of the first layer is slope·xᵀ over the client's own rows, so after any number of steps
W = ρʲ·W(θ) − η·t_j·base − η·S·X, with S (units, rows) the sum of the slopes so far. The correction c − c_i goes in two:
base is what all clients share of it, and c_i's own slopes are taken from S at every step. A step then needs no product
with the inputs, only with their Gram matrix K = X·Xᵀ + 1 (the 1 is the bias), which is the same in every round:
W·x + b = ρʲ·(W·x + b)(θ) − η·t_j·(base·x) − η·S·K, and S·K grows with S. And a weighted sum over clients needs no client's W: Σ w_i S_i·X_i adds
up in one matrix. So X is used twice a round, not twice a step, and nobody's weights are written.
ρ = 1 − η·l2, t_j = 1 + ρ + … + ρ^{j−1}, base = c − l2·θ.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.engine.asked import Ids
from evenkeel.engine.layers import Layer

_SLOW = 2  # products with K count so often, as K streams from memory, and so do those with stacked weights
EXPECTED = 5  # local steps that a control gradient is taken to prepare for: it is not told


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
    >>> few.cheaper_in_rows(), replace(few, steps=2).cheaper_in_rows(), replace(few, rows=5000).cheaper_in_rows()
    (True, False, False)
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
        """Whether a client's products take less time."""
        passes = self.rows * self.inputs * self.units * (1 + self.shifted + (not self.known))
        inner = _SLOW * self.steps * self.batch * self.rows * self.units
        norm = self.rows**2 * self.units
        outer = self.grams * self.rows**2 * self.inputs
        return passes + inner + norm + outer < _SLOW * self.steps * 2 * self.batch * self.inputs * self.units


@dataclass(frozen=True, slots=True, kw_only=True)
class Grams:
    """K of the clients of a chunk, each with zeros beyond its rows."""

    stack: Tensor  # (clients, most rows, most rows)
    offsets: Tensor  # (clients, 1): the place of each client's first row

    def local(self, places: Tensor) -> Tensor:
        """Places (clients, slots) as numbers of a client's own rows."""
        return places - self.offsets[: len(places)]

    def rows(self, places: Tensor) -> Tensor:
        """K[places, :], (clients, slots, most rows)."""
        n, most = len(places), self.stack.shape[1]
        flat = self.local(places) + torch.arange(0, n * most, most, device=places.device)[:, None]
        return self.stack.view(-1, most).index_select(0, flat.flatten()).view(n, -1, most)

    def at(self, values: Tensor, places: Tensor) -> Tensor:
        """Values (clients, units, most rows) at these places, (clients, units, slots)."""
        return values[: len(places)].gather(2, self._index(places, values))

    def add(self, values: Tensor, places: Tensor, more: Tensor) -> None:
        """Add to values at these places."""
        values.scatter_add_(2, self._index(places, values), more)

    def _index(self, places: Tensor, values: Tensor) -> Tensor:
        return self.local(places)[:, None].expand(-1, values.shape[1], -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """One mini-batch gradient of each client, by rows: the first layer's is S·X, the other layers' are `rest`.

    The ridge term is in neither: it is the same for all.
    """

    places: Tensor  # (clients, slots)
    slopes: Tensor  # (clients, units, slots): S
    products: Tensor  # (clients, units, most rows): S·K
    rest: Tensor  # (clients, parameters of the other layers)

    @property
    def nbytes(self) -> int:
        """What it takes to keep it."""
        return self.places.nbytes + self.slopes.nbytes + self.products.nbytes + self.rest.nbytes

    def first(self, layer: Layer, x: Tensor, weights: Tensor) -> Tensor:
        """Σ w_i·(first layer's gradient of client i), for x (clients·slots, in)."""
        scaled = (self.slopes * weights.to(self.slopes)[:, None, None]).transpose(0, 1).reshape(len(self.slopes[0]), -1)
        return joined(layer, torch.mm(scaled, x), scaled.sum(1))

    def norm2(self, grams: Grams) -> Tensor:
        """The squared length of each client's gradient: of the first layer S·K·S."""
        return (grams.at(self.products, self.places) * self.slopes).sum((1, 2)) + self.rest.square().sum(1)


def joined(layer: Layer, weight: Tensor, bias: Tensor) -> Tensor:
    """A first layer's part of θ from its weights and, if it has one, its bias."""
    return weight.flatten() if layer.bias is None else torch.cat([weight.flatten(), bias])


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSpace:
    """The state of one chunk's first layer during its local steps; S and S·K change in place."""

    layer: Layer
    eta: float
    decay: float  # ρ
    x: list[Tensor]  # (rows, in) of each client
    grams: Grams
    start: Tensor  # (clients, units, rows): W·x + b at θ
    base: Tensor | None  # (1 or clients, last)
    based: Tensor | None  # (clients, units, rows): base·x
    own: Slopes | None  # c_i, where it is not in base
    slopes: Tensor  # (clients, units, rows): S
    products: Tensor  # (clients, units, rows): S·K

    @property
    def last(self) -> int:
        """The first layer's parameters are θ[:last]."""
        return (self.layer.bias or self.layer.weight).last

    def outputs(self, j: int, places: Tensor) -> Tensor:
        """W·x + b of step j for these places (clients, slots), as (clients, units, slots)."""
        z = self.grams.at(self.start, places)
        if not j:
            return z
        if self.decay != 1:
            z.mul_(self.decay**j)
        if self.based is not None:
            z.sub_(self.grams.at(self.based, places), alpha=self.eta * float(grown(self.decay, j)))
        return z.sub_(self.grams.at(self.products, places), alpha=self.eta)

    def add(self, places: Tensor, slope: Tensor) -> None:
        """S ← ρ·S + the slopes of this step's rows − those of c_i, and S·K with it."""
        n = len(places)
        sums, products = self.slopes[:n], self.products[:n]
        if self.decay != 1:
            sums.mul_(self.decay)
        self.grams.add(sums, places, slope)
        products.baddbmm_(slope, self.grams.rows(places), beta=self.decay)
        if self.own is not None:
            self.grams.add(sums, self.own.places[:n], -self.own.slopes[:n])
            products.sub_(self.own.products[:n])

    def write(self, u: Tensor, theta: Tensor, taken: Ids) -> None:
        """The first layer's parameters after so many steps of each client, into u."""
        first, place = u[:, : self.last], self.layer.weight
        a, b = self._factors(taken, u)
        torch.mul(theta[: self.last], a[:, None], out=first)
        if self.base is not None:
            first.addcmul_(self.base, b[:, None], value=-self.eta)
        weight = u[:, place.first : place.last].view(len(u), *place.shape)
        for i, x in enumerate(self.x):
            weight[i].addmm_(self.slopes[i, :, : len(x)], x, alpha=-self.eta)
        if self.layer.bias is not None:
            u[:, self.layer.bias.first : self.last].sub_(self.slopes.sum(2), alpha=self.eta)

    def moved(self, theta: Tensor, taken: Ids, weights: Tensor) -> Tensor:
        """Σ w_i·(first layer of u_i − θ), without any u_i."""
        a, b = self._factors(taken, theta)
        w, total = weights.to(theta), theta.new_zeros(self.layer.weight.shape)
        for i, (share, x) in enumerate(zip(weights.tolist(), self.x, strict=True)):
            total.addmm_(self.slopes[i, :, : len(x)], x, alpha=-self.eta * share)
        whole = joined(self.layer, total, (w * -self.eta) @ self.slopes.sum(2))
        if self.decay != 1:
            whole.add_(theta[: self.last] * (w * (a - 1)).sum())
        if self.base is not None:
            shares = w * b * -self.eta
            whole.add_(shares @ self.base if len(self.base) > 1 else shares.sum() * self.base[0])
        return whole

    def norm2(self, theta: Tensor, taken: Ids) -> Tensor:
        """‖first layer of u_i − θ‖² of each client: ‖p − ηS·X‖² = ‖p‖² − 2ηS·(p·X) + η²S·K·S, p = (ρʲ − 1)θ − ηt_j·base."""
        a, b = self._factors(taken, theta)
        square = (self.products * self.slopes).sum((1, 2)).mul_(self.eta**2)
        a, b, own = a - 1, b * -self.eta, theta[: self.last]
        if self.decay != 1:
            square += a.square() * own.square().sum() - 2 * self.eta * a * (self.slopes * self.start).sum((1, 2))
        if self.base is not None and self.based is not None:
            lengths = b.square() * self.base.square().sum(1) + 2 * a * b * (self.base @ own)
            square += lengths - 2 * self.eta * b * (self.slopes * self.based).sum((1, 2))
        return square.clamp_(min=0)

    def _factors(self, taken: Ids, like: Tensor) -> tuple[Tensor, Tensor]:
        """ρʲ and t_j for these numbers of steps."""
        return torch.from_numpy(self.decay**taken).to(like), torch.from_numpy(grown(self.decay, taken)).to(like)


def grown(decay: float, steps: Ids | int) -> NDArray[np.float64]:
    """t_j = 1 + ρ + … + ρ^{j−1}.

    >>> grown(0.5, 3), grown(1.0, np.array([2, 3]))
    (array(1.75), array([2., 3.]))
    """
    j = np.asarray(steps, dtype=np.float64)
    return j if decay == 1 else np.asarray((1 - decay**j) / (1 - decay))
