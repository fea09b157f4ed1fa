"""`evenkeel reproduce`: a figure or table of the paper, printed against ours, with a verdict that is computed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from evenkeel.cli import figure, many
from evenkeel.cli.screen import patience, stderr, stdout
from evenkeel.errors import InputError, nearest

if TYPE_CHECKING:  # NumPy, the solver and the chart library are loaded when a figure is made, not for --help
    from evenkeel.paper import Asked, Figure

WHOLE = "all"


def reproduce(  # noqa: PLR0917 - Typer hands over every option by name
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="fig1, fig2, fig3, fig4, table1 or theory; all is the lot.")
    ],
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="table1, fig4: mnist (default) or cifar10.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="table1, fig4: shuffled or class-ordered; left out: both.")
    ] = None,
    local: Annotated[
        str | None, typer.Option(metavar="KIND", help="table1, fig4: five local epochs (default) or steps.")
    ] = None,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="table1, fig4: search step sizes first, not the paper's.")
    ] = False,
    trials: Annotated[int | None, typer.Option(help="Trials for each algorithm with --tuned; 10 if left out.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Seeds 0, 1, …; 1 if left out. Two or more give intervals.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small form on digits, to see that it works.")] = False,
    processes: Annotated[int, typer.Option(help="Processes for runs; 0 is one a core.")] = 0,
    out: Annotated[str, typer.Option(metavar="FOLDER", help="Folder of the JSON, charts and runs.")] = "runs/paper",
    charts: Annotated[bool, typer.Option("--charts/--no-charts", help="Draw it, as PNG and SVG.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Reproduce a figure or table of the paper: what is printed, what we find, and whether the two agree.

    Runs that are in the folder already are not run again; after a stop the same command goes on.

    Example:  evenkeel reproduce fig3
    """
    folder = _folder(out)
    told = {"dataset": dataset, "split": split, "local": local, "tuned": tuned, "trials": trials, "seeds": seeds}
    given: dict[str, Any] = {k: v for k, v in {**told, "quick": quick}.items() if v not in {None, False}}
    if seeds is not None:
        many.seeds(seeds)
    from evenkeel.paper import Asked

    asked = Asked(out=folder, processes=many.cores(processes), console=many.watching(quiet=quiet), **given)
    if name == WHOLE:
        from evenkeel.cli.whole import whole

        with many.resumable(folder):
            whole(asked, given, charts=charts, json=json)
        return
    make, stem = chosen(name, asked, given)
    with many.resumable(folder):
        made = figure.made(name, stem, folder, make, charts=charts)
    if json:
        typer.echo(made.report)
    else:
        for part in figure.view(made.figure, made.measured):
            stdout().print(part)
    place = Text("Written to ").append(str(folder / made.files[0]))
    place.append("".join(f", {f}" for f in made.files[1:]))
    (stderr() if json else stdout()).print(place, soft_wrap=True)


def chosen(name: str, asked: "Asked", given: dict[str, Any]) -> "tuple[Callable[[], Figure], str]":
    """What makes a figure, and the name of its files; options that it does not take are refused."""
    from evenkeel.paper import EXPERIMENTS, FIGURES, Experiment, stem

    if name in EXPERIMENTS:
        experiment = EXPERIMENTS[name]
        experiment.demand(name, given)
        if "dataset" in experiment.takes:
            _ = asked.settings  # a wrong name shows before anything is loaded
        return lambda: experiment.make(asked), stem(name, asked, experiment.takes)
    if name not in FIGURES:
        raise InputError(f"reproduce {name}: no such figure; {nearest(name, [*FIGURES, *EXPERIMENTS, WHOLE])}")
    simple = FIGURES[name]
    Experiment(make=lambda _: simple(), takes=frozenset()).demand(name, given)
    return lambda: _patiently(name, simple), name


def _patiently(name: str, make: "Callable[[], Figure]") -> "Figure":
    with patience(f"computing {name}"):
        return make()


def _folder(out: str) -> Path:
    from evenkeel.data.table import shown

    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {shown(out, most=200)}: is a file; give a folder")
    return folder
