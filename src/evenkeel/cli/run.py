"""`evenkeel run`: train by a spec, and go on where a run stopped."""

import signal
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

import evenkeel
from evenkeel.cli import nodes
from evenkeel.cli.save import as_json
from evenkeel.cli.screen import patience, plain, stderr, stdout
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from evenkeel.runs import Run, Spec


def run(  # noqa: PLR0917 - Typer hands over every option by name
    file: Annotated[str | None, typer.Argument(metavar="SPEC.toml", help="What to run.")] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="Run a preset: digits, mnist, ….")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key; may be repeated.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="The run's folder; runs/NAME by default.")] = None,
    resume: Annotated[str | None, typer.Option(metavar="DIR", help="Go on with the run in this folder.")] = None,
    on: Annotated[str | None, typer.Option(metavar="WHERE", help="Where it runs: engine, loop or ray.")] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of a Ray cluster; else Ray starts here.")
    ] = None,
    workers: Annotated[int | None, typer.Option(metavar="K", help="Threads, or workers on Ray.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Train one model over many clients and keep all that it rests on.

    Example:  evenkeel run --preset digits --set algorithm.phi=0.3
    """
    if sum(given is not None for given in (file, preset, resume)) != 1:
        raise InputError("what to run: give one of SPEC.toml, --preset NAME and --resume DIR")
    if resume is not None and (set_ or out is not None):
        raise InputError("--resume with --set or --out: a run goes on as it began; leave them out, or start a new one")
    if resume is not None and workers is not None:
        raise InputError("--resume with --workers: a run keeps the number it began with; leave it out")
    where = nodes.overrides(on, address, workers)
    with patience("loading"):
        from evenkeel.cli.phi import with_auto_phi
        from evenkeel.runs import Run, execute
        from evenkeel.runs.display import display
        from evenkeel.runs.observers import Quiet

        spec = placed(Run.open(resume).spec, where) if resume else chosen(file, preset, [*(set_ or []), *where])
        folder = Path(resume) if resume is not None else Path(out) if out is not None else _free(spec)
    with suppress(ValueError):  # signals are for the main thread
        signal.signal(signal.SIGTERM, _interrupt)
    watcher = Quiet() if quiet else display(stderr())
    try:
        if resume is None:
            spec = with_auto_phi(spec, folder, watcher)
        done = execute(spec, folder, resume=resume is not None, observer=watcher)
    except KeyboardInterrupt:
        if (folder / "spec.toml").exists():
            stderr().print(Text(f"Stopped; continue with: evenkeel run --resume {folder}"), soft_wrap=True)
        raise
    _tell(done, json=json)


def chosen(file: str | None, preset: str | None, overrides: list[str] | None) -> "Spec":
    """The spec of a file or a preset, with the overrides."""
    from evenkeel.runs import Spec

    if preset is not None:
        return Spec.preset(preset, overrides or ())
    return Spec.load(file or "", overrides or ())


def placed(spec: "Spec", where: list[str]) -> "Spec":
    """A stored spec elsewhere: a run may go on with another transport, or at another address."""
    from evenkeel.runs.reading import read_over

    if not where:
        return spec
    table = spec.replace("engine.address", None).table() if spec.engine.transport == "ray" else spec.table()
    return read_over(type(spec), table, where, spec.name)


def _free(spec: "Spec") -> Path:
    """runs/NAME, or runs/NAME-2 and so on where that is taken."""
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in spec.name).strip(".") or "run"
    folder, k = Path("runs") / name, 1
    while folder.exists():
        k += 1
        folder = Path("runs") / f"{name}-{k}"
    return folder


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A polite end (a batch system, a shutdown) is an interruption: the last state is kept."""
    raise KeyboardInterrupt


def _tell(run_: "Run", *, json: bool) -> None:
    """One sentence, what it rests on, and where all the rest is."""
    from evenkeel.cli import words

    audit = run_.audit()
    if json:
        facts = {"name": run_.name, "folder": str(run_.folder), "rounds": run_.spec.rounds}
        told = {"evenkeel": evenkeel.__version__, "schema": 1, "kind": "run", **facts, "audit": audit.to_dict()}
        typer.echo(as_json(told))
        return
    console = stdout()
    console.print(Text(words.headline(audit), style="bold"))
    console.print(plain(f"Measured on: {audit.population}; {audit.split} rows.", most=500), style="dim")
    console.print(Text(f"Written to {run_.folder}"), soft_wrap=True)
