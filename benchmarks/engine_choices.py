"""What each choice in the engine is worth: a round of bench_engine with one choice made otherwise, all in one run.

    python benchmarks/engine_choices.py --clients 100 --rounds 7

Rounds of all variants take turns, so that a drift of the machine hits all of them. Printed are medians, and the ratio
to the engine as it is. docs/decisions/0006-engine.md says what followed.
"""

import argparse
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from unittest import mock

import numpy as np
import torch

from bench_engine import HIDDEN, INPUTS, PHASES, WARM_UP, Clock, engine_round, federation
from evenkeel.engine import Engine, dense, engine, flat, rowspace, vmapped
from evenkeel.tasks import build
from idle import QUIET, busy_cores
from plain_loop import Work

MIB = 2**20
SAME = "as it is"
PATCHES = {
    SAME: (),
    **{f"chunks of {mib:g} MiB": ((vmapped, "_STACK_BYTES", int(mib * MIB)),) for mib in (0.5, 1, 2, 4, 8, 64)},
    "one chunk a worker": ((vmapped, "_STACK_BYTES", 2**40),),
    **{f"probe in blocks of {mib:g} MiB": ((flat, "_BLOCK_BYTES", int(mib * MIB)),) for mib in (0.5, 1, 2, 8, 16)},
    "first layer never by rows": ((rowspace.Work, "cheaper_in_rows", lambda work: False),),
    "first layer always by rows": ((rowspace.Work, "cheaper_in_rows", lambda work: True),),
    "gradient stored, then subtracted": ((dense, "_FUSED", math.inf),),
}


def made(name: str, data, task) -> Engine:
    """An engine with another structure, where the choice is not one of PATCHES."""
    if name == "one worker":
        return Engine(task, data, workers=1)
    if name == "vmap of the model itself":
        other = Engine(task, data)
        with mock.patch.object(engine, "layers_of", return_value=None):
            assert other.path.__class__ is vmapped.Vmapped
        return other
    found = Engine(task, data)
    if name == "nothing kept between asks":
        object.__setattr__(found.path.kept, "room", 0)
    if name == "one pool of two threads for all operations":
        found = Engine(task, data, workers=1)
        found.__dict__["pool"] = ThreadPoolExecutor(1, initializer=lambda: torch.set_num_threads(2))
    return found


STRUCTURES = (
    "one worker",
    "one pool of two threads for all operations",
    "vmap of the model itself",
    "nothing kept between asks",
)


@contextmanager
def otherwise(name: str) -> Iterator[None]:
    """The constants of a variant while its round runs."""
    with ExitStack() as stack:
        for place, attribute, value in PATCHES.get(name, ()):
            stack.enter_context(mock.patch.object(place, attribute, value))
        if name == "one pool of two threads for all operations":
            stack.enter_context(mock.patch.object(engine, "single_threaded", nullcontext))
        yield


def main() -> None:
    """Measure all variants in turns and print them."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--clients", type=int, default=100)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--steps", type=int, default=5)
    given = arguments.parse_args()
    data = federation(given.clients, ragged=False)
    task, work = build("mlp", (INPUTS,), 10, hidden=HIDDEN, dropout=0.5), Work(32, given.steps, 0)
    theta, weights = task.init(0), np.full(given.clients, 1 / given.clients)
    names = (*PATCHES, *STRUCTURES)
    engines, clocks = {name: made(name, data, task) for name in names}, {name: Clock() for name in names}
    for r in range(given.rounds + WARM_UP):
        for name in names:
            with otherwise(name):
                engine_round(clocks[name], engines[name], theta + r * 1e-6, weights, work)
    print(
        f"{given.clients} clients, {given.steps} steps, median of {given.rounds} rounds",
        "" if busy_cores() < QUIET else "BUSY",
    )
    base = None
    for name in names:
        parts = [clocks[name].best(phase)[1] for phase in PHASES]
        base = base or sum(parts)
        shown = "  ".join(f"{phase} {part:.4f}" for phase, part in zip(PHASES, parts, strict=True))
        print(f"{name:45} {sum(parts):.4f} s  ×{sum(parts) / base:.2f}   {shown}")


if __name__ == "__main__":
    main()
