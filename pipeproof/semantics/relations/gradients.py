"""Gradients where they are used: every contribution once, as asked, tied, clean and normed."""

from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.sets import distinct
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._accumulators import Held, Interpretation, Use, interpret
from pipeproof.semantics.relations._asked import Asked
from pipeproof.semantics.relations._contents import judge_contents
from pipeproof.semantics.relations._faults import Faults, Used, use_text, used_at
from pipeproof.semantics.relations._plain import Counts, count, unnormed_uses
from pipeproof.semantics.relations._ties import tied
from pipeproof.semantics.relations._untied import find_untied, unlike_ties, untied_findings

__all__ = ["lost", "repeated", "stale", "unnormed", "untied", "wrong"]

_EXACT = (Kind.ZERO, Kind.SCALE, Kind.STALE, Kind.TIE, Kind.ROLLBACK)


class _Judged(NamedTuple):
    """What all relations of this module find in one schedule."""

    counts: Counts
    found: Interpretation
    untied: dict[Used, str]
    plain: list[int]


_judged: WeakKeyDictionary[Frame, _Judged] = WeakKeyDictionary()  # one pass for six relations


def _judge(frame: Frame) -> _Judged:
    if frame not in _judged:
        _judged[frame] = _judge_once(frame)
    return _judged[frame]


def _judge_once(frame: Frame) -> _Judged:
    asked = Asked(frame)
    exact = _exact_stages(frame)
    plain = [stage for stage in range(frame.run.schedule.stages) if stage not in exact]
    found = interpret(frame, asked, sorted(exact))
    told = find_untied(frame, asked, found)
    counts = Counts(Faults(), Faults(), Faults())
    if not frame.run.schedule.forward_only:
        counts = count(frame, asked, plain)
        judge_contents(frame, asked, found, set(told), counts)
    return _Judged(counts, found, told, plain)


def _exact_stages(frame: Frame) -> set[int]:
    """Return the stages whose gradients are more than contributions that count one each."""
    ops = frame.ops
    special = ops.is_kind(*_EXACT)
    spoken = [
        row
        for row, said in ops.attributes.items()
        if ("c" in said or "mode" in said or "param" in said) and ops.kind[row] != Kind.I
    ]
    rows = np.concatenate((np.flatnonzero(special), np.asarray(spoken, np.int64)))
    stages = set(distinct(ops.stage[rows]).tolist())
    if not frame.run.schedule.forward_only:
        stages |= {stage for copies in tied(frame) for stage in copies.stages}
    return {stage for stage in stages if 0 <= stage < frame.run.schedule.stages}


def lost(frame: Frame) -> Findings:
    """Every microbatch that is due stands in the gradient where it is used."""
    faults = _judge(frame).counts.lost
    return Findings(faults.instances, faults.findings(frame, "lost"))


def repeated(frame: Frame) -> Findings:
    """No microbatch stands in the gradient twice, save in parts."""
    faults = _judge(frame).counts.repeated
    return Findings(faults.instances, faults.findings(frame, "repeated"))


def wrong(frame: Frame) -> Findings:
    """Every microbatch enters the gradient with the coefficient that is asked for."""
    faults = _judge(frame).counts.wrong
    return Findings(faults.instances, faults.findings(frame, "wrong"))


def untied(frame: Frame) -> Findings:
    """Copies of a parameter are summed up after the last contribution, in one reduction state."""
    judged = _judge(frame)
    unlike = list(unlike_ties(frame, judged.found))
    shared = {stage for copies in tied(frame) for stage in copies.stages}
    uses = sum(use.stage in shared for use in judged.found.uses) if shared else 0
    found = [*untied_findings(frame, judged.untied), *unlike]
    return Findings(uses + len(judged.found.posted), found)


def stale(frame: Frame) -> Findings:
    """No leftovers stand in the gradient where it is used."""
    ops = frame.ops
    marks = int(np.sum(ops.is_kind(Kind.STALE)))
    if not marks:
        return Findings(0)
    found = []
    for use in _used(frame, _judge(frame).found):
        for held in use.held:
            if held.stale >= 0:
                facts = _facts(frame, use, held) | {"left": frame.text(held.stale)}
                found.append(Finding((used_at(frame, Used(use.stage, use.row)),), facts))
                break
    return Findings(marks, found)


def unnormed(frame: Frame) -> Findings:
    """A norm over all ranks stands behind the last change of a gradient that is used."""
    if frame.run.schedule.gradients.other.get("norm") != "all":
        return Findings(0)
    judged = _judge(frame)
    asked, facts = 0, list[tuple[Used, dict[str, str]]]()
    for use in _used(frame, judged.found):
        asked += 1
        lacking = [held for held in use.held if not held.normed and not _covered(use, held)]
        if lacking:
            facts.append((Used(use.stage, use.row), _facts(frame, use, lacking[0])))
    number, bare = unnormed_uses(frame, Asked(frame), judged.plain)
    for used in bare:
        facts.append((used, {"op": use_text(frame, used), "stage": str(used.stage), "what": ""}))
    found = [Finding((used_at(frame, used),), said) for used, said in facts]
    return Findings(asked + number, sorted(found, key=lambda each: each.spots[0]))


def _covered(use: Use, held: Held) -> bool:
    """Whether a rest is taken for covered by the norms of single parameters."""
    return not held.name and any(other.normed for other in use.held if other.name)


def _used(frame: Frame, found: Interpretation) -> Iterator[Use]:
    """Yield the uses that are asked: each STEP, and the end of a program that still adds."""
    updates = Asked(frame).each_update
    for use in found.uses:
        adds = any(held.added >= 0 for held in use.held)
        if use.row >= 0 or (adds and not (updates and use.stepped)):
            yield use


def _facts(frame: Frame, use: Use, held: Held) -> dict[str, str]:
    what = f"parameter {held.name} of " if held.name else ""
    return {
        "op": use_text(frame, Used(use.stage, use.row)),
        "stage": str(use.stage),
        "what": what,
    }
