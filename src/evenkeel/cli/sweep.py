"""`evenkeel sweep`: one setting over a grid, and the frontier of mean loss or accuracy against R."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import evenkeel
from evenkeel.cli import many, nodes
from evenkeel.cli.save import as_json, save
from evenkeel.cli.screen import patience, stderr, stdout
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from evenkeel.runs.grid import Axis
    from evenkeel.runs.sweep import Frontier

PLACE = "runs/sweep"
_MEASURES = {"loss": ("mean", "mean loss"), "accuracy": ("accuracy", "mean accuracy")}
_WIDE, _HIGH = 56, 14


def sweep(  # noqa: PLR0917 - Typer hands over every option by name
    file: Annotated[str | None, typer.Argument(metavar="SPEC.toml", help="What to run.")] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="Run a preset: digits, mnist, ….")] = None,
    phi: Annotated[str | None, typer.Option(metavar="FIRST:LAST:STEP", help="Values of φ, or between commas.")] = None,
    over: Annotated[
        str | None, typer.Option(metavar="KEY=FIRST:LAST:STEP", help="Values of any number in the spec.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds; every value runs under each.")] = 1,
    first_seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    against: Annotated[str, typer.Option(metavar="loss|accuracy", help="What R is drawn against.")] = "loss",
    warm: Annotated[
        bool, typer.Option("--warm", help="Start each value from the last θ of the one before: no equal budgets.")
    ] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key.")] = None,
    on: Annotated[str | None, typer.Option(metavar="WHERE", help="ray: each run is a task of a Ray cluster.")] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of that cluster; else Ray starts here.")
    ] = None,
    processes: Annotated[int, typer.Option(help="Processes; 0 is one a core.")] = 0,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder of the runs and the table.")] = PLACE,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Run a grid of values and draw what fairness costs. What is done is not run again.

    Example:  evenkeel sweep --preset digits --phi 0:0.6:0.1
    """
    axis, chosen, place = _axis(phi, over), many.seeds(seeds, first_seed), many.place(out)
    where = nodes.many(on, address, processes)
    if against not in _MEASURES:
        raise InputError(f"--against {against}: must be loss or accuracy")
    with patience("loading"):
        from evenkeel.runs.sweep import sweep as grid

        spec = many.one(file, preset, [*(set_ or []), *where])
        spec.replace(axis.key, axis.values[-1]).get(axis.key)  # a wrong key or value shows before anything runs
    with many.resumable(place):
        found = grid(
            spec,
            axis,
            chosen,
            place,
            warm=warm,
            measure=_MEASURES[against][0],
            console=many.watching(quiet=quiet),
            asked=many.cores(processes),
        )
    report = as_json({"evenkeel": evenkeel.__version__, "schema": 1, "kind": "sweep", **found.to_dict()})
    save(place / "sweep.json", report)
    if json:
        typer.echo(report)
    else:
        _tell(found, _MEASURES[against][1])
    said = Text(f"Written to {place}: sweep.parquet, sweep.json and every run")
    (stderr() if json else stdout()).print(said, soft_wrap=True)


def _axis(phi: str | None, over: str | None) -> "Axis":
    from evenkeel.runs.grid import Axis, axis, values

    if (phi is None) == (over is None):
        raise InputError("what to vary: give one of --phi 0:0.6:0.1 and --over key=first:last:step")
    return axis(over) if over is not None else Axis("algorithm.phi", values(phi or "", "--phi"))


def _tell(f: "Frontier", measure: str) -> None:
    from evenkeel.cli.words import digits, ends

    console = stdout()
    console.print(Text(headline(f, measure), style="bold"))
    started = "each value starts from the last θ of the one before" if f.warm else "each value starts anew"
    seeds = f"seeds {f.seeds[0]} to {f.seeds[-1]}" if len(f.seeds) > 1 else f"seed {f.seeds[0]}, so no intervals"
    console.print(Text(f"Population: {f.origin}; {seeds}; {started}.", style="dim"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for k, heading in enumerate(("", f.axis.short, measure, "interval", "R", "interval", "")):
        table.add_column(Text(heading), justify="right" if k else "left", overflow="fold")
    for mark, p in zip(marks(len(f.points)), f.points, strict=True):
        cells = [digits(p.measure.mean), ends(p.measure[1:3]), digits(p.R.mean), ends(p.R[1:3])]
        note = "" if p.best else "another value is better in both"
        table.add_row(*map(Text, (mark, f"{p.value:g}", *cells, note)))
    console.print(Padding(table, (1, 0)))
    xs, ys = [p.R.mean for p in f.points], [p.measure.mean for p in f.points]
    console.print(Text("\n".join(scatter(xs, ys, x="R", y=measure))), soft_wrap=True)


def headline(f: "Frontier", measure: str) -> str:
    """Which value is fairest, and at what price; or that no value changed anything."""
    from evenkeel.cli.words import digits

    low, high = min(f.points, key=lambda p: p.R.mean), max(f.points, key=lambda p: p.R.mean)
    if len(f.points) > 1 and len({(p.R.mean, p.measure.mean) for p in f.points}) == 1:
        cure = (
            " λ has not met its bounds: more rounds or a larger algorithm.sigma would." if f.axis.short == "phi" else ""
        )
        same = f"ratio R {digits(low.R.mean)} at {measure} {digits(low.measure.mean)}"
        return f"Every {f.axis.short} ended alike, {same}.{cure}"
    about = f"{f.axis.short} = {low.value:g} has the lowest ratio R, {digits(low.R.mean)}, at {measure} "
    versus = f"{f.axis.short} = {high.value:g} the highest, {digits(high.R.mean)}, at {digits(high.measure.mean)}"
    return f"{about}{digits(low.measure.mean)}" + (f"; {versus}." if len(f.points) > 1 else ".")


def marks(n: int) -> str:
    """A sign for each point, in order.

    >>> marks(3), len(marks(100))
    ('abc', 100)
    """
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[:n] + "·" * (n - len(letters))


def scatter(xs: list[float], ys: list[float], *, x: str, y: str) -> list[str]:
    """Points as letters in a frame of text; those that are not finite are left out.

    >>> print("\\n".join(line.rstrip() for line in scatter([1.0, 2.0], [0.0, 1.0], x="R", y="loss")[:3]))
    loss
             1 │                                                        b
               │
    """
    from math import isfinite

    from evenkeel.cli.words import digits

    kept = [(a, b, m) for a, b, m in zip(xs, ys, marks(len(xs)), strict=True) if isfinite(a) and isfinite(b)]
    if not kept:
        return []
    (left, right), (low, high) = _range([a for a, _, _ in kept]), _range([b for _, b, _ in kept])
    rows = [[" "] * (_WIDE + 1) for _ in range(_HIGH + 1)]
    for a, b, mark in kept:
        at = rows[round((high - b) / (high - low) * _HIGH)]
        column = round((a - left) / (right - left) * _WIDE)
        at[column] = mark if at[column] == " " else "*"
    ends = {0: digits(high), _HIGH: digits(low)}
    body = [f"{ends.get(k, ''):>10} │{''.join(row)}" for k, row in enumerate(rows)]
    axis = f"{'':>12}{digits(left):<{_WIDE - 8}}{digits(right):>9}  {x}"
    return [y, *body, f"{'':>10} └{'─' * (_WIDE + 1)}", axis]


def _range(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
