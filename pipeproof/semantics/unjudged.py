"""What a schedule describes that no rule of this version judges: unknown, never proved."""

from collections.abc import Iterator

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import ANY
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.bounds import bound

__all__ = ["unjudged"]


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


def _choices(frame: Frame) -> Iterator[tuple[tuple[str, ...], str]]:
    ops, described = frame.ops, frame.run.schedule.described
    wide = ops.is_kind(Kind.RECV) & ((ops.peer == ANY) | (ops.value == ANY))
    said = {name for attributes in ops.attributes.values() for name in attributes}
    if not frame.run.settled and (np.any(wide) or "v" in said):
        yield ("PP",), "RECV from=any or v=any is a choice"
    if not frame.run.settled and (np.any(ops.is_kind(Kind.CHOOSE)) or "if" in said):
        yield ("PP",), "CHOOSE and if= are choices"
    if "ready" in described and frame.run.ready is None:
        yield ("PP",), "a rank with `order: ready` is a choice"


def _keys(frame: Frame) -> Iterator[tuple[tuple[str, ...], str]]:
    if bound(frame, "memory") is not None and "sizes" not in frame.run.schedule.described:
        yield ("PP506",), "bounds.memory is about the bytes of sizes, which are not given"
    if bound(frame, "makespan") is not None and frame.transport.weak:
        yield ("PP902",), "time is not judged where messages of a weak communicator move"
