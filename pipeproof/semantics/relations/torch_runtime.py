"""What torch's pipeline runtime asks beyond order (profile `torch-runtime`, torch 2.13.0)."""

import numpy as np

from pipeproof.ir.accesses import TORCH_PROFILES
from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import first_of, numbered
from pipeproof.ir.values import ValueKind
from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding, ordinal_in_group

__all__ = ["given_away", "losses_elsewhere"]


def given_away(frame: Frame) -> Findings:
    """An activation is sent before its backward takes it, a gradient once: sending gives it away.

    Source: torch/distributed/pipelining/stage.py (`fwd_cache.pop` in backward, `bwd_cache.pop` in
    `get_bwd_send_ops`).
    """
    if frame.run.schedule.profile not in TORCH_PROFILES:
        return Findings(0)
    ops = frame.ops
    rows = np.flatnonzero(ops.is_kind(Kind.SEND) & frame.run.is_message)
    what = ops.value[rows] >> 56
    forward, backward = rows[what == ValueKind.F], rows[what == ValueKind.B]
    found = [*_after_backward(frame, forward), *_again(frame, backward)]
    return Findings(len(forward) + len(backward), found)


def _after_backward(frame: Frame, sends: IntArray) -> list[Finding]:
    """Return the sends of an activation that stand behind the first B or I that takes it."""
    ops, total = frame.ops, frame.run.microbatches
    stages = frame.run.schedule.stages + 1
    takers = np.flatnonzero(ops.is_kind(Kind.B, Kind.I) & (ops.microbatch >= 0))
    home = ops.rank * stages
    key, first = first_of((home[takers] + ops.stage[takers]) * total + ops.microbatch[takers])
    stage, microbatch = (ops.value >> 32) & 0xFFFFFF, ops.value & 0xFFFFFFFF
    wanted = (home[sends] + stage[sends]) * total + microbatch[sends]
    at = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    if not len(key):
        return []
    taker = np.where(key[at] == wanted, takers[first[at]], len(ops))
    late = taker < sends
    return [
        finding(frame, row, why=f"sends what {frame.text(by)} took")
        for row, by in zip(sends[late].tolist(), taker[late].tolist(), strict=True)
    ]


def _again(frame: Frame, sends: IntArray) -> list[Finding]:
    ops = frame.ops
    _, value = numbered(ops.value[sends])
    turn = ordinal_in_group(value * frame.ranks + ops.rank[sends])
    why = "sends a gradient that an earlier send gave away"
    return [finding(frame, row, why=why) for row in sends[turn > 0].tolist()]


def losses_elsewhere(frame: Frame) -> Findings:
    """Losses are listed in the order in which the last stage runs its forwards, and taken by id.

    Source: torch/distributed/pipelining/schedules.py, `_maybe_compute_loss`, `_maybe_get_loss`.
    """
    if frame.run.schedule.profile not in TORCH_PROFILES:
        return Findings(0)
    found: list[Finding] = []
    judged = 0
    for line in frame.run.schedule.lines:
        if line:
            number, wrong = _line(frame, line[-1])
            judged += number
            found.extend(wrong)
    return Findings(judged, found)


def _line(frame: Frame, stage: int) -> tuple[int, list[Finding]]:
    ops, size = frame.ops, max(frame.run.schedule.ids_per_step, 1)
    rows = np.flatnonzero((ops.stage == stage) & ops.is_kind(Kind.F, Kind.B, Kind.I))
    listed: dict[tuple[int, int], list[int]] = {}
    judged, found = 0, []
    for row in rows.tolist():
        step, index = divmod(int(ops.microbatch[row]), size)
        losses = listed.setdefault((int(ops.rank[row]), step), [])
        if ops.kind[row] == Kind.F:
            losses.append(index)
            continue
        judged += 1
        if index in losses and (index >= len(losses) or losses[index] != index):
            there = f"that of microbatch {losses[index]}" if index < len(losses) else "nothing"
            why = f"takes entry {index} of the losses, which holds {there}"
            found.append(finding(frame, row, why=why))
    return judged, found
