"""All seven algorithms in Flower's simulation: python -m tests.federation.simulated FOLDER NODES ROUNDS."""

import os
import sys
import tempfile
from pathlib import Path

from tests.federation.small import ENVIRONMENT, SEVEN, spec


def main():
    folder, nodes, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.environ.update(ENVIRONMENT | {"FLWR_HOME": tempfile.mkdtemp(dir=folder)})
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    from evenkeel.federation.client import client_app
    from evenkeel.federation.serving import serve
    from evenkeel.federation.wire import GridPost

    # what a client reads of a spec (data, partition, task) is the same for all seven
    clients, server = client_app(settings={"spec": spec("fedavg", nodes, rounds).to_toml()}), ServerApp()
    names = ",".join(f"client-{i:0{len(str(nodes - 1))}d}" for i in range(nodes))

    @server.main()
    def main_(grid, context):
        post = GridPost(grid)
        for name in SEVEN:
            made = spec(name, nodes, rounds).to_toml()
            serve(post, {"spec": made, "folder": str(folder / name), "sites": names, "wait": 400.0})

    ray = {"include_dashboard": False, "_node_ip_address": "127.0.0.1", "log_to_driver": False}
    resources = {"num_cpus": 1, "num_gpus": 0.0}
    run_simulation(server, clients, nodes, "ray", {"init_args": ray, "client_resources": resources})


if __name__ == "__main__":
    main()
