"""Flower's simulation engine (Ray): an actor a core, one message a client and round, on loopback, telemetry off.

Kind to the peer: loss and training share one message, replies are collected without the stock strategy's pauses, and an
actor keeps its rows and buffers from message to message.
"""

import functools
import os
import tempfile
import time

import torch
from torch_client import Autograd
from workload import FIRST, Clock, arguments, read

ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "OMP_NUM_THREADS": "1",
}
POLL = 0.05


@functools.cache
def clients(folder, n):
    """The rows and buffers of this actor."""
    torch.set_num_threads(1)
    x, y, theta = (torch.from_numpy(a) for a in read(folder, n))
    return Autograd(x, y, len(theta))


def answer(message, context):
    """The client app: the full loss at θ, then the model after local steps."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict

    config, i = message.content["config"], int(context.node_config["partition-id"])
    mine = clients(config["folder"], config["clients"])
    theta = torch.from_numpy(message.content["theta"].to_numpy_ndarrays()[0])
    loss, model = float(mine.loss(theta, i)), mine.local(theta, i)
    reply = {"theta": ArrayRecord([model.numpy()]), "loss": MetricRecord({"loss": loss, "client": i})}
    return Message(RecordDict(reply), reply_to=message)


def round_(grid, theta, given):
    """Send θ to everyone, and collect losses and models until all have answered."""
    from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict

    config = ConfigRecord({"folder": given.rows, "clients": given.clients})
    content = RecordDict({"theta": ArrayRecord([theta]), "config": config})
    open_ = set(grid.push_messages([Message(content, node, "train") for node in grid.get_node_ids()]))
    replies = []
    while open_:
        time.sleep(POLL)
        got = list(grid.pull_messages(open_))
        open_ -= {m.metadata.reply_to_message_id for m in got}
        replies += [m.content for m in got]
    total = torch.zeros(len(theta))
    for reply in replies:
        total += torch.from_numpy(reply["theta"].to_numpy_ndarrays()[0])
    return (total / len(replies)).numpy(), [reply["loss"]["loss"] for reply in replies]


def main():
    """Run both apps in one simulation."""
    os.environ.update(ENVIRONMENT | {"FLWR_HOME": tempfile.mkdtemp()})
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    given, client_app, server_app = arguments(), ClientApp(), ServerApp()
    client_app.train()(answer)

    @server_app.main()
    def serve(grid, context):
        theta = read(given.rows, 1)[2]
        while len(list(grid.get_node_ids())) < given.clients:
            time.sleep(POLL)
        clock = Clock(FIRST)
        for _ in range(given.rounds):
            theta, losses = round_(grid, theta, given)
            clock.tick(losses)
        clock.report()

    # "local": never another's Ray that happens to run here
    ray = {"address": "local", "include_dashboard": False, "_node_ip_address": "127.0.0.1", "log_to_driver": False}
    resources = {"num_cpus": 1, "num_gpus": 0.0}
    run_simulation(server_app, client_app, given.clients, "ray", {"init_args": ray, "client_resources": resources})


if __name__ == "__main__":
    from peer_flower import main as imported  # so that Ray pickles the client app by its name, and caches live

    imported()
