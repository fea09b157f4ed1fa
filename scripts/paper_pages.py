"""Put what `evenkeel reproduce` and the study left into the handbook: a block between two marks is one of their files.

A mark is `<!-- from NAME.md -->`, its end `<!-- end of NAME.md -->`. Where the file is missing, the block stays.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"<!-- from (\S+\.md) -->\n(.*?)<!-- end of \1 -->", re.DOTALL)


def main() -> None:
    """Fill every page that has a mark."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, default=Path("runs/paper"), help="folder of the reproduction")
    options.add_argument("--docs", type=Path, default=DOCS)
    given = options.parse_args()
    for page in sorted(given.docs.glob("*.md")):
        before = page.read_text("utf-8")
        after = BLOCK.sub(filled(given.out), before)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"{page.name}: written")


def filled(folder: Path) -> Callable[[re.Match[str]], str]:
    """What stands in a block's place: its file between the same marks."""

    def fill(block: re.Match[str]) -> str:
        name, old = block.groups()
        file = folder / name
        if not file.is_file():
            print(f"{file}: not there, its block stays as it is")
        text = file.read_text("utf-8") if file.is_file() else old
        return f"<!-- from {name} -->\n{text.rstrip()}\n<!-- end of {name} -->"

    return fill


if __name__ == "__main__":
    main()
