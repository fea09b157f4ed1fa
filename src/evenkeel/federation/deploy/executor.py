"""Starts what Flower asks for, in place of its own SuperExec: `python -m evenkeel.federation.deploy.executor …`.

Flower starts a process for every message, with the task's token on its command line, where every user of the machine
can read it, and with torch imported anew each time. Here a process is forked from one that has imported everything and
the token goes through a pipe. One kind of task is started and no other; a site can pin the app, so that only the code
that its engineer has read runs there, whatever the server sends.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from functools import partial
from logging import getLogger
from typing import Any

PRELOAD = {
    "flwr-serverapp": ("torch", "flwr.superlink.cli", "evenkeel.runs", "evenkeel.federation.server"),
    "flwr-clientapp": (
        "torch",
        "sklearn.datasets",  # most of a second of a child's time, where a rehearsal's rows come from there
        "flwr.supernode.cli",
        "evenkeel.engine",
        "evenkeel.algorithms",
        "evenkeel.runs",
        "evenkeel.federation.client",
    ),
}
_log = getLogger("flwr")


def arguments(spec: Any) -> list[str]:  # noqa: ANN401 — Flower's ExecutionSpec
    """What Flower's own executor would put on the command line."""
    words = [str(spec.task_type), "--runtime-api-address", spec.runtime_api_address, "--token", spec.token]
    if spec.insecure:
        words.append("--insecure")
    elif spec.root_certificates_path is not None:
        words += ["--root-certificates", spec.root_certificates_path]
    return words if spec.parent_pid is None else [*words, "--parent-pid", str(spec.parent_pid)]


def run(words: Sequence[str]) -> None:
    """In the child: be the command, with its arguments where only this process sees them."""
    sys.argv = list(words)
    if words[0] == "flwr-clientapp":
        from flwr.supernode.cli import flwr_clientapp as command
    else:
        from flwr.superlink.cli import flwr_serverapp as command
    command()


def _nothing() -> None:
    """The first child: when it ends, everything is imported."""


class Forking:
    """An executor in Flower's sense: one kind of task, forked, perhaps of one app alone."""

    def __init__(self, task: str, pinned: str | None) -> None:
        self.task, self.pinned = task, pinned
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(list(PRELOAD[task]))
        first = self.context.Process(target=_nothing)  # a task's token is good for a while only: import first, ask then
        first.start()
        first.join()
        self.children: list[Any] = []

    def get_eligible_capacity(self, supported: set[Any], **_: Any) -> tuple[set[Any], set[str]]:  # noqa: ANN401
        """Only our kind, at any time."""
        return {kind for kind in supported if str(kind) == self.task}, set()

    def wait_for_capacity(self, *_: Any, **__: Any) -> None:  # noqa: ANN401
        """Never: a fork is cheap."""

    def launch(self, spec: Any) -> Any:  # noqa: ANN401 — Flower's ExecutionSpec and LaunchResult
        """Fork a child for a task, or refuse it."""
        from flwr.supercore.superexec.executor.types import LaunchResult

        if str(spec.task_type) != self.task:
            return LaunchResult.failed(f"{spec.task_type} is not run here, only {self.task}")
        if self.pinned is not None and spec.fab_hash != self.pinned:
            _log.error("refused an app that is not the pinned one: %s, not %s", spec.fab_hash, self.pinned)
            return LaunchResult.failed("this site runs only the app that it has pinned")
        child = self.context.Process(target=run, args=(arguments(spec),))
        child.start()
        self.children.append(child)
        return LaunchResult.accepted()

    def reconcile(self) -> None:
        """Let go of children that have ended."""
        self.children = [child for child in self.children if child.is_alive()]

    def close(self) -> None:
        """End the children that are left."""
        for child in self.children:
            child.terminate()


def main() -> None:
    """Our two options, then those of `flower-superexec`."""
    from flwr.supercore.cli import flower_superexec
    from flwr.supercore.superexec import run_superexec as flowers

    parser = argparse.ArgumentParser()
    parser.add_argument("--task", choices=("flwr-clientapp", "flwr-serverapp"), required=True)
    parser.add_argument("--pin", default=None)
    ours, rest = parser.parse_known_args()
    sys.argv = [sys.argv[0], *rest]
    make: Any = partial(Forking, ours.task, ours.pin)
    flowers.get_executor = lambda *_, **__: make()
    flower_superexec()


if __name__ == "__main__":
    main()
