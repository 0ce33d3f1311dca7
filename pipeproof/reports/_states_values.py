"""Values that live on a rank in storage of their own: from what puts them to all readers."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.accesses import Access, known, writes
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import ANY, IntArray
from pipeproof.ir.schedule import neighbours
from pipeproof.ir.sets import among
from pipeproof.ir.storage import Touch, content_text, kept_code
from pipeproof.ir.values import NO_VALUE, ValueKind
from pipeproof.reports._states_words import by_event, short
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.holds import KINDS, memory

__all__ = ["Values", "over", "put_texts"]

_Told = Iterator[tuple[str, str]]
_VALUES = {KINDS.index("activations"): ValueKind.F, KINDS.index("gradients"): ValueKind.B}
_KEPT = KINDS.index("kept")


def put_texts(frame: Frame, rows: IntArray, codes: IntArray) -> list[str]:
    """Return what each row puts down or reads in words; of a message, what is sent."""
    ops, pairing = frame.ops, frame.pairing
    received = np.flatnonzero(ops.is_kind(Kind.RECV)[rows] & frame.run.is_message[rows])
    received = received[codes[received] != NO_VALUE]
    send = pairing.send[pairing.of_row[rows[received]]]
    sent = np.where(send >= 0, ops.value[send], codes[received])
    known: dict[int, str] = {}

    def text(code: int) -> str:
        if code not in known:
            known[code] = short(content_text(ops, code)) if code >= 0 else ""
        return known[code]

    texts = [text(code) for code in codes.tolist()]
    for k in received[sent != codes[received]].tolist():
        other = int(ops.value[pairing.send[pairing.of_row[rows[k]]]])
        texts[k] = text(other) if codes[k] == ANY else f"{text(other)} taken for {texts[k]}"
    return texts


def over(frame: Frame, rows: IntArray, moves: IntArray) -> IntArray:
    """Return when each access is over: the move of a message, else the end of its instruction."""
    ends = frame.done(rows)
    ends[moves] = frame.completed(rows[moves])
    return ends


class _Lives(NamedTuple):
    """What is live: row `rows[k]` puts `codes[k]` there, until all `ends[j]` with `of[j]` k.

    What has no end is live to the end.
    """

    rows: IntArray
    codes: IntArray
    ends: IntArray
    of: IntArray


class Values:
    """Values that live on a rank in storage of their own: from what puts them to all readers."""

    group = "storage"

    def __init__(self, frame: Frame) -> None:
        """Look at what is live on the ranks of `frame`, save what storage with a name holds."""
        lives = _unnamed(frame, _joined(_held(frame), _others(frame)))
        rows, number = lives.rows, np.arange(len(lives.rows))
        ranks = frame.ops.rank[rows].tolist()
        texts = put_texts(frame, rows, lives.codes)
        self._names = [f"r{rank} {text}" for rank, text in zip(ranks, texts, strict=True)]
        self._starts = by_event(frame.start(rows), number)
        moves = np.flatnonzero(frame.run.is_message[rows])
        self._received = set(moves.tolist())
        self._puts = by_event(over(frame, rows, moves), number)
        self._left = np.bincount(lives.of, minlength=len(rows)).tolist()
        self._ends = by_event(lives.ends, lives.of)
        self._live: dict[str, int] = {}

    def begins(self) -> _Told:
        yield from ()

    def moments(self) -> Iterable[Iterable[int]]:
        return (self._starts, self._puts, self._ends)

    def happens(self, event: int) -> _Told:
        for k in self._starts.get(event, ()):
            name = self._names[k]
            self._live[name] = self._live.get(name, 0) + 1
            yield name, "in flight" if k in self._received else "being written"
        for k in self._puts.get(event, ()):
            yield self._held(k)
        for k in self._ends.get(event, ()):
            self._left[k] -= 1
            if not self._left[k]:
                self._live[self._names[k]] -= 1
                yield self._held(k)

    def _held(self, k: int) -> tuple[str, str]:
        name = self._names[k]
        times = self._live[name]
        return name, "" if not times else "held" if times == 1 else f"held {times} times"


def _joined(one: _Lives, other: _Lives) -> _Lives:
    behind = other._replace(of=other.of + len(one.rows))
    return _Lives(*(np.concatenate(pair) for pair in zip(one, behind, strict=True)))


def _chosen(lives: _Lives, chosen: npt.NDArray[np.bool_]) -> _Lives:
    number = np.cumsum(chosen) - 1
    own = chosen[lives.of]
    return _Lives(lives.rows[chosen], lives.codes[chosen], lives.ends[own], number[lives.of[own]])


def _held(frame: Frame) -> _Lives:
    """Return activations, gradients and what forwards keep, as what is live is counted."""
    holds, puts = memory(frame), writes(frame.run)
    ops, rows, kinds = frame.ops, holds.rows, holds.kind
    codes = np.full(len(rows), -1, np.int64)
    kept = np.flatnonzero((kinds == _KEPT) & (rows >= 0))
    codes[kept] = kept_code(ops.stage[rows[kept]], ops.microbatch[rows[kept]])
    key = (puts.values >> 56) * (len(ops) + 1) + puts.rows
    order = np.argsort(key, kind="stable")
    for number, kind in _VALUES.items():
        own = np.flatnonzero((kinds == number) & (rows >= 0))
        at = np.searchsorted(key[order], int(kind) * (len(ops) + 1) + rows[own])
        codes[own] = puts.values[order[at]] if len(own) else codes[own]
    return _chosen(_Lives(rows, codes, holds.ends, holds.of), codes >= 0)


def _others(frame: Frame) -> _Lives:
    """Return inputs, labels, losses and values with a name, until all their readers are done."""
    puts, counted = writes(frame.run), (ValueKind.F, ValueKind.B)
    chosen = ~among(puts.values >> 56, counted)
    puts = Access(puts.rows[chosen], puts.values[chosen])
    pairs = zip(puts.rows.tolist(), puts.values.tolist(), strict=True)
    number = {pair: k for k, pair in enumerate(pairs)}
    reading, supply = frame.supplied
    read = np.flatnonzero((supply.writer >= 0) & ~among(reading.values >> 56, counted))
    pairs = zip(supply.writer[read].tolist(), reading.values[read].tolist(), strict=True)
    of = np.asarray([number[pair] for pair in pairs], np.int64)
    backward, loss = _of_losses(frame, puts)
    rows = np.concatenate((puts.rows, reading.rows[read], backward))
    of = np.concatenate((np.arange(len(puts.rows)), of, loss))
    message = np.flatnonzero(frame.run.is_message[rows])
    ends = np.concatenate((frame.done(rows), frame.completed(rows[message])))
    return _Lives(puts.rows, puts.values, ends, np.concatenate((of, of[message])))


def _of_losses(frame: Frame, puts: Access) -> tuple[IntArray, IntArray]:
    """Return the backwards that read a loss which a forward computed, and which of `puts` it is."""
    ops, (_, after) = frame.ops, neighbours(frame.run.schedule)
    made = np.flatnonzero(ops.is_kind(Kind.F)[puts.rows] & (puts.values >> 56 == ValueKind.L))
    of = {
        (int(ops.rank[puts.rows[k]]), int(ops.microbatch[puts.rows[k]])): k for k in made.tolist()
    }
    rows = known(frame.run, Kind.B, Kind.I)
    rows = rows[np.asarray((*after, 0))[ops.stage[rows]] < 0]
    own = zip(ops.rank[rows].tolist(), ops.microbatch[rows].tolist(), strict=True)
    loss = np.asarray([of.get(pair, -1) for pair in own], np.int64)
    late = (loss >= 0) & (rows > puts.rows[loss]) if len(puts.rows) else loss >= 0
    return rows[late], loss[late]


def _unnamed(frame: Frame, lives: _Lives) -> _Lives:
    """Leave out what is put into storage that has a name or is a slot."""
    stored = frame.run.storage
    if stored is None:
        return lives
    put = np.flatnonzero(stored.touch == Touch.WRITE)
    pairs = set(zip(stored.rows[put].tolist(), stored.values[put].tolist(), strict=True))
    both = zip(lives.rows.tolist(), lives.codes.tolist(), strict=True)
    own = np.fromiter((pair not in pairs for pair in both), np.bool_, len(lives.rows))
    return _chosen(lives, own)
