"""What the commands of `evenkeel federate` share."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.text import Text

from evenkeel.cli.screen import patience, stderr
from evenkeel.errors import InputError

Folder = Annotated[str, typer.Argument(metavar="DIR", help="The federation's folder.")]


def needed() -> None:
    """The extra, or one line."""
    with patience("loading"):
        try:
            import cryptography  # noqa: F401
            import flwr  # noqa: F401
        except ImportError:
            raise InputError("a federation needs the extra `federate`: pip install 'evenkeel[federate]'") from None


def say(line: str) -> None:
    stderr().print(Text(line), soft_wrap=True)


def states(folder: Path) -> list[Path]:
    """Where a folder's processes are written down: those of the server, of a rehearsal, of a site."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give the one of a federation or of a site")
    known = [folder / part / "running.json" for part in ("server", "rehearsal/server", ".")]
    places = [state for state in known if (state.parent / _mark(state)).exists()]
    if not places and not (folder / "app").is_dir():
        raise InputError(f"{folder}: is no federation's or site's folder; `evenkeel federate new DIR` makes one")
    return places


def _mark(state: Path) -> str:
    return "federation.toml" if state.parent.name == "server" else "site.toml"


@contextmanager
def interruptible() -> Iterator[None]:
    """A polite end (`federate stop`, a service manager, a shutdown) is an interruption: what was started is ended."""
    with suppress(ValueError):  # signals are for the main thread
        signal.signal(signal.SIGTERM, _interrupt)
    yield


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
