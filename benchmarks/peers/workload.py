"""Workload W, the same for every peer: its constants, its rows, and the clock. Needs NumPy alone.

Clients of 160 rows of 784 numbers, a 784-50-10 network with ReLU and dropout .5, five SGD steps of 32 rows (one pass
over the client), every client in every round, each client's full training loss in every round, the mean of all models.
A teacher labels the rows, so that the loss must fall; a shared θ⁰ makes the first loss the same number for everyone.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

INPUTS, HIDDEN, CLASSES = 784, 50, 10
ROWS, BATCH, STEPS, ETA, DROPOUT = 160, 32, 5, 0.1, 0.5
SHAPES = ((HIDDEN, INPUTS), (HIDDEN,), (CLASSES, HIDDEN), (CLASSES,))
FIRST, LAST = "evaluated before the local steps", "evaluated after the average"


def write(folder, clients):
    """Rows, labels and θ⁰ for so many clients, as files that every interpreter can map; nothing if they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "theta.npy").exists():
        return
    draws = np.random.default_rng(0)
    x = draws.standard_normal((clients * ROWS, INPUTS), dtype=np.float32)
    teacher = draws.standard_normal((INPUTS, CLASSES), dtype=np.float32)
    bounds = (INPUTS**-0.5, INPUTS**-0.5, HIDDEN**-0.5, HIDDEN**-0.5)
    theta = [draws.uniform(-b, b, shape).astype(np.float32).ravel() for shape, b in zip(SHAPES, bounds, strict=True)]
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", np.argmax(x @ teacher, axis=1))
    np.save(folder / "theta.npy", np.concatenate(theta))


def read(folder, clients):
    """The rows and labels of the first clients, in memory, and θ⁰."""
    last = clients * ROWS
    x, y = (np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in "xy")
    return np.array(x[:last]), np.array(y[:last]), np.load(Path(folder) / "theta.npy")


def unpack(theta):
    """The four arrays or tensors of a flat θ."""
    at = np.cumsum([0] + [int(np.prod(shape)) for shape in SHAPES])
    return [theta[first:last].reshape(shape) for shape, first, last in zip(SHAPES, at, at[1:], strict=False)]


def arguments():
    """What `run.py` gives every adapter: folder of rows, clients, rounds, variant."""
    parser = argparse.ArgumentParser(description="one peer on workload W; started by run.py")
    parser.add_argument("--rows", required=True)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--variant", default="")
    return parser.parse_args()


class Clock:
    """Marks the end of every round, with the mean over clients of their losses that the round has evaluated."""

    def __init__(self, when):
        self.when, self.ends, self.losses = when, [time.perf_counter()], []

    def tick(self, losses, count=0):
        """The round is over; `losses` is one number a client, or the mean of `count` that stay where they are."""
        self.ends.append(time.perf_counter())
        losses = np.asarray(losses, dtype=np.float64)
        self.losses.append((float(losses.mean()), count or losses.size))

    def report(self, **more):
        """The one JSON line that run.py reads."""
        means, counts = zip(*self.losses, strict=True)
        line = {"seconds": np.diff(self.ends).tolist(), "losses": means, "clients": sorted(set(counts))}
        print(json.dumps(line | {"when": self.when} | more), flush=True)
