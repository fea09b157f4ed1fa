"""Pieces of work as Ray tasks: whole runs of a sweep or a search, one core each, wherever Ray finds one."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from evenkeel.cluster import link
from evenkeel.errors import RunFailedError

T = TypeVar("T")
Tell = Callable[[Any], None]
Work = Callable[[Tell], T]
_OFTEN, _LAST = 0.2, 60.0  # seconds between looks, and for runs to keep their state when they are stopped
_RETRIES = 3  # a piece of work goes on from what it kept


class Ear:
    """What the pieces of work say, until it is fetched."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def say(self, what: Any) -> None:  # noqa: ANN401 — whatever the work says
        """Take it in."""
        self.heard.append(what)

    def fetch(self) -> list[Any]:
        """All since the last time."""
        heard, self.heard = self.heard, []
        return heard


def _do(work: Work[T], ear: Any) -> T:  # noqa: ANN401 — an actor
    import torch

    torch.set_num_threads(1)
    return work(ear.say.remote)


def spread(works: Mapping[str, Work[T]], tell: Tell, address: str | None, cores: int) -> dict[str, T]:
    """Do every piece of work on the cluster (without an address, on so many cores here); a failure stops all.

    A piece that is lost with its node is begun again, so it must go on from what it kept, in folders that every node
    sees under the same name.
    """
    with link.opened(address, cores) as ray:
        ear = ray.remote(num_cpus=0, max_restarts=-1)(Ear).remote()
        do = ray.remote(num_cpus=1, max_retries=_RETRIES)(_do)
        refs = {label: do.remote(work, ear) for label, work in works.items()}
        try:
            _listen(ray, ear, list(refs.values()), tell)
            return {label: ray.get(ref) for label, ref in refs.items()}
        except ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from None
        except ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise RunFailedError(
                f"a piece of work was lost {_RETRIES + 1} times ({reason}); the same command goes on"
            ) from None
        finally:
            _stop(ray, list(refs.values()))
            _fetch(ray, ear, tell)
            ray.kill(ear)


def _listen(ray: Any, ear: Any, pending: list[Any], tell: Tell) -> None:  # noqa: ANN401
    while pending:
        ready, pending = ray.wait(pending, num_returns=len(pending), timeout=_OFTEN)
        _fetch(ray, ear, tell)
        for ref in ready:
            ray.get(ref)


def _fetch(ray: Any, ear: Any, tell: Tell) -> None:  # noqa: ANN401
    for what in ray.get(ear.fetch.remote()):
        tell(what)


def _stop(ray: Any, refs: list[Any]) -> None:  # noqa: ANN401
    """What still runs sees a KeyboardInterrupt, as from Ctrl-C, and keeps its state."""
    _, running = ray.wait(refs, num_returns=len(refs), timeout=0)
    for ref in running:
        ray.cancel(ref, force=False)
    until = time.monotonic() + _LAST
    while running and time.monotonic() < until:
        _, running = ray.wait(running, num_returns=len(running), timeout=_OFTEN)
