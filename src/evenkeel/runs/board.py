"""What many runs show while they go: a bar each and one over all in a terminal or notebook, else a line a run."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from evenkeel.runs.pool import Told

_SHOWN = (("mean", "mean loss"), ("R", "R"), ("worst20_loss", "worst 20 %"))


class Board:
    """Hears what runs say (`pool.Told`) and shows it; `runs` and `rounds` are what is left to do in all."""

    def __init__(self, console: Console, runs: int, rounds: int) -> None:
        self.console, self.runs, self.finished = console, runs, 0
        self.facts: dict[str, str] = {}
        self.bars: dict[str, TaskID] = {}
        self.moving = moving(console)
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            TextColumn("{task.completed:.0f}/{task.total:.0f}", markup=False),
            TimeRemainingColumn(),
            TextColumn("{task.fields[facts]}", markup=False),
            console=console,
            transient=True,
            refresh_per_second=4,
        )
        self.total = self.progress.add_task(f"all {runs} runs", total=max(rounds, 1), facts="")

    def __enter__(self) -> Self:
        if self.moving:
            self.progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.moving:  # elsewhere it would print an empty line
            self.progress.stop()

    def __call__(self, told: Told) -> None:
        """Take one message in."""
        hears: dict[str, Callable[[str, Any], None]] = {
            "begin": self._begin,
            "round": self._round,
            "warn": self._warn,
            "end": self._end,
        }
        hears[told.kind](told.label, told.what)

    def _begin(self, label: str, what: tuple[int, int]) -> None:
        first, rounds = what
        self.bars[label] = self.progress.add_task(label, total=rounds, completed=first, facts="")
        self.progress.advance(self.total, first)

    def _round(self, label: str, row: Mapping[str, Any]) -> None:
        if "mean" in row:
            self.facts[label] = "  ".join(f"{name} {row[key]:.4g}" for key, name in _SHOWN if key in row)
        self._move(label, row["round"])

    def _move(self, label: str, to: int) -> None:
        bar = self.bars[label]
        before = next(task.completed for task in self.progress.tasks if task.id == bar)
        self.progress.update(bar, completed=to, facts=self.facts.get(label, ""))
        self.progress.advance(self.total, to - before)

    def _warn(self, label: str, line: str) -> None:
        self.console.print(Text(f"{label}: warning: {line}"), soft_wrap=True)

    def _end(self, label: str, outcome: str) -> None:
        bar = self.bars.pop(label)
        task = next(task for task in self.progress.tasks if task.id == bar)
        self.progress.advance(self.total, (task.total or 0) - task.completed)
        self.progress.remove_task(bar)
        self.finished += outcome != "interrupted"
        if not self.moving or outcome == "failed":
            facts = f"  {self.facts[label]}" if label in self.facts else ""
            self.console.print(Text(f"{self.finished}/{self.runs}  {label}: {outcome}{facts}"), soft_wrap=True)


def moving(console: Console) -> bool:
    """Whether bars can move here: a terminal, or a notebook with ipywidgets.

    >>> import io
    >>> moving(Console(file=io.StringIO()))
    False
    """
    return console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)
