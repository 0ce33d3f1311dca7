"""How long the page of a result takes to open, beside the same boxes as one SVG.

Run as `python tests/benchmarks/bench_page.py`; it needs Chromium. Each grid of ranks by operations
is opened from a file in a headless browser: seconds from the start of the navigation to the frame
after the first drawing, as the page's own clock tells, the best of three. The SVG holds a rectangle
and a text for each box, and is left out for the larger grid. It prints a table.
"""

import json
import os
import platform
import shutil
import tempfile
from base64 import b64encode
from pathlib import Path
from zlib import compress

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from pipeproof.reports._page import page

RUNS = 3
SIZES = ((64, 1000), (256, 2000))
MOST_IN_SVG = 100_000  # with more boxes it takes minutes
NAMES = ("chromium", "chromium-browser", "google-chrome")
AFTER_A_FRAME = """
new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))
"""


def packed(values: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> object:
    """Return a column as a page holds it."""
    held = b64encode(compress(values.astype("<i4").tobytes())).decode()
    return {"n": len(values), "z": held}


def as_page(ranks: int, operations: int) -> str:
    """Return a page of ranks that compute forwards, then backwards, one after the other."""
    count = ranks * operations
    rank, position = np.divmod(np.arange(count), operations)
    half = operations // 2
    zeros, start = np.zeros(count, np.int64), rank + position
    columns = {
        "rank": rank,
        "position": position,
        "kind": position // half % 2,
        "text": zeros - 1,
        "stage": rank,
        "microbatch": position % half,
        "line": rank + 1,
        "column": position,
        "lane": zeros,
        "group": zeros - 1,
    }
    inner = np.flatnonzero((rank < ranks - 1) & (position < half))
    edges = {"before": inner, "after": inner + operations, "means": zeros[: len(inner)]}
    grid = {
        "ranks": ranks,
        "kinds": ["F", "B"],
        "texts": [],
        **{name: packed(column) for name, column in columns.items()},
        "edges": {name: packed(column) for name, column in edges.items()},
        "edge_means": ["message"],
    }
    layout = {
        "axis": "steps",
        "start": packed(start),
        "end": packed(start + 1),
        "happened": packed(zeros + 1),
        "frontier": None,
        "span": int(start[-1]) + 1,
        "ticks_per_unit": 1,
    }
    view = {
        "transport": "rendezvous",
        "verdict": "proved",
        "engine": "graph",
        "assumes": [],
        "notes": [],
        "unknown": [],
        "warnings": [],
        "grid": grid,
        "no_grid": None,
        "violations": [],
        "layouts": [layout],
        "steps": None,
        "no_steps": "",
    }
    file = {"path": "p", "title": "", "verdict": "proved", "facts": [], "notes": [], "errors": []}
    files = [{**file, "views": [view]}]
    data = {"schema": "pipeproof.page/1", "tool": "", "verdict": "proved", "files": files}
    return page("p", "", json.dumps(data))


def as_svg(ranks: int, operations: int) -> str:
    """Return the same boxes as one SVG in a page."""
    half = operations // 2
    boxes = [
        f'<rect x="{30 * (rank + at)}" y="{30 * rank}" width="29" height="26" fill="{fill}"/>'
        f'<text x="{30 * (rank + at) + 3}" y="{30 * rank + 17}">{rank}{kind}{at % half}</text>'
        for rank in range(ranks)
        for at in range(operations)
        for kind, fill in [(("F", "#b5d0f4"), ("B", "#f8cd95"))[at // half % 2]]
    ]
    wide, high = 30 * (ranks + operations), 30 * ranks
    return f'<!doctype html><svg width="{wide}" height="{high}">{"".join(boxes)}</svg>'


def opens(browser: Browser, path: Path) -> float:
    """Return the seconds until a file is drawn."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.set_default_timeout(120_000)
    tab.goto(path.as_uri(), wait_until="commit")
    if tab.wait_for_selector("svg, #picture[style]", state="attached") is None:
        message = "nothing is drawn"
        raise RuntimeError(message)
    tab.wait_for_load_state("load")
    seconds = float(tab.evaluate(AFTER_A_FRAME)) / 1000
    tab.close()
    return seconds


def main() -> None:
    """Print the table."""
    chromium = next(filter(None, map(shutil.which, NAMES)))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        machine = f"{platform.machine()}, {os.cpu_count()} cores, Chromium {browser.version}"
        print(f"{machine}; load {os.getloadavg()[0]:.1f}; best of {RUNS}")
        print(f"{'boxes':>12} {'page, s':>8} {'MB':>6} {'SVG, s':>8} {'MB':>6}")
        for ranks, operations in SIZES:
            texts = [as_page(ranks, operations)]
            if ranks * operations <= MOST_IN_SVG:
                texts.append(as_svg(ranks, operations))
            said = ""
            for number, text in enumerate(texts):
                path = Path(folder) / f"{number}.html"
                path.write_text(text, encoding="utf-8")
                best = min(opens(browser, path) for _ in range(RUNS))
                said += f" {best:8.2f} {path.stat().st_size / 1e6:6.1f}"
            print(f"{f'{ranks} x {operations}':>12}{said}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
