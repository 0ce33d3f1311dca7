"""The one use case: judge a schedule under each transport, and have the verdict replayed."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pipeproof.engines import graph
from pipeproof.errors import LimitError, Problem
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.schedule import Lowering, Schedule
from pipeproof.ir.sets import among, distinct
from pipeproof.ir.source import Document, OnePlace
from pipeproof.ir.transport import NAMED, Completion, Transport, named
from pipeproof.ir.undescribed import undescribed
from pipeproof.lowering.communicators import joined, splits_calls
from pipeproof.lowering.lower import lower
from pipeproof.lowering.outcomes import has_choices
from pipeproof.lowering.waits import write_in
from pipeproof.proofs.outcomes import TooManyError, outcomes, undecided
from pipeproof.semantics.assumptions import assumed
from pipeproof.semantics.logic import HAPPENS_BEFORE, Rule
from pipeproof.semantics.model import Model
from pipeproof.semantics.rules import all_rules
from pipeproof.semantics.steps import ends_sharded_as_it_starts, left_open, unended, uneven
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.merge import merged
from pipeproof.verdict.verdict import (
    FileVerdict,
    Live,
    Outcome,
    TransportVerdict,
    Undecided,
    Violation,
    Warned,
    worst,
)

if TYPE_CHECKING:
    from pipeproof.semantics.found import Findings

__all__ = [
    "ALL",
    "Asked",
    "as_run",
    "judge",
    "judge_text",
    "lowered",
    "models",
    "rules",
    "transports_of",
]

ALL = "all"
"""The name under which every engine is asked."""

_DEMANDED = 4_000_000  # stages times microbatches that are looked through one by one
_LOOPS: dict[str, Lowering] = {"torch-multi": "torch-multi", "torch-single": "torch-single"}
_OUTCOMES = 4096  # of choices that are looked through
_COUNTED = ("activations", "gradients", "kept", "versions")
_AT_READERS = ("PP301", "PP401", "PP403")  # where an order that cannot be lowered shows


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a schedule; empty fields leave it to the schedule.

    `select` and `ignore` are rule codes or prefixes of them. `live` asks for the most that is live
    at once, which is told anyway where the file gives sizes.
    """

    transports: tuple[str, ...] = ()
    profile: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    engine: str = graph.NAME
    live: bool = False


def rules() -> tuple[Rule, ...]:
    """Return every rule in order of its code."""
    return all_rules()


def judge(
    document: Document,
    asked: Asked | None = None,
    kept: list[tuple[Model, Decision]] | None = None,
) -> FileVerdict:
    """Judge a schedule for every interleaving under each transport asked for.

    What a certificate is written from is added to `kept`, where it is given.

    Raises:
        LimitError: the schedule asks for more operations than are looked through.
        ReplayMismatchError: a counterexample did not replay; believe nothing then.
    """
    judging = _Judging(document, asked or Asked(), kept)
    return judging.verdict()


def models(document: Document, asked: Asked | None = None) -> Callable[[str, int], Model | None]:
    """Return what models a schedule under a transport by name, None if it has none, in copies."""
    judging = _Judging(document, asked or Asked())
    by_name = {each.name: each for each in judging.transports}
    return lambda name, copies: judging.model(by_name[name], copies) if name in by_name else None


def transports_of(document: Document, asked: Asked | None = None) -> tuple[Transport, ...]:
    """Return the transports under which a schedule is judged."""
    return _Judging(document, asked or Asked()).transports


def as_run(document: Document, asked: Asked | None = None) -> str:
    """Return what is judged in canonical JSON: messages resolved, and every wait by transport."""
    from pipeproof.ir.canonical import canonical  # noqa: PLC0415  only asked for by `convert`

    judging = _Judging(document, asked or Asked())
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


def lowered(document: Document) -> Document:
    """Return `document` with what its lowering adds written out, to be judged as written."""
    run = lower(document.schedule)
    schedule = dataclasses.replace(
        document.schedule,
        operations=run.spelled,
        placement=run.placement,
        lowering="as-written",
    )
    return Document(document.name, schedule, OnePlace(), title=document.title)


