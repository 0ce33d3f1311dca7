"""Versions of weights: what operations read, against each other and against the policy."""

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, first_of
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding
from pipeproof.semantics.updates import (
    EVALUATING,
    Policy,
    applied_to,
    asked_of,
    evaluations,
    first_read,
    policy_of,
    taken_by,
    whole,
)
from pipeproof.semantics.versions import Versions

__all__ = ["mixed", "off_policy", "other_recomputations", "retired", "stale", "uncommitted"]

_Flags = npt.NDArray[np.bool_]


def mixed(frame: Frame) -> Findings:
    """All that a stage does for one microbatch reads one version, and no cache that is empty.

    A policy that keeps no version lets them differ.
    """
    if not _spoken(frame):
        return Findings(0)
    versions, policy = frame.versions, policy_of(frame.run.schedule)
    empty = _empty(versions)
    found = [_unfilled(frame, row) for row in empty.tolist()]
    if policy.name == "latest":
        return Findings(len(empty), found)
    at = evaluations(versions, *EVALUATING)
    if not versions.still:
        other = _differing(versions, at)
        at, other = (np.concatenate(each) for each in zip((at, other), _ahead(frame), strict=True))
        away = np.flatnonzero(other != at)
        _, first = first_of(versions.reads.rows[at[away]])
        found.extend(_apart(frame, int(at[k]), int(other[k])) for k in away[first].tolist())
    return Findings(len(at) + len(empty), found)


def _spoken(frame: Frame) -> bool:
    """Whether anything is said of weights: that they change, are copied, or by which policy."""
    ops, described = frame.ops, frame.run.schedule.described
    if "weights" in described or np.any(ops.is_kind(Kind.STEP)):
        return True
    return len(ops.attributes) > 0 and frame.versions.matters


def _differing(versions: Versions, at: IntArray) -> IntArray:
    """Return for each read the first one of its stage and microbatch if that differs, else it."""
    read = versions.reads.versions[at]
    total = versions.run.microbatches + 1
    keys = versions.weight[read] * total + whole(versions, versions.reads.rows[at])
    first = first_read(versions, at, keys, np.zeros(len(at), np.int64))
    return np.where(_same_version(versions, versions.reads.versions[first], read), at, first)


def _ahead(frame: Frame) -> tuple[IntArray, IntArray]:
    """Return the reads of withdrawn versions after a forward that counts, and that forward's."""
    versions, rows = frame.versions, frame.versions.reads.rows
    back = frame.ops.is_kind(Kind.B, Kind.I, Kind.W)[rows] & (frame.run.copy[rows] == 0)
    late = np.flatnonzero(back & among(rows, versions.uncounted))
    every = np.flatnonzero(frame.ops.is_kind(Kind.F)[rows])
    if not len(late) or not len(every):
        return late[:0], late[:0]
    counting = evaluations(versions, Kind.F)
    total, size = frame.run.microbatches + 1, len(frame.ops) + 1

    def key(at: IntArray) -> IntArray:
        weight = versions.weight[versions.reads.versions[at]]
        return np.asarray((weight * total + frame.ops.microbatch[rows[at]]) * size)

    every = every[np.argsort(key(every) + rows[every], kind="stable")]
    keys = key(every)
    place = np.searchsorted(keys + rows[every], key(late) + rows[late]) - 1
    there = (place >= 0) & (keys[place] == key(late)) & among(every[place], counting)
    return late[there], every[place[there]]


def _same_version(versions: Versions, one: IntArray, other: IntArray) -> _Flags:
    """Return which versions of one weight are the same; one that is absent has but its number."""
    absent = versions.absent[one] | versions.absent[other]
    return np.asarray((one == other) | (absent & (versions.number[one] == versions.number[other])))


def _empty(versions: Versions) -> IntArray:
    rows = versions.empty
    return rows[versions.run.copy[rows] == 0] if len(rows) else rows


def _unfilled(frame: Frame, row: int) -> Finding:
    why = f"{frame.text(row)} reads a cache of stage {frame.ops.stage[row]} that was never filled"
    return finding(frame, row, why=why)


def _apart(frame: Frame, read: int, other: int) -> Finding:
    versions = frame.versions
    row, first = (int(versions.reads.rows[each]) for each in (read, other))
    what, before = _version(versions, read), _number(versions, other)
    if row == first:
        why = f"{frame.text(row)} reads {what} and version {before} of it at once"
    else:
        why = f"{frame.text(row)} reads {what}, {frame.text(first)} read version {before}"
    return finding(frame, row, why=why)


def _number(versions: Versions, read: int) -> int:
    return int(versions.number[versions.reads.versions[read]])


def _version(versions: Versions, read: int) -> str:
    """Say which version of which weight is read."""
    weight = int(versions.weight[versions.reads.versions[read]])
    return f"version {_number(versions, read)} of {_weight(versions, weight)}"


