"""A browser with one tab for the tests of the page: it is closed before others are run."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, sync_playwright

from pipeproof.reports._page import page as page_of
from tests.reports.page.cases import CASES
from tests.reports.page.made import page_data

WIDTH, HEIGHT = 1000, 640
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")

FONT = "data:font/woff2;"
AGAIN = """(hash) => {
  document.activeElement.blur();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  const search = document.getElementById("search");
  search.value = "";
  search.dispatchEvent(new Event("input"));
  for (const [id, wanted] of [["cause", "true"], ["colour", "false"]]) {
    const button = document.getElementById(id);
    if (button.getAttribute("aria-pressed") !== wanted) button.click();
  }
  document.getElementById("view").scrollTo(0, 0);
  document.getElementById("table").replaceChildren();
  location.hash = hash;
  return new Promise((done) => {
    const look = () => (location.hash === hash ? setTimeout(look, 5) : done());
    look();
  });
}"""  # what steers the page is put back, and what an address asks for is opened

Open = Callable[..., Page]


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab, and what went wrong in it or was asked for since it was last looked at."""

    page: Page
    wrong: list[str] = field(default_factory=list)


@pytest.fixture(scope="package")
def browser() -> Iterator[BrowserContext]:
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


def _watched(context: BrowserContext) -> Tab:
    tab = Tab(context.new_page())
    tab.page.on("pageerror", lambda error: tab.wrong.append(f"error: {error}"))
    tab.page.on("console", lambda said: tab.wrong.append(f"{said.type}: {said.text}"))
    tab.page.on("dialog", lambda dialog: tab.wrong.append(f"dialog: {dialog.message}"))
    tab.page.on("request", lambda asked: tab.wrong.append(asked.url))
    return tab


@pytest.fixture(scope="package")
def tab(browser: BrowserContext) -> Tab:
    """The tab in which one page after another is opened."""
    return _watched(browser)


@pytest.fixture(scope="package")
def cases_tab(browser: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Tab:
    """A tab with a page of all cases, a file each, that is loaded once."""
    tab = _watched(browser)
    path = tmp_path_factory.mktemp("page") / "cases.html"
    data = page_data(*(make().file() for make in CASES.values()))
    path.write_text(page_of("A page", "<h1>Refuted</h1>", data), encoding="utf-8")
    tab.page.goto(path.as_uri())
    tab.page.wait_for_selector("html[data-ready]", state="attached")
    assert [each for each in tab.wrong if not each.startswith((path.as_uri(), FONT))] == []
    return tab


@pytest.fixture
def case(cases_tab: Tab) -> Iterator[Open]:
    """Open a case as a page of that one file opens; what goes wrong in it fails the test."""
    page = cases_tab.page
    page.bring_to_front()
    page.mouse.move(0, 0)
    cases_tab.wrong.clear()

    def case_(name: str, asked: str = "", scheme: str = "light", width: int = WIDTH) -> Page:
        _look(page, scheme, width)
        page.evaluate(AGAIN, f"#again&file={[*CASES].index(name)}&{asked}")
        page.evaluate("document.getElementById('choose-file').hidden = true")
        return page

    yield case_
    allowed = (page.url.partition("#")[0], FONT)
    assert [each for each in cases_tab.wrong if not each.startswith(allowed)] == []


@pytest.fixture
def deadlock(case: Open) -> Page:
    """The page of a deadlock as it opens."""
    return case("deadlock")


def _look(page: Page, scheme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(media="null", color_scheme="dark" if scheme == "dark" else "light")


@pytest.fixture
def opened(tab: Tab, tmp_path: Path) -> Iterator[Open]:
    """Open a page of data; what goes wrong in it, or is asked of the network, fails the test."""
    numbers = count()
    page = tab.page
    page.bring_to_front()
    page.mouse.move(0, 0)
    tab.wrong.clear()

    def open_(
        data: str,
        fragment: str = "",
        scheme: str = "light",
        width: int = WIDTH,
        ready: str = "html[data-ready]",
    ) -> Page:
        path = tmp_path / f"{next(numbers)}.html"
        path.write_text(page_of("A page", "<h1>Refuted</h1>", data), encoding="utf-8")
        _look(page, scheme, width)
        page.goto(f"{path.as_uri()}{fragment}")
        page.wait_for_selector(ready, state="attached")
        return page

    yield open_
    allowed = (f"{tmp_path.as_uri()}/", FONT)
    assert [each for each in tab.wrong if not each.startswith(allowed)] == []
