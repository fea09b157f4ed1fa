"""`evenkeel reproduce all`: every figure and table into one folder; what is there already is taken as it is."""

import json as text
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import evenkeel
from evenkeel.cli import figure, figure_page
from evenkeel.cli.reproduce import WHOLE, chosen
from evenkeel.cli.save import as_json, save
from evenkeel.cli.screen import stderr, stdout
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from evenkeel.paper import Asked

OURS = frozenset({"seeds", "quick"})  # the options that the whole takes; the rest it chooses itself


def whole(asked: "Asked", given: dict[str, Any], *, charts: bool, json: bool) -> None:
    """Make each part that is missing, and keep all.json up to date after each."""
    for key in given:
        if key not in OURS:
            raise InputError(f"reproduce all: takes no --{key}; it takes --quick, --seeds")
    index = asked.out / f"{WHOLE}.json"
    before, done = _before(index), []
    for name, own, options in plan(asked, given):
        make, stem = chosen(name, own, options)
        known = {"figure": name, "options": options, "version": evenkeel.__version__, "charts": charts}
        entry = _there(before, known, asked.out)
        if entry is None:
            stderr().print(Text(f"{stem} …", style="dim"))
            made = figure.made(name, stem, asked.out, make, charts=charts)
            facts = text.loads(made.report)
            said = {"title": facts["title"], "verdict": facts["verdict"], "agrees": facts["agrees"]}
            entry = {**known, **said, "files": list(made.files), "seconds": made.measured["seconds"]}
        done.append(entry)
        save(asked.out / f"{WHOLE}.md", "\n".join(_page(done)))
        save(index, _report(done))
    if json:
        typer.echo(_report(done))
    else:
        _tell(done)
    (stderr() if json else stdout()).print(
        Text(f"Written to {asked.out}: {index.name} lists every file"), soft_wrap=True
    )


def plan(asked: "Asked", given: dict[str, Any]) -> "Iterator[tuple[str, Asked, dict[str, Any]]]":
    """Every figure, and every experiment with the options that it is part of the whole with."""
    from evenkeel.paper import EXPERIMENTS, FIGURES

    for name in FIGURES:
        yield name, asked, {}
    for name, experiment in EXPERIMENTS.items():
        for own in experiment.whole[:1] if asked.quick else experiment.whole:
            options = {**own, **{k: v for k, v in given.items() if k in experiment.takes}}
            yield name, replace(asked, **options), options


def _before(index: Path) -> list[dict[str, Any]]:
    try:
        held = text.loads(index.read_text("utf-8"))
        return [entry for entry in held["parts"] if isinstance(entry, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _there(before: list[dict[str, Any]], known: dict[str, Any], out: Path) -> dict[str, Any] | None:
    """The entry of an earlier call for the same part, whose files are still there."""
    for entry in before:
        same = all(entry.get(key) == value for key, value in known.items())
        if same and all((out / f).is_file() for f in entry["files"]):
            return entry
    return None


def _report(done: list[dict[str, Any]]) -> str:
    seconds = round(sum(entry["seconds"] for entry in done), 2)
    return as_json({"evenkeel": evenkeel.__version__, "schema": 1, "kind": "paper", "seconds": seconds, "parts": done})


def _page(done: list[dict[str, Any]]) -> Iterator[str]:
    rows = [(entry["title"], entry["verdict"], f"{entry['seconds']:.0f}") for entry in done]
    return figure_page.table(("part", "verdict", "seconds"), rows)


def _tell(done: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("part", "verdict", "seconds"):
        table.add_column(Text(heading), overflow="fold", justify="right" if heading == "seconds" else "left")
    for entry in done:
        style = "green" if entry["agrees"] else "yellow"
        table.add_row(Text(entry["title"]), Text(entry["verdict"], style), f"{entry['seconds']:.1f}")
    stdout().print(Padding(table, (1, 0)))
