"""Torch's own lowering of a computation order, cell for cell.

Three passes, as `_PipelineScheduleRuntime._prepare_schedule_with_comms` makes them: UNSHARD and
RESHARD around computations, REDUCE_GRAD after the last contribution, then sends and receives.
Every rank places one instruction a round once what it needs is placed; a send stands right
behind its maker, and its receive is appended to the other rank's list at the same moment.

Source: torch 2.13.0, torch/distributed/pipelining/schedules.py (`_add_unshard_reshard`,
`_add_reduce_grad`, `_add_send_recv`, `_defer_recv_ops`).
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import NONE, IntArray, Operations
from pipeproof.ir.schedule import Schedule, neighbours
from pipeproof.ir.sets import first_of, without
from pipeproof.lowering._lowered import Lowered, Rows, assemble
from pipeproof.lowering._rounds import NEVER, READY, place
from pipeproof.lowering._sharding import changes

__all__ = ["lower"]


class _Items(NamedTuple):
    """What the first two passes leave, in program order, by rank: instructions, and what is new.

    `instruction[k]` is the instruction that item k is (`phase` 1), or stands beside.
    """

    rank: IntArray
    instruction: IntArray
    phase: IntArray
    kind: IntArray
    stage: IntArray


_BEFORE, _OWN, _AFTER, _LAST = range(4)


def lower(schedule: Schedule, placement: tuple[int, ...], *, deferred: bool = False) -> Lowered:
    """Lower a computation order as torch does.

    Args:
        schedule: operations F, B, I, W and overlaps of them.
        placement: the rank of each stage.
        deferred: as with `defer_pp_recv`, receives move towards their readers.

    Returns:
        The operations with what torch adds, and why torch refuses the order if it does: then
        the rest is lowered by the same rule without its readiness test.
    """
    ops = schedule.operations
    items = _items(schedule)
    links = _links(schedule, placement)
    rounds, stuck = place(items.rank, _needs(ops, items, links))
    rows = _rows(ops, items, links, rounds)
    refused = _refusal(schedule, items, stuck)
    return assemble(ops, rows, refused=refused, deferred=deferred)


def _items(schedule: Schedule) -> _Items:
    ops = schedule.operations
    first = ops.first_row
    count = len(first)
    parts: list[tuple[IntArray, ...]] = [
        (ops.rank[first], np.arange(count), np.full(count, _OWN), ops.kind[first], ops.stage[first])
    ]
    parts.extend(_shardings(ops))
    rows = _reductions(schedule)
    parts.append(
        (
            ops.rank[rows],
            ops.instruction[rows],
            np.full(len(rows), _AFTER),
            np.full(len(rows), int(Kind.REDUCE)),
            ops.stage[rows],
        )
    )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((columns[2], columns[1], columns[0]))
    return _Items(*(column[order] for column in columns))


def _shardings(ops: Operations) -> list[tuple[IntArray, ...]]:
    parts: list[tuple[IntArray, ...]] = []
    bounds = np.searchsorted(ops.rank, np.arange(int(ops.rank.max(initial=-1)) + 2))
    for rank, (low, high) in enumerate(pairwise(bounds.tolist())):
        if low == high:
            continue
        start = int(ops.instruction[low])
        found = changes(ops.stage[low:high], ops.instruction[low:high] - start)
        end = int(ops.instruction[high - 1]) - start + 1
        before = np.asarray([change.before for change in found])
        parts.append(
            (
                np.full(len(found), rank),
                start + np.minimum(before, end - 1),
                np.where(before == end, _LAST, _BEFORE),
                np.asarray([int(change.kind) for change in found]),
                np.asarray([change.stage for change in found]),
            )
        )
    return parts


def _reductions(schedule: Schedule) -> IntArray:
    """Return the rows after which a stage's gradient is reduced: its n-th B or W on the rank."""
    ops = schedule.operations
    rows = np.flatnonzero(ops.is_kind(Kind.B, Kind.W))
    key = ops.rank[rows] * (schedule.stages + int(ops.stage.max(initial=0)) + 1) + ops.stage[rows]
    order = np.lexsort((rows, key))
    rows, key = rows[order], key[order]
    _, first = first_of(key)
    at = first + schedule.ids_per_step - 1
    inside = at < len(rows)
    at, first = at[inside], first[inside]
    return np.sort(rows[at[key[at] == key[first]]])


class _Links(NamedTuple):
    """Messages: row `maker[k]` makes what `reader[k]`'s stage reads, on another rank.

    `need[row]` is the row that must be placed before `row`, READY or NEVER.
    """

    maker: IntArray
    owner: IntArray
    need: IntArray


