"""What each operation needs before it starts."""

import numpy as np

from pipeproof.ir.accesses import Supply
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.ir.values import ValueKind
from pipeproof.semantics.found import NO_EVENT, Needs
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._kept import kept, kept_segments

__all__ = ["forwards", "gradients", "halves", "passes", "sends", "unwaited_reads"]


def _needs(frame: Frame, rows: IntArray, values: IntArray, given: Supply) -> Needs:
    """Turn supplies into pairs; what a fragment does not write at all is there from the start.

    A read of a receive that is started and not waited for before it is not a pair of these: it
    reads storage in flight (PP501).
    """
    ops = frame.ops
    source = np.where(given.writer >= 0, given.writer, given.later)
    received = (source >= 0) & ops.is_kind(Kind.RECV)[source] & frame.run.is_message[source]
    never_linked = (source >= 0) & ops.is_kind(Kind.RECV)[source] & ~received
    before = np.full(len(rows), NO_EVENT, np.int64)
    made = (source >= 0) & ~received & ~never_linked
    before[made] = frame.done(source[made])
    before[received] = frame.arrived(frame.pairing.of_row[source[received]])
    late = (given.writer < 0) & received
    before[late] = frame.done(source[late])
    start = frame.start(rows)
    inner = made & (given.writer >= 0) & (before == start + 1)
    before[inner] = start[inner]  # an earlier member of the same overlap made it
    keep = ~_in_flight(frame, rows, given)
    named = (values >> 56) == int(ValueKind.NAME)
    loaded = frame.ops.value[frame.ops.is_kind(Kind.LOAD)]
    given_from_start = among(values >> 56, (ValueKind.X, ValueKind.Y, ValueKind.A))
    given_from_start = (given_from_start & ~among(values, loaded)) | named
    keep &= ~((source < 0) & (given_from_start | frame.fragment))
    return Needs(before[keep], start[keep], rows[keep], values[keep])


def _in_flight(
    frame: Frame, rows: IntArray, given: Supply
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return which reads are of a receive before them that is not waited for before them."""
    ops = frame.ops
    source = given.writer
    received = (source >= 0) & ops.is_kind(Kind.RECV)[source] & frame.run.is_message[source]
    moment = frame.awaited[np.maximum(source, 0)]
    return np.asarray(received & ((moment < 0) | (moment > frame.start(rows))))


def _read(frame: Frame, *kinds: Kind) -> Needs:
    reading, given = frame.supplied
    chosen = frame.ops.is_kind(*kinds)[reading.rows]
    chosen_supply = Supply(given.writer[chosen], given.later[chosen])
    return _needs(frame, reading.rows[chosen], reading.values[chosen], chosen_supply)


def _joined(*parts: Needs) -> Needs:
    return Needs(
        np.concatenate([part.before for part in parts]),
        np.concatenate([part.after for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def forwards(frame: Frame) -> Needs:
    """A forward starts after its input is there; a loss after its activation and label."""
    return _joined(_read(frame, Kind.F, Kind.L), kept_segments(frame, Kind.F))


def passes(frame: Frame) -> Needs:
    """A backward, and a recomputation, start after the forward of their stage and microbatch.

    A weight gradient does by itself only where no input gradient stands that it follows.
    """
    return kept(frame, Kind.F, (Kind.B, Kind.I, Kind.R, Kind.W))


def gradients(frame: Frame) -> Needs:
    """A backward starts after the gradient of the stage after it, or the loss, is there."""
    return _joined(_read(frame, Kind.B, Kind.I), kept_segments(frame, Kind.B))


def halves(frame: Frame) -> Needs:
    """A weight gradient starts after the input gradient of its stage and microbatch."""
    return kept(frame, Kind.I, (Kind.W,))


def sends(frame: Frame) -> Needs:
    """A send starts after its value is there."""
    return _read(frame, Kind.SEND)


def unwaited_reads(frame: Frame) -> tuple[IntArray, IntArray, IntArray]:
    """Return what is read of a receive before it without a wait in between.

    The rows that read, the receives, and the values, each of shape `(n,)`.
    """
    reading, given = frame.supplied
    early = _in_flight(frame, reading.rows, given)
    return reading.rows[early], given.writer[early], reading.values[early]
