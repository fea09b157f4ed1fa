"""`evenkeel list`: what there is to choose from. One line of `CATALOGUES` a kind; its package is loaded on demand."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.table import Table

from evenkeel.cli.save import as_json
from evenkeel.cli.screen import plain, stdout
from evenkeel.errors import InputError, nearest

# kind -> the module and the literal dict (name -> entry) in it
CATALOGUES: Mapping[str, tuple[str, str]] = {
    "algorithms": ("evenkeel.algorithms", "ALGORITHMS"),
    "indices": ("evenkeel.indices", "INDICES"),
    "sets": ("evenkeel.sets", "SETS"),
    "datasets": ("evenkeel.data.sources", "SOURCES"),
    "partitions": ("evenkeel.data.partitions", "PARTITIONS"),
    "models": ("evenkeel.tasks.models", "MODELS"),
}


def list_(
    kind: Annotated[str, typer.Argument(help=f"One of: {', '.join(CATALOGUES)}.", metavar="KIND")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List what there is to choose from.

    Example:  evenkeel list indices
    """
    entries = catalogue(kind)
    if json:
        typer.echo(as_json({name: facts(entry) for name, entry in entries.items()}))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    keys = list(dict.fromkeys(key for entry in entries.values() for key in facts(entry)))
    for heading in ("name", *keys):
        table.add_column(heading, no_wrap=heading == "name")
    for name, entry in entries.items():
        known = facts(entry)
        table.add_row(plain(name), *(plain(known.get(key, ""), most=200) for key in keys))
    stdout().print(table)


def catalogue(kind: str) -> Mapping[str, Any]:
    """The literal dict of one kind.

    >>> "CVaR" in catalogue("sets")
    True
    """
    if kind not in CATALOGUES:
        raise InputError(f"list {kind}: no such kind; {nearest(kind, CATALOGUES)}")
    module, name = CATALOGUES[kind]
    entries: Mapping[str, Any] = getattr(import_module(module), name)
    return entries


def facts(entry: object) -> dict[str, str]:
    """What is said of an entry: its fields that are plain text, or the first line of its docstring.

    >>> facts(catalogue("sets")["CVaR"])["parameters"]
    'n, alpha'
    """
    fields: Iterable[str] = getattr(entry, "_fields", getattr(entry, "__dataclass_fields__", ()))
    texts = {name: value for name in fields if isinstance(value := getattr(entry, name), str)}
    return texts or {"meaning": (entry.__doc__ or "").strip().split("\n")[0]}
