"""The actors of a running cluster: Ray places them and starts them again; here is only what a lost one must be told.

A worker that comes back holds nothing. It begins anew, and sees the last probe at this θ again before the ask that it
did not answer: a probe is the one ask whose traces reach the last bits of later answers (`evenkeel.engine.kept`). Then
its answer is the same to the last bit; all draws are values, so it does not matter where it came back. One that was
lost between two asks says so itself: it knows which probe it has seen.
"""

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from evenkeel.cluster.worker import Answer, Question, Worker
from evenkeel.errors import RunFailedError
from evenkeel.protocol import Key

_INLINE = 100_000  # bytes below which a value travels with the call; Ray's own limit
_PATIENCE = 300.0  # seconds until a worker must have its core
_PAUSE = 0.2  # seconds before a worker that was lost as it began is tried again
_IN_A_ROW = 5  # times that a worker may be lost over one ask: then it is the ask that ends it


class Sent(NamedTuple):
    """What one worker was asked."""

    question: Question
    key: Key
    shared: tuple[Any, ...]


@dataclass(slots=True, kw_only=True)
class Group:
    """One actor a worker. What was put and probed belongs to `theta`, that of the last ask."""

    ray: Any
    actors: list[Any]
    begins: list[tuple[Any, ...]]
    theta: Tensor | None = None
    probed: int = 0
    probes: dict[int, Sent] = field(default_factory=dict)
    puts: list[tuple[Tensor, int, Any]] = field(default_factory=list)

    @classmethod
    def start(cls, ray: Any, begins: Iterable[tuple[Any, ...]], *, gpus: bool = False) -> "Group":  # noqa: ANN401
        """A worker for each of `begins`, what `Worker.begin` takes: a core (and a GPU) each, spread over the nodes."""
        # max_task_retries stays 0: Ray would repeat a lost ask alone, at a worker that has not seen the probe
        how = {"max_restarts": -1, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        actor = ray.remote(num_cpus=1, num_gpus=int(gpus), **how)(Worker)
        held, there = list(begins), ray.cluster_resources()
        for kind, name in (("CPU", "cores"), ("GPU", "GPUs"))[: 1 + gpus]:
            if (found := int(there.get(kind, 0))) < len(held):
                rule = "each needs one; add nodes, or give fewer (which changes last digits)"
                raise RunFailedError(f"{len(held)} workers on {found} {name}: {rule}")
        group = cls(ray=ray, actors=[actor.remote() for _ in held], begins=held)
        try:
            for k, waiting in enumerate([group._begin(k) for k in range(len(held))]):
                group._begun(k, waiting)
        except BaseException:
            group.end()
            raise
        return group

    def at(self, theta: Tensor) -> None:
        """Forget what was put and probed at another θ."""
        if self.theta is None or not torch.equal(self.theta, theta):
            self.theta, self.probes, self.puts = theta.detach().clone(), {}, []

    def put(self, value: Tensor) -> tuple[Any, int]:
        """A value, or a reference to where every worker of a node reads it, and the bytes that are new."""
        for tensor, version, ref in self.puts:
            if tensor is value and version == value._version:
                return ref, 0
        array = value.detach().cpu().numpy()
        ref = array if array.nbytes <= _INLINE else self.ray.put(array)
        self.puts = [*self.puts[-3:], (value, value._version, ref)]
        return ref, array.nbytes

    def ask(self, sent: Mapping[int, Sent]) -> Iterator[Answer]:
        """Ask several workers at once; their answers, in their order."""
        numbered = {k: self._numbered(k, one) for k, one in sent.items()}
        waiting = {k: self._ask(k, one) for k, one in numbered.items()}
        for k, one in numbered.items():
            yield self._answered(k, one, waiting.pop(k))

    def _numbered(self, k: int, sent: Sent) -> Sent:
        """The ask, with the probe that the worker must have seen."""
        if sent.question.phase == "probe":
            self.probed += 1
            self.probes[k] = sent._replace(question=sent.question._replace(probe=self.probed))
            return self.probes[k]
        before = self.probes.get(k)
        return sent if before is None else sent._replace(question=sent.question._replace(probe=before.question.probe))

    def _answered(self, k: int, sent: Sent, waiting: Any) -> Answer:  # noqa: ANN401 — a reference
        """Worker k's answer; where it was lost on the way it is asked again once it is back."""
        q = sent.question
        for _ in range(_IN_A_ROW):
            answer: Answer | None = self._got(waiting)
            if answer is not None:
                return answer
            said = f"worker {k} of {len(self.actors)} was lost by {q.phase!r} of round {sent.key.round}"
            warnings.warn(f"{said}: Ray starts it again, its part is repeated", RuntimeWarning, stacklevel=5)
            self._begun(k, self._begin(k))
            before = self.probes.get(k)
            if before is not None and q.phase != "probe":
                self._ask(k, before)
            waiting = self._ask(k, sent)
        raise RunFailedError(
            f"worker {k} was lost {_IN_A_ROW} times in a row in {q.phase!r} of round {sent.key.round} "
            "(often: not enough memory on its node); the last good state is kept"
        )

    def _got(self, waiting: Any, timeout: float | None = None) -> Any:  # noqa: ANN401 — whatever was asked for
        """What a call gave; None where the worker was lost. What the call itself raised is raised here."""
        errors = self.ray.exceptions
        try:
            return self.ray.get(waiting, timeout=timeout)
        except errors.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from None
        except errors.GetTimeoutError:
            raise
        except errors.RayError as error:
            if getattr(error, "actor_init_failed", False):  # it would fail again, on every node like this one
                reason = str(error).strip().splitlines()[-1]
                rule = "each node needs the same evenkeel in the same Python"
                raise RunFailedError(f"a worker cannot begin ({reason}); {rule}") from None
            return None

    def _ask(self, k: int, sent: Sent) -> Any:  # noqa: ANN401
        return self.actors[k].answer.remote(sent.question, sent.key, *sent.shared)

    def _begin(self, k: int) -> tuple[Any, Any]:
        return self.actors[k].ready.remote(), self.actors[k].begin.remote(*self.begins[k])

    def _begun(self, k: int, waiting: tuple[Any, Any]) -> None:
        """Until worker k has its place and its rows; for a moment Ray may not know yet that it was lost."""
        ends, lost = time.monotonic() + _PATIENCE, 0
        while lost < _IN_A_ROW and time.monotonic() < ends:
            try:
                placed = self._got(waiting[0], _PATIENCE) is not None
            except self.ray.exceptions.GetTimeoutError:
                break
            if placed and self._got(waiting[1]):
                return
            lost += placed
            time.sleep(_PAUSE)
            waiting = self._begin(k)
        waited = f"found no free core, or not enough memory, in {_PATIENCE:.0f} s"
        why = f"was lost {lost} times as it began" if lost == _IN_A_ROW else waited
        raise RunFailedError(f"worker {k} {why}; the last good state is kept: give it memory, or a node, then resume")

    def end(self) -> None:
        """End all workers."""
        for actor in self.actors:
            self.ray.kill(actor)
