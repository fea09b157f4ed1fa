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

from bench_engine import Clock, sgemm, useful
from evenkeel.runs import federation_of
from evenkeel.runs.presets import PRESETS
from evenkeel.runs.spec import Spec
from idle import QUIET, busy_cores
from plain_loop import Work

WORKERS, TIMES = 2, 3
MNIST = PRESETS["mnist"] | {"work": {"batch": 64, "steps": 5, "control_batch": 64}, "evaluation": {"every": 100}}


def seconds(*command: str) -> float:
    """How long a process takes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return time.perf_counter() - begun


def started(folder: Path, *what: str) -> float:
    """A run in a folder of its own, as the command line starts it."""
    return seconds("-m", "evenkeel", "run", *what, "--out", str(folder))


def main() -> None:
    """Measure and print."""
    print("BUSY" if busy_cores() > QUIET else "quiet")
    with tempfile.TemporaryDirectory() as place:
        torch = [seconds("-c", "import torch") for _ in range(TIMES)]
        print(f"import torch: {min(torch):.2f} s (of {TIMES}: {', '.join(f'{t:.2f}' for t in torch)})")
        for preset in ("digits", "mnist"):
            one = [
                started(Path(place) / f"{preset}-{k}", "--preset", preset, "--set", "rounds=1") for k in range(TIMES)
            ]
            print(
                f"a whole run of one round, {preset}: {min(one):.2f} s, {min(one) - min(torch):.2f} beyond import torch"
            )
        spec, file = Spec.of(MNIST), Path(place) / "hundred.toml"
        file.write_text(spec.to_toml())
        machine, folder = Clock(), Path(place) / "hundred"
        sgemm(machine, WORKERS)
        wall = started(folder, str(file))
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
