"""What a verdict under `gloo` says that a run in torch's runtime comes to, and where it does not.

torch checks little before it runs, and some things while it runs. What breaks one of its own
checks ends in an error; what leaves a rank without a message ends in a hang; all else runs to its
end, with other numbers.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from pipeproof.execution.runtime.programs import ACTIONS, SLOTS, Program
from pipeproof.execution.runtime.ran import Kind, Ran
from pipeproof.execution.runtime.steps import BEFORE, SEEDS
from pipeproof.verdict.verdict import Outcome, TransportVerdict, Violation

__all__ = ["EXPLANATIONS", "TABLE", "Action", "Compared", "compared", "covered", "predicted"]

TABLE: Mapping[str, Kind] = MappingProxyType(
    {
        "PP101": Kind.ERROR,  # what is missing is asked for
        "PP102": Kind.ERROR,  # what it used is gone the second time
        "PP103": Kind.ERROR,  # there is no such index
        "PP104": Kind.ERROR,  # the stage is not there, or the message has no peer
        "PP105": Kind.HANG,
        "PP201": Kind.HANG,  # a wait for a message that never comes, or that nobody takes
        "PP202": Kind.WRONG,
        "PP203": Kind.HANG,
        "PP301": Kind.HANG,
        "PP303": Kind.HANG,
        "PP401": Kind.ERROR,  # "before receiving input"
        "PP402": Kind.ERROR,  # the loader refuses it
        "PP403": Kind.ERROR,  # "before receiving input"
        "PP404": Kind.ERROR,  # the loader refuses it
        "PP405": Kind.ERROR,  # the value to send is not there
        "PP406": Kind.ERROR,  # "Attempted to compute on sharded"
        "PP504": Kind.ERROR,  # the value to send was given away
        "PP505": Kind.WRONG,
        "PP701": Kind.ERROR,  # the loader counts backwards
        "PP702": Kind.ERROR,  # what the backward used is gone
        "PP704": Kind.WRONG,
        "PP705": Kind.WRONG,
    }
)
"""What a violation of each rule comes to; where several are broken, an error first, then a hang."""

_READS = ("PP401", "PP403")
_FIRST = (Kind.ERROR, Kind.HANG, Kind.WRONG)
_ACTION = re.compile(r"(\d+)([A-Z_]+?)(\d*)(?![A-Z_\d])")


class Action(NamedTuple):
    """One action of a rank; those that overlap count one by one."""

    stage: int
    kind: str
    microbatch: int


@dataclass(frozen=True, slots=True)
class Compared:
    """What was predicted, None where nothing was decided, and what was seen.

    `why` names what explains a difference, empty where there is none or nothing explains it. In a
    hang `placed` says whether a rank is stuck on which a message was predicted to be missing.
    """

    predicted: Kind | None
    seen: Kind
    why: str = ""
    placed: bool = True

    @property
    def agrees(self) -> bool:
        """Whether what was seen is what was predicted, or differs for a reason that is named."""
        return self.placed and (self.predicted in (None, self.seen) or bool(self.why))


def covered(program: Program, verdict: TransportVerdict) -> Program:
    """Return the program as it is to be run: for two steps where a verdict covers more than one."""
    return replace(program, steps=1 if verdict.steps == 1 else len(SEEDS))


def predicted(verdict: TransportVerdict, runner: str = ACTIONS) -> Kind | None:
    """Return what a verdict says of a run by one of torch's runtimes, None where it is unknown."""
    match verdict.outcome:
        case Outcome.PROVED:
            return Kind.RIGHT
        case Outcome.UNKNOWN:
            return None
        case Outcome.REFUTED:
            kinds = {_kind(each, runner) for each in verdict.violations}
            return next((kind for kind in _FIRST if kind in kinds), Kind.WRONG)


def _kind(violation: Violation, runner: str) -> Kind:
    if violation.rule in _READS and runner == SLOTS:
        return Kind.WRONG  # that runtime asks nothing, and reads what its buffer holds
    if violation.rule in {"PP101", "PP102"} and _of(violation, "REDUCE_GRAD"):
        return Kind.WRONG  # a gradient is divided twice, or never
    return TABLE.get(violation.rule, Kind.WRONG)


