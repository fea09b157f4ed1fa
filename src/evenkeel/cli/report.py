"""`evenkeel report`: one page of stored runs that anybody can open."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from evenkeel.cli.save import save
from evenkeel.cli.screen import patience, stdout
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.indices import Audit, Comparison


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Run folders, or folders that hold runs.")],
    out: Annotated[
        str | None, typer.Option(metavar="PAGE.html", help="The page; report.html in the first folder by default.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="The rows to report on: valid or train; the spec's by default.")
    ] = None,
) -> None:
    """Put stored runs on one page: who is worse off, by how much, and how it came to that.

    Several runs stand side by side, the first as the one to compare with. Seeds of one spec are gathered.

    Example: evenkeel report runs/fedavg runs/scaff-pd-ia --out page.html
    """
    from evenkeel.report import page
    from evenkeel.report import runs as stored

    places = [Path(run) for run in runs]
    where = Path(out) if out else places[0] / "report.html"
    if where.suffix != ".html" or where.is_dir():
        raise InputError(f"--out {where}: must be a page; give a name that ends in .html")
    with patience("reading the runs"):
        made = stored.content(places, told, split=split)
    save(where, page.html(made))
    console = stdout()
    console.print(Text(made.headline, style="bold"))
    console.print(Text("Written to ").append(str(where)), soft_wrap=True)


def told(result: "Audit | tuple[Audit, ...] | Comparison") -> "tuple[str, Sequence[str]]":
    """A page's headline and the sentences under it, in the words of the terminal.

    >>> from evenkeel.indices import LossTable, audit
    >>> told(audit(LossTable.of(loss=[2.0]), draws=0))
    ('There is one client, with loss 2: nobody to compare it with.', [])
    """
    from evenkeel.cli import words
    from evenkeel.data.table import shown
    from evenkeel.indices import Audit

    if isinstance(result, Audit):
        return words.headline(result), []
    if isinstance(result, tuple):
        return words.among(result), []
    first = result.audits[result.baseline]
    says = [words.against(result, run) for run in list(result.differences)[:9]]
    return f"«{shown(result.baseline)}»: {words.headline(first)}", says
