"""Whole runs as a user starts them: process start to the first round, and 100 rounds on all of MNIST.

    python benchmarks/bench_run.py              # MNIST is fetched first if it is not in the cache

The second is held against the arithmetic alone, at the sgemm rate that the machine reaches in the same minutes.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from bench_engine import Clock, quiet, sgemm, useful
from evenkeel.runs import federation_of
from evenkeel.runs.spec import Spec
from plain_loop import Work

WORKERS, TIMES = 2, 3
MNIST = ["work.steps=5", "evaluation.every=100"]


def seconds(*command: str) -> float:
    """How long a process takes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return time.perf_counter() - begun


def started(folder: Path, preset: str, *settings: str) -> float:
    """A run of a preset in a folder of its own."""
    chosen = [word for setting in settings for word in ("--set", setting)]
    return seconds("-m", "evenkeel", "run", "--preset", preset, *chosen, "--out", str(folder))


def main() -> None:
    """Measure and print."""
    print("BUSY" if not quiet() else "quiet")
    with tempfile.TemporaryDirectory() as place:
        torch = [seconds("-c", "import torch") for _ in range(TIMES)]
        print(f"import torch: {min(torch):.2f} s (of {TIMES}: {', '.join(f'{t:.2f}' for t in torch)})")
        for preset in ("digits", "mnist"):
            one = [started(Path(place) / f"{preset}-{k}", preset, "rounds=1") for k in range(TIMES)]
            print(
                f"a whole run of one round, {preset}: {min(one):.2f} s, {min(one) - min(torch):.2f} beyond import torch"
            )
        spec = Spec.preset("mnist", MNIST)
        machine, folder = Clock(), Path(place) / "hundred"
        sgemm(machine, WORKERS)
        wall = started(folder, "mnist", *MNIST)
        sgemm(machine, WORKERS)
        rounds = pl.read_parquet(folder / "rounds.parquet")["seconds"].drop_nulls().to_numpy()
    data = federation_of(spec)
    flop = sum(work for work, _ in useful(data, Work(64, 5, 0)).values()) * spec.rounds
    rate = WORKERS * 2 * 1024**3 / min(machine.wall["sgemm"])
    took, least = float(np.sum(rounds)), flop / rate
    print(f"{len(rounds)} rounds of Scaff-PD-IA on {len(data.train.rows):,} training rows of MNIST, five steps of 64:")
    print(f"the rounds {took:.2f} s, the first {rounds[0]:.2f} s, the whole process {wall:.2f} s")
    print(
        f"arithmetic {flop / 1e9:.0f} GFLOP at {rate / 1e9:.0f} GFLOP/s: {least:.2f} s; the rounds ×{took / least:.2f}"
    )


if __name__ == "__main__":
    main()
