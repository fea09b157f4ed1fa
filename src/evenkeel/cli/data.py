"""`evenkeel data`: fetch a data set, deal it out, and see who owns what before anything is trained."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from evenkeel.cli.run import chosen
from evenkeel.cli.save import as_json, save
from evenkeel.cli.screen import patience, plain, stdout
from evenkeel.errors import InputError, nearest

if TYPE_CHECKING:
    from evenkeel.data.describe import Description
    from evenkeel.runs import Spec

SHADES = " ·░▒▓█"  # none, then by the square root of the rows: few stay visible next to many
_TABLES = (".csv", ".parquet")
_PICTURES = (".svg", ".png", ".pdf")


def data(
    what: Annotated[
        str | None, typer.Argument(metavar="DATA|SPEC.toml", help="A data set of `evenkeel list datasets`, or a spec.")
    ] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="The data of a preset: digits, mnist, ….")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key; may be repeated.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write client, class, count (.csv, .parquet) or the map (.svg, …)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Fetch a data set once, deal it out over clients, and show who owns what.

    Example:  evenkeel data digits --set partition.name=shards
    """
    if (what is None) == (preset is None):
        raise InputError(
            "whose data: give one of DATA, SPEC.toml and --preset NAME; `evenkeel list datasets` names them"
        )
    file = None if out is None else _place(Path(out))
    with patience("loading"):
        from evenkeel.data.describe import describe
        from evenkeel.runs.parts import federation_of

        found = describe(federation_of(_spec(what, preset, set_ or [])))
    if file is not None:
        save(file, _written(found, file.suffix))
    if json:
        typer.echo(as_json({"kind": "data", **found.to_dict()}))
        return
    _tell(found, file)


def _spec(what: str | None, preset: str | None, overrides: list[str]) -> "Spec":
    """A name stands for the default spec of that data set: the paper's partition, or the rows' own clients."""
    if what is None or what.endswith(".toml"):
        return chosen(what, preset, overrides)
    from evenkeel.data.sources import SOURCES
    from evenkeel.runs import Spec
    from evenkeel.runs.reading import read_over

    if what not in SOURCES:
        raise InputError(f"{what}: no such data set; {nearest(what, SOURCES)}; a spec's name ends in .toml")
    return read_over(Spec, {}, [f'data.source="{what}"', *overrides], what)


def _place(file: Path) -> Path:
    if file.suffix not in (*_TABLES, *_PICTURES) or file.is_dir():
        raise InputError(f"--out {file}: must end in {', '.join((*_TABLES, *_PICTURES))}; give such a name")
    return file


def _written(found: "Description", ends: str) -> bytes:
    if not found.counts.size:
        raise InputError("--out: a regression has no classes, so there is no table of them; leave it out")
    if ends in _TABLES:
        from io import BytesIO

        content = BytesIO()
        table = found.table()
        table.write_csv(content) if ends == ".csv" else table.write_parquet(content)
        return content.getvalue()
    from evenkeel.report.content import Mix
    from evenkeel.report.pictures import FORMS, mixture

    classes = tuple(map(str, range(found.counts.shape[1])))
    form = next(form for form in FORMS if ends == f".{form}")
    return mixture(Mix(client=found.names, classes=classes, counts=found.counts), form)


def facts(found: "Description") -> dict[str, str]:
    """Sizes and distances in words.

    >>> from evenkeel.data.build import build
    >>> from evenkeel.data.describe import describe
    >>> from evenkeel.data.source import from_arrays
    >>> facts(describe(build(from_arrays([([[0.0]] * 5, [0] * 5), ([[0.0]] * 5, [1] * 5)]))))["rows a client"]
    '5 to 5, median 5'
    """
    import numpy as np

    sizes = found.sizes
    said = {
        "clients": f"{sizes.size:,}",
        "rows": f"{sizes.sum():,}: {found.train.sum():,} train, {found.valid.sum():,} validation",
        "rows a client": f"{sizes.min():,} to {sizes.max():,}, median {np.median(sizes):,.0f}",
    }
    if not found.counts.size:
        return said
    held = (found.counts > 0).sum(axis=1)
    return said | {
        "classes": f"{found.counts.shape[1]}; a client has {held.min()} to {held.max()}",
        "distance to all rows' mix": f"total variation {found.tv.mean():.3f}, Jensen–Shannon {found.js.mean():.3f} "
        "bits (means over clients, each once; 0 is the same mix)",
    }


def heat(counts: Any, width: int) -> list[str]:  # noqa: ANN401 - an array; NumPy is not loaded for --help
    """One line a class, one column a client, the largest clients first and as many as fit.

    >>> import numpy as np
    >>> heat(np.array([[9, 0], [0, 1]]), 80)
    ['0 █ ', '1  ░']
    """
    import numpy as np

    label = _label(counts)
    order = np.argsort(-counts.sum(axis=1), kind="stable")[: max(1, width - label - 1)]
    level = np.ceil(np.sqrt(counts[order].T / max(1, counts.max())) * (len(SHADES) - 1)).astype(int)
    return [f"{c:>{label}} {''.join(SHADES[k] for k in row)}" for c, row in enumerate(level.tolist())]


def _label(counts: Any) -> int:  # noqa: ANN401 - as above
    """How wide the classes' numbers are."""
    return len(str(counts.shape[1] - 1))


def _tell(found: "Description", file: Path | None) -> None:
    from rich.table import Table

    console = stdout()
    console.print(plain(found.origin, most=500), style="bold")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in facts(found).items():
        table.add_row(name, text)
    console.print(table)
    if found.counts.size:
        lines = heat(found.counts, console.width)
        shown = len(lines[0]) - _label(found.counts) - 1
        some = "" if shown == found.sizes.size else f" (the {shown} largest of {found.sizes.size:,})"
        console.print(Text(f"\nclasses × clients{some}; {SHADES[1:]} from few rows to many", style="dim"))
        console.print(Text("\n".join(lines)), soft_wrap=True)
    if file is not None:
        console.print(Text(f"Written to {file}"), soft_wrap=True)
