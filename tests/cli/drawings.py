"""What stands in the DOT text of a diagram, as data."""

import re
from dataclasses import dataclass

import pytest

from pipeproof.cli import run

_NODE = re.compile(r'^\s+(n\d+) \[label="((?:[^"\\]|\\.)*)"(.*)\]$', re.MULTILINE)
_EDGE = re.compile(r"^\s+(n\d+) -> (n\d+) \[(.*)\]$", re.MULTILINE)
_LABEL = re.compile(r'label="([^"]*)"')
_MEANS = {
    ("normal", "", ""): "message",
    ("normal", "", "2.5"): "crossed",
    ("vee", "dashed", ""): "content",
    ("diamond", "dashed", ""): "version",
    ("onormal", "dotted", "2.5"): "must come first",
    ("dot", "dashed", "2.5"): "waits",
    ("onormal", "dotted", ""): "meant",
    ("none", "", ""): "program",
    ("vee", "", "2.5"): "once more",
    ("box", "", "2.5"): "takes away",
    ("odiamond", "", "2.5"): "must agree",
}
_SAID = ("must come first", "once more", "takes away what is needed", "must agree")


@dataclass(frozen=True, slots=True)
class Drawing:
    """Nodes by the first line of what they say, and arrows between them."""

    code: int
    text: str
    err: str
    boxes: dict[str, list[str]]
    arrows: list[str]

    def some(self, means: str) -> list[str]:
        return [each.partition(": ")[2] for each in self.arrows if each.startswith(f"{means}: ")]


def drawing(capsys: pytest.CaptureFixture[str], *argv: str) -> Drawing:
    code = run(["diagram", *argv])
    captured = capsys.readouterr()
    lines = {name: label.split(r"\n") for name, label, _ in _NODE.findall(captured.out)}
    named = {name: _named(own) for name, own in lines.items()}
    arrows = [
        said
        for one, other, look in _EDGE.findall(captured.out)
        if (said := _arrow(named[one], named[other], look))
    ]
    boxes = {name: lines[key] for key, name in named.items()}
    return Drawing(code, captured.out, captured.err, boxes, arrows)


def _named(lines: list[str]) -> str:
    return lines[1] if lines[0] == "FIRST ILLEGAL EVENT" else lines[0]


def _arrow(one: str, other: str, look: str) -> str:
    if "style=invis" in look:
        return ""
    found = _LABEL.search(look)
    lines = [] if found is None else [line.strip() for line in found[1].split(r"\n")]
    lines = [line for line in lines if line not in _SAID]
    label = f" [{' '.join(lines)}]" if lines else ""
    back = "dir=back" in look
    head = _value(look, "arrowtail" if back else "arrowhead")
    means = _MEANS[head, _value(look, "style"), _value(look, "penwidth")]
    ends = (other, one) if back else (one, other)
    return f"{means}: {ends[0]} -> {ends[1]}{label}"


def _value(look: str, key: str) -> str:
    found = re.search(rf"\b{key}=([\w.]+)", look)
    return "" if found is None else found[1]
