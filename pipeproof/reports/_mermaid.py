"""A slice as a Mermaid flowchart, which GitHub draws where Markdown stands: ranks as lanes.

What comes from a file reaches the flowchart only as labels, in which every character but ASCII
letters, digits and spaces is written by its number: it can neither end a label, nor be Markdown,
HTML, an icon or a directive. Nodes have names of their own and lead nowhere. Source: Mermaid,
Flowcharts, "Special characters that break syntax" and "Entity codes to escape characters".
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from pipeproof.reports._clean import clean
from pipeproof.reports._slice import Arrow, Box, Means, Slice, State

__all__ = ["LONGEST", "MOST", "mermaid"]

LONGEST = 45_000
"""How many characters a flowchart has at most; Mermaid refuses more than 50,000."""
MOST = 400
"""How many arrows are drawn; Mermaid refuses more than 500."""

_WIDTHS = (80, 40, 20)
_LINKS: Mapping[Means, str] = MappingProxyType(
    {
        Means.PROGRAM: "---",
        Means.MESSAGE: "-->",
        Means.CROSSED: "==>",
        Means.CONTENT: "-.->",
        Means.VERSION: "-.->",
        Means.UNORDERED: "-.->",
        Means.WAITS: "==>",
        Means.AGAIN: "==>",
        Means.TAKES: "==>",
        Means.DIFFERS: "==>",
        Means.MEANT: "-.->",
    }
)
_STRONG = (
    Means.CROSSED,
    Means.UNORDERED,
    Means.WAITS,
    Means.AGAIN,
    Means.TAKES,
    Means.DIFFERS,
)
_UNNAMED = (Means.PROGRAM, Means.MESSAGE)
_CLASSES = MappingProxyType(
    {
        "illegal": "fill:#dddddd,stroke:#a00000,stroke-width:4px,color:#000000",
        "named": "stroke-width:4px",
        "later": "stroke-dasharray:6 4",
        "absent": "stroke-dasharray:2 3",
    }
)


def mermaid(drawn: Slice) -> str | None:
    """Return `drawn` as a flowchart, None where it does not fit into one.

    Labels are cut shorter where that makes it fit; equal slices, equal bytes.
    """
    texts = ("\n".join(_lines(drawn, width)) + "\n" for width in _WIDTHS)
    return next((text for text in texts if len(text) <= LONGEST), None)


def _lines(drawn: Slice, width: int) -> Iterator[str]:
    place = {box.key: n for n, box in enumerate(drawn.boxes)}
    yield "flowchart TB"
    for rank in sorted({box.rank for box in drawn.boxes}):
        yield f'  subgraph r{rank}["rank {rank}"]'
        for box in drawn.boxes:
            if box.rank == rank:
                yield f'    n{place[box.key]}["{_label(_said(box), width)}"]'
        yield "  end"
    arrows = drawn.arrows[:MOST]
    for arrow in arrows:
        yield f"  n{place[arrow.before]} {_link(arrow, width)} n{place[arrow.after]}"
    strong = [str(n) for n, arrow in enumerate(arrows) if arrow.means in _STRONG]
    if strong:
        yield f"  linkStyle {','.join(strong)} stroke:#a00000,stroke-width:3px"
    yield from _styles(drawn.boxes)


def _link(arrow: Arrow, width: int) -> str:
    named = () if arrow.means in _UNNAMED else (arrow.means.value,)
    said = ": ".join([*named, *([arrow.label] if arrow.label else [])])
    return _LINKS[arrow.means] + (f'|"{_label([said], width)}"|' if said else "")


def _said(box: Box) -> list[str]:
    above = ["FIRST ILLEGAL EVENT"] if box.first else []
    state = [] if box.state in (State.DONE, State.UNTOLD) else [f"({box.state.value})"]
    return [*above, box.text, *box.notes, *state]


def _label(lines: Iterable[str], width: int) -> str:
    return "<br/>".join(_escaped(line, width) for line in lines) or "#32;"


def _escaped(text: str, width: int) -> str:
    cut = text if len(text) <= width else f"{text[: width - 1]}…"
    return "".join(
        c if (c.isascii() and c.isalnum()) or c == " " else f"#{ord(c)};" for c in clean(cut)
    )


def _styles(boxes: Iterable[Box]) -> Iterator[str]:
    members: dict[str, list[str]] = {}
    for n, box in enumerate(boxes):
        for name in _classes(box):
            members.setdefault(name, []).append(f"n{n}")
    for name, style in _CLASSES.items():
        if name in members:
            yield f"  classDef {name} {style}"
            yield f"  class {','.join(members[name])} {name}"


def _classes(box: Box) -> Iterator[str]:
    if box.first:
        yield "illegal"
    elif box.named:
        yield "named"
    if box.state is State.ABSENT:
        yield "absent"
    elif box.state is State.LATER:
        yield "later"