def _of(violation: Violation, kind: str) -> bool:
    """Whether every place of a violation is of one kind."""
    names = [place.operation for place in violation.at] or violation.message.split()[:1]
    return all(name.lstrip("0123456789") == kind for name in names)


def compared(program: Program, verdict: TransportVerdict, ran: Ran) -> Compared:
    """Return what was predicted and seen, with what explains a difference; none from a proof."""
    said = predicted(verdict, program.runner)
    if said in (None, Kind.RIGHT, ran.kind):
        placed = said is not ran.kind or said is not Kind.HANG or _placed(verdict, ran)
        return Compared(said, ran.kind, placed=placed)
    asked = _Asked(program, tuple(_rows(program)), verdict.violations, ran)
    why = next((name for name, holds in EXPLANATIONS.items() if holds(asked)), "")
    return Compared(said, ran.kind, why)


def _placed(verdict: TransportVerdict, ran: Ran) -> bool:
    """Whether a rank is stuck on which a message is missing or left over, or that waits for one."""
    waits = [each for each in verdict.violations if TABLE.get(each.rule) is Kind.HANG]
    ranks = {place.rank for each in waits for place in each.at}
    return not ranks or not ranks.isdisjoint(at.rank for at in ran.at)


def _rows(program: Program) -> Iterator[tuple[Action, ...]]:
    """Yield the actions of each rank, as the file writes them."""
    for line in program.text.splitlines():
        yield tuple(
            Action(int(stage), kind, int(microbatch or -1))
            for stage, kind, microbatch in _ACTION.findall(line)
        )


class _Asked(NamedTuple):
    program: Program
    rows: tuple[tuple[Action, ...], ...]
    violations: tuple[Violation, ...]
    ran: Ran


def _divides_nothing(asked: _Asked) -> bool:
    """Only a REDUCE_GRAD is wrong, and it divides by one or before there is a gradient."""
    if asked.ran.kind is not Kind.RIGHT:
        return False
    if not all(
        each.rule in _OF_REDUCTIONS and _of(each, "REDUCE_GRAD") for each in asked.violations
    ):
        return False
    return asked.program.microbatches == 1 or all(map(_reduced_once, asked.rows))


_OF_REDUCTIONS = ("PP101", "PP102", "PP704", "PP705")


def _reduced_once(row: Sequence[Action]) -> bool:
    """Whether each stage of a rank has one REDUCE_GRAD that finds a gradient, behind all of it."""
    found, divided = set[int](), set[int]()
    for action in row:
        if action.kind in {"B", "W"}:
            if action.stage in divided:
                return False
            found.add(action.stage)
        elif action.kind == "REDUCE_GRAD" and action.stage in found:
            if action.stage in divided:
                return False
            divided.add(action.stage)
    return found == divided


def _received_twice(asked: _Asked) -> bool:
    """A receive stands twice before its value is used, which torch refuses."""
    return asked.ran.kind is Kind.ERROR and any(map(_pending_twice, asked.rows))


_USES = {"F": ("RECV_F",), "B": ("RECV_B",), "I": ("RECV_B",)}


def _pending_twice(row: Sequence[Action]) -> bool:
    """Whether a receive of a rank stands again before the use of its value, in any of two steps."""
    pending = set[Action]()
    for action in (*row, *row):
        if action.kind.startswith("RECV_"):
            if action in pending:
                return True
            pending.add(action)
        for kind in _USES.get(action.kind, ()):
            pending.discard(action._replace(kind=kind))
    return False


def _refused(asked: _Asked) -> bool:
    """The loader refuses the file, before any rank runs an action."""
    at = asked.ran.at
    return asked.ran.kind is Kind.ERROR and bool(at) and all(each.action == BEFORE for each in at)


EXPLANATIONS: Mapping[str, Callable[[_Asked], bool]] = MappingProxyType(
    {
        "the reduction divides nothing": _divides_nothing,
        "received twice": _received_twice,
        "refused by the loader": _refused,
    }
)
"""Why a run may come to something else than what the table says, by name."""
