"""Run on two nodes of this machine, lose the second and add a third: prints what was lost, and the fingerprint."""

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
SOON = {"health_check_period_ms": 500, "health_check_initial_delay_ms": 0, "health_check_failure_threshold": 10}


class Losing(Quiet):
    """Kills the second node, its worker with it, when two rounds are done; only then is there another one."""

    def __init__(self, nodes, node):
        self.nodes, self.raylet = nodes, node.all_processes["raylet"][0].process.pid

    def round(self, row):
        if row["round"] != 2:
            return
        pids = children(self.raylet) | {self.raylet}
        there = [pid for pid in pids if words(pid).startswith("ray::Worker")]
        assert there, "no worker was placed on the second node"
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        print(f"lost a node with worker {there}")
        self.nodes.add_node(num_cpus=1, **NODE)

    def warn(self, line):
        """Nothing to say."""


def main():
    link.imported()
    from ray.cluster_utils import Cluster as Nodes

    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, **NODE, "_system_config": SOON})
    second = nodes.add_node(num_cpus=1, **NODE)
    nodes.wait_for_nodes()
    warnings.simplefilter("ignore", RuntimeWarning)
    on = spec(engine__address=nodes.address)
    run = execute(on, Path(sys.argv[1]), federation=tiny.federation(), observer=Losing(nodes, second))
    nodes.shutdown()
    print(tiny.fingerprint(run))


if __name__ == "__main__":
    main()
