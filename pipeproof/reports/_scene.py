"""The operations of a schedule as the boxes of a page: where each stands, and what comes to it."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import COMPUTE, Kind
from pipeproof.ir.operations import NONE, Bracket, IntArray, Operations
from pipeproof.ir.source import Marks, OnePlace, Places
from pipeproof.reports._pack import Json, packed, packed_texts
from pipeproof.reports._worded import worded
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.pairing import pair_signals
from pipeproof.semantics.relations.running import meetings

__all__ = ["Scene"]

_SENDS = (Kind.SEND, Kind.SEND_F, Kind.SEND_B)
_RECEIVES = (Kind.RECV, Kind.RECV_F, Kind.RECV_B)
_WRITTEN_OUT = (  # what the language does not write as stage, kind and microbatch
    *(Kind.SEND, Kind.RECV, Kind.LOAD, Kind.WAIT, Kind.SIGNAL, Kind.AWAIT, Kind.COLL, Kind.FREE),
    *(Kind.WRITE, Kind.USE, Kind.HOLD, Kind.DROP, Kind.SAVE, Kind.CONSUME, Kind.RESUME),
    *(Kind.RESTORE, Kind.CHOOSE),
)
_MEANS = ("message", "signal", "content", "weights", "wait", "collective")
_Pairs = tuple[IntArray, IntArray]


class Scene:
    """Rows of a schedule as run in the order of a page: by rank, lane and place in the program.

    `rows` are those that are shown, `op` maps each row to its number among them, -1 for those of a
    second copy of the programs where only the first is shown.
    """

    def __init__(self, frame: Frame, *, copies: bool) -> None:
        """Put the rows in order; second copies of the programs are shown if `copies`."""
        self.frame = frame
        ops, self.lane = frame.ops, _lanes(frame.ops)
        order = np.lexsort((np.arange(len(ops)), self.lane, ops.rank))
        if not copies:
            order = order[frame.run.copy[order] == 0]
        self.rows: IntArray = order
        self.op: IntArray = np.full(len(ops), -1, np.int64)
        self.op[order] = np.arange(len(order))

    def __len__(self) -> int:
        return len(self.rows)

    def of_instruction(self, instruction: int) -> int:
        """Return the number of the first operation of an instruction."""
        return int(self.op[self.frame.ops.first_row[instruction]])

    def all_of(self, instruction: int) -> list[int]:
        """Return the numbers of all operations of an instruction, -1 left out."""
        low, high = np.searchsorted(self.frame.ops.instruction, (instruction, instruction + 1))
        return [op for op in self.op[low:high].tolist() if op >= 0]

    def grid(self, places: Places) -> dict[str, Json]:
        """Return the columns of the boxes and the edges between them."""
        frame, rows = self.frame, self.rows
        run, ops = frame.run, frame.ops
        base = run.base[rows]
        kinds, kind = _kinds(run.spelled, base)
        texts, text = _texts(run.spelled, base)
        lines, columns = _lines(places, run.written[rows])
        position = ops.instruction[rows] - run.rank_start[ops.rank[rows]]
        group = np.where(ops.bracket[rows] == Bracket.NONE, -1, ops.instruction[rows])
        written = _written(frame, rows)
        said: dict[str, Json] = {
            "ranks": frame.ranks,
            "kinds": kinds,
            "texts": packed_texts(texts),
            "rank": packed(ops.rank[rows], differences=True),
            "position": packed(position, differences=True),
            "kind": packed(kind),
            "text": packed(text, differences=True),
            "stage": packed(run.spelled.stage[base]),
            "microbatch": packed(run.spelled.microbatch[base]),
            "line": packed(lines, differences=True),
            "column": packed(columns, differences=True),
            "lane": packed(self.lane[rows], differences=True),
            "group": packed(group, differences=True),
        }
        if not np.array_equal(written, position):
            said["written"] = packed(written, differences=True)
        if np.any(run.added[rows]):
            said["added"] = packed(run.added[rows].astype(np.int64))
        if np.any(run.copy[rows]):
            said["copy"] = packed(run.copy[rows])
        return {**said, "edges": self._edges(), "edge_means": list(_MEANS)}

    def _edges(self) -> Json:
        found = [*self._pairs()]
        before = np.concatenate([self.op[one] for _, (one, _) in found])
        after = np.concatenate([self.op[other] for _, (_, other) in found])
        means = np.concatenate([np.full(len(one), n) for n, (one, _) in found])
        shown = (before >= 0) & (after >= 0) & (before != after)
        before, after, means = before[shown], after[shown], means[shown]
        order = np.lexsort((after, before, means))
        before, after, means = before[order], after[order], means[order]
        fresh = np.ones(len(before), np.bool_)
        fresh[1:] = (np.diff(before) != 0) | (np.diff(after) != 0) | (np.diff(means) != 0)
        return {
            "before": packed(before[fresh], differences=True),
            "after": packed(after[fresh], differences=True),
            "means": packed(means[fresh], differences=True),
        }

    def _pairs(self) -> Iterator[tuple[int, _Pairs]]:
        """Yield pairs of rows, and by number what they mean."""
        frame, pairing = self.frame, self.frame.pairing
        both = (pairing.send >= 0) & (pairing.receive >= 0)
        yield 0, (pairing.send[both], pairing.receive[both])
        signals, awaits, _ = pair_signals(frame.run)
        yield 1, (signals, awaits)
        reading, supply = frame.supplied
        known = supply.writer >= 0
        yield 2, (supply.writer[known], reading.rows[known])
        yield 2, _stored(frame)
        yield 3, _versions(frame)
        yield 4, _waits(frame)
        yield 5, _met(frame)


def _stored(frame: Frame) -> _Pairs:
    stored = frame.run.storage
    if stored is None:
        return _nothing()
    reads = np.flatnonzero(stored.source >= 0)
    return stored.rows[stored.source[reads]], stored.rows[reads]


def _versions(frame: Frame) -> _Pairs:
    versions = frame.versions
    if not versions.matters:
        return _nothing()
    made = versions.made[versions.reads.versions]
    return made[made >= 0], versions.reads.rows[made >= 0]


def _waits(frame: Frame) -> _Pairs:
    rows, moments = frame.waits.rows, frame.waits.moments
    inside = moments < frame.ends
    rows, instructions = rows[inside], moments[inside] // 2
    elsewhere = frame.ops.instruction[rows] != instructions
    return rows[elsewhere], frame.ops.first_row[instructions[elsewhere]]


def _met(frame: Frame) -> _Pairs:
    """Return the entries of each collective side by side: each waits for the other."""
    found = [pair for each in meetings(frame) for pair in pairwise(each.entries)]
    pairs = np.asarray(found, np.int64).reshape(-1, 2)
    both = np.concatenate((pairs, pairs[:, ::-1]))
    return both[:, 0], both[:, 1]


def _nothing() -> _Pairs:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def _lanes(ops: Operations) -> IntArray:
    lane = np.full(len(ops), 3, np.int64)
    lane[ops.is_kind(*COMPUTE)] = 0
    lane[ops.is_kind(*_SENDS)] = 1
    lane[ops.is_kind(*_RECEIVES)] = 2
    return lane


def _kinds(spelled: Operations, base: IntArray) -> tuple[list[str], IntArray]:
    """Return the words of the kinds that stand there, and which of them each row is."""
    of_row = spelled.kind[base]
    codes, kind = np.unique(of_row, return_inverse=True)
    return [_word(spelled, Kind(code)) for code in codes.tolist()], np.asarray(kind, np.int64)


def _word(spelled: Operations, kind: Kind) -> str:
    return "REDUCE_GRAD" if kind is Kind.REDUCE and spelled.torch_words else kind.name


def _texts(spelled: Operations, base: IntArray) -> tuple[list[str], IntArray]:
    """Return texts, and which of them each row has; -1 where stage, kind and microbatch say it."""
    plain = _is_plain(spelled)
    texts: dict[str, int] = {}
    of_base = np.full(len(spelled), -1, np.int64)
    for row in np.unique(base[~plain[base]]).tolist():
        of_base[row] = texts.setdefault(worded(spelled.text(row)), len(texts))
    return list(texts), of_base[base]


def _is_plain(spelled: Operations) -> npt.NDArray[np.bool_]:
    plain = ~spelled.is_kind(*_WRITTEN_OUT) & (spelled.comm == 0) & (spelled.handle == NONE)
    plain &= spelled.stage >= 0
    plain[list(spelled.attributes)] = False
    return np.asarray(plain)


def _lines(places: Places, written: IntArray) -> _Pairs:
    """Return line and column of each row, by the row as written; 0 where it stands nowhere."""
    if not np.any(written >= 0):
        return np.zeros(len(written), np.int64), np.zeros(len(written), np.int64)
    if isinstance(places, OnePlace):
        return np.full(len(written), places.place(0)[0]), np.full(len(written), places.place(0)[1])
    if isinstance(places, Marks):
        lines, columns = np.asarray(places.lines), np.asarray(places.columns)
    else:
        told = [places.place(row) for row in range(int(written.max()) + 1)]
        lines, columns = np.asarray(told, np.int64).reshape(-1, 2).T
    known = np.maximum(written, 0)
    nowhere = written < 0
    return np.where(nowhere, 0, lines[known]), np.where(nowhere, 0, columns[known])


def _written(frame: Frame, rows: IntArray) -> IntArray:
    """Return the position of each row in its program as written, of what it stands beside."""
    run = frame.run
    written = run.written[rows]
    position = run.schedule.operations.position[np.maximum(written, 0)]
    return np.where(written >= 0, position, 0)
