"""A hook of MkDocs: decision notes list themselves in the navigation and on their first page; none is left out."""

from pathlib import Path
from typing import Any

FOLDER = "decisions"
FIRST = f"{FOLDER}/index.md"


def on_config(config: Any) -> Any:  # noqa: ANN401 - MkDocs' own type
    """Put the notes under the entry that holds their first page."""
    for entry in config.nav:
        for pages in entry.values() if isinstance(entry, dict) else ():
            if isinstance(pages, list) and FIRST in pages:
                pages += [{heading(note): f"{FOLDER}/{note.name}"} for note in notes(Path(config.docs_dir))]
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:  # noqa: ANN401 - MkDocs' own types
    """End the first page with a link to each note."""
    if page.file.src_uri != FIRST:
        return markdown
    return "\n".join([markdown, *(f"- [{heading(note)}]({note.name})" for note in notes(Path(config.docs_dir)))])


def notes(docs: Path) -> list[Path]:
    """The notes by number."""
    return sorted((docs / FOLDER).glob("[0-9]*.md"))


def heading(note: Path) -> str:
    """Its first line, without the sign of a heading."""
    return note.read_text("utf-8").partition("\n")[0].lstrip("# ")
