"""What the key `faults` names must stand in the programs."""

import re

import numpy as np

from pipeproof.frontends._spec_nodes import Items, Node, Scalar, Table, wrong
from pipeproof.ir.actions import Kind
from pipeproof.ir.faults import value_code
from pipeproof.ir.reading import Mistakes
from pipeproof.ir.schedule import Schedule, neighbours
from pipeproof.ir.values import ValueKind, kind_of, read_value

__all__ = ["check_faults"]

_OP = re.compile(r"(\d+)([A-Z_]+?)(\d+)")
_SHORT = {"F": Kind.SEND_F, "B": Kind.SEND_B}


def check_faults(node: Node | None, schedule: Schedule, mistakes: Mistakes) -> None:
    """Check ranks, positions, messages and operations of `faults` against the programs.

    Raises:
        ParseError: there are too many mistakes to go on.
    """
    among = node.entries.get("among") if isinstance(node, Table) else None
    for each in among.nodes if isinstance(among, Items) else ():
        if isinstance(each, Table):
            _check(each, schedule, mistakes)


def _check(fault: Table, schedule: Schedule, mistakes: Mistakes) -> None:
    said = {key: each for key, each in fault.entries.items() if isinstance(each, Scalar)}
    if "rank" in said:
        _check_rank(said["rank"], said.get("at"), schedule, mistakes)
    elif "message" in said and not _is_sent(said["message"].text, schedule):
        expected = "write a value that a SEND in the programs holds"
        wrong(said["message"], mistakes, expected, f"no message holds {said['message'].text}")
    elif "op" in said and not _stands(said["op"].text, schedule):
        expected = "write an operation of the programs"
        wrong(said["op"], mistakes, expected, f"{said['op'].text} stands nowhere")


def _check_rank(rank: Scalar, at: Scalar | None, schedule: Schedule, mistakes: Mistakes) -> None:
    if int(rank.text) >= schedule.ranks:
        wrong(rank, mistakes, f"write a rank below {schedule.ranks}")
        return
    ops = schedule.operations
    length = int(np.max(ops.position[ops.rank == int(rank.text)], initial=-1)) + 1
    if at is not None and int(at.text) > length:
        found = f"rank {rank.text} has {length} instructions"
        wrong(at, mistakes, f"write a position up to {length}", found)


def _stands(text: str, schedule: Schedule) -> bool:
    ops, read = schedule.operations, _OP.fullmatch(text)
    if read is None or read[2] not in Kind.__members__:
        return False
    own = ops.is_kind(Kind[read[2]]) & (ops.stage == int(read[1]))
    return bool(np.any(own & (ops.microbatch == int(read[3]))))


def _is_sent(text: str, schedule: Schedule) -> bool:
    """Whether a message holds a value; one that lowering is yet to add, too."""
    ops, code = schedule.operations, value_code(schedule.operations, text)
    if code is None:
        return False
    if np.any(ops.is_kind(Kind.SEND) & (ops.value == code)):
        return True
    read = read_value(text)
    short = _SHORT.get(kind_of(code).name)
    if isinstance(read, str) or short is None:
        return False
    _, stage, microbatch = read
    if schedule.lowering == "as-written":
        return _stands(f"{stage}{short.name}{microbatch}", schedule)
    return _is_lowered(kind_of(code), stage, microbatch, schedule)


def _is_lowered(kind: ValueKind, stage: int, microbatch: int, schedule: Schedule) -> bool:
    """Whether a stage hands a value to a neighbour on another rank."""
    if stage >= schedule.stages:
        return False
    before, after = neighbours(schedule)
    other = after[stage] if kind is ValueKind.F else before[stage]
    ops = schedule.operations
    makers = (Kind.F,) if kind is ValueKind.F else (Kind.B, Kind.I)
    made = ops.is_kind(*makers) & (ops.stage == stage) & (ops.microbatch == microbatch)
    readers = ops.rank[ops.is_kind(*makers) & (ops.stage == other)]
    return bool(other >= 0 and np.any(made) and np.any(readers != ops.rank[made][0]))
