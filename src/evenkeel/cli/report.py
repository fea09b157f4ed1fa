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
    from evenkeel.report.content import Content
    from evenkeel.report.pictures import Form
    from evenkeel.runs.paired import Seeded


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Run folders, or folders that hold runs.")],
    out: Annotated[
        str | None, typer.Option(metavar="PAGE.html", help="The page; report.html in the first folder by default.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="The rows to report on: valid or train; the spec's by default.")
    ] = None,
    figures: Annotated[
        str | None, typer.Option(metavar="DIR", help="Also write every figure as a file, for papers.")
    ] = None,
    form: Annotated[str, typer.Option(metavar="svg|png|pdf", help="What the files of --figures are.")] = "svg",
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
    kind = _form(form)
    with patience("reading the runs"):
        made = stored.content(places, told, split=split)
    save(where, page.html(made))
    console = stdout()
    console.print(Text(made.headline, style="bold"))
    console.print(Text("Written to ").append(str(where)), soft_wrap=True)
    if figures is not None:
        console.print(Text(f"{_draw(made, Path(figures), kind)} figures in {figures}"), soft_wrap=True)


def _form(name: str) -> "Form":
    from evenkeel.report.pictures import FORMS

    found = next((form for form in FORMS if form == name), None)
    if found is None:
        raise InputError(f"--form {name}: must be one of {', '.join(FORMS)}")
    return found


def _draw(content: "Content", folder: Path, form: "Form") -> int:
    """Write every figure; how many there are."""
    from evenkeel.report.pictures import pictures

    count = 0
    with patience("drawing the figures"):
        for name, drawn in pictures(content, form):
            save(folder / f"{name}.{form}", drawn)
            count += 1
    return count


def told(result: "Audit | tuple[Audit, ...] | Comparison | Seeded") -> "tuple[str, Sequence[str]]":
    """A page's headline and the sentences under it, in the words of the terminal.

    >>> from evenkeel.indices import LossTable, audit
    >>> told(audit(LossTable.of(loss=[2.0]), draws=0))
    ('There is one client, with loss 2: nobody to compare it with.', [])
    """
    from evenkeel.cli import words
    from evenkeel.data.table import shown
    from evenkeel.indices import Audit, Comparison

    if isinstance(result, Audit):
        return words.headline(result), []
    if isinstance(result, tuple):
        return words.among(result), []
    if not isinstance(result, Comparison):
        from evenkeel.cli import compare

        return compare.headline(result), [compare.against(result, run) for run in result.others[:9]]
    first = result.audits[result.baseline]
    says = [words.against(result, run) for run in list(result.differences)[:9]]
    return f"«{shown(result.baseline)}»: {words.headline(first)}", says
