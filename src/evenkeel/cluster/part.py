"""Which clients a worker has, and their rows."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel.data.names import Some
from evenkeel.data.shards import Federation, Rows, Shards

Packed = Mapping[str, Any]


def edges(sizes: NDArray[np.int64], workers: int) -> list[int]:
    """Where to cut the clients, in their own order, so that workers have about as much to do.

    A client counts as its rows plus the mean of all: a pass over the rows costs by row, a fixed number of steps by
    client. The cuts depend on nothing else, so that they are the same in every session of a run.

    >>> edges(np.array([1, 1, 1, 1, 8]), 2), edges(np.array([5, 5]), 3)
    ([0, 4, 5], [0, 1, 2])
    """
    n, k = len(sizes), min(workers, len(sizes))
    work = np.cumsum(sizes + sizes.mean())
    shares = work[-1] * np.arange(1, k) / k
    after = np.searchsorted(work, shares)
    before = np.where(after > 0, work[after - 1], 0.0)
    cuts = after + (work[after] - shares < shares - before)  # whichever end is nearer
    low, high = np.arange(1, k), n - k + np.arange(1, k)  # everybody has a client
    strictly = np.maximum.accumulate(np.clip(cuts, low, high) - low) + low
    return [0, *np.minimum(strictly, high).tolist(), n]


def part(whole: Federation, first: int, last: int) -> Federation:
    """Clients `first` to `last` with their own rows alone; rows mapped from disk stay where they are.

    >>> whole = Federation(x=torch.arange(4.0)[:, None], y=torch.zeros(4), train=Shards.of([[0], [3], [2]]),
    ...                    valid=Shards.of([[1], [], []]), names=("a", "b", "c"), classes=0)
    >>> own = part(whole, 1, 3)
    >>> own.x.ravel().tolist(), own.train.rows.tolist(), own.names, own.first
    ([2.0, 3.0], [1, 0], ('b', 'c'), 1)
    """
    train, valid = _cut(whole.train, first, last), _cut(whole.valid, first, last)
    own = replace(whole, train=train, valid=valid, names=Some(whole.names, first, last), first=whole.first + first)
    if whole.digest:
        return own
    used = np.unique(np.concatenate([train.rows, valid.rows]))
    at = torch.from_numpy(used)
    return replace(
        own,
        names=tuple(own.names),  # they may be sent, and need not bring the others
        x=whole.x[at],
        y=whole.y[at],
        row_weight=None if whole.row_weight is None else whole.row_weight[at],
        train=replace(train, rows=np.searchsorted(used, train.rows)),
        valid=replace(valid, rows=np.searchsorted(used, valid.rows)),
    )


def _cut(shards: Shards, first: int, last: int) -> Shards:
    at: Rows = shards.offsets[first : last + 1]
    return Shards(rows=shards.rows[at[0] : at[-1]], offsets=at - at[0])


def digest(own: Federation) -> str:
    """SHA-256 over what a worker computes on: whether a node holds the same data as the others."""
    if own.digest:
        return own.digest
    state = hashlib.sha256()
    for tensor in (own.x, own.y, own.row_weight):
        if tensor is not None:
            state.update(np.ascontiguousarray(tensor.numpy()).view(np.uint8).data)
    for shards in (own.train, own.valid):
        state.update(shards.rows.tobytes() + shards.offsets.tobytes())
    return state.hexdigest()
