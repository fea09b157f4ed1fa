"""Which of a client's rows train and which validate.

A split is a function (rows, labels, k, rng) → the same rows, ordered: the first k train, the others validate. Each
client keeps at least one training row and, where it has two rows or more, at least one validation row; a client with
a single row has an empty validation part.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenkeel.data.options import number, whole
from evenkeel.data.partitions import apportion
from evenkeel.data.shards import Rows, Shards
from evenkeel.draws import generator
from evenkeel.errors import InputError, nearest

Labels = NDArray[np.generic]


def shuffled(rows: Rows, labels: Labels, k: int, rng: np.random.Generator) -> Rows:
    """A uniformly random order: the sound default."""
    return rng.permutation(rows)


def stratified(rows: Rows, labels: Labels, k: int, rng: np.random.Generator) -> Rows:
    """Random within each class; of a class with m_c of the m rows, k·m_c/m train, up or down to a whole number.

    >>> rows = np.arange(10)
    >>> order = stratified(rows, np.array([0] * 5 + [1] * 5), 8, np.random.default_rng(0))
    >>> int((order[:8] < 5).sum())
    4
    """
    order = rng.permutation(len(rows))
    rows, labels = rows[order], labels[order]
    kinds, counts = np.unique(labels, return_counts=True)
    train = np.zeros(len(rows), dtype=bool)
    for kind, take in zip(kinds, apportion(counts / len(rows), k), strict=True):
        train[np.flatnonzero(labels == kind)[:take]] = True
    return np.concatenate([rows[train], rows[~train]])


def class_ordered(rows: Rows, labels: Labels, k: int, rng: np.random.Generator) -> Rows:
    """No shuffle: the rows stay in class order, so validation holds the last classes, often ones never trained on.

    It is unsound, and here because it explains the low rows of the paper's Table 1.

    >>> class_ordered(np.array([7, 8, 9]), np.array([1, 0, 1]), 2, np.random.default_rng(0)).tolist()
    [8, 7, 9]
    """
    return rows[np.argsort(labels, kind="stable")]


SPLITS: dict[str, Callable[[Rows, Labels, int, np.random.Generator], Rows]] = {
    "shuffled": shuffled,
    "stratified": stratified,
    "class-ordered": class_ordered,
}


def split(
    shards: Shards, labels: ArrayLike, *, how: str = "shuffled", fraction: float = 0.8, seed: int = 0
) -> tuple[Shards, Shards]:
    """Cut each client's rows into training and validation; ⌊fraction·m⌋ train, within the bounds above.

    >>> train, valid = split(Shards.of([[0, 1, 2, 3, 4], [5]]), [0, 0, 0, 1, 1, 1])
    >>> train.sizes.tolist(), valid.sizes.tolist()
    ([4, 1], [1, 0])
    """
    if how not in SPLITS:
        raise InputError(f"split = {how!r}: no such split; {nearest(str(how), SPLITS)}")
    number("fraction", fraction, 1e-9, 1 - 1e-9, "0.8 trains on four rows of five")
    whole("seed", seed, 0)
    y = np.asarray(labels)
    if how == "stratified" and not np.issubdtype(y.dtype, np.integer):
        raise InputError("split 'stratified': needs classes, the target holds other numbers; use 'shuffled'")
    train, valid = [], []
    for client in range(shards.n):
        rows = shards[client]
        k = train_count(len(rows), fraction)
        order = SPLITS[how](rows, y[rows], k, generator(seed, "split", how, client))
        train.append(order[:k])
        valid.append(order[k:])
    return Shards.of(train), Shards.of(valid)


def train_count(rows: int, fraction: float) -> int:
    """How many of a client's rows train.

    >>> [train_count(m, 0.8) for m in (1, 2, 5, 10)]
    [1, 1, 4, 8]
    """
    # 0.29 · 100 is 28.999…: the small addition keeps whole products whole.
    return min(max(int(fraction * rows + 1e-9), 1), max(rows - 1, 1))
