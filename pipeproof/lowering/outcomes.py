"""A schedule with its choices settled: one outcome of what the runtime may choose."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import ANY, NOBODY, IntArray, Operations, read_only
from pipeproof.lowering import storage

__all__ = ["Name", "alternatives", "chosen", "has_choices", "open_receives", "received"]

Name = tuple[int, str]
"""The copy of the programs in which a choice stands, and its name."""

_COLUMNS = (
    *("rank", "position", "member", "kind", "stage", "microbatch"),
    *("value", "peer", "comm", "handle", "bracket"),
)


def has_choices(run: AsRun) -> bool:
    """Whether the runtime chooses between outcomes, or from whom a message is taken."""
    ops = run.operations
    return bool(np.any(ops.is_kind(Kind.CHOOSE))) or len(open_receives(run)) > 0


def alternatives(run: AsRun) -> dict[Name, tuple[str, ...]]:
    """Return the outcomes of each CHOOSE, by copy and name, in order of its first mention.

    Several ranks may say that they choose it: its outcomes are those that any of them names.
    """
    ops = run.operations
    found: dict[Name, dict[str, None]] = {}
    for row in np.flatnonzero(ops.is_kind(Kind.CHOOSE)).tolist():
        said = ops.attributes[row]
        own = found.setdefault((int(run.copy[row]), said["name"]), {})
        own.update(dict.fromkeys(said["written"].split("|")))
    return {name: tuple(each) for name, each in found.items()}


def chosen(run: AsRun, outcome: Mapping[Name, str]) -> AsRun:
    """Return the schedule without the instructions whose outcome did not come.

    Args:
        run: the schedule.
        outcome: for each CHOOSE by copy and name what came.
    """
    keep = np.ones(len(run.operations), np.bool_)
    for row, said in run.operations.attributes.items():
        if "if" in said:
            name, _, wanted = said["if"].partition(":")
            keep[row] = outcome.get((int(run.copy[row]), name)) == wanted
    run = dataclasses.replace(run, settled=True)
    return _with(_kept(run, keep)) if not np.all(keep) else run


def _kept(run: AsRun, keep: npt.NDArray[np.bool_]) -> AsRun:
    rows = np.flatnonzero(keep)
    place = np.cumsum(keep) - 1
    ops = run.operations
    columns = {name: read_only(getattr(ops, name)[rows]) for name in _COLUMNS}
    attributes = {int(place[row]): said for row, said in ops.attributes.items() if keep[row]}
    kept = Operations(
        **columns,
        attributes=MappingProxyType(attributes),
        comms=ops.comms,
        handles=ops.handles,
        names=ops.names,
        torch_words=ops.torch_words,
    )
    return dataclasses.replace(
        run,
        operations=kept,
        base=read_only(run.base[rows]),
        written=read_only(run.written[rows]),
        added=run.added[rows],
        copy=read_only(run.copy[rows]),
        turns=None,
    )


def _with(run: AsRun) -> AsRun:
    """Return the schedule with its storage written in anew."""
    bare = dataclasses.replace(run, storage=None)
    return dataclasses.replace(bare, storage=storage.write_in(bare))


def open_receives(run: AsRun) -> IntArray:
    """Return the receives that take a message of whichever rank, or of whichever content."""
    ops = run.operations
    accepting = [row for row, said in ops.attributes.items() if "v" in said]
    wide = ops.is_kind(Kind.RECV) & ((ops.peer == ANY) | (ops.value == ANY))
    wide[accepting] = True
    return np.flatnonzero(wide)


def received(
    run: AsRun, sources: Mapping[int, int], values: Mapping[int, int], *, held: bool = False
) -> AsRun:
    """Return the schedule in which open receives take what they are said to take.

    A receive of whichever rank that is not among `sources` waits for a message that nobody sends.

    Args:
        run: the schedule.
        sources: the rank that an open receive takes its message from, by row.
        values: the code of what it takes, by row.
        held: whether receives behind one that has taken nothing yet wait, too: whatever comes
            is for the first that was posted.
    """
    ops = run.operations
    peer, comm, value = ops.peer.copy(), ops.comm.copy(), ops.value.copy()
    nobody = len(ops.comms)
    if held:
        comm[_behind(run, sources)] = nobody
    for row in open_receives(run).tolist():
        if row in sources:
            peer[row] = sources[row]
        elif peer[row] == ANY:
            peer[row], comm[row] = ops.rank[row], nobody
        if row in values:
            value[row] = values[row]
    settled = dataclasses.replace(
        ops,
        peer=read_only(peer),
        comm=read_only(comm),
        value=read_only(value),
        comms=(*ops.comms, NOBODY),
    )
    return _with(dataclasses.replace(run, operations=settled, turns=None, settled=True))


def _behind(run: AsRun, sources: Mapping[int, int]) -> IntArray:
    """Return the receives behind an open one, of their rank and communicator, without a source."""
    ops = run.operations
    first: dict[tuple[int, int], int] = {}
    for row in open_receives(run).tolist():
        if ops.peer[row] == ANY and row not in sources:
            first.setdefault((int(ops.rank[row]), int(ops.comm[row])), row)
    rows = [
        row
        for row in np.flatnonzero(ops.is_kind(Kind.RECV)).tolist()
        if row > first.get((int(ops.rank[row]), int(ops.comm[row])), row)
    ]
    return np.asarray(rows, np.int64)
