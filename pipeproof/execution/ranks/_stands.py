"""Where each rank comes to stand when nothing more can happen, and what is then under way."""

from dataclasses import dataclass

from pipeproof.execution._events import Events
from pipeproof.execution.orders import Events as Counted
from pipeproof.execution.orders import Guards, extended
from pipeproof.execution.ranks._parcel import END
from pipeproof.ir.actions import Kind

__all__ = ["Standing", "standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """The end of every execution of a schedule.

    `at` is for each rank the instruction at which it stands, `END` at the end of its program, None
    where it has come through. `left` holds, for each rank, the messages and collectives that were
    started and are not complete; `strays` the sends that have left and that nobody receives.
    """

    at: tuple[int | None, ...]
    left: tuple[frozenset[int], ...]
    strays: tuple[int, ...]

    @property
    def is_stuck(self) -> bool:
        """Whether any rank does not come through."""
        return any(each is not None for each in self.at)


def standing(events: Events, guards: Guards) -> Standing:
    """Return where everything stands when nothing more can happen.

    Args:
        events: of the schedule.
        guards: what each event waits for.
    """
    happened = set(extended(guards, Counted(len(events), events.first_transfer)))
    ranks = events.run.schedule.ranks
    at = tuple(_stands(events, happened, rank) for rank in range(ranks))
    left: list[set[int]] = [set() for _ in range(ranks)]
    ops, strays = events.run.operations, []
    for number, each in enumerate(events.transfers):
        moved = events.first_transfer + 2 * number
        for row in (each.send, each.receive):
            begun = row >= 0 and 2 * int(ops.instruction[row]) in happened
            if begun and moved + 1 not in happened:
                left[int(ops.rank[row])].add(row)
        if each.receive < 0 and moved in happened:
            strays.append(each.send)
    for row in ops.is_kind(Kind.COLL).nonzero()[0].tolist():
        instruction = int(ops.instruction[row])
        if 2 * instruction in happened and at[int(ops.rank[row])] == instruction:
            left[int(ops.rank[row])].add(row)
    return Standing(at, tuple(map(frozenset, left)), tuple(strays))


def _stands(events: Events, happened: set[int], rank: int) -> int | None:
    first, last = map(int, events.run.rank_start[rank : rank + 2].tolist())
    for instruction in range(first, last):
        if 2 * instruction + 1 not in happened:
            return instruction
    return None if events.ends + rank in happened else END
