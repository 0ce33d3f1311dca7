"""A schedule with its choices settled: one outcome of what the runtime may choose."""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import ANY, NOBODY, IntArray, Operations, read_only
from pipeproof.lowering import storage

__all__ = [
    "Name",
    "alternatives",
    "chosen",
    "has_choices",
    "kept",
    "open_receives",
    "received",
    "unclear",
]


class Name(NamedTuple):
    """A choice: the copy of the programs in which it stands, its name, and which of that name.

    A rank that chooses a name again makes its next choice; the k-th of several ranks is one.
    """

    copy: int
    name: str
    turn: int = 0


_COLUMNS = (
    *("rank", "position", "member", "kind", "stage", "microbatch"),
    *("value", "peer", "comm", "handle", "bracket"),
)


def has_choices(run: AsRun) -> bool:
    """Whether the runtime chooses: an outcome, from whom it takes a message, or what is next."""
    ops = run.operations
    if "ready" in run.schedule.described:
        return True
    return bool(np.any(ops.is_kind(Kind.CHOOSE))) or len(open_receives(run)) > 0


def alternatives(run: AsRun) -> dict[Name, tuple[str, ...]]:
    """Return the outcomes of each choice in order of its first mention.

    Several ranks may say that they choose it: its outcomes are those that any of them names.
    """
    found: dict[Name, dict[str, None]] = {}
    for row, name in _choices(run).items():
        own = found.setdefault(name, {})
        own.update(dict.fromkeys(run.operations.attributes[row]["written"].split("|")))
    return {name: tuple(each) for name, each in found.items()}


def _choices(run: AsRun) -> dict[int, Name]:
    """Return which choice each CHOOSE makes."""
    ops = run.operations
    turns: dict[tuple[int, int, str], int] = defaultdict(int)
    found: dict[int, Name] = {}
    for row in np.flatnonzero(ops.is_kind(Kind.CHOOSE)).tolist():
        copy, name = int(run.copy[row]), ops.attributes[row]["name"]
        key = int(ops.rank[row]), copy, name
        found[row] = Name(copy, name, turns[key])
        turns[key] += 1
    return found


def unclear(run: AsRun) -> bool:
    """Whether a rank goes by a choice that is made again and again, and never by itself."""
    ops = run.operations
    own = {(int(ops.rank[row]), name.name) for row, name in _choices(run).items()}
    again = {name.name for name in _choices(run).values() if name.turn}
    return bool(again) and any(
        name in again and (int(ops.rank[row]), name) not in own for row, name, _ in _conditions(run)
    )


def _conditions(run: AsRun) -> list[tuple[int, str, str]]:
    """Return the rows with `if=` in their order, each with the choice and the outcome it asks."""
    said = sorted((row, own["if"]) for row, own in run.operations.attributes.items() if "if" in own)
    parts = ((row, text.partition(":")) for row, text in said)
    return [(row, name, outcome) for row, (name, _, outcome) in parts]


def chosen(run: AsRun, outcome: Mapping[Name, str]) -> AsRun:
    """Return the schedule without the instructions whose outcome did not come.

    An instruction goes by the last choice of that name before it on its rank; where its rank
    never makes it, by that of the others. A choice that is passed over has no outcome.

    Args:
        run: the schedule.
        outcome: for each choice what came.
    """
    choices, conditions = _choices(run), _conditions(run)
    goes_by = _goes_by(run, choices, conditions)
    keep = np.ones(len(run.operations), np.bool_)
    for _ in range(len(choices) + 1):  # each round settles one choice more that hangs on others
        before = keep.copy()
        made = {row: which for row, which in choices.items() if before[row]}
        known = set(made.values())
        for row, _, wanted in conditions:
            came = next((each for each in goes_by[row] if _is_made(each, made, known)), None)
            which = choices[came] if isinstance(came, int) else came
            keep[row] = which is not None and outcome.get(which) == wanted
        if np.array_equal(before, keep):
            break
    run = dataclasses.replace(run, settled=True)
    return kept(run, np.flatnonzero(keep)) if not np.all(keep) else run


def _is_made(choice: int | Name, made: Mapping[int, Name], known: Collection[Name]) -> bool:
    return choice in made if isinstance(choice, int) else choice in known


def _goes_by(
    run: AsRun, choices: Mapping[int, Name], conditions: list[tuple[int, str, str]]
) -> dict[int, list[int | Name]]:
    """Return for each condition the CHOOSEs of its rank that it may go by, the last one first.

    Where its rank has none of that name, the choice of the others.
    """
    ops = run.operations
    own: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for row, which in choices.items():
        own[int(ops.rank[row]), which.copy, which.name].append(row)
    found: dict[int, list[int | Name]] = {}
    for row, name, _ in conditions:
        copy = int(run.copy[row])
        key = int(ops.rank[row]), copy, name
        found[row] = (
            [each for each in reversed(own[key]) if each < row]
            if key in own
            else [Name(copy, name)]
        )
    return found


def kept(run: AsRun, rows: IntArray, *, bare: bool = False) -> AsRun:
    """Return the schedule with these rows only, in this order; `bare` leaves its storage out.

    Rows of one rank stand together, ranks in their order.
    """
    place = np.full(len(run.operations), -1, np.int64)
    place[rows] = np.arange(len(rows))
    ops = run.operations
    columns = {name: read_only(getattr(ops, name)[rows]) for name in _COLUMNS}
    moved = {int(place[row]): own for row, own in ops.attributes.items() if place[row] >= 0}
    chosen_rows = Operations(
        **columns,
        attributes=MappingProxyType({row: moved[row] for row in sorted(moved)}),
        comms=ops.comms,
        handles=ops.handles,
        names=ops.names,
        torch_words=ops.torch_words,
    )
    found = dataclasses.replace(
        run,
        operations=chosen_rows,
        base=read_only(run.base[rows]),
        written=read_only(run.written[rows]),
        added=run.added[rows],
        copy=read_only(run.copy[rows]),
        turns=None,
        storage=None,
    )
    return found if bare else _with(found)


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


def taken_by_tag(run: AsRun) -> dict[int, int]:
    """Return the value that each receive of any content takes, where messages pair by their tags.

    A receive takes the oldest message of its channel that no receive posted before it takes. What
    is posted at either end is ordered, so that no timing decides: a message that comes while
    several receives wait is for the first of them, a receive that finds several takes the oldest.
    """
    ops, wide = run.operations, open_receives(run)
    found: dict[int, int] = {}
    ends = np.stack((ops.peer, ops.rank, ops.comm), axis=1)[wide]
    for source, rank, comm in sorted({*map(tuple, ends.tolist())}):
        line = ops.is_kind(Kind.SEND) & (ops.rank == source) & (ops.peer == rank)
        left: list[int] = ops.value[line & (ops.comm == comm)].tolist()
        own = ops.is_kind(Kind.RECV) & (ops.rank == rank) & (ops.peer == source)
        for row in np.flatnonzero(own & (ops.comm == comm)).tolist():
            named = None if row in wide else int(ops.value[row])
            at = next((k for k, value in enumerate(left) if named in (None, value)), None)
            value = left.pop(at) if at is not None else None
            if row in wide and value is not None:
                found[row] = value
    return found
