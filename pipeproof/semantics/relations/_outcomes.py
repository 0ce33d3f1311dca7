"""What became of a step that may be taken back: committed on some stages, withdrawn on others."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.semantics._open_steps import OpenSteps
from pipeproof.semantics.found import Finding
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding
from pipeproof.semantics.relations._windows import param_of

__all__ = ["opposed", "outcomes"]

_KINDS = (Kind.STEP, Kind.SKIP, Kind.COMMIT, Kind.ROLLBACK)


def outcomes(frame: Frame) -> tuple[int, list[Finding]]:
    """Find the steps that one stage commits and another withdraws.

    Steps are those of the same turn, withdrawn ones counted: the k-th STEP or SKIP of each stage.
    Of steps that are settled by parameter those of one name are compared.
    """
    ops, stages = frame.ops, frame.run.schedule.stages
    if not np.any(ops.is_kind(Kind.ROLLBACK)):
        return 0, []
    rows = np.flatnonzero(ops.is_kind(*_KINDS) & (ops.stage >= 0) & (ops.stage < stages))
    of_stage: dict[int, list[int]] = {}
    for row in rows.tolist():
        of_stage.setdefault(int(ops.stage[row]), []).append(row)
    settled: dict[int, list[dict[str, int]]] = {}
    for own in of_stage.values():
        for turn, by_name in _settled(frame, own).items():
            settled.setdefault(turn, []).append(by_name)
    found = [_apart(frame, opposed(frame, settling)) for _, settling in sorted(settled.items())]
    return len(settled), [each for each in found if each is not None]


def _settled(frame: Frame, rows: list[int]) -> dict[int, dict[str, int]]:
    """Return for the steps of one stage, by turn, what settles each parameter; "": the rest."""
    names = {"", *(param_of(frame, row) for row in rows)}
    turn, steps = -1, OpenSteps[tuple[int, str]]()
    found: dict[int, dict[str, int]] = {}
    for row in rows:
        kind, name = Kind(int(frame.ops.kind[row])), param_of(frame, row)
        if kind is Kind.COMMIT:
            settled = steps.commit(name)
        elif kind is Kind.ROLLBACK:
            settled = list(steps.withdraw(name).values())
        else:
            parts = (name,) if name else tuple(names)
            turn += not steps.joins(parts, single=bool(name))
            made = {part: (turn, part) for part in parts} if kind is Kind.STEP else {}
            steps.take(parts, made, single=bool(name))
            continue
        for which, part in settled:
            found.setdefault(which, {})[part] = row
    return found


def opposed(frame: Frame, of_stages: Sequence[Mapping[str, int]]) -> list[int]:
    """Return the rows of stages that do unlike things in one step, each a row by parameter.

    What is done of a parameter is compared with what is done of it elsewhere, else with what is
    done of the rest; stages that have nothing in common, as a whole.
    """
    kinds = [{int(frame.ops.kind[row]) for row in own.values()} for own in of_stages]
    if all(len(each) == 1 for each in kinds):
        every = sorted({row for own in of_stages for row in own.values()})
        return every if len(set().union(*kinds)) > 1 else []
    rows: set[int] = set()
    for one, other in combinations(of_stages, 2):
        pairs = {
            (one.get(name, one.get("")), other.get(name, other.get(""))) for name in {*one, *other}
        }
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        both = both or [(a, b) for a in one.values() for b in other.values()]
        apart = [pair for pair in both if frame.ops.kind[pair[0]] != frame.ops.kind[pair[1]]]
        rows.update(row for pair in apart for row in pair)
    return sorted(rows)


def _apart(frame: Frame, rows: list[int]) -> Finding | None:
    ranks: dict[Kind, list[str]] = {Kind.COMMIT: [], Kind.ROLLBACK: []}
    for row in rows:
        ranks[Kind(int(frame.ops.kind[row]))].append(str(frame.ops.rank[row]))
    if not all(ranks.values()):
        return None
    committing, withdrawing = (", ".join(dict.fromkeys(each)) for each in ranks.values())
    why = f"rank {committing} commits the optimizer step, rank {withdrawing} withdraws it"
    return finding(frame, *rows, why=why)
