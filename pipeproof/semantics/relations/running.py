"""How a rank runs its program, alone and with others: order, collectives, signals."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.found import Edges
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.pairing import pair_signals
from pipeproof.semantics.relations._ties import owners

__all__ = ["Meeting", "collective", "collective_order", "issue", "meetings", "program", "signalled"]


def program(frame: Frame) -> Edges:
    """An instruction starts after the one before it on its rank ended, a program ends after all."""
    bounds = frame.run.rank_start
    last = np.zeros(frame.instructions, np.bool_)
    busy = np.flatnonzero(np.diff(bounds) > 0)
    last[bounds[busy + 1] - 1] = True
    inner = np.flatnonzero(~last)
    within = np.stack((2 * inner + 1, 2 * inner + 2), axis=1)
    closing = np.stack((2 * (bounds[busy + 1] - 1) + 1, frame.ends + busy), axis=1)
    return Edges(np.concatenate((within, closing)))


def issue(frame: Frame) -> Edges:
    """An instruction ends after it started."""
    number = np.arange(frame.instructions)
    return Edges(np.stack((2 * number, 2 * number + 1), axis=1))


def signalled(frame: Frame) -> Edges:
    """The k-th AWAIT from a rank ends after its k-th SIGNAL started; a signal never waits."""
    signals, awaits, lone = pair_signals(frame.run)
    pairs = np.stack((frame.start(signals), frame.done(awaits)), axis=1)
    return Edges(pairs, never=frame.done(lone))


class Meeting(NamedTuple):
    """One collective: its entries as rows, the ranks that it asks for, and its kind."""

    entries: tuple[int, ...]
    ranks: tuple[int, ...]
    kind: str

    @property
    def complete(self) -> bool:
        """Whether every rank enters."""
        return len(self.entries) == len(set(self.ranks))


def meetings(frame: Frame) -> tuple[Meeting, ...]:
    """Return the collectives: the k-th entry of each rank into one name meets those of the others.

    Collectives are told apart by name, communicator and ranks; a TIE by the copies that it is over,
    its parameter and ranks.
    """
    ops = frame.ops
    owner = owners(frame)
    entries: dict[tuple[str, ...], list[int]] = {}
    count: dict[tuple[str, ...], int] = {}
    for row in np.flatnonzero(ops.is_kind(Kind.COLL, Kind.TIE)).tolist():
        said = ops.attributes.get(row, {})
        tie, name = "", said.get("name", "")
        if ops.kind[row] == Kind.TIE:
            name = said.get("param", "")
            tie = f"TIE {owner(int(ops.stage[row]), name)}"
        ranks = ",".join(sorted(said.get("ranks", "").split(","), key=lambda r: (len(r), r)))
        key = (tie, name, str(int(ops.comm[row])), ranks)
        mine = (*key, str(int(ops.rank[row])))
        turn = count[mine] = count.get(mine, 0) + 1
        entries.setdefault((*key, str(turn)), []).append(row)
    found = [
        Meeting(tuple(rows), _ranks(key[3], ops.rank[rows[0]]), _kind(frame, rows))
        for key, rows in entries.items()
    ]
    return tuple(sorted(found, key=lambda meeting: meeting.entries))


def _ranks(text: str, alone: int) -> tuple[int, ...]:
    return tuple(int(rank) for rank in text.split(",") if rank) or (int(alone),)


def _kind(frame: Frame, rows: list[int]) -> str:
    said = {_said(frame.ops.attributes.get(row, {})) for row in rows}
    return said.pop() if len(said) == 1 else "all"


def _said(attributes: Mapping[str, str]) -> str:
    for side in ("from", "to"):
        if side in attributes:
            return f"{side}={attributes[side]}"
    return "all"


def _leaving(frame: Frame, rows: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return the rows that somebody waits for, and the moments at which they are left."""
    entries = np.asarray(rows, np.int64)
    moments = frame.awaited[entries]
    return entries[moments >= 0], moments[moments >= 0]


def collective(frame: Frame) -> Edges:
    """Nobody leaves a collective before all have entered it: so deadlock is judged (A7)."""
    return _meet(frame, by_kind=False)


def collective_order(frame: Frame) -> Edges:
    """What a collective orders by its kind: all wait for all, others for the root, it for them."""
    return _meet(frame, by_kind=True)


def _meet(frame: Frame, *, by_kind: bool) -> Edges:
    pairs: list[IntArray] = [np.zeros((0, 2), np.int64)]
    never: list[int] = []
    found = meetings(frame)
    for number, meeting in enumerate(found):
        gate = frame.events + number
        entries, left = _leaving(frame, meeting.entries)
        entering = np.asarray(meeting.entries)
        kind, _, root = meeting.kind.partition("=")
        if by_kind and kind == "from":
            entering = entering[frame.ops.rank[entering] == int(root)]
        if by_kind and kind == "to":
            left = left[frame.ops.rank[entries] == int(root)]
        starts = frame.start(entering)
        pairs.append(np.stack((starts, np.full(len(starts), gate)), axis=1))
        pairs.append(np.stack((np.full(len(left), gate), left), axis=1))
        if not meeting.complete:
            never.append(gate)
    return Edges(np.concatenate(pairs), gates=len(found), never=np.asarray(never, np.int64))
