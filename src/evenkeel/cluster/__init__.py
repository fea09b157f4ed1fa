"""The Ray transport: clients sharded over the workers of a cluster, each worker an engine (extra `evenkeel[ray]`).

Ray is imported when a cluster is first used, never before.
"""

from evenkeel.cluster.cluster import Cluster
from evenkeel.cluster.link import cores, opened
from evenkeel.cluster.tasks import spread

__all__ = ["Cluster", "cores", "opened", "spread"]
