"""A schedule judged in every alternative of what may go wrong, each by the policy of the file."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from pipeproof.engines import graph
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.faults import Faulted
from pipeproof.ir.transport import Transport
from pipeproof.lowering.communicators import joined, splits_calls
from pipeproof.lowering.faults import Alternative, alternatives, faulted, unplaced
from pipeproof.lowering.outcomes import has_choices, open_receives
from pipeproof.lowering.waits import write_in
from pipeproof.proofs.deciding import Deciding, one_step_decides
from pipeproof.proofs.outcomes import TooManyError, outcomes, undecided
from pipeproof.semantics.model import Model
from pipeproof.semantics.policies import JUDGED, under_faults
from pipeproof.semantics.relations.faulty import occurs
from pipeproof.verdict.merge import merged
from pipeproof.verdict.verdict import Outcome, TransportVerdict, Undecided

__all__ = ["over_faults"]

_MOST = 4096  # alternatives, outcomes of choices counted, that are looked through
_ORDERED = frozenset({"delayed", "corrupted"})  # faults that keep nothing from happening
_HARMLESS = _ORDERED | {"duplicated"}
_COUNTING = frozenset({"dropped", "duplicated"})  # after which other messages are there to be taken


class _Struck(NamedTuple):
    """One alternative, its choices settled: the model, and what goes wrong in words."""

    model: Model
    label: str


def over_faults(
    run: Callable[[int], AsRun],
    transport: Transport,
    deciding: Deciding,
    ordinary: TransportVerdict,
) -> TransportVerdict:
    """Return the verdict over every alternative, that in which nothing goes wrong among them.

    Args:
        run: returns the schedule as run, in copies of its programs.
        transport: when messages move.
        deciding: decides, by the rules that are asked for.
        ordinary: the verdict where nothing goes wrong.

    Raises:
        ReplayMismatchError: a counterexample did not replay; believe nothing then.
    """
    faults = _Faults(run, transport, deciding)
    try:
        struck = faults.every()
    except TooManyError as error:
        return _left_open(ordinary, deciding, str(error))
    found = [(ordinary, ""), *(told for each in struck for told in faults.verdicts(each))]
    told = merged([verdict for verdict, _ in found], [label for _, label in found])
    return dataclasses.replace(told, outcomes=ordinary.outcomes + len(struck))


def _left_open(verdict: TransportVerdict, deciding: Deciding, why: str) -> TransportVerdict:
    """Return a verdict in which what is asked of faults is unknown."""
    known = {each.rule for each in verdict.unknown}
    open_ = [code for code in JUDGED if deciding.wanted(code) and code not in known]
    unknown = [*verdict.unknown, *(Undecided(code, why) for code in open_)]
    outcome = verdict.outcome
    if open_ and outcome is Outcome.PROVED:
        outcome = Outcome.UNKNOWN
    return dataclasses.replace(
        verdict, outcome=outcome, unknown=tuple(sorted(unknown, key=lambda each: each.rule))
    )


class _Faults:
    """The alternatives of one schedule under one transport."""

    def __init__(
        self, run: Callable[[int], AsRun], transport: Transport, deciding: Deciding
    ) -> None:
        self._transport, self._deciding = transport, deciding
        self._steps = deciding.schedule.steps
        self._one = self._joined(run(1))
        self._run = self._one if self._steps is not None else self._joined(run(2))
        self._rules = tuple(r for r in under_faults(deciding.rules) if deciding.wanted(r.code))

    def _joined(self, run: AsRun) -> AsRun:
        return run if splits_calls(run, self._transport) else joined(run)

    def _model(self, run: AsRun) -> Model:
        return Model(run, self._transport, write_in(run, self._transport.wait))

    def every(self) -> list[_Struck]:
        """Return every alternative in which something goes wrong, with every outcome of choices.

        Raises:
            TooManyError: there are more than are looked through, or choices that are not.
        """
        chooses = has_choices(self._run)
        if "ready" in self._run.schedule.described:
            message = "faults of a rank that runs what is ready are not looked through"
            raise TooManyError(message)
        lost = unplaced(self._run)
        if lost is not None:
            message = f"{lost} does not stand in the schedule as it is lowered"
            raise TooManyError(message)
        if chooses and undecided(self._run, self._transport):
            message = "what is chosen is not looked through"
            raise TooManyError(message)
        listed = list(islice(alternatives(self._run), _MOST + 1))
        self._require_told(listed)
        found: list[_Struck] = []
        for each in listed:
            found += self._settled(each, _MOST - len(found)) if chooses else [self._struck(each)]
            if len(found) > _MOST:
                message = f"more than {_MOST} alternatives are not looked through"
                raise TooManyError(message)
        return [each for each in found if occurs(each.model.frame)]

    def _require_told(self, listed: list[Alternative]) -> None:
        """Refuse what nobody says: what an open receive takes where a message comes or not."""
        kinds = {each.kind for alternative in listed for each in alternative.struck}
        if kinds & _COUNTING and len(open_receives(self._run)):
            message = "open receives are not looked through where messages get lost or come twice"
            raise TooManyError(message)

    def _settled(self, alternative: Alternative, most: int) -> Iterator[_Struck]:
        run = faulted(self._run, alternative)
        try:
            for each in outcomes(run, self._transport, graph.furthest, most):
                label = ", ".join(filter(None, (each.label, alternative.label)))
                yield _Struck(self._model(each.run), label)
        except TooManyError as error:
            message = f"more than {_MOST} alternatives are not looked through"
            raise TooManyError(message) from error

    def _struck(self, alternative: Alternative) -> _Struck:
        """Return an alternative of a schedule without choices: what it does else is known."""
        steps, ending = self._ordinary
        run = faulted(self._run, alternative)
        faults = run.faults
        if faults is not None:
            known = Faulted(faults.policy, faults.struck, steps, ending)
            run = dataclasses.replace(run, faults=known)
        return _Struck(self._model(run), alternative.label)

    @cached_property
    def _ordinary(self) -> tuple[frozenset[int], frozenset[int]]:
        """The rows of instructions that complete where nothing goes wrong, and who ends."""
        model = self._model(self._run)
        frame, happened = model.frame, graph.furthest(model)
        rows = np.arange(len(frame.ops))
        done = rows[happened[frame.done(rows)]]
        ending = np.flatnonzero(happened[frame.ends : frame.first_transfer])
        return frozenset(done.tolist()), frozenset(ending.tolist())

    def verdicts(self, struck: _Struck) -> Iterator[tuple[TransportVerdict, str]]:
        """Yield the verdict over one alternative, and where all must hold that over the rest."""
        quiet = self._deciding._replace(kept=None)
        policy = quiet._replace(rules=self._rules, partial=True)
        found = policy.verdict(self._transport, struck.model, one_decides=False)
        found = dataclasses.replace(found, live=())  # what does not happen is not live
        why = self._open(struck.model) if self._steps is None else ""
        if why:
            found = _left_open(found, self._deciding, why)
        yield found, struck.label
        if _goes_on(struck.model):
            ordinary = quiet.verdict(self._transport, struck.model, one_decides=False)
            yield ordinary, struck.label

    def _open(self, model: Model) -> str:
        """Return why two copies of the programs do not say what any number of steps do."""
        faults, frame = model.frame.run.faults, model.frame
        if faults is None or all(each.kind in _ORDERED for each in faults.struck):
            return ""
        if not self._one_decides:
            return "any number of steps: what is under way at the end of a step may meet the fault"
        happened = graph.furthest(model)
        for rank in range(frame.ranks):
            if rank not in faults.ranks and happened[frame.ends + rank]:
                return f"any number of steps: rank {rank} goes on after the fault"
        return ""

    @cached_property
    def _one_decides(self) -> bool:
        return not has_choices(self._one) and one_step_decides(self._model(self._one))


def _goes_on(model: Model) -> bool:
    """Whether all rules are asked too: a message comes twice, and all must be as without that."""
    faults = model.frame.run.faults
    if faults is None or faults.policy != "recover":
        return False
    pairing = model.frame.pairing
    copies = np.flatnonzero(pairing.send >= 0)
    taken = bool(np.any(pairing.of_row[pairing.send[copies]] != copies))
    return taken and all(each.kind in _HARMLESS for each in faults.struck)