def _weight(versions: Versions, weight: int) -> str:
    name = versions.names[weight]
    return f"{f'parameter {name} of ' if name else ''}stage {versions.stage[weight]}"


def off_policy(frame: Frame) -> Findings:
    """Each operation reads a version that exists, and the one that the policy asks for.

    Where a stage mixes versions for a microbatch, that alone is told.
    """
    if not _spoken(frame):
        return Findings(0)
    versions, policy = frame.versions, policy_of(frame.run.schedule)
    at = evaluations(versions, *EVALUATING)
    if versions.still and _plainly_asked(versions, policy):
        return Findings(len(at))
    read = versions.reads.versions[at]
    asked = asked_of(versions, policy, at)
    wrong = versions.absent[read]
    if asked is not None:
        wrong = wrong | (versions.number[read] != asked)
    chosen = np.flatnonzero(wrong & ~_in_mixture(versions, policy, at))
    _, first = first_of(versions.reads.rows[at[chosen]])
    found = [
        _wrong(frame, policy, int(at[k]), None if asked is None else int(asked[k]))
        for k in chosen[first].tolist()
    ]
    return Findings(len(at), found)


def _plainly_asked(versions: Versions, policy: Policy) -> bool:
    """Whether first versions are all that is asked for, if nothing else is read."""
    if policy.name in ("stash", "latest", "vertical") or not len(versions.ends.rows):
        return True
    once = (versions.run.schedule.steps or 1) == 1 and policy.every == "step"
    return once and versions.plain


def _in_mixture(versions: Versions, policy: Policy, at: IntArray) -> _Flags:
    """Return which reads are of a stage and microbatch that mixes versions."""
    rows, stage = versions.reads.rows[at], versions.run.operations.stage
    keys = stage[rows] * (versions.run.microbatches + 1) + whole(versions, rows)
    empty = _empty(versions)
    hollow = stage[empty] * (versions.run.microbatches + 1) + whole(versions, empty)
    if policy.name == "latest":
        return among(keys, hollow)
    return among(keys, np.concatenate((keys[_differing(versions, at) != at], hollow)))


def _wrong(frame: Frame, policy: Policy, read: int, asked: int | None) -> Finding:
    versions = frame.versions
    row, number = int(versions.reads.rows[read]), _number(versions, read)
    said = f"{frame.text(row)} reads {_version(versions, read)}"
    if versions.absent[versions.reads.versions[read]]:
        return finding(frame, row, why=f"no such version: {said}, which there is not at that point")
    if policy.name == "vertical":
        why = f"valid gradient, but not of one version at all stages: {said}, "
        return finding(frame, row, why=f"{why}the first stage read version {asked}")
    age = "older" if asked is not None and number < asked else "newer"
    why = f"valid gradient of {age} weights, not those that the policy {policy.name} asks for: "
    return finding(frame, row, why=f"{why}{said}, asked is version {asked}")


def stale(frame: Frame) -> Findings:
    """No more updates than the bound lie between the oldest version read and the one updated."""
    policy = policy_of(frame.run.schedule)
    if policy.staleness is None:
        return Findings(0)
    versions = frame.versions
    rows, weights = versions.adds
    taken = taken_by(versions, policy, rows, weights)
    stepping = (taken >= 0) & frame.ops.is_kind(Kind.STEP)[taken]
    rows, weights, taken = rows[stepping], weights[stepping], taken[stepping]
    oldest, newest = _span(versions, rows, weights)
    current = applied_to(versions, taken, weights)
    late = np.flatnonzero((oldest >= 0) & (current - oldest > policy.staleness))
    _, first = first_of(rows[late])
    found = []
    for k in late[first].tolist():
        facts = {
            "what": "valid" if oldest[k] == newest[k] else "mixed",
            "version": str(oldest[k]),
            "weight": _weight(versions, int(weights[k])),
            "step": frame.text(int(taken[k])),
            "current": str(current[k]),
            "delay": str(current[k] - oldest[k]),
            "bound": str(policy.staleness),
        }
        found.append(finding(frame, int(rows[k]), **facts))
    return Findings(len(rows), found)


def _span(versions: Versions, rows: IntArray, weights: IntArray) -> tuple[IntArray, IntArray]:
    """Return the oldest and newest version that was read for what `rows` add; -1 for none."""
    at = evaluations(versions, *EVALUATING)
    read, total = versions.reads.versions[at], versions.run.microbatches + 1
    keys = versions.weight[read] * total + whole(versions, versions.reads.rows[at])
    number = versions.number[read]
    order = np.lexsort((number, keys))
    keys, number = keys[order], number[order]
    wanted = weights * total + whole(versions, rows)
    low, high = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, "right")
    there = low < high
    oldest, newest = np.full((2, len(rows)), -1, np.int64)
    oldest[there], newest[there] = number[low[there]], number[high[there] - 1]
    return oldest, newest


