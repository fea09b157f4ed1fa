"""What a run shows while it goes: one live panel in a terminal, a line an evaluation elsewhere. Standard error only."""

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from evenkeel.runs.spec import Spec

_WATCHED = (
    ("mean loss", ("mean",)),
    ("R", ("R",)),
    ("worst 20 %:", ("worst20_accuracy", "worst20_loss")),
    ("λ", ("lam",)),
)


def display(console: Console) -> "Panel | Lines":
    """The observer that suits the console."""
    return Panel(console) if console.is_terminal else Lines(console)


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> clock(3.2), clock(75), clock(3700)
    ('3 s', '1:15', '1:01:40')
    """
    s = round(seconds)
    if s < 60:
        return f"{s} s"
    return f"{s // 60}:{s % 60:02d}" if s < 3600 else f"{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}"


class Lines:
    """One line an evaluated round, so that a log stays short."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.seen: dict[str, Any] = {}
        self.failures = 0
        self.spec = Spec()
        self.first = 0
        self.begun = time.monotonic()

    def begin(self, spec: Spec, first: int) -> None:
        """Note the start."""
        self.spec, self.first, self.begun = spec, first, time.monotonic()
        if first:
            self.say(f"{spec.name}: goes on with round {first} of {spec.rounds}")

    def round(self, row: Mapping[str, Any]) -> None:
        """Keep what is new; say it where it was an evaluation."""
        self.note(row)
        if "mean" in row:
            self.say(f"{self.spec.name}: {self.words()}")

    def note(self, row: Mapping[str, Any]) -> None:
        """Take over what the row holds."""
        self.seen.update(row)
        self.failures += int(row.get("absent", 0))

    def warn(self, line: str) -> None:
        """One line."""
        self.say(f"warning: {line}")

    def end(self, outcome: str) -> None:
        """Say how it ended, if not well: the result has its own place."""
        if outcome != "done" and "round" in self.seen:
            self.say(f"{self.spec.name}: {outcome} after round {self.seen['round']}")

    def say(self, line: str) -> None:
        """Print it as it is."""
        self.console.print(Text(line), soft_wrap=True)

    def words(self) -> str:
        """The state of the run in a line."""
        facts = "  ".join(f"{name} {value}" for name, value in self.facts())
        return f"round {self.seen.get('round', 0)}/{self.spec.rounds}  {facts}"

    def facts(self) -> list[tuple[str, str]]:
        """What is watched, as name and value; what this run does not have is left out."""
        seen = self.seen
        lam = f"[{seen['lam_min']:.3g}, {seen['lam_max']:.3g}]" if "lam_min" in seen else None
        out = []
        for name, keys in _WATCHED:
            value = lam if name == "λ" else next((f"{seen[k]:.4g}" for k in keys if k in seen), None)
            if value is not None:
                what = f" {'accuracy' if keys[0] in seen else 'loss'}" if name.startswith("worst") else ""
                out.append((name + what, value))
        if self.failures:
            out.append(("failures", f"{self.failures:,}"))
        return [*out, ("left", clock(self.left()))]

    def left(self) -> float:
        """Seconds to go at the pace so far."""
        done: int = self.seen.get("round", self.first) + 1 - self.first
        return (time.monotonic() - self.begun) / max(done, 1) * (self.spec.rounds + 1 - self.first - done)


class Panel(Lines):
    """The same facts, renewed in place."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.live = Live(console=console, get_renderable=self.table, transient=True, refresh_per_second=4)

    def begin(self, spec: Spec, first: int) -> None:
        """Open the panel."""
        super().begin(spec, first)
        self.live.start()

    def round(self, row: Mapping[str, Any]) -> None:
        """Only take it over: the panel renews itself."""
        self.note(row)

    def end(self, outcome: str) -> None:
        """Close the panel."""
        self.live.stop()
        super().end(outcome)

    def table(self) -> Table:
        """Rounds as a bar, then the facts."""
        share = self.seen.get("round", 0) / self.spec.rounds
        bar = Text("━" * round(30 * share), style="green").append("━" * (30 - round(30 * share)), style="dim")
        grid = Table.grid(padding=(0, 2))
        grid.add_row(Text(self.spec.name, style="bold"), bar, f"{self.seen.get('round', 0)}/{self.spec.rounds}")
        out = Table.grid()
        out.add_row(grid)
        out.add_row(Text("   ".join(f"{name} {value}" for name, value in self.facts()), style="dim"))
        return out
