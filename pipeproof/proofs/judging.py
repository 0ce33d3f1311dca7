"""A schedule judged under each transport that is asked for, over every outcome of its choices."""

import dataclasses
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from pipeproof.engines import graph
from pipeproof.errors import LimitError, Problem
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.schedule import Lowering, Schedule
from pipeproof.ir.source import Document
from pipeproof.ir.transport import NAMED, Transport, named
from pipeproof.ir.undescribed import undescribed
from pipeproof.lowering.communicators import joined, splits_calls
from pipeproof.lowering.lower import lower
from pipeproof.lowering.outcomes import has_choices
from pipeproof.lowering.waits import write_in
from pipeproof.proofs.asked import Asked
from pipeproof.proofs.at_once import deciding_at_once
from pipeproof.proofs.deciding import Deciding, one_step_decides
from pipeproof.proofs.faults import over_faults
from pipeproof.proofs.outcomes import TooManyError, outcomes, undecided
from pipeproof.proofs.ready import as_run_ready
from pipeproof.semantics.choices import Settled
from pipeproof.semantics.model import Model
from pipeproof.semantics.rules import all_rules
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.merge import merged
from pipeproof.verdict.verdict import FileVerdict, Outcome, TransportVerdict, worst

if TYPE_CHECKING:
    from pipeproof.semantics.found import Findings

__all__ = ["Judging", "written_as_run"]

_DEMANDED = 4_000_000  # stages times microbatches that are looked through one by one
_LOOPS: dict[str, Lowering] = {"torch-multi": "torch-multi", "torch-single": "torch-single"}
_OUTCOMES = 4096  # of choices that are looked through
_FEW = 4  # that are looked at first where any that is broken decides
_SOME = 16  # that are judged where there are more


