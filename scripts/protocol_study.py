"""Run the protocol study (or some of it) and write its table into the docs: `make study`, or with --only NAME …"""

import argparse
from pathlib import Path

from rich.console import Console

from evenkeel.paper.study import study, table
from evenkeel.paper.variants import VARIANTS

BEGIN, END = "<!-- study: written by scripts/protocol_study.py -->", "<!-- end of study -->"
PAGE = Path(__file__).parents[1] / "docs" / "table1-protocol-study.md"


def main() -> None:
    """Run, then write."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, default=Path("runs/paper"))
    options.add_argument("--only", nargs="*", default=list(VARIANTS))
    options.add_argument("--processes", type=int, default=0)
    options.add_argument("--no-run", action="store_true", help="write the table of what is there")
    options.add_argument("--page", type=Path, default=PAGE)
    given = options.parse_args()
    if not given.no_run:
        study(given.only, given.out, console=Console(stderr=True), asked=given.processes)
    write(given.page, "\n".join(table(given.out)))


def write(page: Path, lines: str) -> None:
    """Put the table between its marks."""
    text = page.read_text("utf-8") if page.exists() else f"{BEGIN}\n{END}\n"
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{lines}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
