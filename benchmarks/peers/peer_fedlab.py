"""FedLab's standalone simulation: its FedAvg handler and its serial SGD trainer, one process (it has no other).

Kind to the peer: the data loader is a list of batches cut from tensors in memory, so PyTorch's DataLoader is not paid
for. `one` has one thread, `all` as many as cores.
"""

import torch
from torch import nn
from torch.nn import functional
from workload import BATCH, CLASSES, DROPOUT, ETA, FIRST, HIDDEN, INPUTS, ROWS, Clock, arguments, read


class Slabs:
    """FedLab asks a dataset for a client's loader."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def get_dataloader(self, i, batch_size):
        """Shuffled mini-batches of client i."""
        order = torch.randperm(ROWS) + i * ROWS
        return list(zip(self.x[order].split(batch_size), self.y[order].split(batch_size), strict=True))


def network(theta):
    """784-50-10, started at θ⁰."""
    model = nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(HIDDEN, CLASSES))
    nn.utils.vector_to_parameters(theta, model.parameters())
    return model


def main():
    """Variant "one" or "all" threads."""
    given = arguments()
    if given.variant == "one":
        torch.set_num_threads(1)
    import torchvision_stub  # noqa: F401 — before FedLab's own import of torchvision
    from fedlab.contrib.algorithm.fedavg import FedAvgSerialClientTrainer, FedAvgServerHandler
    from fedlab.core.standalone import StandalonePipeline

    x, y, theta = (torch.from_numpy(a) for a in read(given.rows, given.clients))

    class Trainer(FedAvgSerialClientTrainer):
        losses = torch.zeros(given.clients)

        def local_process(self, payload, id_list):
            """Each client's full loss at θ, then FedLab's own local training."""
            self.set_model(payload[0])
            self.model.eval()
            with torch.no_grad():
                for i in id_list:
                    rows = slice(i * ROWS, (i + 1) * ROWS)
                    self.losses[i] = functional.cross_entropy(self.model(x[rows]), y[rows])
            super().local_process(payload, id_list)

    class Timed(StandalonePipeline):
        clock = None

        def evaluate(self):
            """FedLab calls this at the end of each round."""
            self.clock.tick(self.trainer.losses)

    model = network(theta)
    trainer = Trainer(model, given.clients)
    trainer.setup_dataset(Slabs(x, y))
    trainer.setup_optim(1, BATCH, ETA)
    pipeline = Timed(FedAvgServerHandler(model, given.rounds, 1.0), trainer)
    pipeline.clock = Clock(FIRST)
    pipeline.main()
    pipeline.clock.report()


if __name__ == "__main__":
    main()
