"""Every figure of a page as a file of its own, for papers and slides; drawn by vl-convert, without a browser."""

from collections.abc import Iterator
from typing import Literal

from evenkeel.report import gather, sections
from evenkeel.report.blocks import Block
from evenkeel.report.charts.look import picture
from evenkeel.report.charts.partition import mix_map
from evenkeel.report.content import Content, Mix

Form = Literal["svg", "png", "pdf"]
FORMS: tuple[Form, ...] = ("svg", "png", "pdf")
NARROW, WIDE = 420, 720  # points: a column of a page, and all of it


def pictures(content: Content, form: Form) -> Iterator[tuple[str, bytes]]:
    """Name and content of every figure; a figure of one run at a time is drawn once a run: weights--RUN."""
    tables = gather.tables(content)
    for section in sections.sections(content, tables):
        for figure in section.figures:
            width = WIDE if figure.wide else NARROW
            for name, blocks in _drawn(figure, list(tables[figure.table])):
                yield name, picture(figure.spec, {figure.table: blocks}, form, width=width)


def mixture(mix: Mix, form: Form) -> bytes:
    """The map of clients × classes by itself, of a partition that nobody has trained on yet."""
    return picture(mix_map(), {"mix": [gather.mix_block("", mix)]}, form, width=WIDE)


def _drawn(figure: sections.Figure, blocks: list[Block]) -> list[tuple[str, list[Block]]]:
    if not figure.single:
        return [(figure.id, blocks)]
    return [(f"{figure.id}--{k:02d}-{_plain(str(b.fixed['run']))}", [b]) for k, b in enumerate(blocks, start=1)]


def _plain(run: str) -> str:
    """A run's name as part of a file's.

    >>> _plain("φ = 0.3/../x")
    'φ---0.3----x'
    """
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in run).replace("..", "--")[:60]