class Judging:
    """One schedule on its way to a verdict.

    `schedule` is what is judged, `transports` those under which it is, `rules` those asked for.
    """

    def __init__(
        self, document: Document, asked: Asked, kept: list[tuple[Model, Decision]] | None = None
    ) -> None:
        """Read what is asked of a schedule.

        Args:
            document: the schedule and where it stands.
            asked: what is asked of it.
            kept: where what a certificate is written from is added.
        """
        self.document, self.kept = document, kept
        self.asked = asked
        schedule = document.schedule
        if asked.profile is not None and asked.profile != schedule.profile:
            schedule = dataclasses.replace(schedule, profile=asked.profile)
        loop = _LOOPS.get(schedule.profile)
        if loop is not None and schedule.lowering == "torch":
            schedule = dataclasses.replace(schedule, lowering=loop)
        self.schedule: Schedule = schedule
        self.transports = self._transports()
        select = asked.select or document.select
        ignore = (*asked.ignore, *document.ignore)
        self.select = tuple(select)
        self.ignore = ignore
        self.rules = tuple(rule for rule in all_rules() if self._wanted(rule.code))
        self._runs: dict[int, AsRun] = {}
        self._found: dict[int, dict[str, Findings]] = {}
        self._buffered: bool | None = None

    def _wanted(self, code: str) -> bool:
        chosen = not self.select or any(code.startswith(each) for each in self.select)
        return chosen and not any(code.startswith(each) for each in self.ignore)

    def _transports(self) -> tuple[Transport, ...]:
        if not self.asked.transports:
            return self.schedule.transports
        chosen: dict[str, Transport] = {}
        for name in self.asked.transports:
            own = {each.name: each for each in self.schedule.transports}
            for each in (own[name],) if name in own else named(name):
                chosen.setdefault(each.name, each)
        return tuple(chosen.values())

    def verdict(self) -> FileVerdict:
        """Judge the schedule under each transport.

        Raises:
            LimitError: the schedule asks for more operations than are looked through.
            ReplayMismatchError: a counterexample did not replay; believe nothing then.
        """
        self._check_size()
        schedule = self.schedule
        found = tuple(self._judged(each, self._deciding) for each in self.transports)
        return FileVerdict(
            path=self.document.name,
            outcome=worst(tuple(each.outcome for each in found)),
            stages=schedule.stages,
            ranks=schedule.ranks,
            microbatches=schedule.microbatches,
            operations=len(schedule.operations),
            lowering=schedule.lowering,
            profile=schedule.profile,
            fragment=schedule.fragment,
            transports=found,
            undescribed=undescribed(schedule),
            notes=(*(str(note) for note in self.document.notes), *self._refusals()),
            forward_only=schedule.forward_only,
        )

    def _refusals(self) -> tuple[str, ...]:
        refused = self.run(1).refused
        return () if refused is None else (refused,)

    def _check_size(self) -> None:
        schedule = self.schedule
        asked = schedule.stages * max(1, 0 if schedule.fragment else schedule.ids_per_step)
        asked *= max(schedule.steps or 2, 1)
        if asked > _DEMANDED:
            found = f"{schedule.stages} stages by {schedule.microbatches} microbatches"
            expected = f"at most {_DEMANDED} operations of a kind are looked through"
            raise LimitError([Problem(self.document.name, 1, 1, found, expected)])

    def run(self, copies: int) -> AsRun:
        """Return the schedule as run, its programs written once or twice."""
        if copies not in self._runs:
            self._runs[copies] = lower(self.schedule, repeated=copies)
            self._found[copies] = {}
        return self._runs[copies]

    def model(self, transport: Transport, copies: int = 1) -> Model:
        """Return the schedule under a transport, its choices left open."""
        run = self.run(copies)
        if not splits_calls(run, transport):
            run = joined(run)
        return Model(run, transport, write_in(run, transport.wait), self._found[copies])

    def _judged(self, transport: Transport, deciding: Deciding) -> TransportVerdict:
        found = self._under(transport, deciding)
        faults = "faults" in self.schedule.described
        return over_faults(self.run, transport, deciding, found) if faults else found

    def _under(self, transport: Transport, deciding: Deciding) -> TransportVerdict:
        if has_choices(self.run(1)) and not undecided(self.run(1), transport):
            return self._over_outcomes(transport, deciding)
        model = self.model(transport)
        one_decides = one_step_decides(model)
        if self.schedule.steps is None and not one_decides:
            model = self.model(transport, copies=2)
        return deciding.verdict(transport, model, one_decides=one_decides)

    def _over_outcomes(self, transport: Transport, deciding: Deciding) -> TransportVerdict:
        """Judge every outcome of what the runtime chooses, over two copies if one needs it."""
        found, is_whole = self._outcomes(transport, 1)
        ready = "ready" in self.schedule.described
        decides = [not ready and one_step_decides(each.model) for each, _ in found]
        if is_whole and self.schedule.steps is None and not all(decides):
            found, is_whole = self._outcomes(transport, 2)
            decides = [False] * len(found)
        if not is_whole:
            return self._over_some(transport, deciding, found[:_SOME] if ready else [])
        deciding = deciding_at_once(deciding, [each for each, _ in found])
        verdicts = [
            as_run_ready(deciding.verdict(transport, model, one_decides=one), model.frame.run)
            for ((model, _), _), one in zip(found, decides, strict=True)
        ]
        return merged(verdicts, [label for _, label in found])

    def _over_some(
        self, transport: Transport, deciding: Deciding, found: list[tuple[Settled, str]]
    ) -> TransportVerdict:
        """Return what is told where there are too many outcomes: what some of them break."""
        open_ = deciding.verdict(transport, self.model(transport), one_decides=False)
        verdicts = [
            as_run_ready(deciding.verdict(transport, model, one_decides=False), model.frame.run)
            for (model, _), _ in found
        ]
        some = merged(verdicts, [label for _, label in found]) if found else open_
        if some.outcome is not Outcome.REFUTED:
            return open_
        return dataclasses.replace(some, unknown=open_.unknown)

    def _outcomes(
        self, transport: Transport, copies: int
    ) -> tuple[list[tuple[Settled, str]], bool]:
        """Return the outcomes that are looked through, and whether these are all."""
        run = self.run(copies)
        if not splits_calls(run, transport):
            run = joined(run)
        found: list[tuple[Settled, str]] = []
        try:
            for each in outcomes(run, transport, graph.furthest, _OUTCOMES):
                model = Model(each.run, transport, write_in(each.run, transport.wait))
                found.append((Settled(model, each.picked), each.label))
        except TooManyError:
            return found, False
        return found, True

    @cached_property
    def _deciding(self) -> Deciding:
        return Deciding(
            schedule=self.schedule,
            asked=self.asked,
            rules=self.rules,
            wanted=self._wanted,
            refused=self.run(1).refused,
            buffered=self._legal_when_buffered,
            kept=self.kept,
        )

    def _legal_when_buffered(self) -> bool:
        """Whether the schedule is legal under every blocking buffered transport."""
        if self._buffered is None:
            deciding = self._deciding._replace(kept=None, brief=True)
            buffered = (NAMED["buffered"], NAMED["buffered-1"])
            ready = "ready" in self.schedule.described
            soon = ready and any(self._breaks_soon(each, deciding) for each in buffered)
            self._buffered = not soon and all(
                self._judged(each, deciding).outcome is Outcome.PROVED for each in buffered
            )
        return self._buffered

    def _breaks_soon(self, transport: Transport, deciding: Deciding) -> bool:
        """Whether one of the first few orders of ready ranks is not legal."""
        if undecided(self.run(1), transport):
            return True
        found = islice(outcomes(self.run(1), transport, graph.furthest, _OUTCOMES), _FEW)
        try:
            models = [
                Model(each.run, transport, write_in(each.run, transport.wait)) for each in found
            ]
        except TooManyError:
            return True
        verdicts = (deciding.verdict(transport, each, one_decides=False) for each in models)
        return any(each.outcome is not Outcome.PROVED for each in verdicts)


def written_as_run(judging: Judging) -> str:
    """Return what is judged in canonical JSON: messages resolved, and every wait by transport."""
    from pipeproof.ir.canonical import canonical  # noqa: PLC0415  not asked for by `check`

    run = lower(judging.schedule)
    resolved = dataclasses.replace(
        judging.schedule, operations=run.operations, placement=run.placement
    )
    awaited = {}
    for transport in judging.transports:
        waits = write_in(run, transport.wait)
        pairs = sorted(zip(waits.rows.tolist(), waits.moments.tolist(), strict=True))
        awaited[transport.wait.value] = tuple((str(row), str(moment)) for row, moment in pairs)
    return canonical(resolved, waits=awaited)
