"""What a schedule describes that no rule of this version judges: unknown, never proved."""

from collections.abc import Iterator

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import ANY
from pipeproof.ir.sets import counted, distinct, without
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._windows import boundaries

__all__ = ["unjudged"]

_GRADIENT = ("PP701", "PP702", "PP703", "PP708")
_VERSION = ("PP601", "PP602", "PP603", "PP604", "PP605", "PP802")
_KEYS: dict[str, tuple[str, ...]] = {
    "faults": ("PP106", "PP301", "PP706"),
    "gradients": (*_GRADIENT, "PP707", "PP709"),
    "tied": ("PP707",),
    "norm": ("PP709",),
    "staleness": (),
    "makespan": ("PP902",),
}
_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "c": _GRADIENT,
    "mode": _GRADIENT,
    "param": (*_GRADIENT, "PP707"),
    "last": ("PP704", "PP701"),
    "shard": ("PP707",),
}
_KINDS: dict[Kind, tuple[str, ...]] = {
    **dict.fromkeys((Kind.ZERO, Kind.SCALE, Kind.STALE), _GRADIENT),
    Kind.NORM: ("PP709",),
    Kind.TIE: ("PP707",),
}


def unjudged(frame: Frame) -> dict[str, str]:
    """Return the codes of rules that the schedule needs and this version does not judge, and why.

    A choice leaves every rule undecided (code `PP`): nothing is proved by ignoring one.
    """
    found: dict[str, str] = {}
    for codes, why in _reasons(frame):
        for code in codes:
            found.setdefault(code, why)
    return dict(sorted(found.items()))


def _reasons(frame: Frame) -> Iterator[tuple[tuple[str, ...], str]]:
    yield from _choices(frame)
    yield from _keys(frame)
    yield from _operations(frame)
    yield from _running_reductions(frame)
    yield from _other_steps(frame)
    yield from _halves(frame)


def _choices(frame: Frame) -> Iterator[tuple[tuple[str, ...], str]]:
    ops, described = frame.ops, frame.run.schedule.described
    receives = ops.is_kind(Kind.RECV)
    anything = any("v" in said for said in ops.attributes.values())
    if anything or np.any((ops.peer == ANY) | (receives & (ops.value == ANY))):
        yield ("PP",), "RECV from=any or v=any is a choice"
    if np.any(ops.is_kind(Kind.CHOOSE)) or any("if" in said for said in ops.attributes.values()):
        yield ("PP",), "CHOOSE and if= are choices"
    for key in ("ready", "choices"):
        if key in described:
            yield ("PP",), "a rank with `order: ready` is a choice"


def _keys(frame: Frame) -> Iterator[tuple[tuple[str, ...], str]]:
    schedule = frame.run.schedule
    given = [*schedule.described, *(["gradients"] if schedule.gradients.other else [])]
    for key in given:
        if key in _KEYS:
            yield _KEYS[key], f"the key {key} is not judged yet"
        elif key == "bounds":
            value = schedule.described[key]
            for bound in value if not isinstance(value, str) else ():
                if bound in _KEYS:
                    yield _KEYS[str(bound)], f"bounds.{bound} is not judged yet"
    if len(schedule.lines) > 1 and np.any(frame.ops.is_kind(Kind.STEP)):
        yield ("PP707",), "stages at one place of two pipelines are tied"


def _operations(frame: Frame) -> Iterator[tuple[tuple[str, ...], str]]:
    ops = frame.ops
    used = {name for said in ops.attributes.values() for name in said}
    for name in sorted(used & _ATTRIBUTES.keys()):
        yield _ATTRIBUTES[name], f"the attribute {name} is not judged yet"
    kinds = set(distinct(ops.kind).tolist())
    for kind, codes in _KINDS.items():
        if int(kind) in kinds:
            yield codes, f"{kind.name} is not judged yet"
    for row in np.flatnonzero(ops.is_kind(Kind.COMMIT, Kind.ROLLBACK)).tolist():
        if "param" in ops.attributes.get(row, {}):
            why = "COMMIT and ROLLBACK of one parameter are not judged yet"
            yield _VERSION, why


def _running_reductions(frame: Frame) -> Iterator[tuple[tuple[str, ...], str]]:
    """Tell of a reduction that may still run when its gradient is used or added to."""
    ops = frame.ops
    for row in np.flatnonzero(ops.is_kind(Kind.REDUCE) & (ops.handle >= 0)).tolist():
        users = ops.is_kind(Kind.STEP, Kind.SCALE, Kind.NORM, Kind.B, Kind.W, Kind.ZERO, Kind.TIE)
        later = np.flatnonzero(users & (ops.stage == ops.stage[row]) & (ops.rank == ops.rank[row]))
        later = later[later > row]
        moment = frame.awaited[row]
        if len(later) and (moment < 0 or moment > frame.start(later[:1])[0]):
            yield ("PP501", "PP502"), "a gradient is used while its reduction may run"
            return


def _other_steps(frame: Frame) -> Iterator[tuple[tuple[str, ...], str]]:
    """Tell of steps that differ in number from those covered."""
    ops = frame.ops
    steps = boundaries(frame)
    if not len(steps):
        return
    copy, total = frame.run.copy, max(frame.run.schedule.steps or 1, 1)
    key = (copy * frame.ranks + ops.rank) * (frame.run.schedule.stages + 1) + ops.stage
    _, counts = counted(key[steps])
    if np.any(counts > 1):
        yield _GRADIENT, "a stage takes a second STEP"
    if np.any(counts != total):
        yield ("PP701", "PP706"), "a stage takes more or fewer STEPs than steps are covered"


def _halves(frame: Frame) -> Iterator[tuple[tuple[str, ...], str]]:
    """Tell of a backward in a fragment whose weight gradient stands nowhere."""
    ops = frame.ops
    if not frame.fragment:
        return
    own = ops.stage * frame.run.microbatches + ops.microbatch
    alone = without(own[ops.is_kind(Kind.I)], own[ops.is_kind(Kind.W, Kind.B)])
    if len(alone):
        yield ("PP701",), "an input gradient stands without its weight gradient"
