"""Recomputations against the forwards that they repeat, and registers that forwards hand on."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.found import Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding

__all__ = ["recomputed_otherwise"]

_SAME = ("rng", "ctx")


def recomputed_otherwise(frame: Frame) -> Findings:
    """A recomputation has the state of its forward, and a register goes up through microbatches."""
    if not frame.ops.attributes:
        return Findings(0)
    compared, why = _compared(frame)
    handed, disordered = _registers(frame)
    for row, said in disordered.items():
        why.setdefault(row, said)
    found = [finding(frame, row, why=said) for row, said in sorted(why.items())]
    return Findings(compared + handed, found)


def _carriers(frame: Frame, *names: str) -> IntArray:
    """Return the forwards and recomputations that carry one of these attributes, in order."""
    said = frame.ops.attributes
    rows = [row for row, own in said.items() if any(name in own for name in names)]
    carrying = np.asarray(sorted(rows), np.int64)
    return carrying[frame.ops.is_kind(Kind.F, Kind.R)[carrying]]


def _identity(frame: Frame, rows: IntArray) -> IntArray:
    """Number the rank, stage and microbatch of each row."""
    ops = frame.ops
    total = int(ops.microbatch.max(initial=0)) + 2
    stages = int(ops.stage.max(initial=0)) + 2
    return np.asarray((ops.rank[rows] * stages + ops.stage[rows]) * total + ops.microbatch[rows])


def _compared(frame: Frame) -> tuple[int, dict[int, str]]:
    """Return how many recomputations have a forward to equal, and how those that do not differ."""
    carrying = _carriers(frame, *_SAME)
    if not len(carrying):
        return 0, {}
    wanted = _identity(frame, carrying)
    forwards: dict[int, list[int]] = {}
    rows = np.flatnonzero(frame.ops.is_kind(Kind.F))
    rows = rows[among(_identity(frame, rows), wanted)]
    for row, key in zip(rows.tolist(), _identity(frame, rows).tolist(), strict=True):
        forwards.setdefault(key, []).append(row)
    again = np.flatnonzero(frame.ops.is_kind(Kind.R))
    again = again[among(_identity(frame, again), wanted)]
    number, why = 0, dict[int, str]()
    for row, key in zip(again.tolist(), _identity(frame, again).tolist(), strict=True):
        own = _repeated(frame, forwards.get(key, []), row)
        number += bool(own)
        said = _difference(frame, row, own)
        if said:
            why[row] = said
    return number, why


def _repeated(frame: Frame, forwards: list[int], row: int) -> list[int]:
    """Return the forward that a recomputation repeats: of each of its parts the last before it."""
    before = [forward for forward in forwards if forward < row] or forwards
    parts = {frame.ops.attributes.get(each, {}).get("bucket", ""): each for each in before}
    return list(parts.values())


def _difference(frame: Frame, row: int, forwards: list[int]) -> str:
    """Return how a recomputation differs from its forward, nothing where it does not."""
    attributes = frame.ops.attributes
    for name in _SAME:
        have = attributes.get(row, {}).get(name)
        given = [(each, attributes.get(each, {}).get(name)) for each in forwards]
        stated = [(each, value) for each, value in given if value is not None] or given[:1]
        for forward, value in stated:
            if value != have:
                return f"has {_said(name, have)}, {frame.text(forward)} had {_said(name, value)}"
    return ""


def _said(name: str, value: str | None) -> str:
    return f"no {name}" if value is None else f"{name}={value}"


def _registers(frame: Frame) -> tuple[int, dict[int, str]]:
    """Return how many rows take a register, and those that take it out of turn or again."""
    ops = frame.ops
    rows = _carriers(frame, "state")
    last: dict[tuple[int, int, str], int] = {}
    why: dict[int, str] = {}
    for row in rows.tolist():
        name = ops.attributes[row]["state"]
        if ops.kind[row] == Kind.R:
            why[row] = f"updates {name} again"
            continue
        key = (int(ops.rank[row]), int(ops.stage[row]), name)
        before, own = last.get(key, -1), int(ops.microbatch[row])
        if own < before:
            why[row] = f"takes {name} after microbatch {before} had it"
        last[key] = max(before, own)
    return len(rows), why
