"""Who waits for whom where nothing more can happen: the cycles that are deadlocks."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.semantics._cycles import Around, shortest_cycle, strong_components
from pipeproof.semantics._waitgraph import Node, WaitGraph, build
from pipeproof.semantics.found import Finding, Spot
from pipeproof.semantics.model import Model
from pipeproof.semantics.pairing import pair_signals
from pipeproof.semantics.relations._spots import at
from pipeproof.semantics.relations.running import meetings

__all__ = ["Cycle", "Link", "Node", "cycles"]


class Link(NamedTuple):
    """One that waits for another; `slot` says what is yet to leave the slot that it waits for."""

    waits: Node
    other: Node
    slot: str = ""


class Cycle(NamedTuple):
    """A deadlock: `collective` where only collectives wait for each other.

    `links` lead around it; there are none where ranks wait without a cycle.
    """

    finding: Finding
    collective: bool
    links: tuple[Link, ...] = ()


def cycles(model: Model, happened: npt.NDArray[np.bool_]) -> tuple[Cycle, ...]:
    """Return one shortest cycle for each set of ranks and messages that wait for each other.

    Args:
        model: the schedule under its transport.
        happened: which events have happened where nothing more can.
    """
    graph = build(model, happened)
    parts = (_cycle(model, graph, part) for part in strong_components(graph.nearest))
    found = sorted((each for each in parts if each), key=lambda each: each.finding.spots)
    return tuple(found) or _left_waiting(model, graph)


def _left_waiting(model: Model, graph: WaitGraph) -> tuple[Cycle, ...]:
    """Return where ranks wait without a cycle, if no missing partner or entry explains it.

    A weak message whose sender has left its call leaves its receiver so.
    """
    frame = model.frame
    pairing = frame.pairing
    alone = np.any((pairing.send < 0) | (pairing.receive < 0)) or len(pair_signals(frame.run)[2])
    if alone or not all(meeting.complete for meeting in meetings(frame)):
        return ()
    waiting = [node for node in graph.nodes if not node.posted and node.row >= 0]
    spots = _one_a_row(sorted(at(frame, node.row) for node in waiting))
    if not spots:
        return ()
    why = "; ".join(f"{_name(model, node)} waits for ever" for node in waiting)
    return (Cycle(Finding(spots, {"why": why}), collective=False),)


def _cycle(model: Model, graph: WaitGraph, part: frozenset[int]) -> Cycle | None:
    nodes = shortest_cycle(Around(graph.all, graph.place, graph.inner), part)
    if not nodes:
        return None
    spots = sorted({spot for node in nodes for spot in _spots(model, graph.nodes[node])})
    links = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
    collective = all((a, b) in graph.through_collectives for a, b in links)
    facts = {"why": "; ".join(_say(model, graph, links))}
    told = (Link(graph.nodes[a], graph.nodes[b], _slot(graph, a)) for a, b in links)
    return Cycle(Finding(_one_a_row(spots), facts), collective, tuple(told))


def _slot(graph: WaitGraph, node: int) -> str:
    return "" if graph.nodes[node].posted else graph.slots.get(node, "")


def _one_a_row(spots: list[Spot]) -> tuple[Spot, ...]:
    """Keep one place an instruction, in program order."""
    return tuple(
        {spot.event: spot for spot in reversed(spots)}[event]
        for event in sorted({s.event for s in spots})
    )


def _spots(model: Model, node: Node) -> Iterator[Spot]:
    if node.row >= 0:
        yield at(model.frame, node.row)


def _say(model: Model, graph: WaitGraph, links: list[tuple[int, int]]) -> Iterator[str]:
    alone = len({graph.nodes[a].row for a, _ in links}) == 1
    if alone and links[0][0] not in graph.slots:
        node = graph.nodes[links[0][0]]
        yield f"{_name(model, node)} waits for what comes after it"
    for a, b in links:
        left, right = graph.nodes[a], graph.nodes[b]
        if a in graph.slots and not left.posted:
            yield f"{_name(model, left)} waits for a slot that {graph.slots[a]} is yet to leave"
            continue
        if left.row >= 0 and (left.rank, left.instruction) == (right.rank, right.instruction):
            continue
        yield f"{_name(model, left)} waits for {_name(model, right)}"


def _name(model: Model, node: Node) -> str:
    ops = model.frame.ops
    if node.row < 0:
        return f"rank {node.rank} at {_standing(model, node)}"
    text = model.frame.instruction_text(int(ops.instruction[node.row]))
    return f"{text} of rank {node.rank}" if node.posted else f"rank {node.rank} at {text}"


def _standing(model: Model, node: Node) -> str:
    if node.instruction < 0:
        return "the end of its program"
    return model.frame.instruction_text(node.instruction)
