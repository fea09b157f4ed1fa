"""The README's picture of a page: `.venv/bin/python scripts/screenshot.py PAGE.html docs/images/report.png`.

The browser is the one that scripts/browser.sh finds or installs. The head, the table and the first figure are shown.
"""

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, UNTIL = 1280, "#figure-losses"
PATIENCE = 300_000  # milliseconds, for a machine that is busy with other things


def main(source: str, target: str) -> None:
    """Open the page from its file, wait until all is drawn, and keep what stands above the second figure."""
    script = Path(__file__).with_name("browser.sh")
    browser = subprocess.run([str(script)], check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - ours
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.set_default_timeout(PATIENCE)
        page.goto(Path(source).resolve().as_uri())
        page.wait_for_function("document.documentElement.dataset.drawn === 'all'")
        box = page.locator(UNTIL).bounding_box()
        if box is None:
            raise SystemExit(f"{source}: has no figure {UNTIL}; give a page of evenkeel report")
        high = box["y"] + box["height"] + 16
        page.set_viewport_size({"width": WIDTH, "height": round(high)})
        page.screenshot(path=target, clip={"x": 0, "y": 0, "width": WIDTH, "height": high})
        chromium.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
