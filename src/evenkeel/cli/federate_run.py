"""`evenkeel federate up`, `join` and `stop`: real processes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from evenkeel.cli.federating import Folder, interruptible, needed, say, states
from evenkeel.cli.screen import patience, stderr, stdout
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from evenkeel.federation.deploy.layout import Server
    from evenkeel.runs import Spec


def up(  # noqa: PLR0917 — Typer hands over every option by name
    folder: Folder,
    local: Annotated[int | None, typer.Option(metavar="N", help="Rehearse on 127.0.0.1 with N sites.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the spec; may be repeated.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="The run's folder; a run that stopped there goes on.")
    ] = None,
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="How long to wait for all sites.")] = 600.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")] = False,
) -> None:
    """Start the server, wait for the sites, train to the end, and end what was started.

    Example:  evenkeel federate up hospitals --local 3
    """
    needed()
    if not wait > 0:
        raise InputError(f"--wait {wait:g}: must be above 0; 600 is the default")
    with patience("loading"):
        from evenkeel.federation.deploy import coordinating
        from evenkeel.runs.display import display
        from evenkeel.runs.observers import Quiet
    server, spec, names = _cast(Path(folder), set_, local)
    place = _place(spec, out)
    watcher = Quiet() if quiet else display(stderr())
    wish = coordinating.Wish(spec=spec, folder=place, wait=wait, local=names)
    done = False
    try:
        with interruptible():
            done = coordinating.up(server, wish, watcher, (lambda _: None) if quiet else say)
    finally:
        if not done and (place / "spec.toml").exists():
            more = f" --local {local}" if local is not None else ""
            say(f"Not finished; continue with: evenkeel federate up {folder}{more} --out {place}")
    _tell(place)


def _cast(folder: Path, overrides: list[str] | None, local: int | None) -> "tuple[Server, Spec, tuple[str, ...]]":
    """The federation, the spec, and the sites that run on this machine."""
    from evenkeel.federation.deploy import layout, rehearsing
    from evenkeel.runs import Spec
    from evenkeel.runs.options import GIVEN

    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; `evenkeel federate new {folder}` makes one")
    if not (folder / "spec.toml").is_file():
        raise InputError(f"{folder / 'spec.toml'}: no such file; `evenkeel federate new DIR` writes one")
    spec = Spec.load(folder / "spec.toml", overrides or ())
    if local is not None:
        server, names, spec = rehearsing.rehearsal(folder, spec, local)
        return server, spec, names
    server = layout.opened(folder)
    if spec.data.source != GIVEN:
        rule = "sites bring their own rows"
        raise InputError(
            f'spec.toml: data.source = "{spec.data.source}": {rule}; give "given", or rehearse with --local'
        )
    if not server.sites:
        raise InputError(f"{folder}: has no sites; `evenkeel federate init {folder} --site NAME` adds one")
    return server, spec, ()


def _place(spec: "Spec", out: str | None) -> Path:
    """Where the run goes: a new folder, or the one of the same run."""
    from evenkeel.federation.deploy.following import free_folder, refuse_other
    from evenkeel.runs import Run, store

    place = Path(out) if out is not None else free_folder(spec.name)
    refuse_other(place, spec)
    if store.begun(place) and Run.open(place).finished:
        raise InputError(f"{place}: holds this run, and it is finished; give --out a folder that does not exist yet")
    if not store.begun(place):
        store.refuse_foreign(place)
    return place


def join(folder: Annotated[str, typer.Argument(metavar="DIR", help="The site's folder, as it was sent.")]) -> None:
    """Take part as a site, until Ctrl-C. What ends is started again.

    Example:  evenkeel federate join north
    """
    needed()
    import time

    from evenkeel.federation.deploy import joining, layout

    site = layout.site_opened(Path(folder))
    with interruptible():
        joining.join(site, say, time.sleep)


def stop(folder: Folder) -> None:
    """End what runs in a federation's, a rehearsal's or a site's folder, by process ids.

    Example:  evenkeel federate stop hospitals
    """
    from evenkeel.federation.deploy import processes

    ended = [name for state in states(Path(folder)) for name in processes.stop(state)]
    say(f"ended: {', '.join(ended)}" if ended else "nothing runs here")


def _tell(place: Path) -> None:
    from evenkeel.cli import words
    from evenkeel.runs import Run

    console = stdout()
    console.print(Text(words.headline(Run.open(place).audit()), style="bold"))
    console.print(Text(f"Written to {place}"), soft_wrap=True)
