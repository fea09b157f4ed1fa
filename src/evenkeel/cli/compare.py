"""`evenkeel compare`: specs side by side under the same seeds, with paired intervals."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import evenkeel
from evenkeel.cli import many, nodes
from evenkeel.cli.save import as_json, save
from evenkeel.cli.screen import patience, plain, stderr, stdout
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from evenkeel.runs import Run, Spec
    from evenkeel.runs.paired import Seeded

PLACE = "runs/compare"
_STYLES = {"better": "green", "worse": "red", "unclear": "dim"}


def compare(  # noqa: PLR0917 - Typer hands over every option by name
    files: Annotated[list[str] | None, typer.Argument(metavar="SPEC.toml…", help="What to compare.")] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="FedAvg, Scaff-PD and Scaff-PD-IA on a preset: digits.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds; every spec runs under each.")] = 5,
    first_seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of every spec.")
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    on: Annotated[str | None, typer.Option(metavar="WHERE", help="ray: each run is a task of a Ray cluster.")] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of that cluster; else Ray starts here.")
    ] = None,
    processes: Annotated[int, typer.Option(help="Processes; 0 is one a core.")] = 0,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder of the runs and the tables.")] = PLACE,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Run specs under the same seeds and say what differs, and how surely. What is done is not run again.

    Example:  evenkeel compare a.toml b.toml --seeds 5
    """
    tried, where, share = many.seeds(seeds, first_seed), many.place(out), many.level(level)
    with patience("loading"):
        from evenkeel.runs.compare import compare as side_by_side

        specs = chosen(files or [], preset, [*(set_ or []), *nodes.many(on, address, processes)], "compare")
    with many.resumable(where):
        result, runs = side_by_side(
            specs, tried, where, console=many.watching(quiet=quiet), asked=many.cores(processes), level=share
        )
    report = as_json({"evenkeel": evenkeel.__version__, "schema": 1, "kind": "runs", **_held(result, runs)})
    files_ = _export(result, report, out)
    if json:
        typer.echo(report)
    else:
        console = stdout()
        for part in view(result, runs, console.width):
            console.print(part)
    (stderr() if json else stdout()).print(Text(f"Written to {files_}"), soft_wrap=True)


def chosen(files: list[str], preset: str | None, overrides: list[str], what: str) -> "dict[str, Spec]":
    """The specs by name, of files or of a preset's line-up."""
    from evenkeel.runs.compare import line_up
    from evenkeel.runs.jobs import named

    if bool(files) == (preset is not None):
        raise InputError(f"what to {what}: give specs (a.toml b.toml), or --preset NAME")
    return line_up(preset, overrides) if preset is not None else named(many.specs(files, overrides))


def _held(s: "Seeded", runs: "dict[str, tuple[Run, ...]]") -> dict[str, Any]:
    folders = {name: [run.folder.as_posix() for run in own] for name, own in runs.items()}
    return {**s.to_dict(), "folders": folders}


def _export(s: "Seeded", report: str, out: str) -> str:
    """compare.json, compare.md and compare.tex in the folder; what to say of them."""
    from evenkeel.runs.exports import latex, markdown

    where = many.place(out)
    for suffix, text in (("json", report), ("md", markdown(s).rstrip()), ("tex", latex(s).rstrip())):
        save(where / f"compare.{suffix}", text)
    return f"{where}: compare.json, compare.md, compare.tex and every run"


