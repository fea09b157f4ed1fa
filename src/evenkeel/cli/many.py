"""What the commands with many runs share: which specs, which seeds, where the result goes, what is said on Ctrl-C."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from evenkeel.cli.screen import stderr
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from evenkeel.runs import Spec

MOST_SEEDS = 1000


def specs(files: Sequence[str], overrides: Sequence[str]) -> "list[Spec]":
    """The specs of these files, each with the overrides."""
    from evenkeel.runs import Spec

    return [Spec.load(file, overrides) for file in files]


def one(file: str | None, preset: str | None, overrides: Sequence[str]) -> "Spec":
    """The spec of a file or of a preset."""
    from evenkeel.runs import Spec

    if (file is None) == (preset is None):
        raise InputError("what to run: give one of SPEC.toml and --preset NAME")
    return Spec.preset(preset, overrides) if preset is not None else Spec.load(file or "", overrides)


def seeds(count: int, first: int = 0) -> range:
    """`count` seeds from `first` on.

    >>> list(seeds(3, 5))
    [5, 6, 7]
    """
    if not 1 <= count <= MOST_SEEDS:
        raise InputError(f"--seeds {count}: must be a number of seeds from 1 to {MOST_SEEDS}; 5 gives intervals")
    if not 0 <= first < 2**62:
        raise InputError(f"--first-seed {first}: must be a whole number of at least 0; 0 will do")
    return range(first, first + count)


def place(out: str) -> Path:
    """The folder for runs and results; a file there is refused."""
    path = Path(out)
    if path.exists() and not path.is_dir():
        raise InputError(f"--out {out}: is a file; give a folder")
    return path


def level(share: float) -> float:
    """The level of intervals, as a share."""
    if not 0 < share < 1:
        raise InputError(f"--level {share}: must lie in (0, 1); give a share such as 0.95")
    return share


def cores(count: int) -> int:
    """How many processes were asked for; 0 is one a core."""
    if count < 0:
        raise InputError(f"--processes {count}: must be at least 0; 0 is one a core")
    return count


def watching(*, quiet: bool) -> Console:
    """Where progress goes: standard error, or nowhere."""
    return Console(quiet=True) if quiet else stderr()


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Say on Ctrl-C, or a polite kill, that nothing is lost."""
    with suppress(ValueError):  # signals are for the main thread
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except KeyboardInterrupt:
        line = f"Stopped; what was done is in {out}, and the same command goes on from there"
        stderr().print(Text(line), soft_wrap=True)
        raise


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
