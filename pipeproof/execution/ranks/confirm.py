"""Whether what was found happens on real ranks, and what is proved, not to."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution._illegal import Fault
from pipeproof.execution.confirm import CONFIRMABLE, Answer, Claim, Confirmed, Ran, confirm
from pipeproof.execution.orders import Guards
from pipeproof.execution.ranks._parcel import END, OVER, Pace, Part, Seen, Story, packed
from pipeproof.execution.ranks._player import play
from pipeproof.execution.ranks._stands import Standing, standing
from pipeproof.execution.ranks.fair import is_buffered, unfair
from pipeproof.execution.ranks.processes import Answer as Ended
from pipeproof.execution.ranks.processes import Processes, Raised, Returned, Stuck
from pipeproof.execution.replayer import Replayer, set_up
from pipeproof.execution.witness import EXACT
from pipeproof.ir.as_run import AsRun, Waits
from pipeproof.ir.transport import Transport

__all__ = ["STUCK", "Subject", "confirm_on_ranks", "run_on_ranks"]

STUCK = ("PP201", "PP204", "PP205", "PP301", "PP303")
"""The rules that show in where ranks stand and in what is left over."""

_LIMIT = 2.0
_AT_MOST = 900.0
_UNPAIRED = (Fault.CROSSED, Fault.OTHER, Fault.ABSENT)
_FAULTS: Mapping[str, tuple[Fault, ...]] = MappingProxyType(
    {
        rule: (*faults, Fault.ABSENT, Fault.OTHER, Fault.FREED, Fault.IN_FLIGHT)
        if rule.startswith(("PP4", "PP5"))
        else faults
        for rule, faults in {**CONFIRMABLE, "PP203": _UNPAIRED}.items()
    }
)
_LAGGING = (Fault.ABSENT, Fault.OTHER, Fault.IN_FLIGHT)
_SIZES = ("PP202", "PP203")


@dataclass(frozen=True, slots=True)
class Subject:
    """A schedule under a transport: what waits for which row, and what each event waits for."""

    run: AsRun
    transport: Transport
    waits: Waits
    guards: Guards


@dataclass(frozen=True, slots=True)
class _Play:
    """One run on real ranks: how each rank ended, and what it told."""

    answers: tuple[Ended[Story], ...]
    stories: tuple[Story, ...] = field(default=())


class _Stage:
    """Sets a schedule up for its ranks, with `even` on microbatches of one size.

    Gloo ends a process to which more is sent than it has room for.
    """

    def __init__(
        self, processes: Processes, subject: Subject, witness: str, seed: int, *, even: bool = False
    ) -> None:
        why = unfair(subject.run, subject.transport)
        if why is not None:
            raise UnsupportedFeatureError(why)
        self.processes, self.subject, self.even = processes, subject, even
        processes.preload(play.__module__)
        match = subject.transport.match
        self.replayer: Replayer = set_up(subject.run, match, witness, seed)
        self.events = self.replayer.events
        self.predicted: Standing = standing(self.events, subject.guards)
        self.waits: dict[int, tuple[int, ...]] = defaultdict(tuple)
        rows, moments = subject.waits.rows.tolist(), subject.waits.moments.tolist()
        for row, moment in sorted(zip(rows, moments, strict=True)):
            self.waits[moment] += (row,)

    def play(self, pace: Pace, strays: tuple[int, ...] = (), *, whole: bool = False) -> _Play:
        """Play all ranks once."""
        subject, model = self.subject, self.replayer.witness
        part = Part(
            subject.run,
            subject.transport.match,
            replace(model, short=model.tall) if self.even else model,
            dict(self.waits),
            is_buffered(subject.transport),
            pace,
            strays,
            whole,
        )
        sent = [packed(part)] * subject.run.schedule.ranks
        answers = self.processes.call(play, sent, limit=_LIMIT, at_most=_AT_MOST)
        stories = tuple(map(_story, answers))
        if strays or any(story.dirty for story in stories):
            self.processes.renew()
        return _Play(tuple(answers), stories)

    def place(self, row: int) -> tuple[int, int]:
        """Return rank and position of a row."""
        return int(self.subject.run.operations.rank[row]), self.events.position(row)

    def told(self, rank: int, at: int | None) -> str:
        """Return where a rank stands, in words."""
        if at is None:
            return f"rank {rank} comes through"
        if at == END:
            return f"rank {rank} at the end of its program"
        return f"rank {rank} at {self.events.text(self.events.rows[at][0])}"


def _story(answer: Ended[Story]) -> Story:
    match answer:
        case Returned(value=story):
            return story
        case Raised(where=where) | Stuck(where=where):
            return Story.read(where)


def _stands(answer: Ended[Story], story: Story) -> int | None:
    return None if isinstance(answer, Returned) or story.at == OVER else story.at


def run_on_ranks(
    processes: Processes,
    subject: Subject,
    *,
    orders: int = 3,
    witness: str = EXACT,
    seed: int = 0,
) -> tuple[Ran, ...]:
    """Run a legal schedule on real ranks, and compare every number with the unsplit model.

    Args:
        processes: where the ranks live.
        subject: the schedule.
        orders: how many runs there are at most: one as fast as can be, one in which sends leave
            late, and others in each of which one rank lingers.
        witness: the model that is run.
        seed: of the data.

    Returns:
        What each run showed, up to the first that shows something wrong.

    Raises:
        UnsupportedFeatureError: real ranks or the witness cannot show the schedule.
    """
    stage = _Stage(processes, subject, witness, seed)
    found: list[Ran] = []
    for pace in islice(_paces(subject), orders):
        played = stage.play(pace)
        compared = sum(story.compared for story in played.stories)
        ratio = max(story.ratio for story in played.stories)
        moments = tuple(each for story in played.stories for each in story.moments)
        found.append(Ran(compared, ratio, _wrong(stage, played), moments=moments))
        if found[-1].wrong:
            break
    return tuple(found)


def _paces(subject: Subject) -> Iterator[Pace]:
    yield Pace()
    yield Pace(late=True)
    if not bool(subject.run.is_message.any()):
        return
    for rank in range(subject.run.schedule.ranks):
        yield Pace(late=True, slow=rank)
    for rank in range(subject.run.schedule.ranks):
        yield Pace(slow=rank)


def _longer(subject: Subject) -> Iterator[Pace]:
    """Yield runs in which a rank lingers long, for a machine that is busy."""
    longest = int(max(subject.run.rank_start[1:] - subject.run.rank_start[:-1]))
    pause = min(0.3, 6 / max(longest, 1))
    if bool(subject.run.is_message.any()):
        for rank in range(subject.run.schedule.ranks):
            yield Pace(late=True, slow=rank, pause=pause)


def _wrong(stage: _Stage, played: _Play) -> str:
    """Return what goes wrong in a run, nothing where it is as it should be."""
    found = (*_raised(played), *_differing(played), *_unfinished(stage, played))
    return found[0] if found else ""


def _raised(played: _Play) -> Iterator[str]:
    for rank, answer in enumerate(played.answers):
        if isinstance(answer, Raised):
            yield f"rank {rank} raises {answer.type}: {' '.join(answer.text.split())}"


def _differing(played: _Play) -> Iterator[str]:
    """Yield what is illegal, or differs.

    What is known of storage may lag behind what it holds: without numbers it is nothing.
    """
    for story in played.stories:
        yield from story.notes
        for seen in story.seen:
            if seen.fault is None:
                yield f"{seen.text} differs from the unsplit model"
            elif seen.visible or seen.fault not in _LAGGING:
                yield seen.text


def _unfinished(stage: _Stage, played: _Play) -> Iterator[str]:
    for rank, (answer, story) in enumerate(zip(played.answers, played.stories, strict=True)):
        if isinstance(answer, Stuck) and story.at != OVER:
            yield f"stuck: {stage.told(rank, story.at)}"
        elif story.left:
            yield f"left over: {stage.events.text(story.left[0])}"


def confirm_on_ranks(
    processes: Processes, subject: Subject, claim: Claim, *, witness: str = EXACT
) -> Confirmed:
    """Run a counterexample on real ranks.

    What ends in ranks that wait is confirmed where exactly the predicted ranks are stuck, each in
    the predicted operation, for two seconds past the last progress, and what is left over is what
    was predicted. Everything else is confirmed by numbers that differ at one of its places, or by
    an error of torch there.
    """
    if claim.rule not in STUCK and claim.rule not in _FAULTS:
        return Confirmed(Answer.NOT_OBSERVABLE, "nothing that ranks exchange depends on it")
    try:
        stage = _Stage(processes, subject, witness, 0, even=True)
    except UnsupportedFeatureError as error:
        return Confirmed(Answer.NOT_OBSERVABLE, str(error))
    if claim.rule in STUCK:
        return _stuck(stage, claim)
    return _numbers(stage, claim)


# ranks that wait


def _stuck(stage: _Stage, claim: Claim) -> Confirmed:
    predicted = stage.predicted
    strays = predicted.strays if claim.rule == "PP303" else ()
    played = stage.play(Pace(), strays, whole=True)
    unlike = next(_unlike(stage, played), None)
    if unlike is not None:
        return Confirmed(Answer.NOT_REPRODUCED, unlike)
    held = _held(stage)
    missing = [place for place in claim.places if place not in held]
    if missing or not claim.places:
        return Confirmed(Answer.NOT_REPRODUCED, f"nothing waits at {missing or 'any place'}")
    if claim.rule == "PP303":
        return _stray(stage, claim, played)
    at = enumerate(predicted.at)
    standing_ = [stage.told(rank, each) for rank, each in at if each is not None]
    left = [stage.events.text(row) for rows in predicted.left for row in sorted(rows)]
    said = f"stuck as predicted: {', '.join(standing_)}" if standing_ else "no rank is stuck"
    return Confirmed(Answer.CONFIRMED, f"{said}; never complete: {', '.join(left) or 'nothing'}")


def _unlike(stage: _Stage, played: _Play) -> Iterator[str]:
    """Yield in what a run ends otherwise than predicted."""
    predicted = stage.predicted
    taken = {row for story in played.stories for row in story.found}
    yield from _raised(played)
    for rank, (answer, story) in enumerate(zip(played.answers, played.stories, strict=True)):
        stands = _stands(answer, story)
        if stands != predicted.at[rank]:
            expected = stage.told(rank, predicted.at[rank])
            yield f"seen: {stage.told(rank, stands)}; predicted: {expected}"
        elif stands is None and {*story.left} != predicted.left[rank].difference(taken):
            left = [stage.events.text(row) for row in story.left]
            yield f"rank {rank} leaves {', '.join(left) or 'nothing'} over, not what was predicted"


def _held(stage: _Stage) -> set[tuple[int, int]]:
    """Return the places of all that waits: where ranks stand, and what they have started."""
    predicted, events = stage.predicted, stage.events
    rows = [row for each in predicted.left for row in each]
    rows += [row for at in predicted.at if at is not None and at != END for row in events.rows[at]]
    ends = {(rank, events.length(rank)) for rank, at in enumerate(predicted.at) if at == END}
    return {stage.place(row) for row in rows} | ends


def _stray(stage: _Stage, claim: Claim, played: _Play) -> Confirmed:
    """Say whether one more receive found a message that nobody had received."""
    found = {stage.place(row) for story in played.stories for row in story.found}
    if found & {*claim.places}:
        said = "one more receive at the end gets the message that nobody received, bit by bit"
        return Confirmed(Answer.CONFIRMED, said)
    if stage.predicted.is_stuck:
        said = "other ranks are stuck, so that nobody can look for the message"
        return Confirmed(Answer.NOT_OBSERVABLE, said)
    return Confirmed(Answer.NOT_REPRODUCED, "one more receive at the end finds nothing")


# numbers


def _numbers(stage: _Stage, claim: Claim) -> Confirmed:
    stamped = None
    for pace in (*_paces(stage.subject), *_longer(stage.subject)):
        played = stage.play(pace)
        seen = [each for story in played.stories for each in story.seen]
        error = _error(stage, claim, played)
        if error is not None:
            return Confirmed(Answer.CONFIRMED, error)
        for each in _matching(stage, claim, seen):
            if each.visible:
                return Confirmed(Answer.CONFIRMED, f"{each.text}, seen in the numbers")
            shown = next((other for other in seen if _shows(each, other)), None)
            if shown is not None:
                return Confirmed(Answer.CONFIRMED, f"{each.text}; {shown.text}, seen in numbers")
            stamped = stamped or f"{each.text}, and the numbers are the same"
        if _ends_early(stage, claim, played):
            stamped = stamped or "a deadlock keeps its place from being reached"
    if stamped is None and _alike(stage, claim):
        stamped = "both ends have as many bytes"
    return _unseen(stage, claim) if stamped is None else Confirmed(Answer.NOT_OBSERVABLE, stamped)


def _unseen(stage: _Stage, claim: Claim) -> Confirmed:
    """Say of what no run showed whether the replayer, which chooses the order, shows it."""
    subject = stage.subject
    alone = confirm(subject.run, subject.transport.match, subject.guards, claim)
    if alone.answer is Answer.CONFIRMED:
        return Confirmed(Answer.NOT_OBSERVABLE, f"gloo takes no such order; replayed: {alone.why}")
    return Confirmed(Answer.NOT_REPRODUCED, "nothing illegal was met at its places")


def _shows(each: Seen, other: Seen) -> bool:
    """Whether numbers that another rank met differ by what one met without seeing it."""
    return other.visible and other.fault is not None and bool({*each.rows} & {*other.rows})


def _matching(stage: _Stage, claim: Claim, seen: Iterable[Seen]) -> Iterator[Seen]:
    """Yield what was met that is what a counterexample says."""
    wanted, ops = _FAULTS[claim.rule], stage.subject.run.operations
    stages = {int(ops.stage[row]) for row in range(len(ops)) if stage.place(row) in claim.places}
    stages |= {
        home
        for rank, position in claim.places
        if position >= stage.events.length(rank)
        for home, own in enumerate(stage.subject.run.placement)
        if own == rank
    }
    for each in seen:
        if each.fault not in wanted:
            continue
        of_stage = each.fault in (Fault.GRADIENT, Fault.BUSY) and bool({*each.stages} & stages)
        if of_stage or {stage.place(row) for row in each.rows} & {*claim.places}:
            yield each


def _error(stage: _Stage, claim: Claim, played: _Play) -> str | None:
    """Return the error with which gloo ends a rank to which too much is sent, behind its place."""
    if claim.rule not in _SIZES:
        return None
    for rank, (answer, story) in enumerate(zip(played.answers, played.stories, strict=True)):
        if not isinstance(answer, Raised) or "length" not in answer.text or story.at is None:
            continue
        reached = (
            stage.events.length(rank)
            if story.at == END
            else stage.events.position(stage.events.rows[story.at][0])
        )
        if any(own == rank and position <= reached for own, position in claim.places):
            return f"{stage.told(rank, story.at)}: {' '.join(answer.text.split())}"
    return None


def _ends_early(stage: _Stage, claim: Claim, played: _Play) -> bool:
    """Whether a rank is stuck as predicted before it comes to a place."""
    predicted = stage.predicted
    return any(
        isinstance(answer, Stuck)
        and at not in (None, END)
        and own == rank
        and stage.events.position(stage.events.rows[at][0]) < position
        for rank, (answer, at) in enumerate(zip(played.answers, predicted.at, strict=True))
        if at is not None
        for own, position in claim.places
    )


def _alike(stage: _Stage, claim: Claim) -> bool:
    """Whether the two ends of a message have shapes of as many bytes."""
    return claim.rule == "PP203" and not any(
        stage.predicted.at[rank] is not None for rank, _ in claim.places
    )
