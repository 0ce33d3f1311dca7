"""Storage that is shared: who may not read yet, and who may not write yet."""

import numpy as np
import numpy.typing as npt

from pipeproof.ir.operations import Bracket, IntArray
from pipeproof.ir.sets import distinct, first_of
from pipeproof.ir.storage import Stored, Touch, content_text
from pipeproof.semantics.found import NO_EVENT, Edges, Finding, Findings, Needs, no_edges
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding
from pipeproof.semantics.relations._taken import taken
from pipeproof.semantics.relations._under_way import under_way
from pipeproof.semantics.relations.dependencies import unwaited_reads
from pipeproof.semantics.relations.ready import unpicked

__all__ = ["freed", "guarded", "held_back", "in_flight", "misread", "overwritten", "unfinished"]

_NONE = np.zeros(0, np.int64)


def _ends(frame: Frame, stored: Stored) -> IntArray:
    """Return the event at which each access is over."""
    ends = frame.done(stored.rows)
    moving = np.flatnonzero(stored.moves)
    ends[moving] = frame.completed(stored.rows[moving])
    return ends


def _lost(stored: Stored) -> tuple[IntArray, IntArray]:
    """Return the reads whose content is gone, and the first write or free that took it.

    A content that is there from the start goes with the first write of all.
    """
    source, before = stored.source, stored.before
    reads = np.flatnonzero((stored.touch == Touch.READ) & ~stored.guarded & (before >= 0))
    gone = reads[(source[reads] >= 0) & (source[reads] != before[reads])]
    given = reads[(source[reads] < 0) & stored.given[reads]]
    first = _first_writes(stored)
    taker = np.concatenate((stored.after[source[gone]], first[stored.storage[given]]))
    return np.concatenate((gone, given)), taker


def _first_writes(stored: Stored) -> IntArray:
    """Return the first write or free of each storage, -1 for none."""
    first = np.full(int(stored.storage.max(initial=-1)) + 2, -1, np.int64)
    writes = np.flatnonzero(stored.touch != Touch.READ)[::-1]
    first[stored.storage[writes]] = writes
    return first


def _needs(
    frame: Frame, stored: Stored, pairs: tuple[IntArray, IntArray], before: IntArray
) -> Needs:
    """Return that `before` comes before what `pairs` names second, because of its first."""
    first, second = pairs
    rows = stored.rows[second]

    def why(k: int) -> str:
        return _why(frame, stored, int(first[k]), int(second[k]))

    values = np.full(len(rows), -1, np.int64)
    return Needs(before, frame.start(rows), rows, values, stored.rows[first], why)


def _why(frame: Frame, stored: Stored, first: int, second: int) -> str:
    """Say what is wrong with `second` as long as `first` is not over."""
    what = content_text(frame.ops, int(stored.values[first]))
    place = stored.labels[int(stored.storage[first])]
    other = frame.text(int(stored.rows[first]))
    reading = stored.touch[second] == Touch.READ
    if first == second:
        return f"reads {what} in {place}, which is free or holds nothing yet"
    if reading:
        return f"reads {what} in {place}, which {other} may still be writing"
    doing = "gives back" if stored.touch[second] == Touch.FREE else "writes"
    if stored.moves[first]:
        return f"{doing} {place} while {other} may be in flight there"
    return f"{doing} {place} before {other} has read {what}"


def _joined(parts: list[Needs]) -> Needs:
    """Join what needs the same kind of order, each pair once."""
    lengths = np.cumsum([0, *(len(part.after) for part in parts)])

    def why(k: int) -> str:
        at = int(np.searchsorted(lengths, k, side="right")) - 1
        told = parts[at].why
        return told(k - int(lengths[at])) if told is not None else ""

    before, after, rows, values, others = (
        np.concatenate([np.asarray(part[column]) for part in parts]) for column in range(5)
    )
    return Needs(before, after, rows, values, others, why)


def unfinished(frame: Frame) -> Needs:
    """A read starts after what it reads has been received, and after it has been put there."""
    stored = frame.run.storage
    parts = [_unwaited(frame)]
    if stored is not None:
        reads = np.flatnonzero((stored.source >= 0) & (stored.source == stored.before))
        reads = reads[stored.moves[stored.source[reads]]]
        source = stored.source[reads]
        parts.append(_needs(frame, stored, (source, reads), _ends(frame, stored)[source]))
        empty = np.flatnonzero(stored.coming & ~stored.given & ~stored.told & (stored.before < 0))
        nothing = np.full(len(empty), NO_EVENT)
        parts.append(_needs(frame, stored, (empty, empty), nothing))
    return _once(_joined(parts))


