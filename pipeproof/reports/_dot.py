"""A slice as Graphviz DOT: ranks as lanes, time downwards, readable without colours.

What comes from a file reaches DOT only as an escaped label; nodes have names of their own.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise, zip_longest
from textwrap import wrap
from types import MappingProxyType

import graphviz

from pipeproof.reports._slice import Arrow, Box, Means, Slice, State

__all__ = ["LONGEST", "dot", "shown"]

LONGEST = 80
_TITLE = 96
_TITLE_LINES = 9
_TITLE_LONGEST = 1000
_ACCENT = "#a00000"
_STATES: Mapping[State, Mapping[str, str]] = MappingProxyType(
    {
        State.DONE: {"style": "solid"},
        State.POSTED: {"style": "filled,dashed", "fillcolor": "gray93"},
        State.STANDS: {"style": "filled", "fillcolor": "gray85", "penwidth": "2"},
        State.LATER: {"style": "dashed"},
        State.ABSENT: {"style": "dotted", "shape": "ellipse"},
        State.UNTOLD: {"style": "solid"},
    }
)
_FIRST = MappingProxyType(
    {
        "style": "filled",
        "fillcolor": "gray85",
        "shape": "octagon",
        "penwidth": "2.5",
        "color": _ACCENT,
    }
)
_STRONG = {"penwidth": "2.5", "color": _ACCENT, "fontcolor": _ACCENT}
_ARROWS: Mapping[Means, Mapping[str, str]] = MappingProxyType(
    {
        Means.PROGRAM: {"color": "gray50", "fontcolor": "gray30", "arrowhead": "none"},
        Means.MESSAGE: {"arrowhead": "normal"},
        Means.CROSSED: {"arrowhead": "normal", **_STRONG},
        Means.CONTENT: {"style": "dashed", "arrowhead": "vee"},
        Means.VERSION: {"style": "dashed", "arrowhead": "diamond"},
        Means.UNORDERED: {"style": "dotted", "arrowhead": "onormal", **_STRONG},
        Means.WAITS: {"style": "dashed", "arrowhead": "dot", **_STRONG},
        Means.AGAIN: {"arrowhead": "vee", **_STRONG},
        Means.TAKES: {"arrowhead": "box", **_STRONG},
        Means.DIFFERS: {"arrowhead": "odiamond", **_STRONG},
        Means.MEANT: {"style": "dotted", "arrowhead": "onormal"},
    }
)
_SHORT: Mapping[Means, str] = MappingProxyType(
    {
        Means.UNORDERED: "must come first",
        Means.AGAIN: "once more",
        Means.TAKES: "takes away what is needed",
        Means.DIFFERS: "must agree",
    }
)
_UPWARDS = (Means.WAITS, Means.MEANT)


def shown(text: str) -> str:
    """Return text of a file as it may stand in a label: printable, on one line, not too long."""
    return _printable(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def _printable(text: str) -> str:
    escaped = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in escaped)


def dot(drawn: Slice) -> str:
    """Return `drawn` in the language of Graphviz, always the same bytes for the same slice."""
    graph = graphviz.Digraph("violation")
    graph.attr(
        rankdir="TB", newrank="true", nodesep="0.3", ranksep="0.35", labelloc="t", labeljust="l"
    )
    graph.attr(fontname="Helvetica", fontsize="12", label=_label(_title(drawn), r"\l"))
    graph.attr("node", shape="box", fontname="Helvetica", fontsize="11", margin="0.12,0.05")
    graph.attr("edge", fontname="Helvetica", fontsize="10", arrowsize="0.8")
    place = {box.key: n for n, box in enumerate(drawn.boxes)}
    ranks = sorted({box.rank for box in drawn.boxes})
    for rank in ranks:
        graph.node(f"r{rank}", label="", shape="point", width="0.02", style="invis")
        with graph.subgraph(name=f"cluster_{rank}") as lane:
            lane.attr(label=_label([f"rank {rank}"]), color="gray60", labeljust="c")
            for box in drawn.boxes:
                if box.rank == rank:
                    lane.node(f"n{place[box.key]}", label=_label(_lines(box)), **_look(box))
    _in_a_row(graph, [f"r{rank}" for rank in ranks])
    _hang(graph, drawn)
    down = _Downwards()
    _in_order(graph, drawn, down)
    for arrow in drawn.arrows:
        _draw(graph, arrow, place, down)
    _legend(graph, drawn)
    return str(graph.source)


def _draw(
    graph: graphviz.Digraph, arrow: Arrow, place: Mapping[int, int], down: "_Downwards"
) -> None:
    look = dict(_ARROWS[arrow.means])
    before, after = place[arrow.before], place[arrow.after]
    if arrow.means is Means.PROGRAM:
        look["weight"] = "8"
    said = [_SHORT.get(arrow.means, ""), shown(arrow.label)]
    if any(said):
        look["label"] = _label([f" {each} " for each in said if each])
    if not down.takes(arrow):
        look["constraint"] = "false"
        if before > after:  # written the other way round it keeps the lanes in order
            before, after = after, before
            look |= {"dir": "back", "arrowtail": look.pop("arrowhead")}
    graph.edge(f"n{before}", f"n{after}", **look)


def _in_order(graph: graphviz.Digraph, drawn: Slice, down: "_Downwards") -> None:
    """Keep each lane in the order of its program, also where no arrow of the program is drawn."""
    arrows = {each[:3] for each in drawn.arrows}
    for n, (one, other) in enumerate(pairwise(drawn.boxes)):
        if one.rank == other.rank and other.order is not None:
            step = Arrow(one.key, other.key, Means.PROGRAM)
            down.takes(step)
            if step[:3] not in arrows:
                graph.edge(f"n{n}", f"n{n + 1}", style="invis", weight="8")


class _Downwards:
    """Arrows that lead downwards in time, and never around."""

    def __init__(self) -> None:
        self._after: dict[int, list[int]] = {}

    def takes(self, arrow: Arrow) -> bool:
        """Whether the picture may put what an arrow leads to below what it comes from."""
        if arrow.means in _UPWARDS or self._leads(arrow.after, arrow.before):
            return False
        self._after.setdefault(arrow.before, []).append(arrow.after)
        return True

    def _leads(self, start: int, end: int) -> bool:
        todo, seen = [start], {start}
        while todo:
            for other in self._after.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return end in seen


def _label(lines: Iterable[str], ending: str = "") -> str:
    """Return a label of plain text; nothing in it is read as a command or as HTML."""
    parts = [graphviz.escape(line) for line in lines]
    text = "".join(f"{part}{ending}" for part in parts) if ending else r"\n".join(parts)
    label: str = graphviz.nohtml(text)
    return label


def _title(drawn: Slice) -> list[str]:
    said = [_printable(each[:_TITLE_LONGEST]) for each in drawn.title]
    lines = [line for each in said for line in wrap(each, _TITLE)]
    if len(lines) > _TITLE_LINES:
        lines = [*lines[: _TITLE_LINES - 1], "…"]
    if drawn.left_out:
        lines.append(f"{drawn.left_out} more did not fit into the picture")
    return lines


def _lines(box: Box) -> list[str]:
    above = ["FIRST ILLEGAL EVENT"] if box.first else []
    notes = [shown(each) for each in box.notes]
    state = [] if box.state in (State.DONE, State.UNTOLD, State.ABSENT) else [box.state.value]
    return [*above, shown(box.text), *notes, *state]


def _look(box: Box) -> dict[str, str]:
    look = {**_STATES[box.state], **(_FIRST if box.first else {})}
    if box.named:
        look["peripheries"] = "2"
    return look


def _in_a_row(graph: graphviz.Digraph, heads: list[str]) -> None:
    """Keep the lanes in the order of their ranks."""
    with graph.subgraph() as row:
        row.attr(rank="same")
        for one, other in pairwise(heads):
            row.edge(one, other, style="invis")


def _hang(graph: graphviz.Digraph, drawn: Slice) -> None:
    """Hang the first box of each lane, and each box that has no place on it, under its head."""
    hung: set[int] = set()
    for n, box in enumerate(drawn.boxes):
        if box.order is None or box.rank not in hung:
            graph.edge(f"r{box.rank}", f"n{n}", style="invis", weight="20")
            hung.add(box.rank)


def _legend(graph: graphviz.Digraph, drawn: Slice) -> None:
    """Draw what arrows and boxes mean, of those that are there, side by side."""
    means = list(dict.fromkeys(arrow.means for arrow in drawn.arrows))
    boxes = [
        (state.value, {**_STATES[state]}) for state in State if _has(drawn, state) and state.value
    ]
    if any(box.named for box in drawn.boxes):
        boxes.append(("place of the violation", {"peripheries": "2"}))
    with graph.subgraph(name="cluster_legend") as legend:
        legend.attr(label="legend", style="dotted", labeljust="l", fontsize="10")
        legend.attr("node", fontsize="9", margin="0.06,0.02", height="0.2")
        for n, (each, box) in enumerate(zip_longest(means, boxes)):
            with legend.subgraph() as row:
                row.attr(rank="same")
                look = {"style": "invis"} if each is None else _ARROWS[each]
                row.node(f"a{n}", label="", shape="point", width="0.02", style="invis")
                row.node(f"b{n}", label="" if each is None else each.value, shape="plaintext")
                row.edge(f"a{n}", f"b{n}", **look)
                text, style = box or ("", {"style": "invis"})
                row.node(f"c{n}", label=text, **style)
                row.edge(f"b{n}", f"c{n}", style="invis")
        for one, other in pairwise(range(max(len(means), len(boxes)))):
            for column in "abc":
                graph.edge(f"{column}{one}", f"{column}{other}", style="invis", weight="10")


def _has(drawn: Slice, state: State) -> bool:
    return any(box.state is state for box in drawn.boxes)
