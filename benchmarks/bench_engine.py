"""Seconds a round of the engine, beside a plain PyTorch loop and the machine's own sgemm rate, all in one run.

The round is that of Scaff-PD-IA without its server: the full loss of every client, the weighted sum of one stochastic
gradient each, and corrected local steps. Model 784-50-10 with dropout, 160 rows a client, five steps of 32 rows.

    python benchmarks/bench_engine.py --clients 100 1000
    python benchmarks/bench_engine.py --clients 10000 --no-loop     # scaling and peak memory alone
    python benchmarks/bench_engine.py --clients 100 --ragged        # Dirichlet-like sizes

Numbers of a busy machine are marked: read only their ratios.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

import plain_loop
from evenkeel.data.shards import Federation, Shards
from evenkeel.engine import Engine
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import build

ETA, BATCH, STEPS, INPUTS, HIDDEN, CLASSES = 1e-2, 32, 5, 784, 50, 10
MOST_ROWS = 160_000  # beyond that, clients share rows: the data alone would not fit


def federation(clients: int, *, ragged: bool) -> Federation:
    """MNIST-shaped noise, 160 rows a client or sizes spread as a Dirichlet(.5) partition spreads them."""
    gen = np.random.default_rng(0)
    sizes = np.full(clients, 160)
    if ragged:
        shares = gen.dirichlet(np.full(clients, 0.5), CLASSES).mean(0)
        sizes = np.maximum(10, (shares * 480 * clients).astype(int))
    total = int(sizes.sum())
    rows = np.split(np.arange(total) % min(total, MOST_ROWS), np.cumsum(sizes)[:-1])
    held = min(total, MOST_ROWS)
    return Federation(
        x=torch.randn(held, INPUTS, generator=torch.Generator().manual_seed(0)),
        y=torch.from_numpy(gen.integers(0, CLASSES, held)),
        train=Shards.of(rows),
        valid=Shards.of([[]] * clients),
        names=tuple(str(i) for i in range(clients)),
        classes=CLASSES,
    )


def engine_round(
    engine: Engine, theta: torch.Tensor, weights: np.ndarray, r: int, spent: dict[str, list[float]]
) -> None:
    """One round through the transport, with the seconds of each phase."""
    key, shared = Key(0, r), {"theta": theta}
    local = {"eta": ETA, "batch": BATCH, "steps": STEPS, "control_batch": BATCH}

    def timed(phase: str, ask: Ask):
        start = time.perf_counter()
        replies = engine.answer(ask, key)
        spent.setdefault(phase, []).append(time.perf_counter() - start)
        return replies

    timed("probe", Ask("probe", shared))
    c = timed("gradient", Ask("gradient", shared, weights=weights, config={"batch": BATCH}))["grad"]
    timed("local", Ask("local", shared | {"c": c}, weights=weights, config=local))


def sgemm_rate(workers: int) -> float:
    """The best rate of 1024³ products, one single-threaded worker a core, in FLOP/s."""
    size, repeats = 1024, 6
    pool = ThreadPoolExecutor(workers, initializer=lambda: torch.set_num_threads(1))
    sets = [[torch.randn(size, size) for _ in range(3)] for _ in range(workers)]

    def work(k: int) -> None:
        for _ in range(repeats):
            torch.mm(sets[k][0], sets[k][1], out=sets[k][2])

    def run() -> None:
        list(pool.map(work, range(workers)))

    return workers * repeats * 2 * size**3 / min(seconds(run) for _ in range(5))


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def useful_flops(data: Federation) -> dict[str, float]:
    """Multiplications and additions that the arithmetic itself needs; products of the first and last layer."""
    weights = INPUTS * HIDDEN + HIDDEN * CLASSES
    rows, n = int(data.train.sizes.sum()), data.n
    slots = np.minimum(data.train.sizes, BATCH).sum()
    inner = HIDDEN * CLASSES
    step = 4 * weights + 2 * inner
    return {
        "probe": 2.0 * rows * weights,
        "gradient": float(slots * step),
        "local": float(STEPS * slots * step),
        "n": n,
    }


def quiet() -> bool:
    """Whether the machine has been idle: less than a third of a core was busy over the last minute."""
    return os.getloadavg()[0] < 0.33


def measure(clients: int, rounds: int, *, ragged: bool, loop: bool, workers: int) -> None:
    """Print one block of the table: medians and minima over interleaved rounds."""
    data = federation(clients, ragged=ragged)
    engine = Engine(build("mlp", (INPUTS,), CLASSES, hidden=HIDDEN, dropout=0.5), data, workers=workers)
    theta, weights = engine.task.init(0), np.full(clients, 1 / clients)
    rival = plain_loop.Pair(data, theta) if loop else None
    spent: dict[str, list[float]] = {}
    totals: dict[str, list[float]] = {"engine": [], "plain loop": []}
    rates = []
    for r in range(rounds + 2):
        rates.append(sgemm_rate(workers))
        totals["engine"].append(seconds(lambda r=r: engine_round(engine, theta, weights, r, spent)))
        if rival is not None:
            totals["plain loop"].append(seconds(lambda r=r: rival.round(theta, weights, ETA, BATCH, STEPS)))
    if rival is not None:
        rival.close()
    report(clients, data, spent, totals, max(rates))


def report(clients, data, spent, totals, rate) -> None:
    """The table of one number of clients."""
    flops = useful_flops(data)
    print(f"\n{clients} clients, {int(data.train.sizes.sum())} rows; sgemm {rate / 1e9:.0f} GFLOP/s")
    for name, times in totals.items():
        if times:
            print(f"  {name:12s} min {min(times[2:]):.4f} s  median {float(np.median(times[2:])):.4f} s a round")
    if totals["plain loop"]:
        low, mid = (f(totals["plain loop"][2:]) / f(totals["engine"][2:]) for f in (min, np.median))
        print(f"  plain loop / engine: {low:.2f} (minima), {mid:.2f} (medians)")
    for phase, times in spent.items():
        best = min(times[2:])
        share = flops[phase] / best / rate
        print(f"  {phase:12s} min {best:.4f} s  {flops[phase] / 1e9:7.2f} GFLOP  {share:5.0%} of sgemm")
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def main() -> None:
    """Read the arguments and measure."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--clients", type=int, nargs="+", default=[100, 1000])
    arguments.add_argument("--rounds", type=int, default=10)
    arguments.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--ragged", action="store_true")
    arguments.add_argument("--no-loop", action="store_true")
    arguments.add_argument("--refuse-busy", action="store_true", help="stop if the machine is busy")
    given = arguments.parse_args()
    if not quiet():
        print(f"BUSY MACHINE (load {os.getloadavg()[0]:.2f}): read only the ratios")
        if given.refuse_busy:
            raise SystemExit(1)
    for clients in given.clients:
        measure(clients, given.rounds, ragged=given.ragged, loop=not given.no_loop, workers=given.workers)


if __name__ == "__main__":
    main()
