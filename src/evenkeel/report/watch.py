"""`evenkeel watch`: the report of a folder that is still being written, on this machine alone.

Each answer is made from the stored files. The page asks every two seconds with the stamp of what it shows, and gets
an empty answer while no file has changed; so it does not matter whether the run, or this server, dies and comes back.
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from evenkeel.errors import InputError
from evenkeel.report import page, runs, stored
from evenkeel.report.content import Content, Waiting
from evenkeel.runs import Run, store
from evenkeel.runs.mixture import PARTITION

HOST = "127.0.0.1"
_WATCHED = (store.SPEC, store.ENV, store.ROUNDS, store.CLIENTS, store.FINAL, PARTITION)


class Latest:
    """The content of the folders, read anew only when a file has changed."""

    def __init__(self, places: Sequence[Path], tell: runs.Tell) -> None:
        self._places, self._tell, self._lock = places, tell, threading.Lock()
        self._stamp = ""
        self._held: Content | Waiting = Waiting(title=_title(places), says="")

    def get(self) -> tuple[str, Content | Waiting]:
        """The stamp of what is stored now, and what it says; where it cannot be read, what was last read."""
        now = stamp(self._places)
        with self._lock:
            if now != self._stamp:
                try:
                    self._held = runs.content(self._places, self._tell, live=True)
                except (InputError, OSError, ValueError, pl.exceptions.PolarsError) as error:
                    # Not begun, not evaluated, being replaced, or gone for now: all of these may pass.
                    if isinstance(self._held, Waiting):
                        self._held = Waiting(title=_title(self._places), says=str(error))
                self._stamp = now
            return now, self._held


def stamp(places: Sequence[Path]) -> str:
    """Changes whenever a file does that the page is made from.

    >>> stamp([Path("no-such-folder")]) == stamp([Path("no-such-folder")])
    True
    """
    found = []
    for file in [*(folder / name for folder in _folders(places) for name in _WATCHED), *runs.choices(places)]:
        try:
            told = file.stat()
        except OSError:
            continue
        found.append(f"{file} {told.st_mtime_ns} {told.st_size} {told.st_ino}")
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:16]


def _folders(places: Sequence[Path]) -> list[Path]:
    found = []
    for place in places:
        try:
            found += stored.folders(place)
        except InputError:
            found.append(place)
    return found


def going(places: Sequence[Path]) -> str:
    """What the runs are doing, in a few words."""
    states = []
    for folder in _folders(places):
        try:
            states.append(stored.state(Run.open(folder)))
        except (InputError, OSError, ValueError, pl.exceptions.PolarsError):
            states.append("not there yet")
    if len(states) == 1:
        return states[0]
    kinds = [state.split()[0].rstrip(",") for state in states]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def app(places: Sequence[Path], tell: runs.Tell) -> Starlette:
    """The page at /, what is new at /live, and nothing else; other names for this host are refused."""
    latest = Latest(places, tell)

    def whole(_: Request) -> Response:
        return HTMLResponse(page.html(latest.get()[1]), headers=_HEADERS)

    def live(request: Request) -> Response:
        now, held = latest.get()
        headers = {**_HEADERS, "x-state": going(places).encode("ascii", "replace").decode()}
        if request.query_params.get("since") == now:
            return Response(status_code=204, headers=headers)
        return JSONResponse({"stamp": now, **page.fresh(held)}, headers=headers)

    known = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    return Starlette(routes=[Route("/", whole), Route("/live", live)], middleware=[known])


_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff", "x-frame-options": "DENY"}


def serve(places: Sequence[Path], tell: runs.Tell, port: int, ready: Callable[[int], Any]) -> None:
    """Serve until interrupted; `ready` is told the port, which is free to choose if `port` is 0."""
    import socket

    import uvicorn

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"--port {port}: cannot be used ({reason}); give another, or 0 for any") from None
    listener.listen(64)
    config = uvicorn.Config(app(places, tell), log_level="error", access_log=False, lifespan="off", ws="none")
    ready(listener.getsockname()[1])
    uvicorn.Server(config).run(sockets=[listener])


def _title(places: Sequence[Path]) -> str:
    return ", ".join(place.name or str(place) for place in places)
