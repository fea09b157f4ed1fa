"""Run the protocol study (or some of it) and write its table: `make study`, or with --only NAME …"""

import argparse
from pathlib import Path

from rich.console import Console

from evenkeel.paper.study import study, table
from evenkeel.paper.variants import VARIANTS


def main() -> None:
    """Run, then write OUT/protocol-study.md, which scripts/paper_pages.py puts into the handbook."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, default=Path("runs/paper"))
    options.add_argument("--only", nargs="*", default=list(VARIANTS))
    options.add_argument("--processes", type=int, default=0)
    options.add_argument("--no-run", action="store_true", help="write the table of what is there")
    given = options.parse_args()
    if not given.no_run:
        study(given.only, given.out, console=Console(stderr=True), asked=given.processes)
    page = given.out / "protocol-study.md"
    page.write_text("\n".join(table(given.out)) + "\n", "utf-8")
    print(f"Written to {page}")


if __name__ == "__main__":
    main()
