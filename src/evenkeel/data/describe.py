"""How the clients of a federation differ: sizes, class counts, and two distances from the pooled label distribution.

With p_i the shares of the classes at client i and p those of all rows together:
TV_i = ½ Σ_c |p_ic − p_c|, and JS_i = ½ KL(p_i ‖ m) + ½ KL(p ‖ m) with m = (p_i + p)/2, in bits. Both lie in [0, 1] and
are 0 only where the client has the pooled distribution. Both count few rows as heterogeneity: a client with one row is
far from any mixture. The means count each client once, whatever its size.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import rel_entr

from evenkeel.data.shards import Federation, Shards

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Description:
    """Sizes and class counts (n × classes; no columns for a regression), training and validation rows together."""

    origin: str
    names: tuple[str, ...]
    train: NDArray[np.int64]
    valid: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each client."""
        return self.train + self.valid

    @property
    def tv(self) -> Floats:
        """Total variation between each client's label distribution and the pooled one; none for a regression."""
        return total_variation(self.counts)

    @property
    def js(self) -> Floats:
        """Jensen–Shannon divergence in bits, likewise."""
        return jensen_shannon(self.counts)

    def table(self) -> pl.DataFrame:
        """One line for each client and class, as a chart needs it: client, class, count."""
        n, classes = self.counts.shape
        return pl.DataFrame(
            {
                "client": np.repeat(np.array(self.names, dtype=object), classes).tolist(),
                "class": np.tile(np.arange(classes), n),
                "count": self.counts.ravel(),
            },
            schema={"client": pl.String, "class": pl.Int64, "count": pl.Int64},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON; the means are None for a regression."""
        return {
            "origin": self.origin,
            "names": list(self.names),
            "sizes": self.sizes.tolist(),
            "train": self.train.tolist(),
            "valid": self.valid.tolist(),
            "counts": self.counts.tolist(),
            "mean_tv": float(self.tv.mean()) if self.tv.size else None,
            "mean_js": float(self.js.mean()) if self.js.size else None,
            "weighting": "each client once",
        }


def describe(federation: Federation) -> Description:
    """Sizes, class counts and label distances of every client.

    >>> from evenkeel.data.build import build
    >>> from evenkeel.data.source import from_arrays
    >>> d = describe(build(from_arrays([([[0.0]] * 4, [0] * 4), ([[0.0]] * 4, [1] * 4)])))
    >>> d.counts.tolist(), d.tv.tolist()
    ([[4, 0], [0, 4]], [0.5, 0.5])
    """
    y = federation.y.numpy()
    counts = [class_counts(part, y, federation.classes) for part in (federation.train, federation.valid)]
    return Description(
        origin=federation.origin,
        names=tuple(federation.names),
        train=federation.train.sizes,
        valid=federation.valid.sizes,
        counts=counts[0] + counts[1],
    )


def class_counts(shards: Shards, y: NDArray[Any], classes: int) -> NDArray[np.int64]:
    """Rows of each client in each class.

    >>> class_counts(Shards.of([[0, 1], [2]]), np.array([1, 1, 0]), 2).tolist()
    [[0, 2], [1, 0]]
    """
    if not classes:
        return np.zeros((shards.n, 0), np.int64)
    client = np.repeat(np.arange(shards.n), shards.sizes)
    cells = np.bincount(client * classes + y[shards.rows], minlength=shards.n * classes)
    return cells.reshape(shards.n, classes)


def _shares(counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Class shares of each client, and of all rows together."""
    return counts / counts.sum(axis=1, keepdims=True), counts.sum(axis=0) / counts.sum()


def total_variation(counts: NDArray[np.int64]) -> Floats:
    """TV_i = ½ Σ_c |p_ic − p_c|.

    >>> total_variation(np.array([[1, 1], [1, 1]])).tolist()
    [0.0, 0.0]
    """
    if not counts.size:
        return np.empty(0)
    own, pooled = _shares(counts)
    distances: Floats = np.abs(own - pooled).sum(axis=1) / 2
    return distances


def jensen_shannon(counts: NDArray[np.int64]) -> Floats:
    """JS_i = ½ KL(p_i ‖ m) + ½ KL(p ‖ m), m = (p_i + p)/2, in bits.

    >>> jensen_shannon(np.array([[2, 2], [1, 1]])).tolist()
    [0.0, 0.0]
    """
    if not counts.size:
        return np.empty(0)
    own, pooled = _shares(counts)
    middle = (own + pooled) / 2
    nats = (rel_entr(own, middle) + rel_entr(pooled, middle)).sum(axis=1) / 2
    bits: Floats = nats / np.log(2)
    return bits
