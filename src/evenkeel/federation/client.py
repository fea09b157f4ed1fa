"""The Flower ClientApp of a site: an envelope in, an envelope out, nothing kept."""

import contextlib
import faulthandler
import functools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from evenkeel.errors import InputError
from evenkeel.federation.answering import reply_to
from evenkeel.federation.codec import Envelope
from evenkeel.federation.serving import MakeTask, read_spec
from evenkeel.federation.sites import load_site, rowless
from evenkeel.federation.wire import envelope, record
from evenkeel.runs import Spec
from evenkeel.runs.parts import task_of
from evenkeel.tasks import Task

_GRACE = 5.0  # seconds from the interruption of a step to the end of its process


def client_app(task: MakeTask | None = None, settings: Mapping[str, Any] | None = None) -> ClientApp:
    """A ClientApp; `task` builds a model of one's own, `settings` stand in where there is no run config."""
    app = ClientApp()

    @app.train("ask")  # type: ignore[untyped-decorator]  # flwr is not in the main environment
    def ask(message: Message, context: Context) -> Message:
        config = {**(settings or {}), **context.run_config}
        said = discreet(lambda: answered(message, context.node_config, config, task))
        return Message(record(said), reply_to=message)

    return app


def discreet(answer: Callable[[], Envelope]) -> Envelope:
    """The answer; what goes wrong is told in full here and by its kind alone to the server.

    Flower sends the text of an exception along, and that of a loader may quote the row that it stumbled over.

    >>> discreet(lambda: float("Ms Smith, 41"))
    Traceback (most recent call last):
    RuntimeError: ValueError at the site; its own log says more
    """
    try:
        return answer()
    except Exception as error:  # noqa: BLE001 — whatever a loader may raise
        traceback.print_exc()
        raise RuntimeError(f"{type(error).__name__} at the site; its own log says more") from None


def answered(message: Message, node: Mapping[str, Any], settings: Mapping[str, Any], make: MakeTask | None) -> Envelope:
    """The reply to a message; the process ends by itself where the answer takes longer than the server waits."""
    torch.set_num_threads(int(node.get("threads", 1)))
    try:
        asked = envelope(message.content)
        with _ended_after(float(asked.facts.get("patience", 0.0))):
            spec = _spec(str(settings.get("spec", "")))
            site = load_site(node, spec, os.environ)
            state = Path(str(node["state"])) if "state" in node else None
            return reply_to(asked, site, functools.partial(_task, make, str(settings.get("spec", ""))), state)
    except InputError as error:
        return Envelope(kind="refusal", facts={"why": str(error)})


@functools.lru_cache(maxsize=8)
def _spec(text: str) -> Spec:
    return read_spec({"spec": text})


@functools.lru_cache(maxsize=8)
def _task(make: MakeTask | None, text: str, shape: tuple[int, ...], classes: int) -> Task:
    spec = _spec(text)
    if make is not None:
        return make(spec, shape, classes)
    return task_of(spec, rowless(("",), (1,), (0,), shape=shape, classes=classes))


@contextlib.contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """A step that hangs would block its node for good: it is interrupted, and where that does not help, ended.

    Interrupted, it answers with an error at once and is asked again; of a process that is ended, Flower says so only
    after a minute. Not in a simulation, whose workers serve other clients too.
    """
    alone = threading.current_thread() is threading.main_thread() and "ray" not in sys.modules
    if not alone or seconds <= 0:
        yield
        return

    def late(*_: object) -> None:
        raise TimeoutError(f"no answer after {seconds:.0f} s, which is all that one attempt may take")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=2)  # standard error, whatever stands for it
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


app = client_app()
