"""`federation.jsonl` in a run folder: one line for each thing that happened on the network."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evenkeel.runs import store

NAME = "federation.jsonl"


@dataclass(slots=True)
class Journal:
    """Lines wait until the folder holds a run: a folder with other files in it would be refused as somebody else's.

    `tell` hears what a person should know: who is absent, refused or late.
    """

    folder: Path
    tell: Callable[[str], None] = print
    _waiting: list[str] = field(default_factory=list)

    def write(self, event: str, **facts: Any) -> None:  # noqa: ANN401 — plain values, as JSON holds them
        """Add a line. A disk that is full stops the run where state is kept, not here."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._waiting.append(json.dumps({"time": now, "event": event, **facts}))
        if not store.begun(self.folder):
            return
        try:
            with (self.folder / NAME).open("a", encoding="utf-8") as out:
                out.write("".join(line + "\n" for line in self._waiting))
        except OSError:
            return
        self._waiting.clear()

    def warn(self, event: str, line: str, **facts: Any) -> None:  # noqa: ANN401
        """A line, and a word to whoever watches."""
        self.write(event, why=line, **facts)
        self.tell(line)


def read(folder: Path) -> list[dict[str, Any]]:
    """The lines so far; a last one that was cut short is left out."""
    file = folder / NAME
    out = []
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        try:
            out.append(json.loads(line))
        except ValueError:
            continue
    return out
