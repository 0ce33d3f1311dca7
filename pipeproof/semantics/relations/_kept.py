"""What a backward needs of its own stage: the forward, the input gradient, other segments."""

import numpy as np
import numpy.typing as npt

from pipeproof.ir.accesses import early_parts, pick
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import Bracket, IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.found import NO_EVENT, Needs
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._uncounted import counting

__all__ = ["kept", "kept_segments"]


def _known(frame: Frame, *kinds: Kind) -> IntArray:
    ops = frame.ops
    known = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages) & (ops.microbatch >= 0)
    known &= ops.microbatch < frame.run.microbatches
    return counting(frame, np.flatnonzero(ops.is_kind(*kinds) & known))


def kept(frame: Frame, maker: Kind, takers: tuple[Kind, ...]) -> Needs:
    """Pair each taker with the maker of its stage and microbatch on its rank."""
    rows = _known(frame, *takers)
    if maker is Kind.F:
        rows = rows[~_follows_half(frame, rows)]
    else:
        rows = rows[~_part_of_whole(frame, rows)]
    needs = _same_stage(frame, rows, frame.ops.microbatch[rows], (maker,))
    if maker is not Kind.F or frame.run.schedule.segments == 1:
        return needs
    return _with_segments(frame, needs)


def _own(frame: Frame, rows: IntArray) -> IntArray:
    """Number rank, stage and microbatch of each row; the next microbatch is one more."""
    ops = frame.ops
    stages, total = frame.run.schedule.stages, frame.run.microbatches + 1
    return np.asarray((ops.rank[rows] * stages + ops.stage[rows]) * total + ops.microbatch[rows])


def _follows_half(frame: Frame, rows: IntArray) -> npt.NDArray[np.bool_]:
    """Return which rows are a W whose I stands on the rank: what it needs follows from that."""
    weight = frame.ops.is_kind(Kind.W)[rows]
    return np.asarray(weight & among(_own(frame, rows), _own(frame, _known(frame, Kind.I))))


def _part_of_whole(frame: Frame, rows: IntArray) -> npt.NDArray[np.bool_]:
    """Return which rows are a W with `param` or `c` beside a B: parts of one backward."""
    parts = [row for row, said in frame.ops.attributes.items() if {"param", "c"} & said.keys()]
    whole = among(_own(frame, rows), _own(frame, _known(frame, Kind.B)))
    return np.asarray(among(rows, parts) & whole)


def kept_segments(frame: Frame, kind: Kind) -> Needs:
    """Pair F with the F of the segment before it, B and I with the B of the segment after it."""
    segments = frame.run.schedule.segments
    rows = _known(frame, Kind.F) if kind is Kind.F else _known(frame, Kind.B, Kind.I)
    place = frame.ops.microbatch[rows] % segments
    rows = rows[place > 0] if kind is Kind.F else rows[place < segments - 1]
    other = frame.ops.microbatch[rows] + (-1 if kind is Kind.F else 1)
    makers = (Kind.F,) if kind is Kind.F else (Kind.B, Kind.I)
    return _same_stage(frame, rows, other, makers)


def _with_segments(frame: Frame, needs: Needs) -> Needs:
    """Add that the first backward of a microbatch needs the forwards of all its segments.

    The first is that of the last segment, or one after which no segment's backward stands.
    """
    ops, segments = frame.ops, frame.run.schedule.segments
    rows = _known(frame, Kind.B, Kind.I)
    place = ops.microbatch[rows] % segments
    rows = rows[(place == segments - 1) | ~among(_own(frame, rows) + 1, _own(frame, rows))]
    place = ops.microbatch[rows] % segments
    parts = [needs]
    for segment in range(segments):
        other = place != segment
        wanted = ops.microbatch[rows[other]] - place[other] + segment
        parts.append(_same_stage(frame, rows[other], wanted, (Kind.F,)))
    before, after, users, values = (
        np.concatenate(each) for each in zip(*map(_columns, parts), strict=True)
    )
    return Needs(before, after, users, values)


def _columns(needs: Needs) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    return needs.before, needs.after, needs.rows, needs.values


def _same_stage(
    frame: Frame, rows: IntArray, microbatches: IntArray, makers: tuple[Kind, ...]
) -> Needs:
    """Find on each row's rank the nearest maker before it of its stage and of a microbatch.

    One that stands only later is taken as it is; one that stands nowhere is NO_EVENT, and no
    pair in a fragment.
    """
    ops = frame.ops
    made = _known(frame, *makers)
    early = early_parts(frame.run)
    made = made[~among(made, early)] if len(early) else made
    size = len(ops) + 1
    total = int(max(ops.microbatch.max(initial=0), microbatches.max(initial=0))) + 1
    stages = frame.run.schedule.stages

    def key(of: IntArray, microbatch: IntArray) -> IntArray:
        return (ops.rank[of] * stages + ops.stage[of]) * total + microbatch

    own, have = key(rows, microbatches), key(made, ops.microbatch[made])
    order = np.lexsort((made, have))
    made, have = made[order], have[order]
    first = ops.first_row[ops.instruction[rows]]
    limit = np.where(ops.bracket[rows] == Bracket.OVERLAP, rows, first)
    at = np.searchsorted(have * size + made, own * size + limit) - 1
    before = pick(made, have, at, own)
    later = pick(made, have, at + 1, own)
    source = np.where(before >= 0, before, later)
    start = frame.start(rows)
    event = np.where(source >= 0, frame.done(np.maximum(source, 0)), NO_EVENT)
    inner = (before >= 0) & (event == start + 1)
    event = np.where(inner, start, event)
    keep = (source >= 0) | (not frame.fragment)
    values = np.full(len(rows), -1, np.int64)
    return Needs(event[keep], start[keep], rows[keep], values[keep])
