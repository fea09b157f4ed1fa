"""`evenkeel audit`: who is worse off, by how much, and how sure that is, from a table of losses."""

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import evenkeel
from evenkeel.cli.save import as_json, save, target
from evenkeel.cli.screen import patience, stderr, stdout
from evenkeel.errors import InputError

if TYPE_CHECKING:  # polars and SciPy are loaded when a table is read, not for --help
    from collections.abc import Mapping

    from evenkeel.cli.inputs import Choice
    from evenkeel.indices import Audit, Comparison, LossTable
    from evenkeel.indices.sample import Options

    Result = Audit | tuple[Audit, ...] | Comparison

Preset = Enum("Preset", {"twenty": "20:20", "palma": "palma", "atkinson": "atkinson"}, type=str)
Weighting = Enum("Weighting", {"clients": "clients", "size": "size"}, type=str)
Format = Enum("Format", {"csv": "csv", "tsv": "tsv", "parquet": "parquet", "jsonl": "jsonl"}, type=str)

EXAMPLE_PLACE = "runs/example-audit"


def audit(  # noqa: PLR0917 - Typer hands over every option by name
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="A CSV, TSV, Parquet or JSON-lines table; - reads a pipe; or a run's folder."
        ),
    ] = None,
    example: Annotated[bool, typer.Option("--example", help="Audit the bundled synthetic table.")] = False,
    client: Annotated[str, typer.Option(metavar="COLUMN", help="Names of the clients.")] = "client",
    loss: Annotated[str, typer.Option(metavar="COLUMN", help="Losses.")] = "loss",
    accuracy: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Accuracies, 0 to 1; by default those of a column accuracy.")
    ] = None,
    size: Annotated[str, typer.Option(metavar="COLUMN", help="Rows a client, for --weighting size.")] = "size",
    by: Annotated[str | None, typer.Option(metavar="COLUMN", help="Groups: one audit for each value.")] = None,
    compare: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Runs: side by side, against the first in the table.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Only these rows; may be repeated.")
    ] = None,
    preset: Annotated[
        Preset | None, typer.Option(help="Tails by name: worst and best 20 %; worst 10 %, best 40 %; worst one, all.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Share of worst-off clients; 0.2 if not given.")] = None,
    beta: Annotated[float | None, typer.Option(help="Share of best-off clients; 0.2 if not given.")] = None,
    phi: Annotated[float, typer.Option(help="Weight of the best-off clients in the discrepancy.")] = 0.0,
    weighting: Annotated[Weighting, typer.Option(help="Whether clients count alike or by size.")] = Weighting.clients,
    draws: Annotated[int, typer.Option(help="Bootstrap draws; 0 gives no intervals.")] = 1000,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the losses were measured on; picks rows by column split.")
    ] = None,
    population: Annotated[str | None, typer.Option(metavar="TEXT", help="Who the clients are, for the record.")] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="Format, where the file's name does not say it.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE", help="Write the result there: a .json file, a page that ends in .html, or a directory."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Say who is worse off, by how much and how surely. One row of the table is one client.

    Example: evenkeel audit losses.csv --loss test_loss --by region
    """
    from evenkeel.cli.inputs import Choice

    choice = Choice(
        client=client,
        loss=loss,
        accuracy=accuracy,
        size=size,
        by=by,
        compare=compare,
        only=tuple(only or ()),
        split=split,
        population=population,
        sized=weighting is Weighting.size,
    )
    if example:
        file, choice, out = _example(file, choice, out)
    file, choice = _run(file, choice)
    chosen = preset.value if preset else None
    _refuse(file, choice, chosen, alpha, beta)
    where = target(out, "audit", page=True) if out else None
    runs, source = _read(file or "", format_.value if format_ else None, choice)
    tails = _tails(chosen, alpha, beta, runs)
    settings: Options = {"phi": phi, "draws": draws, "level": level, "seed": seed}
    settings["weighting"] = "size" if choice.sized else "clients"
    result = _measure(runs, choice, {**tails, **settings}, source["file"])
    report = as_json({"evenkeel": evenkeel.__version__, "schema": 1, "source": source, **_held(result, choice)})
    if where:
        save(where, _page(runs, result, source["file"]) if where.suffix == ".html" else report)
    _tell(result, choice, report if json else None, where, example=example)


def _example(file: str | None, choice: "Choice", out: str | None) -> tuple[str, "Choice", str]:
    """The bundled table, both of its runs unless the user asks for something else."""
    from evenkeel.cli.examples import SYNTHETIC

    if file is not None:
        raise InputError(f"--example and {file}: there can be one table; leave one of them out")
    if choice.compare is None and choice.by is None and not choice.only:
        choice = replace(choice, compare="run")
    elif choice.compare is None and not any(condition.startswith("run=") for condition in choice.only):
        choice = replace(choice, only=("run=averaging", *choice.only))
    population = choice.population or " with ".join(["100 synthetic clinics", *choice.only])
    return str(SYNTHETIC), replace(choice, population=population), out or EXAMPLE_PLACE


def _run(file: str | None, choice: "Choice") -> tuple[str | None, "Choice"]:
    """A run's folder stands for its last scores, of the split that the run evaluates."""
    if file is None or not (Path(file) / "spec.toml").is_file():
        return file, choice
    with patience("loading"):
        from evenkeel.runs import Run, store

        run = Run.open(file)
        scored = run.losses(choice.split)
    asked = any(condition.startswith("round=") for condition in choice.only)
    last = () if asked else (f"round={max(run.clients['round'].to_list())}",)
    population = choice.population or scored.population
    return str(Path(file) / store.CLIENTS), replace(
        choice, only=(*choice.only, *last), split=scored.split, population=population
    )


