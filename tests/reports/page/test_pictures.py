"""The page as a picture, for one kind of violation or state each: within 1 % of pixels.

`PIPEPROOF_UPDATE=1` writes the pictures anew; they are looked at in review.
"""

import os
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.reports.page.cases import CASES
from tests.reports.page.conftest import Open
from tests.reports.page.drawn import settled

GOLDENS = Path(__file__).parent / "goldens"
COLOURS = 64
NEAR = 48  # what a picture of few colours, and smoothing, may change in a channel
LARGEST = 60_000
STATES = {
    "deadlock-dark": ("deadlock", "", "dark", 1000),
    "deadlock-step": ("deadlock", "step=4", "light", 1000),
    "deadlock-narrow": ("deadlock", "", "light", 700),
}
PICTURES = {**{name: (name, "", "light", 1000) for name in CASES}, **STATES}


@pytest.mark.parametrize("name", PICTURES)
def test_it_looks_as_it_did(case: Open, name: str) -> None:
    name_, asked, scheme, width = PICTURES[name]
    page = case(name_, asked, scheme, width)
    settled(page)

    shot = Image.open(BytesIO(page.screenshot(animations="disabled", caret="hide"))).convert("RGB")

    path = GOLDENS / f"{name}.png"
    if os.environ.get("PIPEPROOF_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        shot.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < LARGEST
    golden = np.asarray(Image.open(path).convert("RGB"), np.int16)
    drawn = np.asarray(shot, np.int16)
    assert drawn.shape == golden.shape
    other = np.abs(drawn - golden).max(axis=2) > NEAR
    assert other.mean() < 0.01, f"{name}: {other.mean():.2%} of the pixels are others"


def test_every_picture_is_of_a_case() -> None:
    assert sorted(path.stem for path in GOLDENS.glob("*.png")) == sorted(PICTURES)
