"""One figure or table of the paper: made, drawn, kept on disk, and shown."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import evenkeel
from evenkeel.cli.figure_page import markdown
from evenkeel.cli.save import as_json, save
from evenkeel.cli.screen import plain

if TYPE_CHECKING:  # NumPy, the solver and the chart library are loaded when a figure is made, not for --help
    from evenkeel.paper import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A figure, the JSON as it was written, the names of its files, and what it took."""

    figure: "Figure"
    report: str
    files: tuple[str, ...]
    measured: Mapping[str, float | None]


def made(name: str, stem: str, folder: Path, make: Callable[[], "Figure"], *, charts: bool) -> Made:
    """Make a figure and keep it: pictures first, the JSON last, so that where there is a JSON, everything is there."""
    start = time.perf_counter()
    if charts:
        from evenkeel.paper.charts.style import altair

        altair()  # a missing library is said before anything is computed
    before = time.perf_counter()
    figure = make()
    computing = time.perf_counter() - before
    pictures = _pictures(figure) if charts else {}
    seconds = round(time.perf_counter() - start, 2)
    measured = {"computing": round(computing, 2), "seconds": seconds, "peak_mib": peak_mib()}
    report = as_json({"evenkeel": evenkeel.__version__, "schema": 1, **held(name, figure), "measured": measured})
    for kind, picture in pictures.items():
        save(folder / f"{stem}.{kind}", picture)
    save(folder / f"{stem}.md", markdown(figure))
    save(folder / f"{stem}.json", report)
    files = (*(f"{stem}.{kind}" for kind in pictures), f"{stem}.md", f"{stem}.json")
    return Made(figure=figure, report=report, files=files, measured=measured)


def held(name: str, figure: "Figure") -> dict[str, Any]:
    """A figure under its stable keys."""
    from evenkeel.paper import verdict

    said = {"verdict": verdict(figure.claims), "agrees": figure.agrees, "notes": list(figure.notes)}
    claims = [asdict(c) for c in figure.claims]
    return {"figure": name, "title": figure.title, **said, "claims": claims, "result": dict(figure.result)}


def peak_mib() -> float | None:
    """The most memory this process has held so far, in MiB, imports included; None where the system does not say.

    >>> (peak_mib() or 1) > 0
    True
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(held / (2**20 if sys.platform == "darwin" else 2**10), 1)


def view(figure: "Figure", measured: Mapping[str, float | None]) -> Iterator[RenderableType]:
    """A figure for a terminal: its numbers, printed against ours, and last the verdict."""
    from evenkeel.paper import verdict

    yield Text(figure.title, style="bold")
    for table in figure.tables:
        yield Padding(_table(table.headings, table.rows, table.title), (1, 0, 0, 0))
    against = _table(("what", "printed", "ours", ""), ())
    for c in figure.claims:
        word = Text("agrees", style="green") if c.agrees else Text("differs", style="red")
        against.add_row(*(plain(cell, most=600) for cell in (c.what, c.printed, c.ours)), word)
    yield Padding(against, (1, 0))
    for note in figure.notes:
        yield Text(note)
    peak = f"; the process held at most {measured['peak_mib']} MiB" if measured["peak_mib"] is not None else ""
    took = f"Took {measured['seconds']} s with loading and drawing, {measured['computing']} s of it computing{peak}."
    yield Text(took, style="dim")
    yield Text(f"Verdict: {verdict(figure.claims)}.", style="bold")


def _table(headings: tuple[str, ...], cells: tuple[tuple[str, ...], ...], title: str = "") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title or None, title_justify="left")
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    return table


def _pictures(figure: "Figure") -> dict[str, bytes]:
    from evenkeel.paper.charts.style import png, svg

    chart = figure.draw(figure.result)
    return {"png": png(chart), "svg": svg(chart).encode()}
