"""Which update takes which contribution, and what the policy asks of the versions read for it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import NONE, IntArray
from pipeproof.ir.schedule import Plain, Schedule
from pipeproof.ir.sets import among, numbered
from pipeproof.semantics.versions import Versions, identified

__all__ = [
    "EVALUATING",
    "Policy",
    "applied_to",
    "asked_of",
    "evaluations",
    "first_read",
    "next_end",
    "policy_of",
    "taken_by",
    "whole",
]

EVALUATING = (Kind.F, Kind.B, Kind.I, Kind.W)


class Policy(NamedTuple):
    """What is asked of versions.

    `slots` are the versions of a weight that are kept at once, None for all of them; `staleness`
    bounds how many updates lie between a version read and the one that is updated.
    """

    name: str = "flush"
    every: Literal["step", "microbatch"] = "step"
    slots: int | None = None
    staleness: int | None = None


def policy_of(schedule: Schedule) -> Policy:
    """Return what the keys weights, storage.weights and bounds.staleness ask."""
    weights = _table(schedule.described.get("weights"))
    name = _text(weights.get("policy"), "flush")
    slots = _text(_table(_table(schedule.described.get("storage")).get("weights")).get("slots"), "")
    bound = _text(_table(schedule.described.get("bounds")).get("staleness"), "")
    kept = int(slots) if slots else (2 if name == "2bw" else None)
    every = _text(weights.get("updates"), "step")
    return Policy(
        name,
        "microbatch" if every == "microbatch" else "step",
        kept,
        int(bound) if bound else None,
    )


def _table(value: Plain | None) -> Mapping[str, Plain]:
    return {} if value is None or isinstance(value, str | tuple) else value


def _text(value: Plain | None, otherwise: str) -> str:
    return value if isinstance(value, str) else otherwise


def evaluations(versions: Versions, *kinds: Kind) -> IntArray:
    """Return which reads, by index, of the first copy are of `kinds` and count."""
    rows, run = versions.reads.rows, versions.run
    chosen = run.operations.is_kind(*kinds)[rows]
    if run.copies > 1:
        chosen &= run.copy[rows] == 0
    if len(versions.uncounted):
        chosen &= ~among(rows, versions.uncounted)
    return np.flatnonzero(chosen)


def first_read(versions: Versions, at: IntArray, keys: IntArray, rank: IntArray) -> IntArray:
    """Return for each read of `at` the read among them that is first of those of its key.

    Lower `rank` comes first, then forwards, then the order of rows.
    """
    rows = versions.reads.rows[at]
    later = versions.run.operations.kind[rows] != Kind.F
    order = np.lexsort((rows, later, rank, keys))
    ordered = keys[order]
    fresh = np.ones(len(at), np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    group = np.empty(len(at), np.int64)
    group[order] = np.cumsum(fresh) - 1
    return np.asarray(at[order[fresh]][group])


def taken_by(versions: Versions, policy: Policy, rows: IntArray, weights: IntArray) -> IntArray:
    """Return the STEP or SKIP that takes what `rows` work for, NONE where none does.

    Updates every step: the t-th one for the microbatches of step t. One that stands before all
    that is done for them has taken others; then it is the next one after their first operation.
    Updates every microbatch: the next one after the B or W of the microbatch.
    """
    if policy.every == "microbatch":
        return next_end(versions, weights, _last_contribution(versions, rows, weights))
    ends = versions.ends
    turn = _turn(versions, rows)
    low = np.searchsorted(ends.weights, weights)
    high = np.searchsorted(ends.weights, weights, "right")
    taken = np.full(len(rows), NONE, np.int64)
    there = low + turn < high
    taken[there] = ends.rows[(low + turn)[there]]
    late = there & (rows > taken)
    if late.any():
        begun = _begun(versions, rows)
        late &= begun > taken
        taken[late] = next_end(versions, weights[late], begun[late])
    return taken


def _turn(versions: Versions, rows: IntArray) -> IntArray:
    run = versions.run
    return np.asarray(run.operations.microbatch[rows] // max(run.schedule.ids_per_step, 1))


def _begun(versions: Versions, rows: IntArray) -> IntArray:
    """Return the first operation that the stage of each row does for its step."""
    run, ops = versions.run, versions.run.operations
    every = np.flatnonzero(ops.is_kind(*EVALUATING) & identified(run) & (run.copy == 0))
    every = np.concatenate((every[~among(every, versions.uncounted)], rows))
    steps = run.microbatches // max(run.schedule.ids_per_step, 1) + 1
    _, group = numbered(ops.stage[every] * steps + _turn(versions, every))
    first = np.full(len(every), len(ops), np.int64)
    np.minimum.at(first, group, every)
    return np.asarray(first[group[len(every) - len(rows) :]])


def _last_contribution(versions: Versions, rows: IntArray, weights: IntArray) -> IntArray:
    """Return each row where it contributes itself, else the last that does for its microbatch."""
    ops, total = versions.run.operations, versions.run.microbatches
    adding, added = versions.adds
    keys = added * total + ops.microbatch[adding]
    order = np.lexsort((adding, keys))
    wanted = weights * total + ops.microbatch[rows]
    at = np.searchsorted(keys[order], wanted, "right") - 1
    found = np.full(len(rows), NONE, np.int64)
    there = at >= 0
    there[there] = keys[order][at[there]] == wanted[there]
    found[there] = adding[order][at[there]]
    return np.where(ops.is_kind(Kind.B, Kind.W)[rows], rows, found)


def next_end(versions: Versions, weights: IntArray, rows: IntArray) -> IntArray:
    """Return the first STEP or SKIP about each weight after a row, NONE without one or row."""
    ends, size = versions.ends, len(versions.run.operations) + 1
    keys = ends.weights * size + ends.rows
    at = np.searchsorted(keys, weights * size + rows, "right")
    there = (rows >= 0) & (at < len(keys))
    there[there] = ends.weights[at[there]] == weights[there]
    found = np.full(len(rows), NONE, np.int64)
    found[there] = ends.rows[at[there]]
    return found


def applied_to(versions: Versions, taken: IntArray, weights: IntArray) -> IntArray:
    """Return the number of the version that each update changes; that at the end where NONE."""
    there = taken >= 0
    found = versions.at_end(weights)
    found[there] = versions.current(weights[there], taken[there])
    return np.asarray(versions.number[found])


def asked_of(versions: Versions, policy: Policy, at: IntArray) -> IntArray | None:
    """Return the number of the version that the policy asks of each read, None for any."""
    read = versions.reads.versions[at]
    rows, weights = versions.reads.rows[at], versions.weight[read]
    match policy.name:
        case "stash" | "latest":
            return None
        case "vertical":
            return _read_first(versions, at)
        case _:
            current = applied_to(versions, taken_by(versions, policy, rows, weights), weights)
            return np.maximum(current - 1, 0) if policy.name == "2bw" else current


def _read_first(versions: Versions, at: IntArray) -> IntArray:
    """Return what the first stage of its pipeline read for the microbatch of each read.

    Where that read several versions, of several parameters, each of them is as good.
    """
    schedule, rows = versions.run.schedule, versions.reads.rows
    line, place = np.zeros((2, schedule.stages), np.int64)
    for number, stages in enumerate(schedule.lines):
        line[list(stages)], place[list(stages)] = number, np.arange(len(stages))
    stage = versions.run.operations.stage[rows[at]]
    keys = line[stage] * versions.run.microbatches + whole(versions, rows[at])
    first = first_read(versions, at, keys, place[stage])
    numbers = versions.number[versions.reads.versions[at]]
    pairs = keys * (int(numbers.max(initial=0)) + 1) + numbers
    leading = rows[at] == rows[first]
    there = among(pairs, pairs[leading])
    return np.where(there, numbers, versions.number[versions.reads.versions[first]])


def whole(versions: Versions, rows: IntArray) -> IntArray:
    """Return the microbatch of each row, of all its segments."""
    run = versions.run
    return np.asarray(run.operations.microbatch[rows] // run.schedule.segments)
