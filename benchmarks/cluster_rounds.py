"""What `bench_cluster` measures: rounds of Scaff-PD-IA by transport, Ray's own cost of a round, bytes on the wire.

A round is driven as a run drives it, with the algorithm's own text: three asks, the dual step, the new θ. Transports
that are compared take turns, round by round, so that what else happens on the machine hits all of them.
"""

import os
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bench_engine import federation
from evenkeel.algorithms import Work, algorithm
from evenkeel.cluster import Cluster, group, link
from evenkeel.cluster.worker import Answer, Worker, tensor
from evenkeel.engine import Engine
from evenkeel.protocol import Key, drive
from evenkeel.tasks import build

INPUTS, CLASSES = 784, 10
PAPER = Work(batch=64, epochs=5, control_batch=64)
LIGHT = Work(batch=32, steps=5, epochs=0, control_batch=32)
WARM_UP = 2


def width(d: int) -> int:
    """Hidden units of a network 784-h-10 with about d parameters: d = 795h + 10."""
    return max(1, round((d - CLASSES) / (INPUTS + 1 + CLASSES)))


def task_of(d: int):
    """That network, with dropout as the paper has it."""
    return build("mlp", (INPUTS,), CLASSES, hidden=width(d), dropout=0.5)


@dataclass
class Timed:
    """A transport, and the seconds spent in it."""

    inner: object
    inside: float = 0.0

    def __call__(self, ask, key):
        begun = time.perf_counter()
        try:
            return self.inner.answer(ask, key)
        finally:
            self.inside += time.perf_counter() - begun


@dataclass
class Course:
    """One transport on its way: the state of the algorithm, and the seconds of each round and of its asks."""

    transport: object
    work: Work
    state: object = None
    rounds: list = field(default_factory=list)
    inside: list = field(default_factory=list)
    cpu: list = field(default_factory=list)

    def step(self):
        """One round."""
        alg = algorithm("scaff-pd-ia", self.transport.federation.train.sizes, work=self.work)
        if self.state is None:
            self.state = alg.init(self.transport.task.init(0), self.transport.n)
        key, timed, there = Key(0, len(self.rounds)), Timed(self.transport), workers_of(self.transport)
        here, far, begun = time.process_time(), used(there), time.perf_counter()
        self.state = drive(alg.round(self.state, key), lambda ask: timed(ask, key)).state
        self.rounds.append(time.perf_counter() - begun)
        self.inside.append(timed.inside)
        self.cpu.append((time.process_time() - here, used(there) - far))

    def seconds(self) -> tuple[float, float]:
        """The median round after the warm-up, and its median outside of asks."""
        return middle(self.rounds), middle(np.subtract(self.rounds, self.inside))


def middle(values) -> float:
    """The median after the warm-up."""
    return float(np.median(values[WARM_UP:]))


def in_turns(courses, rounds: int) -> None:
    """So many rounds of each, one after the other."""
    for _ in range(rounds + WARM_UP):
        for course in courses:
            course.step()


