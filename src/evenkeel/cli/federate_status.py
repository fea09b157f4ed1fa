"""`evenkeel federate status`: what runs here, who is there, how far the run is."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from evenkeel.cli.federating import Folder, states
from evenkeel.cli.save import as_json
from evenkeel.cli.screen import stdout
from evenkeel.errors import RunFailedError


def status(
    folder: Folder, json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False
) -> None:
    """Say what runs here, which sites are there, and how far the last run is.

    Example:  evenkeel federate status hospitals
    """
    found = [_found(state) for state in states(Path(folder))]
    if json:
        typer.echo(as_json({"kind": "federation", "places": found}))
        return
    for place in found or [{"place": folder, "processes": {}}]:
        for line in _lines(place):
            stdout().print(Text(line), soft_wrap=True)


def _found(state: Path) -> dict[str, Any]:
    """What is known of one place."""
    from evenkeel.federation.deploy import layout, processes

    held = processes.running(state)
    out: dict[str, Any] = {"place": str(state.parent), "processes": held.get("children", {})}
    if state.parent.name != "server":
        return out
    server = layout.opened(state.parent.parent)
    if "superlink" in out["processes"]:
        with suppress(RunFailedError, ImportError):
            from evenkeel.federation.deploy.control import Control

            out["sites"] = [{"name": node.name, "online": node.online} for node in Control.of(server).nodes()]
    if server.last_run is not None:
        out["run"] = _run(server.last_run)
    return out


def _run(folder: Path) -> dict[str, Any]:
    """How far a run is; its round is null where none has begun."""
    from evenkeel.runs import Run, store

    out: dict[str, Any] = {"folder": str(folder), "round": None}
    if not store.begun(folder):
        return out
    run = Run.open(folder)
    rows = run.rounds.to_dicts()
    scored = [row for row in rows if row.get("mean") is not None]
    out |= {"rounds": run.spec.rounds, "finished": run.finished}
    out |= {"round": rows[-1]["round"] if rows else None}
    return out | ({"mean": scored[-1]["mean"], "R": scored[-1]["R"]} if scored else {})


def _lines(place: Mapping[str, Any]) -> list[str]:
    alive = ", ".join(f"{name} {pid}" for name, pid in place["processes"].items()) or "nothing runs"
    sites = [f"  {site['name']:<20} is{'' if site['online'] else ' not'} there" for site in place.get("sites", ())]
    return [f"{place['place']}: {alive}", *sites, *([f"  {_told(place['run'])}"] if "run" in place else [])]


def _told(run: Mapping[str, Any]) -> str:
    """A run in one line.

    >>> _told({"folder": "runs/a", "round": 3, "rounds": 20, "finished": False, "mean": 1.25, "R": 2.0})
    'runs/a: round 3 of 20, mean loss 1.25, R 2'
    """
    if run["round"] is None:
        return f"{run['folder']}: has not begun: it waits for the sites"
    far = f"finished, {run['rounds']} rounds" if run["finished"] else f"round {run['round']} of {run['rounds']}"
    return f"{run['folder']}: {far}" + (f", mean loss {run['mean']:.4g}, R {run['R']:.4g}" if "mean" in run else "")
