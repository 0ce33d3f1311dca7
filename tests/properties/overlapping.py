"""What the engines say of projected schedules, beside what the state machine sees of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from pipeproof.engines import explore, graph, smt
from pipeproof.engines._order import HappensBefore
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from tests.engines.stored import models
from tests.oracle import overlaps
from tests.oracle.machine import deadlocks
from tests.oracle.projection import Projected, projected
from tests.semantics.made import rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision
    from tests.oracle.instructions import Transport
    from tests.oracle.overlaps import Access, Overlap, Seen

__all__ = ["LIMIT", "compare", "project", "told"]

RULES = rules("PP201", "PP202", "PP204", "PP205", "PP301", "PP501", "PP502", "PP504")
LIMIT = 400
Places = frozenset[tuple[int, int]]


def project(text: str, buffers: int = 0) -> Projected:
    """The schedule of a file, with the placement that reading it finds.

    Raises:
        InputError: the text is no schedule.
    """
    run = lower(spec.read(text, "drawn", ReadOptions())[0].schedule)
    return projected(text, run.placement, run.microbatches, buffers)


def compare(drawn: Projected, transport: Transport, limit: int = LIMIT) -> Counter[str]:
    """Assert that machine and engines say the same of a projected schedule; count what was seen."""
    (model,) = models(drawn.text(transport))
    found = told(model, [engine.decide(model, RULES) for engine in (graph, explore, smt)])
    listed = overlaps.accesses(drawn.programs, drawn.stages)
    maybe = overlaps.conflicts(listed)
    ends = {each.first.end for each in maybe}
    saw = overlaps.seen(drawn.programs, transport, limit, ends)
    reached = [each for each in maybe if saw.reaches(each.second)]
    meeting = [each for each in reached if saw.meet(each)]

    _compare_progress(drawn, transport, found, saw)
    open_ = {
        each for each, known in zip(reached, _ordered(model, reached), strict=True) if not known
    }
    if len(model.weak):  # messages move as late as they may: not every order shows
        assert open_ >= set(meeting)
    else:
        assert open_ == set(meeting)
        _compare_places(found, saw, listed, meeting)
    return Counter(
        {
            "compared": 1,
            "every state": saw.result is not None,
            "stuck": bool(found & {("PP301",), ("PP205",)}) or _is_stuck(found),
            "pairs": len(reached),
            "overlapping": len(meeting),
        }
    )


def told(model: Model, decisions: Sequence[Decision]) -> frozenset[tuple[str, Places]]:
    """What all engines find: the code and the places of each fault."""
    each_found = []
    for decision in decisions:
        places = (
            (each.rule.code, frozenset(map(model.frame.place, each.finding.spots)))
            for each in decision.broken
        )
        each_found.append(frozenset(places))
    open_ = {code for decision in decisions for code in decision.unknown}
    kept = [frozenset(each for each in own if each[0] not in open_) for own in each_found]
    assert len(set(kept)) == 1, kept
    return kept[0]


def _compare_progress(
    drawn: Projected, transport: Transport, found: frozenset[tuple[str, Places]], saw: Seen
) -> None:
    blamed = {(code, _places(at)) for code, at in deadlocks(drawn.programs, transport)}
    assert {each for each in found if each[0] in ("PP301", "PP205")} == blamed
    if saw.result is None:
        return
    lone = {place for code, at in found if code in ("PP201", "PP204") for place in at}
    assert lone == _places([*saw.result.unmatched, *saw.result.unsignalled])
    crossed = {at for code, at in found if code == "PP202"}
    assert crossed == {_places(at) for at in saw.result.mispaired}
    assert not saw.result.stuck or blamed or lone


def _is_stuck(found: frozenset[tuple[str, Places]]) -> bool:
    return any(code in ("PP301", "PP205") for code, _ in found)


def _places(names: Sequence[str] | frozenset[str]) -> Places:
    split = (name[1:].split(".") for name in names)
    return frozenset((int(rank), int(position)) for rank, position in split)


def _ordered(model: Model, pairs: Sequence[Overlap]) -> list[bool]:
    """Which accesses of messages are over in every execution when those behind them start."""
    if not pairs:
        return []
    frame = model.frame
    first = np.asarray([_row(model, each.first) for each in pairs])
    start = [2 * (int(frame.run.rank_start[s.rank]) + s.position) for _, s in pairs]
    known: list[bool] = (
        HappensBefore(model).ordered(frame.completed(first), np.asarray(start)).tolist()
    )
    return known


def _row(model: Model, access: Access) -> int:
    """The row of the message whose access it is."""
    rows = np.flatnonzero(model.frame.run.is_message)
    order = np.lexsort((rows, model.frame.ops.rank[rows]))
    return int(rows[order[access.end]])


def _compare_places(
    found: frozenset[tuple[str, Places]],
    saw: Seen,
    listed: Sequence[Access],
    meeting: Sequence[Overlap],
) -> None:
    """Compare writes in flight, storage given back in flight, and reads before completion."""
    started = {each.place for each in listed if saw.reaches(each)}
    behind = {does: {m.second.place for m in meeting if m.second.does == does} for does in _DOES}
    assert behind["write"] == {p for p in _told(found, "PP502") if p in started}
    fresh = {
        m.second.place for m in meeting if m.second.does == "free" and _holds(listed, m.second)
    }
    assert fresh <= _told(found, "PP504")
    early = {m.second.place for m in meeting if m.first == _source(listed, m.second)}
    assert early <= _told(found, "PP501")


_DOES = ("read", "write", "free")


def _told(found: frozenset[tuple[str, Places]], code: str) -> set[tuple[int, int]]:
    return {place for each, at in found if each == code for place in at}


def _before(listed: Sequence[Access], access: Access) -> list[Access]:
    """What stands before an access on its storage and is no read, the last one last."""
    at = listed.index(access)
    return [
        each
        for each in listed[:at]
        if (each.rank, each.storage) == (access.rank, access.storage) and each.does != "read"
    ]


def _holds(listed: Sequence[Access], access: Access) -> bool:
    """Whether storage that is given back is not free already."""
    before = _before(listed, access)
    return not before or before[-1].does != "free"


def _source(listed: Sequence[Access], access: Access) -> Access | None:
    """What put the value there that a read names, None where something else stands there."""
    before = _before(listed, access)
    if access.does != "read" or not before or before[-1].value != access.value:
        return None
    return before[-1]
