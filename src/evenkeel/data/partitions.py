"""Who owns which rows: a partition is a function (labels, n, seed, options) → `Shards`.

Each ends after a bounded number of draws, deals out every row exactly once, leaves no client empty and gives the same
answer for the same seed. A client's rows are listed class by class (column: by number). Sources: Yurochkin et al.
(2019) for Dirichlet shares per class, McMahan et al. (2017) for pieces of the sorted rows.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenkeel.data.options import number, whole
from evenkeel.data.shards import Shards
from evenkeel.draws import generator
from evenkeel.errors import InputError

Owner = NDArray[np.int64]  # the client of each row


def iid(labels: ArrayLike, n: int, seed: int) -> Shards:
    """Shuffle, then cut into n parts whose sizes differ by at most one.

    >>> iid([0, 1, 0, 1, 0], 2, seed=0).sizes.tolist()
    [3, 2]
    """
    y = _checked(labels, n, seed)
    owner = np.empty(len(y), np.int64)
    for client, rows in enumerate(np.array_split(_rng(seed, "iid").permutation(len(y)), n)):
        owner[rows] = client
    return _deal(owner, n, y)


def dirichlet(
    labels: ArrayLike,
    n: int,
    seed: int,
    *,
    alpha: float = 0.5,
    cap: bool = False,
    min_rows: int = 1,
    redraws: int = 20,
) -> Shards:
    """The paper's: for each class draw p ~ Dirichlet_n(α, …, α) and deal its rows out in these shares.

    `cap`: a client that holds N/n rows gets none of the next class (as in Yurochkin's code; the last class it got may
    carry it over). If a client has fewer than `min_rows`, all is drawn again, `redraws` times at most; after that rows
    move one by one from the largest client, and the shards' note says how many.

    >>> s = dirichlet([0, 0, 0, 1, 1, 1], 2, seed=1)
    >>> int(s.sizes.sum()), bool(s.sizes.min() >= 1)
    (6, True)
    """
    y = _checked(labels, n, seed, min_rows)
    _spread(alpha)
    if not np.issubdtype(y.dtype, np.integer):
        raise InputError("partition 'dirichlet': needs classes, the target holds other numbers; use iid or quantity")
    for attempt in range(whole("redraws", redraws, 0) + 1):
        owner = _dirichlet_owner(y, n, _rng(seed, "dirichlet", attempt), alpha, cap=cap)
        if np.bincount(owner, minlength=n).min() >= min_rows:
            return _deal(owner, n, y)
    owner, moved = _fill(owner, n, min_rows)
    note = f"{moved} rows moved from the largest clients so that each has {min_rows} ({redraws} redraws did not do)"
    return _deal(owner, n, y, note)


def _dirichlet_owner(y: NDArray[np.int64], n: int, rng: np.random.Generator, alpha: float, *, cap: bool) -> Owner:
    """One draw of the owners, class by class."""
    owner, held = np.empty(len(y), np.int64), np.zeros(n, np.int64)
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        p = _simplex(rng, n, alpha)
        if cap:
            room = held < len(y) / n
            p = np.where(room, p, 0.0)
            p = p / p.sum() if p.sum() > 0 else room / room.sum()
        ends = np.cumsum(p)  # over its own end: with a sum of 0.999… the last client would get a row for a share of 0
        edges = np.floor(ends[:-1] / ends[-1] * len(rows))
        owner[rows] = np.searchsorted(edges, np.arange(len(rows)), side="right")
        held += np.bincount(owner[rows], minlength=n)
    return owner


def _fill(owner: Owner, n: int, min_rows: int) -> tuple[Owner, int]:
    """Give clients below `min_rows` the last rows of whoever is largest at the time; also how many moved."""
    owner, sizes, moved = owner.copy(), np.bincount(owner, minlength=n), 0
    for poor in np.flatnonzero(sizes < min_rows):
        for _ in range(min_rows - sizes[poor]):
            rich = int(sizes.argmax())
            owner[np.flatnonzero(owner == rich)[-1]] = poor
            sizes[rich], sizes[poor], moved = sizes[rich] - 1, sizes[poor] + 1, moved + 1
    return owner, moved


def quantity(labels: ArrayLike, n: int, seed: int, *, alpha: float = 0.5, min_rows: int = 1) -> Shards:
    """Skewed sizes, equal classes: `min_rows` each, and the other rows in shares p ~ Dirichlet_n(α, …, α).

    >>> int(quantity([0] * 50, 4, seed=0, min_rows=5).sizes.min()) >= 5
    True
    """
    y = _checked(labels, n, seed, min_rows)
    _spread(alpha)
    rng = _rng(seed, "quantity")
    sizes = min_rows + apportion(_simplex(rng, n, alpha), len(y) - n * min_rows)
    owner = np.empty(len(y), np.int64)
    owner[rng.permutation(len(y))] = np.repeat(np.arange(n), sizes)
    return _deal(owner, n, y)


def shards(labels: ArrayLike, n: int, seed: int, *, per_client: int = 2) -> Shards:
    """Sort the rows by class, cut them into n·k equal pieces, deal k of them to each client at random.

    >>> s = shards([0, 0, 1, 1, 2, 2, 3, 3], 2, seed=0, per_client=2)
    >>> s.sizes.tolist()
    [4, 4]
    """
    y = _checked(labels, n, seed, per_client, option="per_client")
    rng = _rng(seed, "shards")
    by_class = np.lexsort((rng.permutation(len(y)), y))
    owner = np.empty(len(y), np.int64)
    for place, rows in zip(rng.permutation(n * per_client), np.array_split(by_class, n * per_client), strict=True):
        owner[rows] = place // per_client
    return _deal(owner, n, y)


def column(labels: ArrayLike, n: int | None = None, seed: int = 0) -> Shards:
    """By nature: `labels` are the clients' own marks, one client for each value, in ascending order.

    >>> column(["b", "a", "b"])[1].tolist()
    [0, 2]
    """
    marks, owner = np.unique(np.asarray(labels), return_inverse=True)
    if n is not None and n != len(marks):
        raise InputError(f"n = {n}: partition 'column' has {len(marks)} groups, one client each; leave n out")
    _checked(labels, len(marks), seed)
    return _deal(owner.astype(np.int64), len(marks), owner)


PARTITIONS: dict[str, Callable[..., Shards]] = {
    "iid": iid,
    "dirichlet": dirichlet,
    "quantity": quantity,
    "shards": shards,
    "column": column,
}


def apportion(shares: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Whole numbers that sum to `total`, each within one of shares·total (largest remainders; ties to the first).

    >>> apportion(np.array([0.5, 0.25, 0.25]), 5).tolist()
    [3, 1, 1]
    """
    quota = shares / shares.sum() * total
    parts: NDArray[np.int64] = np.floor(quota).astype(np.int64)
    order = np.argsort(parts - quota, kind="stable")
    parts[order[: total - parts.sum()]] += 1
    return parts


