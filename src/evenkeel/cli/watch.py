"""`evenkeel watch`: the report of runs that are still going on, in a browser on this machine."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from evenkeel.cli.report import told
from evenkeel.cli.screen import patience, stdout
from evenkeel.errors import InputError


def watch(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A run's folder, or one that holds runs.")],
    port: Annotated[int, typer.Option(help="The port; 0 takes any free one.")] = 8765,
) -> None:
    """Follow a run or a sweep while it goes on, in a browser on this machine. Ctrl-C ends it, and not the run.

    Example: evenkeel watch runs/digits
    """
    if not 0 <= port < 65536:
        raise InputError(f"--port {port}: must lie in [0, 65535]; give another, or 0 for any")
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{folder}: is a file; give a run's folder")
    with patience("loading"):
        try:
            from evenkeel.report.watch import HOST, serve
        except ImportError:
            raise InputError("watching needs the extra `report`: pip install 'evenkeel[report]'") from None

    def ready(taken: int) -> None:
        stdout().print(Text(f"Watching {folder} at http://{HOST}:{taken}/ (Ctrl-C ends)"), soft_wrap=True)

    serve([Path(folder)], told, port, ready)
