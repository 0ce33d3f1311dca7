"""What a page says that it has drawn."""

from typing import TypedDict

from playwright.sync_api import Page

__all__ = ["Drawn", "drawn", "settled"]


class _Box(TypedDict):
    op: int
    text: str
    label: str
    kind: str
    pattern: str
    state: str
    x: float
    y: float
    width: float
    height: float
    dimmed: bool
    outlined: bool
    current: bool
    lit: str | None
    hit: bool


class _Arrow(TypedDict):
    before: int
    after: int
    means: str
    label: str
    toX: float
    toY: float


class _Row(TypedDict):
    name: str
    before: str
    after: str
    changed: bool


class _Table(TypedDict):
    group: str
    rows: list[_Row]
    more: int


class _Extra(TypedDict):
    id: int
    text: str


class Drawn(TypedDict):
    """The picture and the words around it; boxes by operation, arrows in the order drawn."""

    boxes: list[_Box]
    arrows: list[_Arrow]
    brackets: list[list[int]]
    labels: list[str]
    extras: list[_Extra]
    frontier: int | None
    view: str | None
    violation: int
    step: int | None
    steps: int
    pinned: int
    focus: int
    headline: str
    panel: str
    event: str
    tables: list[_Table]
    camera: dict[str, float] | None


def drawn(page: Page) -> Drawn:
    """Return what is drawn, once the page has caught up with what it was asked."""
    settled(page)
    held: Drawn = page.evaluate("pipeproofDrawn()")
    held["boxes"].sort(key=lambda box: box["op"])
    return held


def settled(page: Page) -> None:
    """Wait for two frames: what is asked for in one is drawn in the next."""
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
    )
