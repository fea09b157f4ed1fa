"""Run on two nodes of this machine and lose the second: prints what was lost, and the run's fingerprint."""

import os
import signal
import sys
import warnings
from pathlib import Path

from evenkeel.cluster import link
from evenkeel.runs import execute
from evenkeel.runs.observers import Quiet
from tests.runs import tiny

from .sockets import children, words
from .test_faults import spec

NODE = {"object_store_memory": link.STORE, "include_dashboard": False}
SOON = {"health_check_period_ms": 300, "health_check_initial_delay_ms": 0, "health_check_failure_threshold": 3}


class Losing(Quiet):
    """Kills the second node, its worker with it, when two rounds are done."""

    def __init__(self, node):
        self.pids = children(node.all_processes["raylet"][0].process.pid)

    def round(self, row):
        if row["round"] != 2:
            return
        raylet = min(self.pids)
        self.pids |= children(raylet)
        there = [pid for pid in self.pids if words(pid).startswith("ray::Worker")]
        assert there, "no worker was placed on the second node"
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        print(f"lost a node with worker {there}")

    def warn(self, line):
        """Nothing to say."""


def main():
    link.imported()
    from ray.cluster_utils import Cluster as Nodes

    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 2, **NODE, "_system_config": SOON})
    second = nodes.add_node(num_cpus=1, **NODE)
    nodes.wait_for_nodes()
    warnings.simplefilter("ignore", RuntimeWarning)
    on = spec(engine__address=nodes.address)
    run = execute(on, Path(sys.argv[1]), federation=tiny.federation(), observer=Losing(second))
    nodes.shutdown()
    print(tiny.fingerprint(run))


if __name__ == "__main__":
    main()
