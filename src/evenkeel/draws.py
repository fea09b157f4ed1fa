"""Counter-based randomness: a draw is a value of (seed, round, phase, client, index…), never a hidden state.

The same rows, masks and cohorts therefore come out on every transport, in any order, and after a resume.
The mixing function is SplitMix64's finaliser (Steele, Lea and Flood, 2014), folded over the counters; it is
vectorised over clients and indices, which a generator object per client is not.
"""

import hashlib
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenkeel.protocol import Key

Bits = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def label(text: str) -> np.uint64:
    """A phase's name as a number that is the same on every machine.

    >>> label("local") == label("local") and label("local") != label("probe")
    np.True_
    """
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))


def _mix(h: Bits) -> Bits:
    h = (h ^ (h >> np.uint64(30))) * _MIX_1
    h = (h ^ (h >> np.uint64(27))) * _MIX_2
    return h ^ (h >> np.uint64(31))


def bits(key: Key, phase: str, *counters: ArrayLike) -> Bits:
    """64 random bits for each element of the broadcast counters.

    >>> key = Key(seed=1, round=3)
    >>> all_at_once = bits(key, "local", np.arange(4)[:, None], np.arange(3))
    >>> bool(all_at_once[2, 1] == bits(key, "local", 2, 1))
    True
    """
    with np.errstate(over="ignore"):
        h = np.asarray([key.seed], dtype=np.int64).astype(np.uint64)
        for counter in (key.round, label(phase), *counters):
            c = np.asarray(counter)
            h = _mix(h + _GOLDEN + _mix(c.astype(np.uint64) + _GOLDEN))
    return h[0] if h.shape == (1,) and all(np.ndim(c) == 0 for c in counters) else h


def uniform(key: Key, phase: str, *counters: ArrayLike) -> NDArray[np.float64]:
    """Uniform numbers in [0, 1) with 53 bits each.

    >>> u = uniform(Key(0, 0), "test", np.arange(100_000))
    >>> bool(abs(u.mean() - 0.5) < 0.005 and u.min() >= 0 and u.max() < 1)
    True
    """
    return (bits(key, phase, *counters) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def cohort(key: Key, phase: str, n: int, m: int) -> NDArray[np.int64]:
    """m of n clients, uniformly without replacement, ascending.

    >>> len(cohort(Key(0, 1), "cohort", 100, 10))
    10
    """
    if m >= n:
        return np.arange(n)
    lowest = np.argpartition(bits(key, phase, np.arange(n)), m)[:m]  # as a sort would pick them, at a fiftieth of it
    return np.sort(lowest)


def turn(key: Key, phase: str, n: int, m: int) -> NDArray[np.int64]:
    """The clients whose turn it is, ascending: ⌈n/m⌉ rounds are a pass, in which each client has one turn.

    Each pass is a fresh shuffle cut into cohorts of m or fewer, alike up to one. In every round each client has the
    same chance to be asked, and it waits at most 2⌈n/m⌉ − 1 rounds from one turn to the next.

    >>> rounds = [turn(Key(0, r), "turn", 7, 3).tolist() for r in range(3)]
    >>> [len(r) for r in rounds], sorted(sum(rounds, []))
    ([2, 2, 3], [0, 1, 2, 3, 4, 5, 6])
    """
    parts = -(-n // m)
    number, place = divmod(key.round, parts)
    order = _shuffled(key.seed, number, phase, n)
    return np.sort(order[place * n // parts : (place + 1) * n // parts])


@lru_cache(maxsize=2)
def _shuffled(seed: int, number: int, phase: str, n: int) -> NDArray[np.int64]:
    """The order of one pass: a value of its counters, kept only because a million keys take a third of a second."""
    order = np.argsort(bits(Key(seed, number), phase, np.arange(n)), kind="stable")
    order.flags.writeable = False
    return order


class Batches(NamedTuple):
    """Which rows each client visits: `rows[i, j]` are the row numbers of client i's step j.

    `weight[i, j]` sums to 1 over a step's rows (each 1/size of that batch) and is 0 where a row or a step is only
    padding; `steps[i]` is the number of steps client i really takes.
    """

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    steps: NDArray[np.int64]


def batches(
    key: Key,
    phase: str,
    clients: ArrayLike,
    sizes: ArrayLike,
    *,
    batch: int,
    steps: int = 0,
    epochs: int = 0,
) -> Batches:
    """Mini-batches of every client: each epoch is a fresh shuffle cut into slices, the last one perhaps short.

    Give `steps` (that many slices, running on into further epochs) or `epochs` (whole passes). `batch` = 0 is the
    whole client at once.

    >>> b = batches(Key(0, 0), "local", [0, 1], [5, 2], batch=2, epochs=1)
    >>> b.steps.tolist(), sorted(b.rows[0][b.weight[0] > 0].tolist())
    ([3, 1], [0, 1, 2, 3, 4])
    """
    ids, n = np.atleast_1d(np.asarray(clients)), np.atleast_1d(np.asarray(sizes, dtype=np.int64))
    width = np.minimum(n, batch) if batch > 0 else n
    per_epoch = -(-n // width)
    count = np.full_like(n, steps) if steps > 0 else per_epoch * epochs
    passes = int((-(-count // per_epoch)).max())
    longest, widest, most = int(n.max()), int(width.max()), int(count.max())

    noise = bits(key, phase, ids[:, None, None], np.arange(passes)[:, None], np.arange(longest))
    noise[np.broadcast_to(np.arange(longest) >= n[:, None, None], noise.shape)] = np.iinfo(np.uint64).max
    order = np.argsort(noise, axis=-1, kind="stable")

    j, k = np.arange(most)[:, None], np.arange(widest)
    epoch, slot = np.divmod(j, per_epoch[:, None, None])
    place = slot * width[:, None, None] + k
    real = (j < count[:, None, None]) & (k < width[:, None, None]) & (place < n[:, None, None])
    place, epoch = np.where(real, place, 0), np.where(real, epoch, 0)
    rows = order[np.arange(len(ids))[:, None, None], epoch, place]
    size = np.maximum(real.sum(axis=-1, keepdims=True), 1)
    return Batches(rows, real / size, count)


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """A generator for draws that no client makes in a round (partitions, splits, start values).

    >>> bool(generator(1, "split", 3).random() == generator(1, "split", 3).random())
    True
    """
    words = [int(label(p)) if isinstance(p, str) else p for p in path]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *words])))
