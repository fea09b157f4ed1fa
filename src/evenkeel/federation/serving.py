"""The server's part, over whatever carries envelopes: gather the sites, then run the spec as everywhere."""

import hashlib
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenkeel.data.shards import Federation
from evenkeel.errors import InputError
from evenkeel.federation.exchange import Post
from evenkeel.federation.journal import Journal, read
from evenkeel.federation.policy import Policy
from evenkeel.federation.roster import Roster
from evenkeel.federation.transport import FederatedTransport
from evenkeel.runs import Run, Spec, execute
from evenkeel.runs.parts import bounded, task_of
from evenkeel.tasks import Task

MakeTask = Callable[[Spec, tuple[int, ...], int], Task]  # (spec, shape of a row, classes) -> task


@dataclass(frozen=True, slots=True)
class Told:
    """An observer that tells the journal, and whoever listens to it."""

    journal: Journal

    def begin(self, spec: Spec, first: int) -> None:
        """The run starts or goes on."""
        self.journal.write("begin", round=first, rounds=spec.rounds)

    def round(self, row: Mapping[str, Any]) -> None:
        """A row is complete."""
        self.journal.write("round", round=int(row["round"]), seconds=float(row.get("seconds") or 0.0))

    def warn(self, line: str) -> None:
        """Something to know."""
        self.journal.warn("warning", line)

    def end(self, outcome: str) -> None:
        """The run is over."""
        self.journal.write("end", outcome=outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """Seconds, and how to let some pass."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def serve(
    post: Post,
    settings: Mapping[str, Any],
    make: MakeTask | None = None,
    tell: Callable[[str], None] = print,
    time_: Time = Time(),
) -> Run:
    """Run the spec of these settings over the sites that the post reaches; a folder that holds the run resumes it."""
    spec, folder = read_spec(settings), _folder(settings)
    journal, policy = Journal(folder, tell), Policy.of(spec)
    names = tuple(name.strip() for name in str(settings.get("sites", "")).split(",") if name.strip())
    roster = Roster(names=names)
    known = _known(folder)
    start = _Start(names or tuple(known), int(settings.get("n", 0)), _wait(settings), known)
    _gather(post, roster, policy, journal, start, time_)
    journal.write("sites", sites=[dict(roster.sites[name]) for name in roster.names])
    federation = roster.federation(_origin(spec, roster))
    task = _task(make, spec, federation)
    transport = FederatedTransport(
        post=post,
        roster=roster,
        policy=policy,
        journal=journal,
        run=hashlib.sha256(f"{spec.digest()}{folder}".encode()).hexdigest()[:16],
        shape=tuple(federation.x.shape[1:]),
        classes=federation.classes,
        clock=time_.clock,
        sleep=time_.sleep,
    )
    watcher = Told(journal)
    inner = bounded(spec, transport, watcher.warn, roster.names)
    return execute(spec, folder, resume=True, observer=watcher, federation=federation, task=task, transport=inner)


def read_spec(settings: Mapping[str, Any]) -> Spec:
    """The spec in a run config."""
    text = str(settings.get("spec", ""))
    if not text.strip():
        raise InputError("run config: spec is empty: give the whole spec as TOML text")
    try:
        return Spec.of(tomllib.loads(text), "run config: spec")
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"run config: spec is not TOML: {error}") from None


def _task(make: MakeTask | None, spec: Spec, federation: Federation) -> Task:
    if make is None:
        return task_of(spec, federation)
    return make(spec, tuple(federation.x.shape[1:]), federation.classes)


def _folder(settings: Mapping[str, Any]) -> Path:
    folder = Path(str(settings.get("folder", "")))
    if not folder.is_absolute():
        raise InputError(f"run config: folder = {str(folder)!r}: must be an absolute path at the server")
    return folder


def _wait(settings: Mapping[str, Any]) -> float:
    return float(settings.get("wait", 300.0))


def _origin(spec: Spec, roster: Roster) -> str:
    split = f"split {spec.partition.split} {spec.partition.fraction:g}"
    return f"federation of {len(roster.names)} sites, each with its own rows; {split}; seed {spec.seed}"


def _known(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The sites as the run began with them, by name and in order."""
    last: list[dict[str, Any]] = next(
        (line["sites"] for line in reversed(read(folder)) if line["event"] == "sites"), []
    )
    return {site["name"]: site for site in last}


@dataclass(frozen=True, slots=True)
class _Start:
    """Whom to wait for, how many where there are no names, for how long, and who is known from before."""

    names: Sequence[str]
    n: int
    wait: float
    known: Mapping[str, Mapping[str, Any]]

    def complete(self, there: set[str]) -> bool:
        return there >= set(self.names) if self.names else 0 < self.n <= len(there)


def _gather(  # noqa: PLR0917
    post: Post, roster: Roster, policy: Policy, journal: Journal, start: _Start, time_: Time
) -> None:
    """Wait for the sites. A run that goes on may do without one that it knows; a new run may not."""
    if not start.names and start.n < 1:
        raise InputError("run config: neither sites nor n is given: say whom to wait for")
    end = time_.clock() + start.wait
    while not start.complete(roster.present()) and time_.clock() < end:
        roster.refresh(post, time_.clock(), policy)
        for letter, found in post.fetch(list(roster.letters)):
            roster.hear(letter, found, journal)
        time_.sleep(policy.poll)
    there = roster.present()
    missing = [name for name in start.names if name not in there and name not in start.known]
    if missing or (not start.names and len(there) < start.n):
        lost = ", ".join(missing) or f"{start.n - len(there)} of {start.n}"
        raise InputError(f"sites that did not come within {start.wait:.0f} s: {lost}; start their nodes")
    roster.settle(start.names or sorted(there), start.known)