def _once(needs: Needs) -> Needs:
    """Keep each pair once."""
    key = np.stack((needs.after, needs.before), axis=1)
    order = np.lexsort((np.arange(len(key)), key[:, 1], key[:, 0]))
    fresh = np.any(np.diff(key[order], axis=0, prepend=-2) != 0, axis=1)
    keep = np.sort(order[fresh])
    why, others = needs.why, needs.others
    assert why is not None and others is not None  # noqa: S101, PT018  joined above

    def told(k: int) -> str:
        return why(int(keep[k]))

    before, after = needs.before[keep], needs.after[keep]
    return Needs(before, after, needs.rows[keep], needs.values[keep], others[keep], told, once=True)


def _unwaited(frame: Frame) -> Needs:
    """Return the reads of a receive that nothing waits for before them."""
    rows, sources, values = unwaited_reads(frame)

    def why(k: int) -> str:
        value = frame.ops.value_text(int(values[k]))
        return f"reads {value}, which {frame.text(int(sources[k]))} may still be receiving"

    before = frame.completed(sources)
    return Needs(before, frame.start(rows), rows, values, sources, why)


def in_flight(frame: Frame) -> Needs:
    """A write starts after the transfers that the storage is the source or destination of."""
    return _behind_transfers(frame, Touch.WRITE)._replace(once=True)


def _behind_transfers(frame: Frame, touch: Touch) -> Needs:
    """Pair writes with the transfers since the write before them, and those still under way."""
    stored = frame.run.storage
    if stored is None:
        return Needs(_NONE, _NONE, _NONE, _NONE, _NONE)
    moving = np.flatnonzero(stored.moves & (stored.after >= 0) & ~stored.guarded)
    reaching, behind = under_way(frame, stored)
    first = np.concatenate((moving, reaching))
    later = np.concatenate((stored.after[moving], behind))
    chosen = stored.touch[later] == touch
    first, later = first[chosen], later[chosen]
    return _needs(frame, stored, (first, later), _ends(frame, stored)[first])


def overwritten(frame: Frame) -> Findings:
    """A write comes after all who read what it overwrites."""
    stored = frame.run.storage
    if stored is None:
        return Findings(0)
    reads, takers = _lost(stored)
    wrong = stored.touch[takers] == Touch.WRITE
    reads, takers = reads[wrong], takers[wrong]
    found = {
        int(stored.rows[taker]): _why(frame, stored, read, taker)
        for read, taker in reversed(_first_each(reads, takers))
    }
    writes = (stored.touch == Touch.WRITE) & (stored.before >= 0) & ~stored.guarded
    listed = [finding(frame, row, why=why) for row, why in sorted(found.items())]
    return Findings(int(np.sum(writes)), listed)


def _first_each(reads: IntArray, takers: IntArray) -> list[tuple[int, int]]:
    """Return each taker once, with the first read that it takes from."""
    first: dict[int, int] = {}
    for read, taker in sorted(zip(reads.tolist(), takers.tolist(), strict=True)):
        first.setdefault(taker, read)
    return [(read, taker) for taker, read in sorted(first.items())]


def freed(frame: Frame) -> Needs:
    """Storage is given back after all who use it, and not used afterwards."""
    stored = frame.run.storage
    if stored is None:
        return Needs(_NONE, _NONE, _NONE, _NONE, _NONE)
    reads, takers = _lost(stored)
    early = stored.touch[takers] == Touch.FREE
    once = _first_each(reads[early], takers[early])
    pairs = np.asarray(once, np.int64).reshape(-1, 2)
    nothing = np.full(len(pairs), NO_EVENT)
    used = _used_free(stored)
    parts = [
        _behind_transfers(frame, Touch.FREE),
        _needs(frame, stored, (pairs[:, 0], pairs[:, 1]), nothing),
        _needs(frame, stored, (used, used), np.full(len(used), NO_EVENT)),
    ]
    return _joined(parts)._replace(once=True)