def _deal(owner: Owner, n: int, y: NDArray[np.generic], note: str = "") -> Shards:
    """The owners as shards; a client's rows come class by class, and by number within a class."""
    sizes = np.bincount(owner, minlength=n)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Shards(rows=np.lexsort((y, owner)).astype(np.int64), offsets=offsets, note=note)


def _spread(alpha: float) -> None:
    """The bounds keep the draws within what floating point can hold."""
    number("alpha", alpha, 1e-6, 1e6, "the paper takes 0.5, and less is more uneven")


def _simplex(rng: np.random.Generator, n: int, alpha: float) -> NDArray[np.float64]:
    """p ~ Dirichlet_n(α, …, α)."""
    p: NDArray[np.float64] = rng.dirichlet(np.full(n, alpha))
    return p


def _rng(seed: int, *path: str | int) -> np.random.Generator:
    return generator(seed, "partition", *path)


def _checked(labels: ArrayLike, n: int, seed: int, least: int = 1, option: str = "min_rows") -> NDArray[np.int64]:
    """The labels as one array, when n clients of at least so many rows can be had from them."""
    y = np.asarray(labels)
    if y.ndim != 1:
        raise InputError(f"labels of shape {y.shape}: must be one a row; give a vector")
    for name, value, lowest in (("n", n, 1), (option, least, 1), ("seed", seed, 0)):
        whole(name, value, lowest)
    if n * least > len(y):
        rule = f"{n} clients with at least {least} each need {n * least}"
        raise InputError(f"n = {n}: {rule}, the data has {len(y)} rows; take fewer clients")
    return y