def _links(schedule: Schedule, placement: tuple[int, ...]) -> _Links:
    ops = schedule.operations
    stages = schedule.stages
    home = np.asarray((*placement, NONE))
    before, after = (np.asarray((*side, NONE)) for side in neighbours(schedule))
    stage = np.where(ops.stage < stages, ops.stage, stages)
    forward, backward = ops.is_kind(Kind.F), ops.is_kind(Kind.B, Kind.I)
    to = np.where(forward, after[stage], np.where(backward, before[stage], NONE))
    sends = (to != NONE) & (home[to] != home[stage])
    of = np.where(forward, before[stage], np.where(backward, after[stage], NONE))
    need = np.full(len(ops), READY, np.int64)
    size = stages * max(int(ops.microbatch.max(initial=0)) + 1, 1)
    for made in (forward, backward):
        makers = np.flatnonzero(made & (stage < stages))
        key = stage[makers] * (size // stages) + ops.microbatch[makers]
        table = np.full(size + 1, NEVER, np.int64)
        table[key[::-1]] = makers[::-1]
        readers = np.flatnonzero(made & (of != NONE))
        need[readers] = table[of[readers] * (size // stages) + ops.microbatch[readers]]
    found = np.maximum(need, 0)
    local = ops.rank[found] == ops.rank
    reached = local | (sends[found] & (home[to[found]] == ops.rank))
    need = np.where((need >= 0) & ~reached, NEVER, need)
    maker = np.flatnonzero(sends)
    return _Links(maker, home[to[maker]], need)


def _needs(ops: Operations, items: _Items, links: _Links) -> list[IntArray]:
    """Return for each item the items it waits for, one column a place within an overlap."""
    own = items.phase == _OWN
    item_of = np.empty(len(ops.first_row), np.int64)
    item_of[items.instruction[own]] = np.flatnonzero(own)
    need = np.where(
        links.need >= 0, item_of[ops.instruction[np.maximum(links.need, 0)]], links.need
    )
    itself = (links.need >= 0) & (ops.instruction[np.maximum(links.need, 0)] == ops.instruction)
    need = np.where(itself, NEVER, need)
    width = int(ops.member.max(initial=0)) + 1
    columns = []
    for member in range(width):
        column = np.full(len(items.rank), READY, np.int64)
        rows = np.flatnonzero((ops.member == member) & (need != READY))
        column[item_of[ops.instruction[rows]]] = need[rows]
        columns.append(column)
    return columns


def _rows(ops: Operations, items: _Items, links: _Links, rounds: IntArray) -> Rows:
    """Return the rows of the lowered programs in their order, by rank."""
    own = items.phase == _OWN
    when = np.empty(len(ops.first_row), np.int64)
    when[items.instruction[own]] = rounds[own]
    rows = np.arange(len(ops))
    new = ~own
    makers = links.maker
    forward = ops.kind[makers] == Kind.F
    sends = np.where(forward, int(Kind.SEND_F), int(Kind.SEND_B))
    receives = np.where(forward, int(Kind.RECV_F), int(Kind.RECV_B))
    reader = ops.stage[makers] + np.where(forward, 1, -1)
    placed, turn = when[ops.instruction], ops.rank
    none = np.full(np.sum(new), NONE, np.int64)
    parts: list[tuple[IntArray, ...]] = [
        (ops.rank, placed, turn, ops.member * 0, ops.kind, ops.stage, ops.microbatch, rows),
        (
            *(items.rank[new], rounds[new], items.rank[new], np.zeros(np.sum(new), np.int64)),
            *(items.kind[new], items.stage[new], none, none),
        ),
        (
            *(ops.rank[makers], placed[makers], turn[makers], 2 * ops.member[makers] + 1),
            *(sends, ops.stage[makers], ops.microbatch[makers], np.full(len(makers), NONE)),
        ),
        (
            *(links.owner, placed[makers], turn[makers], 2 * ops.member[makers] + 2),
            *(receives, reader, ops.microbatch[makers], np.full(len(makers), NONE)),
        ),
    ]
    owner, round_, turn, sub, *rest = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    placed_order = np.lexsort((sub, turn, round_))
    turns = np.empty(len(owner), np.int64)
    turns[placed_order] = np.arange(len(owner))
    order = placed_order[np.argsort(owner[placed_order], kind="stable")]
    kind, stage, microbatch, source = (column[order] for column in rest)
    return Rows(owner[order], kind, stage, microbatch, source, turns[order])


def _refusal(schedule: Schedule, items: _Items, stuck: int) -> str | None:
    if stuck >= 0:
        instruction = int(items.instruction[stuck])
        text = schedule.operations.instruction_text(instruction)
        return f"torch refuses this order: rank {items.rank[stuck]} cannot place {text}"
    idle = without(np.arange(schedule.ranks), schedule.operations.rank)
    if len(idle):
        return f"torch refuses this order: rank {idle[0]} has no operation"
    return None
