"""What became of a step that may be taken back: committed on some stages, withdrawn on others."""

from collections.abc import Iterator

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.semantics.found import Finding
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding

__all__ = ["outcomes"]

_KINDS = (Kind.STEP, Kind.SKIP, Kind.COMMIT, Kind.ROLLBACK)


def outcomes(frame: Frame) -> tuple[int, list[Finding]]:
    """Find the steps that one stage commits and another withdraws.

    Steps are those of the same turn, withdrawn ones counted: the k-th STEP or SKIP of each stage.
    """
    ops, stages = frame.ops, frame.run.schedule.stages
    if not np.any(ops.is_kind(Kind.ROLLBACK)):
        return 0, []
    rows = np.flatnonzero(ops.is_kind(*_KINDS) & (ops.stage >= 0) & (ops.stage < stages))
    of_stage: dict[int, list[int]] = {}
    for row in rows.tolist():
        of_stage.setdefault(int(ops.stage[row]), []).append(row)
    settled: dict[int, list[int]] = {}
    for own in of_stage.values():
        for turn, row in _settled(frame, own):
            settled.setdefault(turn, []).append(row)
    found = [_apart(frame, settling) for _, settling in sorted(settled.items())]
    return len(settled), [each for each in found if each is not None]


def _settled(frame: Frame, rows: list[int]) -> Iterator[tuple[int, int]]:
    """Yield for the steps of one stage their turn and what commits or withdraws them."""
    turn, parts = -1, {""}
    open_: list[int] = []
    for row in rows:
        kind = Kind(int(frame.ops.kind[row]))
        name = frame.ops.attributes.get(row, {}).get("param", "")
        if kind is Kind.COMMIT:
            yield from ((each, row) for each in open_)
            open_.clear()
        elif kind is Kind.ROLLBACK:
            yield from ((each, row) for each in open_[-1:])
            del open_[-1:]
        elif name and "" not in parts and name not in parts:
            parts.add(name)
        else:
            turn, parts = turn + 1, {name}
            if kind is Kind.STEP:
                open_.append(turn)


def _apart(frame: Frame, rows: list[int]) -> Finding | None:
    ranks: dict[Kind, list[str]] = {Kind.COMMIT: [], Kind.ROLLBACK: []}
    for row in sorted(set(rows)):
        ranks[Kind(int(frame.ops.kind[row]))].append(str(frame.ops.rank[row]))
    if not all(ranks.values()):
        return None
    committing, withdrawing = (", ".join(dict.fromkeys(each)) for each in ranks.values())
    why = f"rank {committing} commits the optimizer step, rank {withdrawing} withdraws it"
    return finding(frame, *sorted(set(rows)), why=why)
