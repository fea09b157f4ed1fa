"""What a spec with transport = "ray" means: which cluster, how many workers, and what is done there."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from evenkeel.cluster import Cluster, cores
from evenkeel.data.shards import Federation
from evenkeel.engine import Attendance
from evenkeel.protocol import Transport
from evenkeel.runs import env
from evenkeel.runs.options import GIVEN
from evenkeel.runs.spec import Spec
from evenkeel.tasks import Task

RAY = "ray"
HERE = "local"  # an address that says: start Ray on this machine


class Nodes(NamedTuple):
    """The Ray cluster at an address; None is one that is started here."""

    address: str | None

    @classmethod
    def of(cls, specs: Iterable[Spec]) -> "Nodes | None":
        """Where the runs of these specs are done; None is this process and its own.

        >>> Nodes.of([Spec()]), Nodes.of([Spec.of({"engine": {"transport": "ray", "address": "10.0.0.1:6379"}})])
        (None, Nodes(address='10.0.0.1:6379'))
        """
        for spec in specs:
            if spec.engine.transport == RAY:
                return cls(None if spec.engine.address == HERE else spec.engine.address)
        return None


def workers_of(spec: Spec) -> int:
    """Threads of the engine, or workers of the cluster: as asked, else one a core."""
    if spec.engine.workers:
        return spec.engine.workers
    nodes = Nodes.of([spec])
    return env.cores() if nodes is None or nodes.address is None else cores(nodes.address)


def cluster_of(
    spec: Spec,
    task: Task,
    federation: Federation,
    *,
    load: Callable[[Spec], Federation],
    workers: int | None,
    attendance: Attendance | None,
    beside: Transport | None = None,
) -> Cluster:
    """The transport; workers load what the spec names, and are sent what was handed in. `beside` shares its workers."""
    if isinstance(shared := within(beside), Cluster):
        return replace(shared, attendance=attendance)
    nodes = Nodes.of([spec])
    return Cluster(
        task,
        federation,
        workers=workers or workers_of(spec),
        address=nodes.address if nodes else None,
        load=None if spec.data.source == GIVEN else partial(load, spec),
        memory=spec.engine.memory * 2**20,
        attendance=attendance,
    )


def alone(spec: Spec) -> Spec:
    """The spec of a run that is itself a piece of work on a cluster: it takes one core there.

    >>> alone(Spec.of({"engine": {"transport": "ray"}})).engine.transport, alone(Spec()) == Spec()
    ('engine', True)
    """
    if spec.engine.transport != RAY:
        return spec
    return replace(spec, engine=replace(spec.engine, transport="engine", address=None, workers=1))


def within(transport: Transport | None) -> Transport | None:
    """The transport inside of whatever stands around it."""
    while (inner := getattr(transport, "inner", None)) is not None:
        transport = inner
    return transport


def ended(transport: Transport) -> None:
    """End what a transport has started, if anything."""
    inner = within(transport)
    if isinstance(inner, Cluster):
        inner.close()
