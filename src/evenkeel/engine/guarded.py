"""Bounds on what one client may claim, around any transport: a lying client is heard, but not louder than this.

Losses are brought into Tukey's fences [q1 − k(q3 − q1), q3 + k(q3 − q1)] of those that answered; a vector longer than b
times the median length is scaled back to it (a snapshot's distance from θ, for it is a model and no direction). Quartiles
stay honest while fewer than a quarter of the clients lie, the median while fewer than half do. docs/attacks.md has what
each bound is worth, and what it costs where nobody lies.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.errors import InputError
from evenkeel.protocol import Ask, Key, Replies, Transport

Vector = NDArray[np.float64]
_FEWEST = 4  # quartiles of fewer clients are those clients


def _silent(_: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """`loss` is k, `norm` is b; None switches a bound off."""

    loss: float | None = None
    norm: float | None = None

    def __post_init__(self) -> None:
        if self.loss is not None and not self.loss >= 0:
            raise InputError(f"loss_bound = {self.loss!r}: must be 0 or more; 3 lets honest outliers pass")
        if self.norm is not None and not self.norm >= 1:
            raise InputError(f"norm_bound = {self.norm!r}: must be 1 or more; 3 lets honest outliers pass")


def clipped(losses: Vector, k: float) -> Vector:
    """Losses within their fences; fewer than four stay as they are.

    >>> clipped(np.array([1.0, 2.0, 3.0, 4.0, 100.0]), 1.0).tolist()
    [1.0, 2.0, 3.0, 4.0, 6.0]
    """
    if len(losses) < _FEWEST:
        return losses
    q1, q3 = np.quantile(losses, [0.25, 0.75])
    return np.asarray(losses.clip(q1 - k * (q3 - q1), q3 + k * (q3 - q1)))


def factors(norms: Vector, b: float) -> Vector:
    """What each vector is multiplied by: min(1, b·median/‖x_i‖).

    >>> factors(np.array([1.0, 1.0, 10.0]), 2.0).tolist()
    [1.0, 1.0, 0.2]
    """
    limit = b * float(np.median(norms))
    return np.asarray(np.where(norms > limit, limit / np.where(norms > 0, norms, 1.0), 1.0))


@dataclass(frozen=True, slots=True)
class Guarded:
    """A transport whose clients' claims are bounded; a norm bound needs every vector at once, n·d numbers."""

    inner: Transport
    bounds: Bounds
    warn: Callable[[str], None] = _silent

    @property
    def n(self) -> int:
        """The number of clients."""
        return self.inner.n

    def answer(self, ask: Ask, key: Key) -> Replies:
        """As the inner transport, within bounds."""
        if ask.phase == "score" or self.bounds.norm is None:
            return self._losses(ask, key, self.inner.answer(ask, key))
        replies = self.inner.answer(ask._replace(weights=None), key)
        values = self._shortened(ask, key, replies)
        if ask.weights is not None:
            asked = np.arange(self.n) if ask.who is None else ask.who
            weights = np.asarray(ask.weights, np.float64)[np.searchsorted(asked, replies.who)]
            values = {name: _summed(v, weights) if isinstance(v, Tensor) else v for name, v in values.items()}
        return self._losses(ask, key, replace(replies, values=values))

    def _losses(self, ask: Ask, key: Key, replies: Replies) -> Replies:
        if ask.phase != "probe" or self.bounds.loss is None:
            return replies
        told = np.asarray(replies["loss"], np.float64)
        kept = clipped(told, self.bounds.loss)
        for k in np.flatnonzero(kept != told):
            self.warn(f"round {key.round}: client {replies.who[k]}: loss {told[k]:.4g} counts as {kept[k]:.4g}")
        return replace(replies, values={**replies.values, "loss": kept})

    def _shortened(self, ask: Ask, key: Key, replies: Replies) -> Mapping[str, Any]:
        values = dict(replies.values)
        for name, rows in replies.values.items():
            if not isinstance(rows, Tensor):
                continue
            centre = ask.shared["theta"] if name == "snapshot" else torch.zeros_like(rows[0])
            norms = np.array([float(torch.linalg.vector_norm((row - centre).double())) for row in rows])
            by = factors(norms, self.bounds.norm or 1.0)
            short = np.flatnonzero(by < 1)
            if len(short):
                at = torch.from_numpy(short)
                rows = rows.clone()
                rows[at] = centre + (rows[at] - centre) * torch.from_numpy(by[short])[:, None].to(rows)
                who = ", ".join(str(i) for i in replies.who[short])
                self.warn(f"round {key.round}: {name} of client {who} scaled back by {by[short].min():.3g} or less far")
            values[name] = rows
            if name in {"grad", "delta"} and "norm2" in values:  # nobody's own word
                values["norm2"] = np.where(by < 1, np.square(norms * by), np.asarray(values["norm2"], np.float64))
        return values


def _summed(rows: Tensor, weights: Vector) -> Tensor:
    """Σ w_i x_i, one after the other as the plain loop adds."""
    total = rows[0] * float(weights[0])
    for row, weight in zip(rows[1:], weights[1:], strict=True):
        total.add_(row, alpha=float(weight))
    return total
