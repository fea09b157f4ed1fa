"""The bootstrap over clients: a resample is a vector of counts, so nothing is ever sorted again.

Each draw has its own counter-based stream (Philox, keyed by seed and draw), so the numbers do not depend on the number
of threads or on the order of the draws. Intervals follow Efron and Tibshirani (1993), chapters 13 and 14.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import NormalDist
from threading import Event

import numpy as np

from evenkeel.indices.ranked import Vector

Interval = tuple[float, float]
Evaluate = Callable[[int], Sequence[float]]
_NORMAL = NormalDist()
_BLOCK = 65_536
_WORTH_A_THREAD = 20_000  # below, one thread is faster: the interpreter's lock is held most of the time


def counts(n: int, seed: int, draw: int, stream: int = 0, room: Vector | None = None) -> Vector:
    """How often each of n clients comes up in draw number `draw`: n clients, with replacement. Put into `room`.

    Drawn in blocks that fit a processor's cache: first how many fall into each block, then which ones.

    >>> counts(5, seed=1, draw=0).sum()
    np.float64(5.0)
    """
    key, counter = np.array([seed, draw], dtype=np.uint64), np.array([0, 0, 0, stream], dtype=np.uint64)
    rng = np.random.Generator(np.random.Philox(key=key, counter=counter))
    times = np.empty(n) if room is None else room
    starts = range(0, n, _BLOCK)
    widths = [min(_BLOCK, n - start) for start in starts]
    fall = rng.multinomial(n, np.array(widths) / n).tolist() if len(widths) > 1 else [n]
    for start, width, many in zip(starts, widths, fall, strict=True):
        times[start : start + width] = np.bincount(rng.integers(0, width, size=many), minlength=width)
    return times


def repeat(worker: Callable[[], Evaluate], draws: int, n: int, threads: int = 2) -> Vector:
    """`evaluate(draw)` for each draw, one row a draw; each thread has an `evaluate`, with its room, from `worker`.

    NumPy lets go of the interpreter's lock in the long passes, so that two threads use two cores.

    >>> repeat(lambda: lambda draw: [draw, draw**2], 3, n=2).tolist()
    [[0.0, 0.0], [1.0, 1.0], [2.0, 4.0]]
    """
    threads, stop = min(threads, draws) if n >= _WORTH_A_THREAD else 1, Event()

    def part(first: int) -> list[Sequence[float]]:
        evaluate = worker()
        return [evaluate(draw) for draw in range(first, draws, threads) if not stop.is_set()]

    if threads == 1:
        return np.array(part(0), dtype=np.float64)
    with ThreadPoolExecutor(threads) as pool:
        try:
            parts = list(pool.map(part, range(threads)))
        except BaseException:  # Ctrl-C reaches only this thread: the others look at `stop` before each draw
            stop.set()
            raise
    return np.array([parts[draw % threads][draw // threads] for draw in range(draws)], dtype=np.float64)


def jackknife(evaluate: Callable[[Vector], Sequence[float]], n: int) -> Vector:
    """`evaluate(masses)` with each client left out in turn, one row a client."""
    masses = np.ones(n)
    rows = []
    for i in range(n):
        masses[i] = 0.0
        rows.append(evaluate(masses))
        masses[i] = 1.0
    return np.array(rows, dtype=np.float64)


def percentile(values: Vector, level: float) -> Interval:
    """The central interval of the draws: their order statistics number (B + 1)(1 ∓ level)/2, rounded outwards.

    Order statistics, not interpolation: a draw may be infinite.

    >>> percentile(np.arange(1.0, 100.0), 0.9)
    (5.0, 95.0)
    """
    tail = (1 - level) / 2
    return _between(np.sort(values), tail, 1 - tail)


def bca(values: Vector, point: float, left_out: Vector, level: float) -> Interval:
    """The bias-corrected and accelerated interval; the percentile one where its formula has no value.

    z₀ = Φ⁻¹(share of draws below the point, ties half), acceleration from the jackknife values `left_out`. No value:
    all draws on one side of the point, or an infinite number.

    >>> draws = np.arange(1.0, 100.0)
    >>> bca(draws, 50.0, np.array([49.0, 50.0, 51.0]), 0.9) == percentile(draws, 0.9)      # no bias, no skew
    True
    """
    below = float(np.mean(values < point) + np.mean(values == point) / 2)
    if not (0 < below < 1 and math.isfinite(point) and np.isfinite(left_out).all()):
        return percentile(values, level)
    z0, acceleration = _NORMAL.inv_cdf(below), _acceleration(left_out)
    ends = []
    for z in (_NORMAL.inv_cdf((1 - level) / 2), _NORMAL.inv_cdf((1 + level) / 2)):
        slope = 1 - acceleration * (z0 + z)
        if slope <= 0:
            return percentile(values, level)
        ends.append(_NORMAL.cdf(z0 + (z0 + z) / slope))
    return _between(np.sort(values), ends[0], ends[1])


def _acceleration(left_out: Vector) -> float:
    gap = left_out.mean() - left_out
    spread = float(np.abs(gap).max())
    if spread == 0:
        return 0.0
    gap = gap / spread  # so that the powers neither overflow nor vanish
    return float((gap**3).sum() / (6 * (gap**2).sum() ** 1.5))


def _between(ordered: Vector, low: float, high: float) -> Interval:
    places = len(ordered) + 1
    first = min(max(math.floor(round(places * low, 9)), 1), len(ordered))
    last = min(max(math.ceil(round(places * high, 9)), 1), len(ordered))
    return float(ordered[first - 1]), float(ordered[last - 1])
