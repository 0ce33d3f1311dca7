"""The faults that a file names: where each can strike, and every alternative of them."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.faults import Faulted, FaultKind, Policy, Struck, value_code
from pipeproof.ir.operations import IntArray
from pipeproof.ir.schedule import Plain, Schedule

__all__ = ["Alternative", "alternatives", "faulted", "policy_of", "unplaced"]

_KINDS: Mapping[str, FaultKind] = {
    "missing": "missing",
    "stops": "stops",
    "delayed": "delayed",
    "dropped": "dropped",
    "duplicated": "duplicated",
    "corrupted": "corrupted",
}
_POLICIES: Mapping[str, Policy] = {"raise": "raise", "abort": "abort", "recover": "recover"}
_OP = re.compile(r"(\d+)([A-Z_]+?)(\d+)")
_Strike = tuple[Struck, str]


class Alternative(NamedTuple):
    """Faults that happen together, at least one, and the words for them."""

    struck: tuple[Struck, ...]
    label: str


def policy_of(schedule: Schedule) -> Policy:
    """Return what must become of a schedule that a fault strikes; `raise` unless it is said."""
    return _POLICIES[str(_faults(schedule).get("policy", "raise"))]


def alternatives(run: AsRun) -> Iterator[Alternative]:
    """Yield every choice of at most as many faults as the file allows, one at least.

    A message that is sent several times, and an operation in parts, can be struck at each of
    them; in copies of the programs each fault can be one of each copy.
    """
    named = (tuple(_strikes(run, one)) for one in _among(run.schedule))
    each = [one for one in dict.fromkeys(named) if one]  # what is named twice is one fault
    most = int(str(_faults(run.schedule).get("at_most", "1")))
    seen: set[frozenset[Struck]] = set()
    for number in range(1, min(most, len(each)) + 1):
        for some in combinations(each, number):
            for picked in product(*some):
                struck = frozenset(one for one, _ in picked)
                if struck not in seen:
                    seen.add(struck)
                    yield _alternative(picked)


def unplaced(run: AsRun) -> str | None:
    """Return the name of a message or operation that does not stand in the schedule as run."""
    lost = (one for one in _among(run.schedule) if not _strikes(run, one))
    return next((str(one.get("message", one.get("op"))) for one in lost), None)


def faulted(run: AsRun, alternative: Alternative) -> AsRun:
    """Return a schedule in which the faults of one alternative happen."""
    return dataclasses.replace(
        run, faults=Faulted(policy_of(run.schedule), alternative.struck), turns=None
    )


def _faults(schedule: Schedule) -> Mapping[str, Plain]:
    said = schedule.described.get("faults", {})
    return said if isinstance(said, Mapping) else {}


def _among(schedule: Schedule) -> list[Mapping[str, Plain]]:
    return [one for one in _faults(schedule).get("among", ()) if isinstance(one, Mapping)]


def _alternative(picked: tuple[_Strike, ...]) -> Alternative:
    words = dict(picked)
    return Alternative(tuple(words), " and ".join(words.values()))


def _strikes(run: AsRun, said: Mapping[str, Plain]) -> list[_Strike]:
    """Return where one fault can strike, each with its words."""
    kind = _KINDS[str(said["fault"])]
    if "rank" in said:
        return _of_rank(run, kind, int(str(said["rank"])), int(str(said.get("at", "0"))))
    if "message" in said:
        name = str(said["message"])
        return _of_rows(run, kind, name, _sends(run, name))
    name = str(said["op"])
    return _of_rows(run, kind, name, _operations(run, name))


def _of_rank(run: AsRun, kind: FaultKind, rank: int, at: int) -> list[_Strike]:
    if kind == "missing":
        return [(Struck(kind, rank), f"rank {rank} is missing")]
    return [
        (Struck(kind, rank, at, copy=copy), f"rank {rank} stops at {at}{_step(run, copy)}")
        for copy in range(run.copies)
    ]


def _of_rows(run: AsRun, kind: FaultKind, name: str, rows: IntArray) -> list[_Strike]:
    ops, found = run.operations, list[_Strike]()
    order = np.lexsort((run.copy, run.base))  # a row of one copy stands in each of them
    for base in rows.tolist():
        for copy in range(run.copies):
            row = int(order[base * run.copies + copy])
            rank, peer = int(ops.rank[row]), int(ops.peer[row])
            between = f" from rank {rank} to rank {peer}" if ops.kind[row] == Kind.SEND else ""
            where = between if len(rows) > 1 else ""
            label = f"{name}{where} is {kind}{_step(run, copy)}"
            found.append((Struck(kind, rank, base=base, copy=copy), label))
    return found


def _step(run: AsRun, copy: int) -> str:
    return f" in step {copy}" if run.copies > 1 else ""


def _sends(run: AsRun, name: str) -> IntArray:
    """Return the rows, of one copy, of the messages that hold a value."""
    ops = run.operations
    code = value_code(ops, name)
    sends = ops.is_kind(Kind.SEND) & run.is_message & (ops.value == code) & (run.copy == 0)
    return np.asarray(run.base[sends]) if code is not None else np.zeros(0, np.int64)


def _operations(run: AsRun, name: str) -> IntArray:
    """Return the rows, of one copy, of an operation."""
    ops, found = run.spelled, _OP.fullmatch(name)
    if found is None or found[2] not in Kind.__members__:
        return np.zeros(0, np.int64)
    own = ops.is_kind(Kind[found[2]]) & (ops.stage == int(found[1]))
    return np.flatnonzero(own & (ops.microbatch == int(found[3])))
