"""Whether what was found is seen to happen on tensors, and what is proved, not to."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from pipeproof.errors import ReplayMismatchError, UnsupportedFeatureError
from pipeproof.execution import stuck
from pipeproof.execution._unread import is_kept_from_reading
from pipeproof.execution.orders import Events, Guards, Style, extended
from pipeproof.execution.replayer import Fault, Illegal, Met, Replayer, set_up
from pipeproof.execution.witness import EXACT, InexactError
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.transport import Match
from pipeproof.verdict.verdict import TraceStep

__all__ = ["CONFIRMABLE", "SEEDS", "Answer", "Claim", "Confirmed", "Ran", "confirm", "run_legal"]


class Answer(Enum):
    """What became of a counterexample."""

    CONFIRMED = "confirmed"
    NOT_OBSERVABLE = "not observable with this witness"
    NOT_REPRODUCED = "not reproduced"


class Claim(NamedTuple):
    """A counterexample: the rule, its places as (rank, position), and the execution to it.

    `reached` is False where a deadlock keeps the places from being reached.
    """

    rule: str
    places: tuple[tuple[int, int], ...]
    trace: tuple[int, ...] | tuple[TraceStep, ...]
    reached: bool = True


class Confirmed(NamedTuple):
    """What became of a counterexample, and what was seen or why nothing could be."""

    answer: Answer
    why: str


_READ = (Fault.ABSENT, Fault.OTHER, Fault.FREED)
_STEP = (Fault.GRADIENT,)
_BUSY = (Fault.BUSY, Fault.GRADIENT)
_UNREAD = (Fault.IN_FLIGHT,)  # where nothing reads the storage afterwards
CONFIRMABLE: Mapping[str, tuple[Fault, ...]] = MappingProxyType(
    {
        "PP202": (Fault.CROSSED,),
        "PP303": (Fault.STRANDED,),
        "PP401": _READ,
        "PP402": (Fault.NO_FORWARD,),
        "PP403": _READ,
        "PP404": (Fault.NO_INPUT_GRADIENT,),
        "PP405": _READ,
        "PP406": (Fault.SHARDED,),
        "PP501": (*_READ, *_BUSY),
        "PP502": (*_READ, *_BUSY, *_UNREAD),
        "PP503": (*_READ, *_UNREAD, Fault.NO_FORWARD),
        "PP504": (*_READ, *_UNREAD, Fault.NO_FORWARD),
        "PP505": (*_READ, Fault.NO_FORWARD),
        "PP601": (Fault.MIXED,),
        "PP602": (Fault.POLICY,),
        "PP604": (Fault.RETIRED,),
        "PP605": (Fault.UNCOMMITTED,),
        "PP701": _STEP,
        "PP702": _STEP,
        "PP703": _STEP,
        "PP704": (*_STEP, Fault.MARK),
        "PP705": _STEP,
        "PP706": _STEP,
        "PP707": _STEP,
        "PP708": _STEP,
        "PP709": _STEP,
        "PP801": (Fault.RECOMPUTED, Fault.REGISTER),
        "PP802": (Fault.RECOMPUTED,),
        "PP804": (Fault.RESTORED,),
    }
)
"""The rules that numbers can show broken, and what a replay then meets."""

_SEEN_LATER = ("PP501", "PP502", "PP504")
"""The rules whose places change a storage, which shows where it is read."""

STUCK = ("PP205", "PP301")
"""The rules that say where ranks wait for ever."""

_BETWEEN_RANKS = "it shows between ranks of their own: pipeproof run --processes gloo"
_NO_NUMBER = "no number depends on it"
_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "PP201": f"in one process nothing waits for the message; {_BETWEEN_RANKS}",
        "PP203": f"in one process a message is not given a shape; {_BETWEEN_RANKS}",
        "PP204": f"in one process nothing waits for the message; {_BETWEEN_RANKS}",
        "PP205": f"in one process nothing hangs, and no execution passes its places; "
        f"{_BETWEEN_RANKS}",
        "PP301": f"in one process nothing hangs, and no execution passes its places; "
        f"{_BETWEEN_RANKS}",
    }
)
_IN_PART = "at a collective with `from` or `to` all are said to wait, and in one process some do"
SEEDS = range(4)
"""Of the data on which a counterexample is replayed."""

_OTHERWISE = "in another execution than its trace, which only leads to its place"


def confirm(
    run: AsRun, match: Match, guards: Guards, claim: Claim, *, witness: str = EXACT
) -> Confirmed:
    """Replay a counterexample on tensors, and go on from its end in several orders.

    What storage holds is judged in the order of programs: where the trace leads to the place of
    such a fault and the storage holds the right value there all the same, whole executions are
    tried as well.

    It is confirmed once a transition at one of its places works with numbers that are none, or
    makes others than the unsplit model. A counterexample that cannot even begin as it says is not
    reproduced.
    """
    if claim.rule not in CONFIRMABLE:
        return _unseen(run, match, guards, claim)
    try:
        return _looked_at(claim, _shown(run, match, guards, claim, witness))
    except (UnsupportedFeatureError, InexactError) as error:
        return Confirmed(Answer.NOT_OBSERVABLE, str(error))
    except ReplayMismatchError as error:
        return Confirmed(Answer.NOT_REPRODUCED, str(error))


def _looked_at(claim: Claim, executions: Iterable[tuple[Replayer, bool]]) -> Confirmed:
    """Return what executions show at the places of a claim."""
    same, hidden = "", claim.rule in _SEEN_LATER
    for replayer, follows in executions:
        for met, illegal in _matching(replayer, claim):
            said = told(met, illegal)
            if illegal.visible:
                return Confirmed(Answer.CONFIRMED, said if follows else f"{said}, {_OTHERWISE}")
            same = same or f"{said}, and the numbers are the same"
        hidden = hidden and is_kept_from_reading(replayer, set(_rows(replayer, claim)))
    if same:
        return Confirmed(Answer.NOT_OBSERVABLE, same)
    if not claim.reached:
        return Confirmed(Answer.NOT_OBSERVABLE, "a deadlock keeps its place from being reached")
    if hidden:
        return Confirmed(Answer.NOT_OBSERVABLE, "a deadlock keeps the read from being reached")
    return Confirmed(Answer.NOT_REPRODUCED, "nothing illegal was met at its places")


def _unseen(run: AsRun, match: Match, guards: Guards, claim: Claim) -> Confirmed:
    """Return what is said of a rule that no number shows broken in one process.

    Where nothing more is said to happen at some places, it is looked whether something can.
    """
    if claim.rule in STUCK and claim.places and not guards.held.any():
        try:
            past = stuck.are_passed(run, match, guards, claim.places)
        except ReplayMismatchError as error:
            return Confirmed(Answer.NOT_REPRODUCED, str(error))
        if past and stuck.wait_in_part(run, match, claim.places):
            return Confirmed(Answer.NOT_OBSERVABLE, _IN_PART)
        if past:
            return Confirmed(Answer.NOT_REPRODUCED, "all its places are passed in some execution")
    return Confirmed(Answer.NOT_OBSERVABLE, _ELSEWHERE.get(claim.rule, _NO_NUMBER))


def _shown(
    run: AsRun, match: Match, guards: Guards, claim: Claim, witness: str
) -> Iterator[tuple[Replayer, bool]]:
    """Yield executions, and whether each goes on behind the trace of a claim."""
    for style, seed, follows in _orders():
        replayer = set_up(run, match, witness, seed, late=style is Style.MESSAGES_LATE)
        begun = _events(replayer, claim.trace) if follows else ()
        replayer.events.require_order(begun)
        events = Events(len(replayer.events), replayer.events.first_transfer)
        rest = extended(guards, events, begun, style=style, seed=seed)
        replayer.play((*begun, *rest))
        replayer.finish()
        yield replayer, follows


def _orders() -> Iterator[tuple[Style, int, bool]]:
    """Yield how to go on, with which data, and whether from the end of the trace or anew."""
    for follows in (True, False):
        for seed in SEEDS:
            for style in (Style.MESSAGES_LATE, Style.MESSAGES_EARLY, Style.ANY):
                yield style, seed, follows


def _events(replayer: Replayer, trace: tuple[int, ...] | tuple[TraceStep, ...]) -> tuple[int, ...]:
    numbers = tuple(each for each in trace if isinstance(each, int))
    if len(numbers) == len(trace):
        return numbers
    return replayer.events.of_steps(each for each in trace if isinstance(each, TraceStep))


def _matching(replayer: Replayer, claim: Claim) -> Iterator[tuple[Met, Illegal]]:
    """Yield the illegal transitions that are what a counterexample says."""
    wanted = CONFIRMABLE[claim.rule]
    stages = {int(replayer.ops.stage[row]) for row in _rows(replayer, claim)}
    stages.update(_ended(replayer, claim))
    for met in replayer.met:
        illegal = met.illegal
        if illegal is None or illegal.fault not in wanted:
            continue
        own = {_at(replayer, place.row) for place in illegal.places if place.row >= 0}
        of_stage = illegal.fault in _BUSY and any(p.stage in stages for p in illegal.places)
        if of_stage or own.intersection(claim.places):
            seen = illegal.visible or (claim.rule == "PP707" and _in_copies(replayer, stages))
            yield met, illegal._replace(visible=seen)


def _in_copies(replayer: Replayer, stages: set[int]) -> bool:
    """Whether an update of a stage that holds the same parameters has another gradient."""
    copies = {copy for s in stages for copy in replayer.asked.copies.get(s, ())}
    return any(met.updated in copies for met in replayer.met)


def _rows(replayer: Replayer, claim: Claim) -> Iterator[int]:
    """Yield the rows at the places of a claim."""
    return (row for row in range(len(replayer.ops)) if _at(replayer, row) in claim.places)


def _at(replayer: Replayer, row: int) -> tuple[int, int]:
    return int(replayer.ops.rank[row]), replayer.events.position(row)


def _ended(replayer: Replayer, claim: Claim) -> Iterator[int]:
    """Yield the stages of ranks at the end of whose programs something is wrong."""
    for rank, position in claim.places:
        if position >= replayer.events.length(rank):
            yield from (s for s, home in enumerate(replayer.run.placement) if home == rank)


def told(met: Met, illegal: Illegal) -> str:
    """Return what was met, in words."""
    said = f"{met.text}: {illegal.fault.value}: {illegal.found} instead of {illegal.expected}"
    return f"{said}, seen in the numbers" if illegal.visible else said


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run of a legal schedule showed.

    `compared` counts the numbers that were compared with the unsplit model. `ratio` is how far
    gradients are off, in parts of what rounding allows: 0 is bitwise. `wrong` says what was met.
    `notes` says what else is to be known, as statistics that were taken in another order. `moments`
    holds when instructions began and ended, in nanoseconds of one clock, where that was looked at.
    """

    compared: int
    ratio: float
    wrong: str = ""
    notes: tuple[str, ...] = ()
    moments: tuple[tuple[int, int, int], ...] = ()


