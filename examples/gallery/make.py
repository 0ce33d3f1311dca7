"""Draws the gallery anew: python examples/gallery/make.py, with Graphviz and Chromium."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
COLOURS = 256
SIZE = {"width": 1280, "height": 800}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def _pipeproof(*argv: str) -> None:
    command = [sys.executable, "-m", "pipeproof", *argv]
    subprocess.run(command, cwd=HERE, check=False)  # noqa: S603  our own command


def main() -> None:
    """Write for each spec its report in text, its diagram, and a picture of its page."""
    PICTURES.mkdir(exist_ok=True)
    specs = sorted(HERE.glob("*.yaml"))
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or shutil.which("dot") is None:
        sys.exit("this needs Graphviz and Chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        tab = opened.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        for spec in specs:
            page = Path(folder) / f"{spec.stem}.html"
            _pipeproof("check", spec.name, "--color", "never", "-o", f"pictures/{spec.stem}.txt")
            _pipeproof("diagram", spec.name, "-o", f"pictures/{spec.stem}.svg")
            _pipeproof("check", spec.name, "--format", "html", "-o", str(page))
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-ready]")
            picture = PICTURES / f"{spec.stem}.png"
            tab.screenshot(path=picture)
            with Image.open(picture) as drawn:
                drawn.convert("RGB").quantize(COLOURS, dither=0).save(picture, optimize=True)
        opened.close()


if __name__ == "__main__":
    main()
