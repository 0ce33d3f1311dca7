"""A browser for the tests of the page, one a module: it is closed before others are run."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, sync_playwright

from pipeproof.reports._page import page as page_of

WIDTH, HEIGHT = 1000, 640
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def context() -> Iterator[BrowserContext]:
    """Chromium, which a machine may lack; where it is said to be needed, its absence fails."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        if os.environ.get("PIPEPROOF_NEEDS_BROWSER"):
            pytest.fail("Chromium is not installed")
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        context = started.new_context(reduced_motion="reduce")
        context.set_default_timeout(20_000)
        yield context
        started.close()


@pytest.fixture
def opened(context: BrowserContext, tmp_path: Path) -> Iterator[Open]:
    """Open a page of data; what goes wrong in it, or is asked of the network, fails the test."""
    wrong: list[str] = []
    path = tmp_path / "page.html"
    allowed = (path.as_uri(), "data:font/woff2;")
    tab = context.new_page()
    tab.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    tab.on("console", lambda said: wrong.append(f"{said.type}: {said.text}"))
    tab.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    tab.on("request", lambda asked: wrong.append(asked.url))

    def open_(
        data: str,
        fragment: str = "",
        scheme: str = "light",
        width: int = WIDTH,
        ready: str = "html[data-ready]",
    ) -> Page:
        path.write_text(page_of("A page", "<h1>Refuted</h1>", data), encoding="utf-8")
        tab.set_viewport_size({"width": width, "height": HEIGHT})
        tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        tab.goto(f"{path.as_uri()}{fragment}")
        tab.wait_for_selector(ready, state="attached")
        return tab

    yield open_
    tab.close()
    assert [each for each in wrong if not each.startswith(allowed)] == []
