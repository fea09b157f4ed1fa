"""Seconds a round of the engine, beside a plain PyTorch loop and the machine's own sgemm rate, all in one run.

The round is that of Scaff-PD-IA without its server: the full loss of every client, the weighted sum of one stochastic
gradient each, and corrected local steps. Model 784-50-10 with dropout, 160 rows a client, five steps of 32 rows.

    python benchmarks/bench_engine.py --clients 100 1000
    python benchmarks/bench_engine.py --clients 10000 --no-loop --rounds 2   # scaling and peak memory
    python benchmarks/bench_engine.py --clients 100 --ragged                 # sizes spread as by a Dirichlet(.5)
    python benchmarks/bench_engine.py --clients 100 --epochs 5 --batch 64    # the paper's local work

Processor seconds are printed beside wall seconds: they move less when others use the machine. A busy machine is marked
(or refused); then read only the ratios.
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
from idle import QUIET, busy_cores
from plain_loop import Work

ETA, INPUTS, HIDDEN, CLASSES = 1e-2, 784, 50, 10
PHASES, WARM_UP = ("probe", "control", "local"), 2
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


class Clock:
    """Wall and processor seconds of named calls, one list a name."""

    def __init__(self) -> None:
        self.wall: dict[str, list[float]] = {}
        self.cpu: dict[str, list[float]] = {}

    def time(self, name: str, call: Callable[[], object], cpu: Callable[[], float] = time.process_time):
        wall, spent = time.perf_counter(), cpu()
        result = call()
        self.wall.setdefault(name, []).append(time.perf_counter() - wall)
        self.cpu.setdefault(name, []).append(cpu() - spent)
        return result

    def best(self, name: str) -> tuple[float, float, float]:
        """Least and median wall seconds and least processor seconds, warm-up left out."""
        wall = self.wall[name][WARM_UP:]
        return min(wall), float(np.median(wall)), min(self.cpu[name][WARM_UP:])


def engine_round(clock: Clock, engine: Engine, theta: torch.Tensor, weights: np.ndarray, work: Work) -> None:
    """One round through the transport, each phase timed; every round draws anew."""
    key, shared = Key(0, len(clock.wall.get("probe", []))), {"theta": theta}
    steps = {"epochs": work.epochs} if work.epochs else {"steps": work.steps}
    config = {"eta": ETA, "batch": work.batch, "control_batch": work.batch, **steps}
    control = Ask("gradient", shared, weights=weights, config={"batch": work.batch})
    clock.time("probe", lambda: engine.answer(Ask("probe", shared), key))
    c = clock.time("control", lambda: engine.answer(control, key))["grad"]
    clock.time("local", lambda: engine.answer(Ask("local", shared | {"c": c}, weights=weights, config=config), key))


def loop_round(clock: Clock, pair: plain_loop.Pair, theta: torch.Tensor, weights: np.ndarray, work: Work) -> None:
    """The same round of the plain loop."""
    pair.begin(theta, weights)
    for phase in PHASES:
        clock.time(phase, lambda phase=phase: pair.ask(phase, ETA, work), pair.processor_seconds)


def sgemm(clock: Clock, workers: int) -> None:
    """Products of 1024 by 1024 matrices, one single-threaded worker a core."""
    with ThreadPoolExecutor(workers, initializer=lambda: torch.set_num_threads(1)) as pool:
        sets = [[torch.randn(1024, 1024) for _ in range(3)] for _ in range(workers)]
        for _ in range(3):
            clock.time("sgemm", lambda: list(pool.map(lambda s: torch.mm(s[0], s[1], out=s[2]), sets)))


def useful(data: Federation, work: Work) -> dict[str, tuple[float, float]]:
    """FLOP that the arithmetic needs, and bytes of rows that it reads, per phase."""
    sizes, inner = data.train.sizes, HIDDEN * CLASSES
    weights, row = INPUTS * HIDDEN + inner, 4 * INPUTS
    visits = {
        "probe": sizes.sum(),
        "control": np.minimum(sizes, work.batch).sum(),
        "local": (sizes * work.epochs if work.epochs else work.steps * np.minimum(sizes, work.batch)).sum(),
    }
    flop = {"probe": 2 * weights, "control": 4 * weights + 2 * inner, "local": 4 * weights + 2 * inner}
    return {phase: (float(visits[phase]) * flop[phase], float(visits[phase]) * row) for phase in PHASES}


def measure(clients: int, rounds: int, work: Work, *, ragged: bool, loop: bool, workers: int) -> None:
    """Measure engine, plain loop and sgemm in turns, and print their table."""
    data = federation(clients, ragged=ragged)
    engine = Engine(build("mlp", (INPUTS,), CLASSES, hidden=HIDDEN, dropout=0.5), data, workers=workers)
    theta, weights = engine.task.init(0), np.full(clients, 1 / clients)
    pair = plain_loop.Pair(data, theta) if loop else None
    ours, theirs, machine = Clock(), Clock(), Clock()
    for _ in range(rounds + WARM_UP):
        sgemm(machine, workers)
        engine_round(ours, engine, theta, weights, work)
        if pair is not None:
            loop_round(theirs, pair, theta, weights, work)
    if pair is not None:
        pair.close()
    print(f"\n{clients} clients, {int(data.train.sizes.sum())} rows, {workers} workers")
    report(ours, theirs if loop else None, machine, useful(data, work), workers)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def report(ours: Clock, theirs: Clock | None, machine: Clock, needs: dict, workers: int) -> None:
    """One line a phase and one a round. Shares are of the sgemm rate of the same run, by wall and by processor time."""
    flop = workers * 2 * 1024**3
    wall_rate, cpu_rate = flop / machine.best("sgemm")[0], flop / machine.best("sgemm")[2]
    print(f"sgemm {wall_rate / 1e9:.0f} GFLOP/s by wall, {cpu_rate / 1e9:.0f} a processor second")
    print("phase       wall min   median      cpu |  loop min   median      cpu | ratio  cpu | GFLOP    GB  share  cpu")
    rows = {phase: ours.best(phase) for phase in PHASES}
    rivals = {phase: theirs.best(phase) for phase in PHASES} if theirs else dict.fromkeys(PHASES, (np.nan,) * 3)
    for table in (rows, rivals):
        table["round"] = tuple(sum(table[phase][k] for phase in PHASES) for k in range(3))
    needs["round"] = tuple(sum(needs[phase][k] for phase in PHASES) for k in range(2))
    for phase in (*PHASES, "round"):
        (low, mid, cpu), (low2, mid2, cpu2), (work, read) = rows[phase], rivals[phase], needs[phase]
        print(
            f"{phase:8s} {low:11.4f} {mid:8.4f} {cpu:8.4f} | {low2:9.4f} {mid2:8.4f} {cpu2:8.4f} |"
            f" {low2 / low:5.2f} {cpu2 / cpu:4.2f} | {work / 1e9:5.1f} {read / 1e9:5.2f}"
            f" {work / low / wall_rate:5.0%} {work / cpu / cpu_rate:4.0%}"
        )


def main() -> None:
    """Read the arguments and measure."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--clients", type=int, nargs="+", default=[100, 1000])
    arguments.add_argument("--rounds", type=int, default=10)
    arguments.add_argument("--batch", type=int, default=32)
    arguments.add_argument("--steps", type=int, default=5)
    arguments.add_argument("--epochs", type=int, default=0)
    arguments.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--ragged", action="store_true")
    arguments.add_argument("--no-loop", action="store_true")
    arguments.add_argument("--refuse-busy", action="store_true", help="stop if the machine is busy")
    given = arguments.parse_args()
    if (busy := busy_cores()) > QUIET:
        print(f"BUSY MACHINE ({busy:.2f} cores at other work): read only the ratios")
        if given.refuse_busy:
            raise SystemExit(1)
    for clients in given.clients:
        work = Work(given.batch, given.steps, given.epochs)
        measure(clients, given.rounds, work, ragged=given.ragged, loop=not given.no_loop, workers=given.workers)


if __name__ == "__main__":
    main()
