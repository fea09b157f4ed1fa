"""FLGo's FedAvg runner: one process and thread (its default), or its pool of two threads.

Kind to the peer: the task is made in memory, its loaders are lists of batches cut from tensors, and its own evaluation
of the server's and the clients' validation sets is off. Its pool of processes would pickle all clients for each client.
"""

import json
import sys
import tempfile
import types
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset
from workload import BATCH, DROPOUT, ETA, FIRST, ROWS, STEPS, Clock, arguments, read, unpack


def benchmark(x, y):
    """FLGo finds a benchmark by the name of a package with a module `core`: here one that lives in memory."""
    from flgo.benchmark.base import BasicTaskPipe
    from flgo.benchmark.toolkits.cv.classification import GeneralCalculator

    slabs = {
        f"client{i}": TensorDataset(*pair) for i, pair in enumerate(zip(x.split(ROWS), y.split(ROWS), strict=True))
    }

    class TaskPipe(BasicTaskPipe):
        feddata = {"client_names": list(slabs)}  # noqa: RUF012 — FLGo's own way

        def load_data(self, running_time_option):
            """Training rows alone."""
            return {name: {"train": slab} for name, slab in slabs.items()} | {"server": {}}

    class TaskCalculator(GeneralCalculator):
        def get_dataloader(self, dataset, batch_size, shuffle=True, **_):
            """Shuffled mini-batches in memory; one batch of everything needs no shuffle."""
            if batch_size >= ROWS:
                return [dataset.tensors]
            order = torch.randperm(ROWS)
            return list(zip(*(t[order].split(int(batch_size)) for t in dataset.tensors), strict=True))

    package, core = types.ModuleType("rows_in_memory"), types.ModuleType("rows_in_memory.core")
    core.TaskPipe, core.TaskCalculator = TaskPipe, TaskCalculator
    sys.modules.update({"rows_in_memory": package, "rows_in_memory.core": core})


def network(theta):
    """FLGo asks a model module to put a model into the server."""
    from flgo.utils.fmodule import FModule

    class Network(FModule):
        def __init__(self):
            super().__init__()
            self.w1, self.b1, self.w2, self.b2 = (nn.Parameter(part.clone()) for part in unpack(theta))

        def forward(self, x):
            """The outputs."""
            hidden = functional.dropout(functional.linear(x, self.w1, self.b1).relu_(), DROPOUT, self.training)
            return functional.linear(hidden, self.w2, self.b2)

    def init_global_module(party):
        if "Server" in type(party).__name__:
            party.model = Network()

    module = types.ModuleType("network")
    module.init_global_module = init_global_module
    return module


def main():
    """Variant "one" or "two-threads"."""
    given = arguments()
    import flgo
    from flgo.algorithm import fedavg

    x, y, theta = (torch.from_numpy(a) for a in read(given.rows, given.clients))
    benchmark(x, y)

    class Server(fedavg.Server):
        clock = None

        def iterate(self):
            """Each client's full loss at θ by FLGo's own test, then its own round."""
            self.clock = self.clock or Clock(FIRST)
            losses = self.global_test(flag="train")["loss"]
            updated = super().iterate()
            self.clock.tick(losses)
            return updated

    method = types.ModuleType("fedavg")
    method.Server, method.Client = Server, fedavg.Client
    task = Path(tempfile.mkdtemp())
    for folder in ("record", "log"):
        (task / folder).mkdir()
    (task / "info").write_text(json.dumps({"benchmark": "rows_in_memory", "scene": "horizontal"}))
    option = {
        "num_rounds": given.rounds,
        "proportion": 1.0,
        "sample": "full",
        "aggregate": "uniform",
        "num_steps": STEPS,
        "batch_size": BATCH,
        "learning_rate": ETA,
        "train_holdout": 0.0,
        "eval_interval": 0,
        "num_parallels": 2 if given.variant == "two-threads" else 1,
        "parallel_type": "t",
        "no_tqdm": True,
        "no_log_console": True,
    }
    sys.argv = sys.argv[:1]  # FLGo reads the command line as well
    server = flgo.init(str(task), method, option, model=network(theta))
    server.run()
    server.clock.report()


if __name__ == "__main__":
    main()
