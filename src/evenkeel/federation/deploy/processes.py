"""The processes of one machine: started with a log each, restarted when they end, ended by their own ids."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from evenkeel.errors import InputError, RunFailedError
from evenkeel.federation.deploy.commands import Command

RUNNING = "running.json"
_PATIENCE = 10.0  # seconds between asking a process to end and ending it
_SHORTEST, _LONGEST = 1.0, 30.0  # seconds before a process that ended is started again
_HOPELESS = 5  # ends in a row, each soon after its start


@dataclass(slots=True)
class Child:
    """One process, or the last of several in its place."""

    name: str
    command: Command
    environment: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes]
    pause: float = _SHORTEST
    again: float | None = None
    early: int = 0
    begun: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Family:
    """Processes that begin and end together. `state` is where `stop` and `status` find their ids."""

    state: Path
    children: list[Child] = field(default_factory=list)

    def __enter__(self) -> Self:
        refuse_second(self.state)
        self._write()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.state.unlink(missing_ok=True)

    def start(self, name: str, command: Command, environment: Mapping[str, str], log: Path) -> None:
        """Start a process in a group of its own: a Ctrl-C is for us, and we end it and all that it started."""
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.children.append(Child(name, command, environment, log, _started(command, environment, log)))
        self._write()

    def tend(self) -> list[str]:
        """Start again what has ended, later each time it ends early; say what happened."""
        said, now = [], time.monotonic()
        for child in self.children:
            if child.process.poll() is None:
                continue
            if child.again is None:
                lived = now - child.begun > 2 * _LONGEST
                child.early, child.pause = (
                    (0, _SHORTEST) if lived else (child.early + 1, min(2 * child.pause, _LONGEST))
                )
                child.again = now + child.pause
                said.append(f"{child.name} ended ({_how(child.process.returncode)}); starting it again")
            elif now >= child.again:
                _end_group(child.process.pid, signal.SIGKILL)  # what it may have left behind
                child.process = _started(child.command, child.environment, child.log)
                child.again, child.begun = None, now
                self._write()
        return said

    def demand_hope(self) -> None:
        """What ends again and again right after its start will not come up by itself."""
        for child in self.children:
            if child.early >= _HOPELESS:
                raise RunFailedError(f"{child.name} ended {child.early} times in a row: {last_line(child.log)}")

    def demand_alive(self) -> None:
        """Whatever has ended while it should have started is an error, told by its own last line."""
        for child in self.children:
            if child.process.poll() is not None:
                raise RunFailedError(f"{child.name} ended ({_how(child.process.returncode)}): {last_line(child.log)}")

    def end(self) -> None:
        """Ask all to end, the last started first; end those that do not."""
        for child in reversed(self.children):
            _end_group(child.process.pid, signal.SIGTERM)
        late = time.monotonic() + _PATIENCE
        for child in reversed(self.children):
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(max(late - time.monotonic(), 0.1))
            _end_group(child.process.pid, signal.SIGKILL)
            child.process.wait()
        self.children.clear()

    def _write(self) -> None:
        held = {"self": ticket(os.getpid()), "children": {c.name: ticket(c.process.pid) for c in self.children}}
        part = self.state.with_suffix(".part")
        part.write_text(json.dumps(held), "utf-8")
        part.replace(self.state)


def ticket(pid: int) -> list[int]:
    """A process by id and moment of start, so that an id that was given out again is not mistaken for it."""
    return [pid, started_at(pid)]


def started_at(pid: int) -> int:
    """When a process began, in ticks since boot; 0 where there is none, or one that has ended and was not collected."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if after_name[0] == "Z" else int(after_name[19])


def running(state: Path) -> dict[str, Any]:
    """Who runs by this file: `self` and `children`, only those that are alive; empty where nobody is."""
    try:
        held = json.loads(state.read_text("utf-8"))
        (pid, born), listed = held["self"], held["children"]
        children = {name: child for name, (child, since) in listed.items() if since and started_at(child) == since}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # cut short, or somebody else's
        return {}
    alive = pid if born and started_at(pid) == born else None
    return {"self": alive, "children": children} if alive or children else {}


def refuse_second(state: Path) -> None:
    """One family a folder. What a killed one left running is named."""
    held = running(state)
    if held.get("self") not in {None, os.getpid()}:
        raise InputError(f"{state.parent}: runs already (process {held['self']}); `evenkeel federate stop` ends it")
    if held.get("children"):
        left = ", ".join(f"{name} {pid}" for name, pid in held["children"].items())
        raise InputError(f"{state.parent}: left from before: {left}; `evenkeel federate stop` ends them")


def stop(state: Path) -> list[str]:
    """End what runs by this file: the one that tends first, which ends the others; then whoever is left."""
    held = running(state)
    ended = []
    if held.get("self"):
        os.kill(held["self"], signal.SIGTERM)
        ended.append("all of it")
        _wait_until_gone(state, held["self"])
    for name, pid in running(state).get("children", {}).items():
        _end_group(pid, signal.SIGTERM)
        _wait_until_gone(state, pid)
        _end_group(pid, signal.SIGKILL)
        ended.append(name)
    state.unlink(missing_ok=True)
    return ended


def last_line(log: Path) -> str:
    """The last line of a log that says something."""
    try:
        lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    return f"{lines[-1].strip()[:300]} (all of it: {log})" if lines else f"it said nothing ({log})"


def _started(command: Command, environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603 — our own commands
            command,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            env={**os.environ, **environment},
            start_new_session=True,
            umask=0o077,
        )
    except OSError as error:
        raise RunFailedError(f"{command[0]}: cannot be started ({(error.strerror or str(error)).lower()})") from None
    finally:
        os.close(handle)


def _end_group(pid: int, how: signal.Signals) -> None:
    """A signal to a process that leads its group, and to all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, how)


def _wait_until_gone(state: Path, pid: int) -> None:
    late = time.monotonic() + 2 * _PATIENCE
    while started_at(pid) and time.monotonic() < late:
        time.sleep(0.1)


def _how(code: int) -> str:
    return f"exit {code}" if code >= 0 else f"signal {-code}"
