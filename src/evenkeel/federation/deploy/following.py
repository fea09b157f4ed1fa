"""A run as it goes: what its folder says, told to whoever watches; all of it is read from disk."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenkeel.errors import InputError
from evenkeel.federation import journal
from evenkeel.runs import Run, Spec, store
from evenkeel.runs.observers import Observer


@dataclass(slots=True)
class Follower:
    """Tells an observer each row once, and a person each thing that happened on the network."""

    folder: Path
    observer: Observer
    tell: Callable[[str], None]
    told: int = 0
    rows: int = -1

    def begin(self, spec: Spec) -> None:
        """Begin after what an earlier session left: that was told then."""
        self.told = len(journal.read(self.folder))
        self.rows = self._last_row()
        self.observer.begin(spec, max(self.rows, 0))

    def look(self) -> None:
        """Whatever is new."""
        lines = journal.read(self.folder)
        for line in lines[self.told :]:
            if words := sentence(line):
                (self.tell if line["event"] == "joined" else self.observer.warn)(words)
        self.told = max(self.told, len(lines))
        for row in self._new_rows():
            self.observer.round(row)

    def _new_rows(self) -> list[Mapping[str, Any]]:
        if not store.begun(self.folder):
            return []
        table = Run.open(self.folder).rounds
        fresh = [row for row in table.to_dicts() if row["round"] > self.rows]
        self.rows = max([self.rows, *(row["round"] for row in fresh)])
        return [{key: value for key, value in row.items() if value is not None} for row in fresh]

    def _last_row(self) -> int:
        if not store.begun(self.folder):
            return -1
        return max(Run.open(self.folder).rounds["round"].to_list(), default=-1)

    @property
    def finished(self) -> bool:
        """Whether the run's last round is done."""
        return store.begun(self.folder) and Run.open(self.folder).finished


def sentence(line: Mapping[str, Any]) -> str:
    """What a person should hear of a line in the journal; "" for what goes without saying.

    >>> sentence({"event": "joined", "client": "north", "train": 80, "valid": 20})
    'north is there: 80 rows train, 20 validate'
    >>> sentence({"event": "exchange", "bytes": 3})
    ''
    """
    if line.get("event") == "joined":
        return f"{line['client']} is there: {line['train']} rows train, {line['valid']} validate"
    return str(line["why"]) if isinstance(line.get("why"), str) else ""


def free_folder(name: str) -> Path:
    """runs/NAME, or runs/NAME-2 and so on where that is taken."""
    clean = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip(".") or "run"
    folder, k = Path("runs") / clean, 1
    while folder.exists():
        k += 1
        folder = Path("runs") / f"{clean}-{k}"
    return folder


@dataclass(slots=True)
class Tries:
    """How often a run may be started again: as often as it gets further, and a few times where it does not."""

    most: int = 3
    left: int = field(default=3)
    best: int = -1

    def again(self, row: int, why: str, tell: Callable[[str], None]) -> bool:
        """Whether to start again after a failure at this row."""
        if row > self.best:
            self.left, self.best = self.most, row
        self.left -= 1
        if self.left < 0:
            return False
        tell(f"the run failed ({why or 'no reason given'}); going on from round {max(row, 0)}")
        return True


def refuse_other(folder: Path, spec: Spec) -> None:
    """A folder that holds a run holds this one."""
    if store.begun(folder) and Run.open(folder).spec.digest() != spec.digest():
        raise InputError(f"{folder}: holds another run; give --out a folder that does not exist yet")
