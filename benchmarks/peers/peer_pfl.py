"""pfl-research's simulated backend with its FederatedAveraging: one process, or two over torch.distributed (gloo).

Kind to the peer: rows are tensors in memory, each process has one thread, and the client's loss is evaluated once (its
own evaluation would run before and after local training). Each process keeps its clients' losses; the mean is reduced.
"""

import os
import socket
import subprocess
import sys

import torch
from torch import nn
from torch.nn import functional
from workload import BATCH, DROPOUT, ETA, FIRST, ROWS, Clock, arguments, read, unpack


class Network(nn.Module):
    """784-50-10 with the two functions that pfl asks for."""

    def __init__(self, theta):
        super().__init__()
        self.w1, self.b1, self.w2, self.b2 = (nn.Parameter(part.clone()) for part in unpack(theta))

    def forward(self, x, training):
        """The outputs."""
        hidden = functional.dropout(functional.linear(x, self.w1, self.b1).relu_(), DROPOUT, training)
        return functional.linear(hidden, self.w2, self.b2)

    def loss(self, x, y, eval=False):  # noqa: A002 — pfl's name
        """The mean loss of a batch."""
        return functional.cross_entropy(self(x, training=not eval), y)

    @torch.no_grad()
    def metrics(self, x, y):
        """The client's full loss, each client counting once."""
        from pfl.metrics import Weighted

        return {"loss": Weighted(self.loss(x, y, eval=True).item(), 1)}


def second(port):
    """Make this process the first of two, and start the other."""
    own = {"TORCHELASTIC_RUN_ID": "peers", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ.update(own | {"GLOO_SOCKET_IFNAME": "lo", "RANK": "0"})
    return subprocess.Popen([sys.executable, *sys.argv], env=os.environ | {"RANK": "1"}, stdout=subprocess.DEVNULL)


def free_port():
    """A port of loopback that nobody has."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(given):
    """pfl's own loop; a callback marks the end of each round."""
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.callback.base import TrainingProcessCallback
    from pfl.data import FederatedDataset
    from pfl.data.pytorch import PyTorchTensorDataset
    from pfl.data.sampling import get_user_sampler
    from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
    from pfl.metrics import Metrics
    from pfl.model.pytorch import PyTorchModel

    x, y, theta = (torch.from_numpy(a) for a in read(given.rows, given.clients))

    class Probed(FederatedAveraging):
        def train_one_user(self, initial_model_state, model, user_dataset, central_context):
            metrics = model.evaluate(user_dataset, eval_params=central_context.model_eval_params)
            statistics, _ = super().train_one_user(initial_model_state, model, user_dataset, central_context)
            return statistics, metrics

    class Ticks(TrainingProcessCallback):
        def on_train_begin(self, *, model):
            self.clock = Clock(FIRST)
            return Metrics()

        def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
            values = {str(name): value.overall_value for name, value in aggregate_metrics if str(name) == "loss"}
            self.clock.tick(values["loss"], given.clients)
            return False, Metrics()

    def user(i):
        order = torch.randperm(ROWS) + i * ROWS
        return PyTorchTensorDataset((x[order], y[order]), user_id=str(i))

    network, ticks = Network(theta), Ticks()
    data = FederatedDataset(user, get_user_sampler("minimize_reuse", range(given.clients)))
    Probed().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=given.rounds,
            evaluation_frequency=given.rounds + 1,
            train_cohort_size=given.clients,
            val_cohort_size=0,
        ),
        backend=SimulatedBackend(training_data=data, val_data=data),
        model=PyTorchModel(network, torch.optim.SGD, torch.optim.SGD(network.parameters(), lr=1.0)),
        model_train_params=NNTrainHyperParams(local_num_epochs=1, local_learning_rate=ETA, local_batch_size=BATCH),
        model_eval_params=NNEvalHyperParams(local_batch_size=ROWS),
        callbacks=[ticks],
        send_metrics_to_platform=False,
    )
    return ticks.clock


def main():
    """Variant "one" or "two" processes."""
    torch.set_num_threads(1)
    given = arguments()
    other = second(free_port()) if given.variant == "two" and "RANK" not in os.environ else None
    run(given).report()
    if other:
        other.wait()


if __name__ == "__main__":
    main()
