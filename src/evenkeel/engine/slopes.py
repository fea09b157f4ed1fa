"""First-layer gradients by rows: slopes S in the place of S·X, and the Gram matrices that stand for the rows."""

from dataclasses import dataclass

import torch
from torch import Tensor

from evenkeel.engine.layers import Layer


def gram(x: Tensor, *, bias: bool) -> Tensor:
    """X·Xᵀ (+ 1 with a bias) of one client.

    >>> gram(torch.tensor([[1.0], [2.0]]), bias=True).tolist()
    [[2.0, 3.0], [3.0, 5.0]]
    """
    product = torch.mm(x, x.T)
    return product.add_(1) if bias else product


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
