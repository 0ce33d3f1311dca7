"""Whether ranks stand for ever where they are said to, by what each event waits for."""

from collections.abc import Iterable

from pipeproof.execution._events import Events
from pipeproof.execution.orders import Events as Numbered
from pipeproof.execution.orders import Guards, Style, extended
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.transport import Match

__all__ = ["are_passed", "wait_in_part"]


def are_passed(run: AsRun, match: Match, guards: Guards, places: Iterable[tuple[int, int]]) -> bool:
    """Whether some execution completes everything that stands at some places.

    An operation is complete when it is done and its message has moved.

    Args:
        run: the schedule as run.
        match: what pairs a send with a receive.
        guards: what each event waits for.
        places: as (rank, position).
    """
    events = Events(run, match)
    wanted = _completing(events, set(places))
    numbered = Numbered(len(events), events.first_transfer)
    return bool(wanted) and any(
        wanted <= set(extended(guards, numbered, style=style)) for style in Style
    )


def wait_in_part(run: AsRun, match: Match, places: Iterable[tuple[int, int]]) -> bool:
    """Whether a collective at some places has a root, so that not all that take part must wait."""
    events, ops, at = Events(run, match), run.operations, set(places)
    return any(
        ("from" in ops.attributes.get(row, {}) or "to" in ops.attributes.get(row, {}))
        and (int(ops.rank[row]), events.position(row)) in at
        for row in ops.is_kind(Kind.COLL).nonzero()[0].tolist()
    )


def _completing(events: Events, places: set[tuple[int, int]]) -> set[int]:
    """Return the events with which all that stands at some places is complete."""
    found: set[int] = set()
    for instruction, rows in enumerate(events.rows):
        for row in rows:
            if (int(events.run.operations.rank[row]), events.position(row)) not in places:
                continue
            found.add(2 * instruction + 1)
            if row in events.sent:
                found.add(events.first_transfer + 2 * events.sent[row])
            if row in events.received:
                found.add(events.first_transfer + 2 * events.received[row] + 1)
    return found
