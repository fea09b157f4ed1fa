"""`evenkeel tune`: step sizes for every algorithm, on the same budget and by the same criterion."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import evenkeel
from evenkeel.cli import many, nodes
from evenkeel.cli.compare import chosen
from evenkeel.cli.save import as_json, save
from evenkeel.cli.screen import patience, plain, stderr, stdout

if TYPE_CHECKING:
    from evenkeel.runs.tune import Criterion

PLACE = "runs/tune"


def tune(  # noqa: PLR0917 - Typer hands over every option by name
    files: Annotated[list[str] | None, typer.Argument(metavar="SPEC.toml…", help="What to tune.")] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="The algorithms that `compare --preset` runs: digits.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Trials for each; the first has the spec's own step sizes.")] = 20,
    criterion: Annotated[
        str, typer.Option(metavar="INDEX", help="What the best trial has least of (accuracies: most).")
    ] = "worst20_loss",
    most_mean: Annotated[
        float | None, typer.Option(metavar="LOSS", help="Only trials with a mean loss of at most this.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of a trial; its criterion is their mean.")] = 1,
    first_seed: Annotated[int, typer.Option(help="The first seed; not one that is compared later.")] = 1000,
    width: Annotated[float, typer.Option(help="Search from 1/width to width times the spec's step size.")] = 30.0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of every spec.")
    ] = None,
    on: Annotated[str | None, typer.Option(metavar="WHERE", help="ray: each run is a task of a Ray cluster.")] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of that cluster; else Ray starts here.")
    ] = None,
    processes: Annotated[int, typer.Option(help="Processes; 0 is one a core.")] = 0,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder of the searches and the tuned specs.")] = PLACE,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Search step sizes so that a comparison is fair: one budget, one criterion. What is done is not run again.

    Example:  evenkeel tune fedavg.toml scaff-pd.toml --trials 20
    """
    tried, where = many.seeds(seeds, first_seed), many.place(out)
    with patience("loading"):
        from evenkeel.runs.tune import Criterion
        from evenkeel.runs.tune import tune as search

        asked = Criterion(index=criterion, ceiling=most_mean)
        specs = chosen(files or [], preset, [*(set_ or []), *nodes.many(on, address, processes)], "tune")
    with many.resumable(where):
        found = search(
            specs,
            where,
            criterion=asked,
            trials=trials,
            seeds=tried,
            width=width,
            console=many.watching(quiet=quiet),
            asked=many.cores(processes),
        )
    budget = {"trials": trials, "seeds": list(tried), "width": width, "criterion": asked.words()}
    report = as_json({"evenkeel": evenkeel.__version__, "schema": 1, "kind": "tune", **budget, "found": found})
    save(where / "tune.json", report)
    if json:
        typer.echo(report)
    else:
        _tell(found, asked, f"{trials} trials of {len(tried)} seed(s) from {first_seed}, each")
    said = Text(f"Written to {where}: tune.json and a tuned spec each; next: evenkeel compare {where}/*.toml")
    (stderr() if json else stdout()).print(said, soft_wrap=True)


def _tell(found: dict[str, dict[str, Any]], criterion: "Criterion", budget: str) -> None:
    from evenkeel.cli.words import digits

    console = stdout()
    console.print(Text(f"Step sizes by {criterion.words()}; {budget}.", style="bold"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    heads = ("spec", "step sizes", criterion.index, "own", "mean", "done", "pruned", "diverged")
    for k, heading in enumerate(heads):
        table.add_column(
            Text(heading), justify="right" if k > 1 else "left", overflow="fold", min_width=24 if k == 1 else None
        )
    for name, held in found.items():
        best, own, counts = held["best"]["measured"], held["own"]["measured"] or {}, held["counts"]
        steps = ", ".join(f"{key} {digits(value)}" for key, value in held["best"]["steps"].items())
        cells = [digits(best[criterion.index]), digits(own.get(criterion.index)), digits(best["mean"])]
        table.add_row(plain(name), Text(steps), *cells, *(str(counts[k]) for k in ("complete", "pruned", "diverged")))
    console.print(Padding(table, (1, 0)))
    for name, held in found.items():
        if held["at_the_end_of"]:
            keys = ", ".join(held["at_the_end_of"])
            console.print(
                plain(f"Note: {name}: {keys} near the end of the range; a larger --width may find better.", most=200)
            )