def _used_free(stored: Stored) -> IntArray:
    """Return the reads of free storage whose content no free took away."""
    reads = np.flatnonzero(
        (stored.touch == Touch.READ) & (stored.before >= 0) & ~stored.given & ~stored.told
    )
    reads = reads[stored.touch[stored.before[reads]] == Touch.FREE]
    source = stored.source[reads]
    taken = (source >= 0) & (stored.touch[stored.after[np.maximum(source, 0)]] == Touch.FREE)
    return np.asarray(reads[~taken])


def misread(frame: Frame) -> Findings:
    """A read finds the contents that it names."""
    stored = frame.run.storage
    if stored is None:
        return Findings(0)
    reading = (stored.touch == Touch.READ) & ~stored.told
    before = np.maximum(stored.before, 0)
    filled = reading & (stored.before >= 0) & (stored.touch[before] == Touch.WRITE)
    filled &= ~(stored.guarded & (stored.source >= 0))
    other = filled & (stored.values[before] != stored.values)
    empty = reading & (stored.before < 0) & ~stored.given & ~stored.coming
    wrong = np.flatnonzero(other | empty)
    wrong = wrong[first_of(stored.rows[wrong])[1]]
    found = [_misread(frame, stored, read) for read in wrong.tolist()]
    return Findings(int(np.sum(reading)), found)


def _misread(frame: Frame, stored: Stored, read: int) -> Finding:
    ops, before = frame.ops, int(stored.before[read])
    there = content_text(ops, int(stored.values[before])) if before >= 0 else "nothing"
    place = stored.labels[int(stored.storage[read])]
    what = content_text(ops, int(stored.values[read]))
    why = f"needs {what} in {place}, which holds {there}"
    return finding(frame, int(stored.rows[read]), why=why)


def guarded(frame: Frame) -> Edges:
    """A writer of a guarded slot waits until all have read what it holds and nothing moves."""
    stored, handed_out = frame.run.storage, taken(frame)
    if stored is None or not np.any(stored.guarded):
        return Edges(handed_out) if len(handed_out) else no_edges()
    ends = _ends(frame, stored)
    writers = np.flatnonzero(stored.guarded & (stored.touch == Touch.WRITE))
    writers = writers[stored.before[writers] >= 0]
    behind = writers[
        ~_done_inside(frame, stored.rows[stored.before[writers]], stored.rows[writers])
    ]
    pairs = [(ends[stored.before[behind]], behind)]
    readers = np.flatnonzero(stored.guarded & (stored.touch == Touch.READ))
    source = stored.source[readers]
    kept = source >= 0
    follower = np.where(kept, stored.after[np.maximum(source, 0)], -1)
    given = ~kept & stored.given[readers]
    follower = np.where(given, _first_writes(stored)[stored.storage[readers]], follower)
    own, other = stored.rows[readers], stored.rows[np.maximum(follower, 0)]
    waits = (follower >= 0) & (own != other) & ~_done_inside(frame, own, other)
    pairs.append((ends[readers[waits]], follower[waits]))
    before = np.concatenate([handed_out[:, 0], *(left for left, _ in pairs)])
    after = frame.start(stored.rows[np.concatenate([right for _, right in pairs])])
    after = np.concatenate((handed_out[:, 1], after))
    once = distinct(before * frame.events + after)
    return Edges(np.stack((once // frame.events, once % frame.events), axis=1))


def _done_inside(frame: Frame, before: IntArray, after: IntArray) -> npt.NDArray[np.bool_]:
    """Return which pairs of rows are members of one overlap, which runs the first before."""
    ops = frame.ops
    inside = ops.instruction[before] == ops.instruction[after]
    return np.asarray(inside & (ops.bracket[after] == Bracket.OVERLAP) & (before < after))


def held_back(frame: Frame, happened: npt.NDArray[np.bool_]) -> dict[int, list[int]]:
    """Return the starts that wait for a guarded slot, and the events that each still waits for.

    And those that a ready rank is left with and cannot pick.
    """
    waiting: dict[int, list[int]] = {start: [] for start in unpicked(frame, happened)}
    for before, after in guarded(frame).pairs.tolist():
        if not happened[before] and not happened[after]:
            waiting.setdefault(after, []).append(before)
    return waiting
