"""A real browser, where one can be had, and pages opened in it with everything they do written down."""

import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def made(script):
    """What a script of ours has got ready, or the reason why not."""
    done = subprocess.run([SCRIPTS / script], capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f"scripts/{script}: {done.stderr.strip()[-300:] or done.returncode}")
    return done.stdout.strip()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    from playwright.sync_api import sync_playwright

    path = made("browser.sh")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("browser"),
            executable_path=path,
            args=FLAGS,
            viewport={"width": 1280, "height": 900},
        )
        yield context
        context.close()


@pytest.fixture(scope="session")
def axe():
    return Path(made("axe.sh")).read_text("utf-8")


class Opened:
    """A page with what went wrong in it and what it asked of the network."""

    def __init__(self, page, url):
        self.page, self.wrong, self.asked = page, [], []
        page.on("console", lambda m: self.wrong.append(m.text) if m.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(url)

    def drawn(self):
        self.page.wait_for_function("document.documentElement.dataset.drawn === 'all'", timeout=90_000)
        return self


@pytest.fixture
def opened(browser, tmp_path):
    """Open HTML from a file, as somebody would who got it by mail."""
    pages = []

    def open_(html, **media):
        file = tmp_path / f"page-{len(pages)}.html"
        file.write_text(html, "utf-8")
        page = browser.new_page()
        pages.append(page)
        page.emulate_media(color_scheme=media.pop("color_scheme", "light"))
        if media:
            page.set_viewport_size(media)
        return Opened(page, file.as_uri())

    yield open_
    for page in pages:
        page.close()
