"""Bounds on what one client may claim, around any transport: a lying client is heard, but not louder than this.

Losses are brought into Tukey's fences [q1 − k(q3 − q1), q3 + k(q3 − q1)] of those that answered; a vector longer than b
times the median length is scaled back to it (a snapshot's distance from θ: it is a model and no direction). Quartiles
stay honest while fewer than a quarter of the clients lie, the median while fewer than half do. docs/attacks.md has what
each bound is worth, and what it costs where nobody lies.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.errors import InputError
from evenkeel.protocol import Ask, Key, Replies, Transport
from evenkeel.sets import AmbiguitySet

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


def heaviest(ambiguity: AmbiguitySet) -> float:
    """The most weight that a set can give to one client, max_i max_{λ∈S} λ_i: what a lie about losses can buy.

    >>> from evenkeel.sets import CVaR, Integrated
    >>> heaviest(Integrated(CVaR(20, 0.2), CVaR(20, 0.2), 0.2))  # 1/((1 − φ)αn)
    0.3125
    """
    spectrum = ambiguity.spectrum
    if spectrum is not None:
        return float(spectrum[0])
    some = range(1) if ambiguity.symmetric else range(ambiguity.n)
    return max(ambiguity.support((np.arange(ambiguity.n) == i).astype(np.float64)) for i in some)


@dataclass(frozen=True, slots=True)
class Guarded:
    """A transport whose clients' claims are bounded; a norm bound needs every vector at once, n·d numbers.

    `names` are what `warn` calls the clients by; without them it gives their numbers.
    """

    inner: Transport
    bounds: Bounds
    warn: Callable[[str], None] = _silent
    names: Sequence[str] = ()

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
            values = {name: summed(v, weights) if isinstance(v, Tensor) else v for name, v in values.items()}
        return self._losses(ask, key, replace(replies, values=values))

    def _losses(self, ask: Ask, key: Key, replies: Replies) -> Replies:
        if ask.phase != "probe" or self.bounds.loss is None:
            return replies
        told = np.asarray(replies["loss"], np.float64)
        kept = clipped(told, self.bounds.loss)
        for k in np.flatnonzero(kept != told):
            who = self._named(replies.who[k : k + 1])
            self.warn(f"round {key.round}: client {who}: loss {told[k]:.4g} counts as {kept[k]:.4g}")
        return replace(replies, values={**replies.values, "loss": kept})

    def _shortened(self, ask: Ask, key: Key, replies: Replies) -> Mapping[str, Any]:
        values = dict(replies.values)
        for name, rows in replies.values.items():
            if not isinstance(rows, Tensor):
                continue
            centre = ask.shared["theta"] if name == "snapshot" else torch.zeros_like(rows[0])
            norms = np.array([float(torch.linalg.vector_norm((row - centre).double())) for row in rows])
            by = factors(norms, self.bounds.norm or 1.0)
            short, held = np.flatnonzero(by < 1), rows
            if len(short):
                at = torch.from_numpy(short)
                held = rows.clone()
                held[at] = centre + (rows[at] - centre) * torch.from_numpy(by[short])[:, None].to(rows)
                who = self._named(replies.who[short])
                self.warn(f"round {key.round}: {name} of client {who} counts {by[short].min():.3g} times or more")
            values[name] = held
            if name in {"grad", "delta"} and "norm2" in values:  # nobody's own word
                values["norm2"] = np.where(by < 1, np.square(norms * by), np.asarray(values["norm2"], np.float64))
        return values

    def _named(self, ids: NDArray[np.int64]) -> str:
        return ", ".join(repr(self.names[i]) if self.names else str(i) for i in ids.tolist())


def summed(rows: Tensor, weights: Vector) -> Tensor:
    """Σ w_i x_i, one after the other as the plain loop adds."""
    total = rows[0] * float(weights[0])
    for row, weight in zip(rows[1:], weights[1:], strict=True):
        total.add_(row, alpha=float(weight))
    return total
