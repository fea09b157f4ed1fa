"""evenkeel's own engine, driven as its run loop drives it: FedAvg with a probe, or Scaff-PD-IA."""

import numpy as np
import torch
from workload import BATCH, CLASSES, DROPOUT, ETA, FIRST, HIDDEN, INPUTS, ROWS, STEPS, Clock, arguments, read

from evenkeel.algorithms import Work, algorithm
from evenkeel.data.shards import Federation, Shards
from evenkeel.engine import Engine
from evenkeel.protocol import Ask, Key, drive
from evenkeel.tasks import build


def federation(folder, clients):
    """The shared rows, 160 a client."""
    x, y, theta = read(folder, clients)
    data = Federation(
        x=torch.from_numpy(x),
        y=torch.from_numpy(y),
        train=Shards.of(np.split(np.arange(clients * ROWS), clients)),
        valid=Shards.of([[]] * clients),
        names=tuple(str(i) for i in range(clients)),
        classes=CLASSES,
    )
    return data, torch.from_numpy(theta)


def main():
    """Time whole rounds, the algorithm's server side included."""
    given = arguments()
    data, theta = federation(given.rows, given.clients)
    engine = Engine(build("mlp", (INPUTS,), CLASSES, hidden=HIDDEN, dropout=DROPOUT), data)
    work = Work(batch=BATCH, steps=STEPS, epochs=0, control_batch=BATCH)
    rates = {"eta": ETA} if given.variant == "fedavg" else {"eta": ETA, "tau": ETA * STEPS}
    method = algorithm(given.variant, data.train.sizes, work=work, **rates)
    state, clock = method.init(theta, data.n), Clock(FIRST)
    for r in range(given.rounds):
        key = Key(0, r)
        losses = engine.answer(Ask("probe", {"theta": state.theta}), key)["loss"] if given.variant == "fedavg" else None
        step = drive(method.round(state, key), lambda ask, key=key: engine.answer(ask, key))
        state = step.state
        clock.tick(step.info["loss"] if losses is None else losses)
    clock.report()


if __name__ == "__main__":
    main()
