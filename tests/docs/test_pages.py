"""What the pages say is run: their Python from top to bottom, their commands against the command line's help."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evenkeel.algorithms import ALGORITHMS
from evenkeel.cli.app import app
from evenkeel.data.partitions import PARTITIONS
from evenkeel.data.sources import SOURCES
from evenkeel.indices import INDICES
from evenkeel.sets import SETS
from evenkeel.tasks import MODELS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "decisions" not in p.parts)]
TABLES = (ALGORITHMS, INDICES, MODELS, PARTITIONS, SETS, SOURCES)


def blocks(page, language):
    """The fenced blocks of a language, each with blank lines before it, so that errors have the page's line numbers."""
    text = page.read_text("utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return ["\n" * text[: match.start(1)].count("\n") + match.group(1) for match in found]


@pytest.fixture
def tables():
    """The literal tables, put back as they were: a page may add to them."""
    before = [dict(table) for table in TABLES]
    yield
    for table, old in zip(TABLES, before, strict=True):
        table.clear()
        table.update(old)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.stem)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tables, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__page__"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), space)  # noqa: S102 - our own pages


def commands(page):
    lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [line.partition("#")[0].split() for line in lines if line.strip().startswith("evenkeel ")]


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda p: p.stem)
def test_the_commands_of_a_page_and_their_options_exist(page):
    for words in commands(page):
        names = []
        for word in words[1:]:  # a command may have commands of its own
            if word.startswith(("-", "<")) or not re.fullmatch(r"[a-z]+", word):
                break
            asked = CliRunner().invoke(app, [*names, word, "--help"], terminal_width=200)
            if names and asked.exit_code:
                break
            assert asked.exit_code == 0, f"{page.name}: no such command: {' '.join(words)}"
            names.append(word)
        shown = CliRunner().invoke(app, [*names, "--help"], terminal_width=200).output
        for option in [w.partition("=")[0] for w in words if w.startswith("--")]:
            assert option in shown, f"{page.name}: {option} in {' '.join(words)}"


def test_every_index_has_a_section_with_its_misuse():
    text = (ROOT / "docs" / "indices.md").read_text("utf-8")
    sections = re.findall(r"^## .*$", text, re.MULTILINE)
    named = {name for heading in sections for name in re.findall(r"`(\w+)`", heading)}
    assert named == set(INDICES)
    assert text.count("**Misuse.**") == len(sections)


WRITTEN = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_what_a_page_links_to_is_there(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    notes = {name for name in pages if re.match(r"decisions/\d", name)}  # scripts/handbook/notes.py lists them
    assert set(re.findall(r"(?:: |- )(\S+\.md)$", text, re.MULTILINE)) == pages - notes


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_number_is_still_to_come(page):
    text = page.read_text("utf-8")
    assert re.findall(r"^[A-Z_]{4,}$", text, re.MULTILINE) == []
    assert re.findall(r"<!-- (?!end).* -->\s*<!-- end.*-->", text) == [], "nothing stands between the marks"
