"""Receives moved towards their readers, as torch does with `defer_pp_recv`."""

from itertools import pairwise

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray, Operations
from pipeproof.lowering._lowered import Rows

__all__ = ["defer"]

_RECEIVES = (int(Kind.RECV_F), int(Kind.RECV_B))
_SENDS = (int(Kind.SEND_F), int(Kind.SEND_B))
_READS = {
    int(Kind.F): int(Kind.RECV_F),
    int(Kind.B): int(Kind.RECV_B),
    int(Kind.I): int(Kind.RECV_B),
}
_Key = tuple[int, int, int]


def defer(ops: Operations, rows: Rows) -> tuple[Rows, bool]:
    """Hold every receive until its reader, or until a send to the same, higher rank.

    Receives of one peer leave in the order of their readers, not of their sends: that is how
    messages cross. A receive without a reader is put behind everything; torch refuses it.

    Returns:
        The rows, and whether a receive has no reader.
    """
    home = dict(zip(ops.stage.tolist(), ops.rank.tolist(), strict=True))
    order: list[int] = []
    left = False
    bounds = np.searchsorted(rows.rank, np.arange(int(rows.rank.max(initial=-1)) + 2)).tolist()
    columns = rows.kind.tolist(), rows.stage.tolist(), rows.microbatch.tolist()
    instructions = _instructions(ops, rows)
    for rank, (low, high) in enumerate(pairwise(bounds)):
        moved, held = _rank(rank, range(low, high), columns, home, instructions)
        order.extend(moved + held)
        left |= bool(held)
    return Rows(*(column[order] for column in rows[:5])), left


def _instructions(ops: Operations, rows: Rows) -> IntArray:
    own = rows.source >= 0
    return np.where(own, ops.instruction[np.maximum(rows.source, 0)], -1)


def _rank(
    rank: int,
    numbers: range,
    columns: tuple[list[int], list[int], list[int]],
    home: dict[int, int],
    instructions: IntArray,
) -> tuple[list[int], list[int]]:
    kinds, stages, microbatches = columns
    held: dict[int, dict[_Key, int]] = {}  # by peer, in the order of the rows
    order: list[int] = []
    for row in numbers:
        kind, stage = kinds[row], stages[row]
        if kind in _RECEIVES:
            key = (stage, kind, microbatches[row])
            held.setdefault(_peer(key, home), {})[key] = row
            continue
        if kind in _SENDS:
            peer = home.get(stage + (1 if kind == Kind.SEND_F else -1), -1)
            if rank < peer:
                order.extend(held.pop(peer, {}).values())
        if row == numbers[0] or instructions[row] < 0 or instructions[row] != instructions[row - 1]:
            order.extend(_read(row, columns, instructions, held, home))
        order.append(row)
    return order, sorted(row for rows in held.values() for row in rows.values())


def _peer(key: _Key, home: dict[int, int]) -> int:
    stage, kind, _ = key
    return home.get(stage + (-1 if kind == Kind.RECV_F else 1), -1)


def _read(
    row: int,
    columns: tuple[list[int], list[int], list[int]],
    instructions: IntArray,
    held: dict[int, dict[_Key, int]],
    home: dict[int, int],
) -> list[int]:
    """Let go of the receives that the instruction which starts at `row` reads."""
    kinds, stages, microbatches = columns
    found: list[int] = []
    at, own = row, int(instructions[row])
    while at < len(kinds) and (at == row or instructions[at] == own >= 0):
        wanted = _READS.get(kinds[at])
        if wanted is not None:
            key = (stages[at], wanted, microbatches[at])
            received = held.get(_peer(key, home), {}).pop(key, None)
            found += [] if received is None else [received]
        at += 1
    return found