def run_legal(
    run: AsRun,
    match: Match,
    events: Iterable[int],
    *,
    witness: str = EXACT,
    seed: int = 0,
) -> Ran:
    """Run a whole execution and compare every number with the unsplit model.

    With an odd seed reductions read at their end.

    Raises:
        InexactError: numbers of the exact witness grew too large.
        UnsupportedFeatureError: the witness cannot show what the schedule asks.
    """
    replayer = set_up(run, match, witness, seed, late=seed % 2 == 1)
    replayer.play(events)
    replayer.finish()
    found, notes = "", []
    if replayer.first is not None and replayer.first.illegal is not None:
        found = told(replayer.first, replayer.first.illegal)
    elif replayer.differing is not None:
        found = f"{replayer.differing.text} differs from the unsplit model"
    elif len(replayer.happened) < len(replayer.events):
        missing = len(replayer.events) - len(replayer.happened)
        found = f"{missing} of {len(replayer.events)} events do not happen"
    for stage, right, in_order in replayer.registers.statistics(replayer.reference):
        if not right:
            found = found or f"the statistics of stage {stage} differ from the unsplit model"
        if not in_order:
            notes.append(
                f"legal, other statistics: stage {stage} runs its forwards in another order"
            )
    ratio = 0.0 if replayer.ratio is None else replayer.ratio
    return Ran(replayer.compared, ratio, found, tuple(notes))