def judge_text(text: str, name: str, asked: Asked | None = None) -> FileVerdict:
    """Judge the schedule of a spec file given as text.

    Raises:
        InputError: the text is no spec.
    """
    from pipeproof.frontends import spec  # noqa: PLC0415  yaml is loaded only where it is read
    from pipeproof.schedules import generate  # noqa: PLC0415

    documents = spec.read(text, name, ReadOptions(generate=generate))
    return judge(documents[0], asked)


class _Judging:
    """One schedule on its way to a verdict."""

    def __init__(
        self, document: Document, asked: Asked, kept: list[tuple[Model, Decision]] | None = None
    ) -> None:
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
        self._check_size()
        schedule = self.schedule
        found = tuple(self._under(transport) for transport in self.transports)
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
        refused = self._run(1).refused
        return () if refused is None else (refused,)

    def _check_size(self) -> None:
        schedule = self.schedule
        asked = schedule.stages * max(1, 0 if schedule.fragment else schedule.ids_per_step)
        asked *= max(schedule.steps or 2, 1)
        if asked > _DEMANDED:
            found = f"{schedule.stages} stages by {schedule.microbatches} microbatches"
            expected = f"at most {_DEMANDED} operations of a kind are looked through"
            raise LimitError([Problem(self.document.name, 1, 1, found, expected)])

    def _run(self, copies: int) -> AsRun:
        if copies not in self._runs:
            self._runs[copies] = lower(self.schedule, repeated=copies)
            self._found[copies] = {}
        return self._runs[copies]

    def model(self, transport: Transport, copies: int = 1) -> Model:
        run = self._run(copies)
        if not splits_calls(run, transport):
            run = joined(run)
        return Model(run, transport, write_in(run, transport.wait), self._found[copies])

    def _under(self, transport: Transport) -> TransportVerdict:
        if has_choices(self._run(1)) and not undecided(self._run(1), transport):
            return self._over_outcomes(transport)
        model = self.model(transport)
        one_decides = _one_step_decides(model)
        if self.schedule.steps is None and not one_decides:
            model = self.model(transport, copies=2)
        return self._verdict(transport, model, one_decides=one_decides)

    def _over_outcomes(self, transport: Transport) -> TransportVerdict:
        """Judge every outcome of what the runtime chooses, over two copies if one needs it."""
        try:
            found = self._outcomes(transport, 1)
            decides = [_one_step_decides(model) for model, _ in found]
            if self.schedule.steps is None and not all(decides):
                found = self._outcomes(transport, 2)
                decides = [False] * len(found)
        except TooManyError:
            return self._verdict(transport, self.model(transport), one_decides=False)
        verdicts = [
            self._verdict(transport, model, one_decides=one)
            for (model, _), one in zip(found, decides, strict=True)
        ]
        return merged(verdicts, [label for _, label in found])

    def _outcomes(self, transport: Transport, copies: int) -> list[tuple[Model, str]]:
        run = self._run(copies)
        if not splits_calls(run, transport):
            run = joined(run)
        return [
            (Model(each.run, transport, write_in(each.run, transport.wait)), each.label)
            for each in outcomes(run, transport, graph.furthest, _OUTCOMES)
        ]

    def _verdict(
        self, transport: Transport, model: Model, *, one_decides: bool
    ) -> TransportVerdict:
        decision = self._decide(model)
        if self.kept is not None:
            self.kept.append((model, decision))
        unknown = self._unknown(model, decision)
        told = _replayed(model, decision) if decision.broken else ()
        outcome = Outcome.PROVED
        if told or unknown:
            outcome = Outcome.REFUTED if told else Outcome.UNKNOWN
        return TransportVerdict(
            name=transport.name,
            outcome=outcome,
            engine=decision.engine,
            events=model.events,
            steps=self._steps(model, one_decides=one_decides),
            assumes=_assumes(model),
            instances=decision.instances,
            unknown=unknown,
            warnings=self._warnings(transport, decision),
            violations=told,
            live=self._live(model),
        )

    def _live(self, model: Model) -> tuple[Live, ...]:
        """Return the most that is live at once, where it is asked for or sized."""
        sized = "sizes" in self.schedule.described
        if not self.asked.live and not sized:
            return ()
        found, exact = graph.most_live(model)
        return tuple(
            Live(each.rank, each.kind, each.number, each.weight if sized else None, exact)
            for each in found
            if each.kind in _COUNTED or sized
        )

    def _decide(self, model: Model) -> Decision:
        judged = tuple(rule for rule in self.rules if not rule.warns)
        if "PP" in model.unjudged:
            judged = ()
        if self.asked.engine == graph.NAME:
            return graph.decide(model, judged)
        from pipeproof.proofs import agreement  # noqa: PLC0415  other engines when asked for

        if self.asked.engine == ALL:
            return agreement.decide_all(model, judged)
        return agreement.engine(self.asked.engine)(model, judged)

    def _steps(self, model: Model, *, one_decides: bool) -> int | Literal["any"]:
        steps = self.schedule.steps
        even = uneven(model.frame) is None and unended(model.frame) is None
        if steps is None or (steps == 1 and one_decides and even):
            return "any"
        return steps

    def _unknown(self, model: Model, decision: Decision) -> tuple[Undecided, ...]:
        found = {**decision.unknown, **model.unjudged}
        everything = found.pop("PP", None)
        if everything is not None:
            return tuple(Undecided(rule.code, everything) for rule in self.rules if not rule.warns)
        refused = self._run(1).refused
        if refused is not None:
            found = dict.fromkeys(_AT_READERS, refused) | found
        growing = (("PP301", uneven), ("PP506", unended)) if self.schedule.steps is None else ()
        for code, reason in growing:
            if (why := reason(model.frame)) is not None:
                found.setdefault(code, f"any number of steps: {why}")
        if not decision.complete and not decision.broken and self._wanted("PP301"):
            found.setdefault("PP301", "not everything happens, and no selected rule says why")
        return tuple(Undecided(c, why) for c, why in sorted(found.items()) if self._wanted(c))

    def _warnings(self, transport: Transport, decision: Decision) -> tuple[Warned, ...]:
        stuck = any(each.rule.code == "PP301" for each in decision.broken)
        if not stuck or transport.completion is not Completion.RENDEZVOUS:
            return ()
        warning = next((rule for rule in self.rules if rule.warns), None)
        if warning is None or not self._legal_when_buffered():
            return ()
        return (Warned(warning.code, warning.message.format(stuck=transport.name)),)

    def _legal_when_buffered(self) -> bool:
        """Whether the schedule is legal under every blocking buffered transport."""
        if self._buffered is None:
            models = (self.model(NAMED[name]) for name in ("buffered", "buffered-1"))
            decisions = (self._decide(model) for model in models)
            self._buffered = all(d.complete and not d.broken for d in decisions)
        return self._buffered


def _replayed(model: Model, decision: Decision) -> tuple[Violation, ...]:
    """Return what is broken in words, once every execution that shows it has been replayed."""
    from pipeproof.verdict import replay  # noqa: PLC0415  only where something is broken
    from pipeproof.verdict.telling import violations  # noqa: PLC0415

    for broken in decision.broken:
        if len(broken.trace) or broken is decision.broken[0]:
            replay.check(model, broken)
    return violations(model, decision)


def _one_step_decides(model: Model) -> bool:
    frame = model.frame
    if len(model.weak) or not ends_sharded_as_it_starts(frame):
        return False
    moments, ends = left_open(frame)
    if np.any(moments < 0):
        return False
    if not len(moments):
        return True
    ancestors = graph.Ancestors(model.graph(HAPPENS_BEFORE))
    return all(
        bool(np.all(among(moments[ends == end], ancestors.of(np.asarray([end])))))
        for end in distinct(ends).tolist()
    )


def _assumes(model: Model) -> tuple[str, ...]:
    frame = model.frame
    collectives = bool(np.any(frame.ops.is_kind(Kind.COLL, Kind.TIE)))
    messages = len(frame.pairing) > 0
    return assumed(frame.transport, messages=messages, collectives=collectives)