def _refuse(file: str | None, choice: "Choice", preset: str | None, alpha: float | None, beta: float | None) -> None:
    """What cannot be asked for together."""
    if file is None:
        raise InputError("no table: give a FILE, - for a pipe, or --example")
    if choice.by and choice.compare:
        raise InputError("--by and --compare: one at a time; --only COLUMN=VALUE picks the group or the run to look at")
    if preset is not None and (alpha is not None or beta is not None):
        raise InputError(f"--preset {preset} with --alpha or --beta: a preset sets both; leave one of them out")


def _read(file: str, kind: str | None, choice: "Choice") -> tuple["Mapping[str, LossTable]", dict[str, Any]]:
    """The loss tables of a file, and what the result says of the file."""
    from evenkeel.cli.inputs import tables
    from evenkeel.data.table import load

    with patience(f"reading {file}"):
        sheet = load(file, kind=kind)
        runs = tables(sheet, choice)
    columns = {"client": choice.client, "loss": choice.loss}
    return runs, {"file": Path(sheet.name).name, "rows": sheet.frame.height, **columns, "only": list(choice.only)}


def _tails(preset: str | None, alpha: float | None, beta: float | None, runs: "Mapping[str, LossTable]") -> "Options":
    """Alpha and beta, of a preset or as given; no share below the smallest client's picks fewer than one."""
    if preset == "atkinson":
        return {
            "alpha": min(1 / t.n if t.size is None else t.size.min() / t.size.sum() for t in runs.values()),
            "beta": 1.0,
        }
    if preset == "palma":
        return {"alpha": 0.1, "beta": 0.4}
    return {"alpha": 0.2 if alpha is None else alpha, "beta": 0.2 if beta is None else beta}


def _measure(runs: "Mapping[str, LossTable]", choice: "Choice", options: "Options", file: str) -> "Result":
    """The audit, the audits of each group, or the comparison."""
    from evenkeel import indices

    clients, draws = sum(table.n for table in runs.values()), indices.Settings(**options).draws
    try:
        with patience(f"drawing {clients:,} clients {draws:,} times"):
            if choice.compare is not None:
                return indices.compare(runs, **options)
            (table,) = runs.values()
            return indices.audit_by(table, **options) if choice.by is not None else indices.audit(table, **options)
    except InputError as error:  # the settings have passed: what is left is about the table
        raise InputError(f"{file}: {error}") from None


def _held(result: "Result", choice: "Choice") -> dict[str, Any]:
    """The result under its stable keys; `kind` says which there are."""
    if isinstance(result, tuple):
        return {"kind": "groups", "by": choice.by, "audits": [a.to_dict() for a in result]}
    if choice.compare is not None:
        return {"kind": "comparison", "by": choice.compare, "comparison": result.to_dict()}
    return {"kind": "audit", "audit": result.to_dict()}


def _page(runs: "Mapping[str, LossTable]", result: "Result", file: str) -> str:
    """The result as a page that anybody can open."""
    from evenkeel.cli.report import told
    from evenkeel.report import audits, page

    headline, says = told(result)
    with patience("making the page"):
        return page.html(audits.content(runs, result, title=file, headline=headline, says=says))


def _tell(result: "Result", choice: "Choice", report: str | None, where: Path | None, *, example: bool) -> None:
    """The result on standard output, and last of all where it was written."""
    from evenkeel.cli.views import view

    console = stdout()
    if report is not None:
        typer.echo(report)
    else:
        if example:
            console.print(Text("Synthetic data: these clinics do not exist.", style="yellow"))
        for part in view(result, choice.by or "", console.width):
            console.print(part)
    if where:
        place = Text("Written to ").append(str(where))
        (stderr() if report is not None else console).print(place, soft_wrap=True)
