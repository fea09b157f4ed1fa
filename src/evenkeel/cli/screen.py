"""What reaches the terminal: consoles, one-line complaints, and a sign of life when something takes long."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text


def stdout() -> Console:
    """Standard output as it is now (tests and pipes replace it)."""
    return Console(highlight=False)


def stderr() -> Console:
    """Standard error as it is now."""
    return Console(stderr=True, highlight=False)


def complain(message: str, code: int) -> int:
    """Print one line on standard error, whatever the message holds, and hand back the exit code."""
    from evenkeel.data.table import shown

    line = Text("error: ", style="bold red").append(shown(message, most=2000), style="not bold default")
    stderr().print(line, soft_wrap=True)
    return code


def plain(text: object, most: int = 60) -> Text:
    """A user's text for the terminal: no markup is read in it, no control character gets through.

    >>> plain("[red]a" + chr(27)).plain
    '[red]a\\\\x1b'
    """
    from evenkeel.data.table import shown  # polars takes a while; --help does without

    return Text(shown(text, most=most))


@contextmanager
def patience(doing: str, after: float = 2.0) -> Iterator[None]:
    """Show on standard error what takes so long, once it has taken `after` seconds; nothing where nobody looks."""
    console = stderr()
    if not console.is_terminal:
        yield
        return
    status = console.status(plain(doing, most=200))
    timer = threading.Timer(after, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
