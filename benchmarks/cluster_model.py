"""How many seconds a round takes on a cluster: a sum of terms, each fitted to measurements or assumed and called so.

Measured (`bench_cluster`): the arithmetic of a client, the server's own work, Ray's cost of a round without arithmetic.
Assumed: every worker has a core as fast as one of ours to itself; eight share a node; a node's link carries 10 Gbit/s,
the driver's as well, and a message takes 100 µs; the driver sends θ and c to every node, and gets two sums of every
worker. Ray's cost is that of workers that shared two cores with the driver, so its terms in W are upper bounds.
"""

from dataclasses import asdict, dataclass

import numpy as np
from scipy.optimize import nnls

LINK, LATENCY, NODE = 1.25e9, 1e-4, 8  # bytes a second, seconds, workers a node: assumed
LARGE = 1_000_000  # parameters; beyond, the vectors of a client no longer fit a core's caches, and each costs more
ASKS, VECTORS, ITEM = 3, 2, 4  # of a round: asks, θ-sized vectors each way, bytes a number


def fitted(terms, seconds) -> list[float]:
    """Coefficients of at least 0 with the least squared relative error.

    >>> fitted([[1, 10], [1, 20]], [3, 5])
    [1.0, 0.2]
    """
    y = np.asarray(seconds, float)
    return [round(float(c), 12) for c in nnls(np.asarray(terms, float) / y[:, None], np.ones(len(y)))[0]]


@dataclass(frozen=True, kw_only=True)
class Model:
    """Coefficients in seconds. A client: constant, per parameter, per parameter beyond LARGE.

    The server: constant, per client, per parameter.
    Ray: constant, per worker, per byte of θ, per byte of θ and worker.
    """

    client: tuple[float, float, float]
    server: tuple[float, float, float]
    ray: tuple[float, float, float, float]

    @classmethod
    def of(cls, growth, echoes) -> "Model":
        """Fitted to rounds of one engine thread, and to rounds of workers that compute nothing."""
        clients = [(row["seconds"] - row["outside"]) / row["clients"] for row in growth]
        return cls(
            client=tuple(fitted([[1, row["d"], max(0, row["d"] - LARGE)] for row in growth], clients)),
            server=tuple(fitted([[1, row["clients"], row["d"]] for row in growth], [r["outside"] for r in growth])),
            ray=tuple(
                fitted(
                    [[1, e["workers"], ITEM * e["d"], ITEM * e["d"] * e["workers"]] for e in echoes],
                    [e["seconds"] for e in echoes],
                )
            ),
        )

    def terms(self, *, clients: int, d: int, workers: int, network: bool = True) -> dict[str, float]:
        """Seconds a round by term; without a network all workers share the driver's machine."""
        theta, c, r = ITEM * d, self.client, self.ray
        nodes = -(-workers // NODE)
        return {
            "clients": -(-clients // workers) * (c[0] + c[1] * d + c[2] * max(0, d - LARGE)),
            "server": self.server[0] + self.server[1] * clients + self.server[2] * d,
            "Ray": r[0] + r[1] * workers + theta * (r[2] + r[3] * workers),
            "network (assumed)": (ASKS * 2 * LATENCY + VECTORS * theta * (nodes + workers) / LINK) * network,
        }

    def seconds(self, **where) -> float:
        """The whole round."""
        return sum(self.terms(**where).values())

    def errors(self, growth, echoes) -> dict[str, float]:
        """The largest relative error of each part on what it was fitted to."""
        told = {
            "one engine thread": [
                (self.seconds(clients=g["clients"], d=g["d"], workers=1, network=False) - self._ray(g["d"], 1), g)
                for g in growth
            ],
            "Ray alone": [(self._ray(e["d"], e["workers"]), e) for e in echoes],
        }
        return {name: max(abs(said / row["seconds"] - 1) for said, row in rows) for name, rows in told.items()}

    def _ray(self, d: int, workers: int) -> float:
        return self.terms(clients=1, d=d, workers=workers, network=False)["Ray"]

    def table(self) -> dict:
        """As plain values."""
        return asdict(self)