def view(s: "Seeded", runs: "dict[str, tuple[Run, ...]]", width: int) -> Iterator[RenderableType]:
    """Sentences first, then every index: over seeds, or over clients where there is one seed."""
    from evenkeel.cli import views

    if len(s.seeds) == 1 and len(runs) > 1:
        from evenkeel import indices

        tables = {name: own[0].losses() for name, own in runs.items()}
        how = next(iter(runs.values()))[0].spec.evaluation
        c = indices.compare(
            tables,
            alpha=how.alpha,
            beta=how.beta,
            phi=how.phi,
            weighting="size" if how.weighting == "size" else "clients",
            level=s.level,
        )
        yield from views.comparison_view(c, width)
        return
    yield Text(headline(s), style="bold")
    for run in s.others:
        yield Text(against(s, run), style="bold")
    yield _conditions(s)
    for note in s.about["notes"]:
        yield plain(f"Note: {note}.", most=500)
    at_once = max(1, (width - 40) // 46)
    for start in range(0, max(len(s.others), 1), at_once):
        yield Padding(_table(s, s.others[start : start + at_once]), (1, 0))
    yield Text(views.CAUTION, style="dim")


def headline(s: "Seeded") -> str:
    """Who is worse off under the first run, by how much, and how surely.

    >>> from evenkeel.runs.paired import Seeded
    >>> about = {"alpha": 0.2, "beta": 0.2, "clients": 100}
    >>> headline(Seeded(seeds=(0, 1), values={"plain": {"R": [3.0, 3.0]}}, about=about)).rpartition(" (")[0]
    'Over 2 seeds, the worst-off 20 % of 100 clients have 3 times the loss of the best-off 20 % under «plain»'
    """
    from evenkeel.cli.words import digits, percent, sure
    from evenkeel.data.table import shown

    e, about = s.mean(s.first, "R"), s.about
    seeds = f"Over {len(s.seeds)} seeds" if len(s.seeds) > 1 else f"Under seed {s.seeds[0]}"
    worst, best = percent(about["alpha"]), percent(about["beta"])
    who = f"the worst-off {worst} of {about['clients']:,} clients have"
    than = f"{digits(e.mean)} times the loss of the best-off {best} under «{shown(s.first)}»"
    if math.isinf(e.mean):
        return f"{seeds}, {who} loss, the best-off {best} none under «{shown(s.first)}» at least once: R is infinite."
    return f"{seeds}, {who} {than}{sure((e.low, e.high), s.level)}."


def against(s: "Seeded", run: str) -> str:
    """One run against the first: the ratio, the mean loss, and the worst-off next to it."""
    from evenkeel.cli.words import digits, sure
    from evenkeel.data.table import shown

    parts = []
    for index, says in (("R", "the ratio"), ("mean", "the mean loss"), ("accuracy", "the mean accuracy")):
        if index not in s.indices:
            continue
        gap, before, after = s.gap(run, index), s.mean(s.first, index).mean, s.mean(run, index).mean
        clear = gap.high < 0 or gap.low > 0
        way = f"{'lower' if gap.mean < 0 else 'higher'} by {digits(abs(gap.mean))}" if clear else "no clear difference"
        ends = (-gap.high, -gap.low) if clear and gap.mean < 0 else (gap.low, gap.high)
        parts.append(f"{says} is {digits(after)} instead of {digits(before)}, {way}{sure(ends, s.level)}")
    return f"«{shown(run)}» against «{shown(s.first)}»: " + "; ".join(parts) + "."


def _conditions(s: "Seeded") -> Text:
    from evenkeel.cli.words import percent
    from evenkeel.data.table import shown

    a, n = s.about, len(s.seeds)
    counted = "each client counts the same" if a["weighting"] == "clients" else "clients count by size"
    made = f"{percent(s.level)} t intervals over n = {n} seeds, differences paired seed by seed, each index on its own"
    seeds = f"seeds {s.seeds[0]} to {s.seeds[-1]}" if n > 1 else f"seed {s.seeds[0]}"
    tails = f"A = CVaR({a['alpha']:.4g}), B = CVaR({a['beta']:.4g}), φ = {a['phi']:g}"
    made = made if n > 1 else "no intervals"
    about = f"Population: {shown(a['population'], most=200)}; {seeds}; split: {a['split']}; {counted}; {tails}; {made}."
    return Text(about, style="dim")


def _table(s: "Seeded", runs: tuple[str, ...]) -> Table:
    from evenkeel.cli.words import digits, ends
    from evenkeel.runs.exports import verdict

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("index", no_wrap=True)
    for heading in (s.first, "interval"):
        table.add_column(plain(heading, most=14), justify="right", overflow="fold")
    for run in runs:
        for heading in (run, "difference", "interval"):
            table.add_column(plain(heading, most=14), justify="right", overflow="fold")
        table.add_column("", overflow="fold")
    for index in s.indices:
        mean = s.mean(s.first, index)
        cells: list[str | Text] = [digits(mean.mean), Text(ends((mean.low, mean.high)))]
        for run in runs:
            gap = s.gap(run, index)
            word = verdict(gap, index)
            style, interval = _STYLES[word], Text(ends((gap.low, gap.high)))
            cells += [digits(s.mean(run, index).mean), Text(f"{gap.mean:+.4g}", style), interval, Text(word, style)]
        table.add_row(index, *cells)
    return table