def retired(frame: Frame) -> Findings:
    """A version keeps its slot until the last that reads it, be it from a copy."""
    policy = policy_of(frame.run.schedule)
    if policy.slots is None:
        return Findings(0)
    versions = frame.versions
    rows, read = versions.reads
    chosen = ~versions.absent[read] & (frame.run.copy[rows] == 0)
    last = np.full(len(versions.number), -1, np.int64)
    np.maximum.at(last, read[chosen], rows[chosen])
    kept = np.flatnonzero(last >= 0)
    over = _overwriting(versions, kept, policy.slots)
    early = (over >= 0) & (over < last[kept])
    _, first = first_of(over[early])
    found = []
    for version, row in zip(kept[early][first].tolist(), over[early][first].tolist(), strict=True):
        facts = {
            "version": str(versions.number[version]),
            "weight": _weight(versions, int(versions.weight[version])),
            "reader": frame.text(int(last[version])),
            "slots": str(policy.slots),
        }
        found.append(finding(frame, row, **facts))
    return Findings(len(kept), found)


def _overwriting(versions: Versions, kept: IntArray, slots: int) -> IntArray:
    """Return the first STEP after each version that makes the one `slots` later, -1 for none."""
    made = np.flatnonzero((versions.made >= 0) & ~versions.absent)
    size = len(versions.run.operations) + 2
    most = int(versions.number.max(initial=0)) + slots + 1

    def key(weight: IntArray, number: IntArray, row: IntArray) -> IntArray:
        return (weight * most + number) * size + row + 1

    keys = key(versions.weight[made], versions.number[made], versions.made[made])
    order = np.argsort(keys)
    weight, number = versions.weight[kept], versions.number[kept] + slots
    at = np.searchsorted(keys[order], key(weight, number, versions.made[kept]))
    found = np.full(len(kept), -1, np.int64)
    there = at < len(made)
    other = made[order][at[there]]
    same = (versions.weight[other] == weight[there]) & (versions.number[other] == number[there])
    found[there] = np.where(same, versions.made[other], -1)
    return found


def uncommitted(frame: Frame) -> Findings:
    """No operation reads a version before it is committed, or once it is withdrawn.

    A policy that speculates lets forwards and recomputations read it meanwhile.
    """
    if not np.any(frame.ops.is_kind(Kind.COMMIT, Kind.ROLLBACK)):
        return Findings(0)
    versions, policy = frame.versions, policy_of(frame.run.schedule)
    unsettled = versions.settled > versions.made
    if not unsettled.any():
        return Findings(0)
    rows, read = versions.reads
    judged = unsettled[read] & (frame.run.copy[rows] == 0)
    wrong = judged & ((rows < versions.settled[read]) | versions.withdrawn[read])
    if policy.name == "speculative":
        ahead = frame.ops.is_kind(Kind.F, Kind.R)[rows] & (rows < versions.settled[read])
        wrong &= ~ahead
    chosen = np.flatnonzero(wrong)
    _, first = first_of(rows[chosen])
    found = [_unsettled(frame, read) for read in chosen[first].tolist()]
    return Findings(int(np.sum(judged)), found)


def _unsettled(frame: Frame, read: int) -> Finding:
    versions = frame.versions
    row, version = int(versions.reads.rows[read]), versions.reads.versions[read]
    settled = int(versions.settled[version])
    verb = "withdraws" if versions.withdrawn[version] else "commits"
    when = f"{verb} it later" if row < settled else f"{verb} it before"
    why = f"{_version(versions, read)}: {frame.text(settled)} {when}"
    return finding(frame, row, why=why)


def other_recomputations(frame: Frame) -> Findings:
    """A recomputation reads the version that its forward read."""
    ops = frame.ops
    if not np.any(ops.is_kind(Kind.R)) or not _spoken(frame):
        return Findings(0)
    versions = frame.versions
    at = evaluations(versions, Kind.F, Kind.R)
    rows, read = versions.reads.rows[at], versions.reads.versions[at]
    again = ops.is_kind(Kind.R)[rows]
    keys = versions.weight[read] * (frame.run.microbatches + 1) + ops.microbatch[rows]
    first = first_read(versions, at, keys, np.zeros(len(at), np.int64))
    same = _same_version(versions, versions.reads.versions[first], read)
    wrong = np.flatnonzero(again & ops.is_kind(Kind.F)[versions.reads.rows[first]] & ~same)
    _, single = first_of(rows[wrong])
    found = [_apart(frame, int(at[k]), int(first[k])) for k in wrong[single].tolist()]
    return Findings(int(np.sum(again)), found)
