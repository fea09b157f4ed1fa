"""Chunks of clients: what a worker takes at once, and how their replies become one answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.engine.asked import Asked, Ids, rows_at

Scalars = Mapping[str, NDArray[np.float64]]
Vectors = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some of the clients asked, the largest first: `at` are their places among those asked."""

    at: Ids
    ids: Ids
    weights: Tensor | None
    each: Mapping[str, Tensor] = field(default_factory=dict)

    def total(self, rows: Tensor, scale: Tensor | None = None) -> Tensor:
        """Σ w_i·scale_i·rows_i where the ask had weights, else the rows themselves, scaled in place."""
        if self.weights is not None:
            return torch.mv(rows.T, (self.weights if scale is None else self.weights * scale).to(rows))
        return rows if scale is None else rows.mul_(scale.to(rows)[:, None])


@dataclass(frozen=True, slots=True)
class Results:
    """A chunk's replies: scalars one a client; vectors one a client, or already their weighted sum."""

    scalars: Scalars
    vectors: Vectors


def cut(asked: Asked, sizes: Ids, per_chunk: int, workers: int) -> list[Chunk]:
    """Chunks of like-sized clients, as many for each worker, and in an order that depends on nothing else.

    >>> who = Asked(ids=np.arange(5), weights=None, each={})
    >>> [c.ids.tolist() for c in cut(who, np.array([3, 9, 3, 1, 4]), 2, 2)]
    [[1, 4], [0], [2], [3]]
    """
    order = np.argsort(-sizes[asked.ids], kind="stable")
    pieces = -(-len(order) // per_chunk)
    pieces = min(-(-pieces // workers) * workers, len(order))
    weights = None if asked.weights is None else torch.from_numpy(asked.weights)
    return [
        Chunk(
            at=at,
            ids=asked.ids[at],
            weights=None if weights is None else weights[at],
            each={name: rows_at(rows, at) for name, rows in asked.each.items()},
        )
        for at in np.array_split(order, pieces)
    ]


def gathered(chunks: Sequence[Chunk], results: Iterable[Results], n: int) -> dict[str, NDArray[np.float64] | Tensor]:
    """All replies, each chunk's added in the order of the chunks as it comes, so that few are held at once."""
    scalars: dict[str, NDArray[np.float64]] = {}
    vectors: dict[str, Tensor] = {}
    for chunk, result in zip(chunks, results, strict=True):
        for name, scalar in result.scalars.items():
            scalars.setdefault(name, np.empty(n))[chunk.at] = scalar
        for name, vector in result.vectors.items():
            if chunk.weights is None:
                whole = vectors.setdefault(name, vector.new_empty(n, vector.shape[1]))
                whole.index_copy_(0, torch.from_numpy(chunk.at).to(vector.device), vector)
            else:
                vectors[name] = vector if name not in vectors else vectors[name] + vector
    return {**scalars, **vectors}
