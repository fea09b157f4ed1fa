"""The handbook's tables are the command's own files: what a figure writes, and how a page takes it."""

import runpy
from pathlib import Path

import pytest

from evenkeel.cli.figure_page import markdown
from evenkeel.paper.claims import Claim, Figure, Table

ROOT = Path(__file__).parents[2]
PAGES = runpy.run_path(str(ROOT / "scripts" / "paper_pages.py"))
MARKED = [p for p in (ROOT / "docs").glob("*.md") if "<!-- from " in p.read_text("utf-8")]


def test_a_figure_as_markdown_has_its_tables_claims_notes_and_verdict():
    figure = Figure(
        title="A figure",
        draw=lambda result: None,
        claims=(Claim(what="|x|", printed="< 1", ours="2", agrees=False),),
        result={},
        tables=(Table(title="Sizes", headings=("name", "n"), rows=(("a", "1"),)),),
        notes=("One seed.",),
    )
    assert markdown(figure).splitlines() == [
        "**A figure**",
        "",
        "*Sizes*",
        "",
        "| name | n |",
        "|---|---:|",
        "| a | 1 |",
        "",
        "| what | printed | ours |  |",
        "|---|---|---:|---|",
        "| \\|x\\| | &lt; 1 | 2 | differs |",
        "",
        "- One seed.",
        "",
        "Verdict: agrees with the paper in 0 of 1 points.",
    ]


def test_a_page_takes_the_files_that_are_there_and_keeps_the_rest(tmp_path):
    (tmp_path / "new.md").write_text("fresh\n")
    blocks = (f"<!-- from {name}.md -->\n{name} held\n<!-- end of {name}.md -->\n" for name in ("new", "gone"))
    page = "between\n".join(blocks)
    once = PAGES["BLOCK"].sub(PAGES["filled"](tmp_path), page)
    assert once == page.replace("new held", "fresh")
    assert PAGES["BLOCK"].sub(PAGES["filled"](tmp_path), once) == once


@pytest.mark.parametrize("page", MARKED, ids=lambda p: p.stem)
def test_no_block_of_the_handbook_is_empty_or_left_open(page):
    text = page.read_text("utf-8")
    blocks = PAGES["BLOCK"].findall(text)
    assert len(blocks) == text.count("<!-- from ")
    assert all(held.strip() for _, held in blocks)
