"""Many pieces of work on all cores: a process a core, each with one thread (docs/decisions/0009-many-runs.md).

Work is a function of an observer, so that a run, a chain of runs and a search all look alike from here. Ctrl-C asks
every process to stop after its round; each keeps its last state, and the same command goes on from there.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, NamedTuple, TypeVar

from evenkeel.errors import RunFailedError
from evenkeel.runs.nodes import Nodes
from evenkeel.runs.observers import Observer
from evenkeel.runs.spec import Spec

T = TypeVar("T")
Work = Callable[[Observer], T]
_OFTEN = 0.1  # seconds between two messages of one run


class Told(NamedTuple):
    """What a piece of work says of itself: `kind` is a method of an observer, `what` its argument as plain values."""

    label: str
    kind: str
    what: Any


Tell = Callable[[Told], None]


class Teller:
    """The observer that passes on what it sees, and stops a run between two rounds when asked to."""

    def __init__(self, label: str, tell: Tell, stop: Callable[[], bool] = lambda: False) -> None:
        self.label, self.tell, self.stop, self.last = label, tell, stop, 0.0

    def called(self, label: str) -> "Teller":
        """The same under another name, for the next run of a chain."""
        return Teller(label, self.tell, self.stop)

    def begin(self, spec: Spec, first: int) -> None:
        """The first row and the last."""
        self.tell(Told(self.label, "begin", (first, spec.rounds)))

    def round(self, row: Mapping[str, Any]) -> None:
        """An evaluated row at once, others now and then."""
        if self.stop():
            raise KeyboardInterrupt
        if "mean" in row or time.monotonic() - self.last > _OFTEN:
            self.last = time.monotonic()
            self.tell(Told(self.label, "round", dict(row)))

    def warn(self, line: str) -> None:
        """As it is."""
        self.tell(Told(self.label, "warn", line))

    def end(self, outcome: str) -> None:
        """As it is."""
        self.tell(Told(self.label, "end", outcome))


def spread(
    works: Mapping[str, Work[T]], tell: Tell, processes: int, nodes: Nodes | None = None
) -> dict[str, T | RunFailedError]:
    """Do every piece of work and hand back what each gave; one that failed gives its error, the others go on.

    With one process the work is done here, in order. A mistake of the user's (`InputError`) stops everything. On
    `nodes` each piece is a task of the Ray cluster; at an address Ray takes as many at once as there are cores.

    >>> spread({"a": lambda observer: 1, "b": lambda observer: 2}, print, processes=1)
    {'a': 1, 'b': 2}
    """
    if nodes is not None:
        from evenkeel.cluster import spread as on_cluster

        return on_cluster(
            {label: partial(_far, label, work) for label, work in works.items()}, tell, nodes.address, processes
        )
    if processes == 1:
        return {label: _done(work, Teller(label, tell)) for label, work in works.items()}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["evenkeel.runs"])
    told, stop = context.SimpleQueue(), context.Event()
    pool = ProcessPoolExecutor(min(processes, len(works)), context, _begin, (told, stop))
    try:
        futures = {label: pool.submit(_there, label, work) for label, work in works.items()}
        _listen(told, set(futures.values()), tell)
        return {label: future.result() for label, future in futures.items()}
    except BrokenProcessPool:
        raise RunFailedError(
            "a worker process died (often: not enough memory; --processes 1 needs less); the same command goes on"
        ) from None
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        _drain(told, tell)


def processes(asked: int, works: int) -> int:
    """How many processes: as asked, else one a core, and never more than there is work.

    >>> processes(3, 2), processes(1, 5)
    (2, 1)
    """
    from evenkeel.runs.env import cores

    return max(1, min(asked or cores(), works))


def _listen(told: Any, pending: set[Future[Any]], tell: Tell) -> None:  # noqa: ANN401 — a context's own queue
    while pending:
        done, pending = wait(pending, timeout=_OFTEN, return_when=FIRST_COMPLETED)
        _drain(told, tell)
        for future in done:
            future.result()


def _drain(told: Any, tell: Tell) -> None:  # noqa: ANN401
    while not told.empty():
        tell(told.get())


def _done(work: Work[T], observer: Observer) -> T | RunFailedError:
    try:
        return work(observer)
    except RunFailedError as error:
        return error


def _far(label: str, work: Work[T], tell: Tell) -> T | RunFailedError:
    return _done(work, Teller(label, tell))


_ours: dict[str, Any] = {}  # of a worker process: how it speaks and when it stops


def _begin(told: Any, stop: Any) -> None:  # noqa: ANN401
    """A worker process: one thread; the terminal's Ctrl-C is the parent's business; it never outlives its parent."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_follow, daemon=True).start()
    _ours.update(tell=told.put, stop=stop.is_set)


def _follow() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _there(label: str, work: Work[T]) -> T | RunFailedError:
    return _done(work, Teller(label, _ours["tell"], _ours["stop"]))