def peak(pid="self") -> float:
    """The most resident memory of a process so far, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def used(pids) -> float:
    """Processor seconds of some processes so far."""
    cells = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(c[11]) + int(c[12]) for c in cells) / os.sysconf("SC_CLK_TCK")


def workers_of(transport) -> list[int]:
    """The worker processes of a transport; none for the engine."""
    if not isinstance(transport, Cluster):
        return []
    return [transport.group.ray.get(actor.ready.remote()) for actor in transport.group.actors]


def transports(clients: int, d: int, work: Work, rounds: int) -> dict:
    """The same rounds on one and two threads of the engine, and on one and two workers of a cluster."""
    data, task = federation(clients, ragged=False), task_of(d)
    with link.opened(None, 3):
        clusters = {f"ray {k}": Cluster(task, data, workers=k) for k in (1, 2)}
        made = {f"engine {k}": Engine(task, data, workers=k) for k in (1, 2)} | clusters
        courses = {name: Course(transport, work) for name, transport in made.items()}
        in_turns(courses.values(), rounds)
        apart = float((courses["ray 2"].state.theta - courses["engine 1"].state.theta).abs().max())
        memory = {"driver_mib": peak(), "worker_mib": max(map(peak, workers_of(clusters["ray 2"])))}
        for cluster in clusters.values():
            cluster.close()
    found = {name: course.seconds() for name, course in courses.items()}
    return {
        "clients": clients,
        "d": task.d,
        "seconds": {name: both[0] for name, both in found.items()},
        "outside": {name: both[1] for name, both in found.items()},
        "cpu": {name: np.mean(course.cpu[WARM_UP:], axis=0).tolist() for name, course in courses.items()},
        "every": {name: course.rounds[WARM_UP:] for name, course in courses.items()},
        "theta_apart": apart,
        **memory,
    }


def grown(clients: int, d: int, work: Work, rounds: int) -> dict:
    """Seconds a round, inside and outside of asks, of one engine thread."""
    task = task_of(d)
    course = Course(Engine(task, federation(clients, ragged=False), workers=1), work)
    in_turns([course], rounds)
    seconds, outside = course.seconds()
    return {"clients": clients, "d": task.d, "seconds": seconds, "outside": outside, "peak_mib": peak()}


class Echo(Worker):
    """A worker without arithmetic: it takes in what it is sent, and sends back as much as a real one would."""

    def answer(self, q, key, *shared):
        """Zeros of the right sizes."""
        taken = [tensor(value) for value in shared]
        n = self.engine.n
        names = {"probe": ("loss",), "gradient": ("loss", "norm2"), "local": ("norm2", "steps")}[q.phase]
        vectors = {"gradient": ("grad",), "local": ("delta",)}.get(q.phase, ())
        return Answer({s: np.ones(n) for s in names}, {v: np.zeros(len(taken[0]), np.float32) for v in vectors})


def echoed(workers: int, d: int, rounds: int) -> dict:
    """Seconds of the asks of a round over Ray alone: eight clients, nothing computed."""
    link.imported().cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not find this file
    before, group.Worker = group.Worker, Echo
    try:
        cluster = Cluster(task_of(d), federation(8, ragged=False), workers=workers)
        course = Course(cluster, LIGHT)
        in_turns([course], rounds)
        cluster.close()
    finally:
        group.Worker = before
    return {"workers": workers, "d": cluster.task.d, "seconds": middle(course.inside), "driver_mib": peak()}


def moved(clients: int, d: int, workers: int, rounds: int) -> dict:
    """Payload bytes of a round as the transport counts them, by the formula, and as a run's own columns count them."""
    from evenkeel.runs.measure import Meter

    task, data = task_of(d), federation(clients, ragged=False)
    cluster = Cluster(task, data, workers=workers)
    course = Course(cluster, LIGHT)
    in_turns([course], 0)
    before, meter = replace(cluster.traffic), Meter(clients)

    class Metered:
        federation, n = data, clients
        task = cluster.task

        def answer(self, ask, key):
            meter.asks(ask)
            replies = cluster.answer(ask, key)
            meter.hears(ask, replies)
            return replies

    course.transport = Metered()
    in_turns([course], rounds - WARM_UP)
    cluster.close()
    now = cluster.traffic
    counted = {name: (getattr(now, name) - getattr(before, name)) / rounds for name in ("put", "down", "up")}
    theta = 4 * task.d
    formula = {"put": 2 * theta, "down": 2 * 8 * clients, "up": 2 * workers * theta + 5 * 8 * clients}
    row = {name: value / rounds for name, value in meter.row().items() if name.startswith("bytes")}
    return {"clients": clients, "d": task.d, "workers": workers, "counted": counted, "formula": formula, "run": row}


def loopback() -> int:
    """Bytes that went over the loopback interface so far."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return int(next(line for line in lines if line.strip().startswith("lo:")).split(":")[1].split()[0])


def wired(clients: int, d: int, rounds: int) -> dict:
    """Bytes on the wire between two nodes of this machine, with one worker each, above those of as long a pause."""
    link.imported()
    from ray.cluster_utils import Cluster as Nodes

    how = {"num_cpus": 1, "object_store_memory": 2**29, "include_dashboard": False}
    nodes = Nodes(initialize_head=True, head_node_args=how)
    nodes.add_node(num_cpus=1, object_store_memory=2**29)
    nodes.wait_for_nodes()
    cluster = Cluster(task_of(d), federation(clients, ragged=False), workers=2, address=nodes.address)
    course = Course(cluster, LIGHT)
    in_turns([course], 0)
    began, at = loopback(), time.perf_counter()
    in_turns([course], rounds - WARM_UP)
    sent, took = loopback() - began, time.perf_counter() - at
    began = loopback()
    time.sleep(took)
    idle = loopback() - began
    cluster.close()
    nodes.shutdown()
    theta = 4 * cluster.task.d
    remote = 4 * theta + clients // 2 * 8 * 7  # θ and c there, two sums back; weights there, numbers of clients back
    return {"d": cluster.task.d, "wire": (sent - idle) / rounds, "idle": idle / rounds, "formula": remote}
