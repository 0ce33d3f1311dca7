"""What an engine found of a schedule under one transport, made the verdict that is told."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from pipeproof.engines import graph
from pipeproof.ir.actions import Kind
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.sets import among, distinct
from pipeproof.ir.transport import Completion, Transport
from pipeproof.proofs.asked import ALL, Asked
from pipeproof.semantics.assumptions import assumed
from pipeproof.semantics.logic import HAPPENS_BEFORE, Rule
from pipeproof.semantics.model import Model
from pipeproof.semantics.steps import ends_sharded_as_it_starts, left_open, unended, uneven
from pipeproof.verdict.decision import Decision, added
from pipeproof.verdict.verdict import (
    Explained,
    Live,
    Outcome,
    TransportVerdict,
    Undecided,
    Violation,
    Warned,
)

__all__ = ["Deciding", "one_step_decides"]

_COUNTED = ("activations", "gradients", "kept", "versions")
_AT_READERS = ("PP301", "PP401", "PP403")  # where an order that cannot be lowered shows


class Deciding(NamedTuple):
    """Has one schedule decided, model by model.

    `rules` are those that are judged, `wanted` tells of a code whether it is asked for, `refused`
    says that a runtime refuses to lower the order, `buffered` whether the schedule is legal under
    every blocking buffered transport. What a certificate is written from is added to `kept`,
    where it is given. Where something goes wrong, `partial`, not everything need happen. Where only
    outcomes are asked for, `brief`, of what is broken the first is told, and no more.
    """

    schedule: Schedule
    asked: Asked
    rules: tuple[Rule, ...]
    wanted: Callable[[str], bool]
    refused: str | None
    buffered: Callable[[], bool]
    kept: list[tuple[Model, Decision]] | None
    partial: bool = False
    brief: bool = False

    def verdict(self, transport: Transport, model: Model, *, one_decides: bool) -> TransportVerdict:
        """Return the verdict over one model, every counterexample replayed.

        Raises:
            ReplayMismatchError: a counterexample did not replay; believe nothing then.
        """
        decision = self.decide(model)
        if self.brief:
            decision = decision._replace(broken=decision.broken[:1])
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
            explanations=self._explained(model),
            counts=_counts(model, decision),
        )

    def _explained(self, model: Model) -> tuple[Explained, ...]:
        if self.asked.why is None or "PP" in model.unjudged:
            return ()
        from pipeproof.proofs.explaining import explained  # noqa: PLC0415  when asked for

        judged = tuple(rule for rule in self.rules if rule.code not in model.unjudged)
        return explained(model, judged, self.asked.why)

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

    def decide(self, model: Model) -> Decision:
        """Return what the engine that was asked for finds, every engine where all were."""
        judged = tuple(rule for rule in self.rules if not rule.warns)
        if "PP" in model.unjudged:
            judged = ()
        if self.asked.engine == graph.NAME:
            found = graph.decide(model, judged)
            return self._filled(model, judged, found) if found.unknown else found
        from pipeproof.proofs import agreement, confirming  # noqa: PLC0415  when asked for

        if self.asked.engine == ALL:
            return agreement.decide_all(model, judged, self.asked.effort)
        return confirming.decide(self.asked.engine, model, judged, self.asked.effort)

    def _filled(self, model: Model, rules: tuple[Rule, ...], found: Decision) -> Decision:
        from pipeproof.proofs import filling  # noqa: PLC0415  only where something is open

        return filling.filled(found, model, rules, self.asked.effort)

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
        if self.refused is not None:
            found = dict.fromkeys(_AT_READERS, self.refused) | found
        growing = (("PP301", uneven), ("PP506", unended)) if self.schedule.steps is None else ()
        for code, reason in growing:
            if (why := reason(model.frame)) is not None:
                found.setdefault(code, f"any number of steps: {why}")
        complete = decision.complete or self.partial
        if not complete and not decision.broken and self.wanted("PP301"):
            found.setdefault("PP301", "not everything happens, and no selected rule says why")
        return tuple(Undecided(c, why) for c, why in sorted(found.items()) if self.wanted(c))

    def _warnings(self, transport: Transport, decision: Decision) -> tuple[Warned, ...]:
        stuck = any(each.rule.code == "PP301" for each in decision.broken)
        if not stuck or transport.completion is not Completion.RENDEZVOUS:
            return ()
        warning = next((rule for rule in self.rules if rule.warns), None)
        if warning is None or not self.buffered():
            return ()
        return (Warned(warning.code, warning.message.format(stuck=transport.name)),)


def _replayed(model: Model, decision: Decision) -> tuple[Violation, ...]:
    """Return what is broken in words, once every execution that shows it has been replayed."""
    from pipeproof.verdict import replay  # noqa: PLC0415  only where something is broken
    from pipeproof.verdict.telling import violations  # noqa: PLC0415

    for broken in decision.broken:
        if len(broken.trace) or broken is decision.broken[0]:
            replay.check(model, broken)
    return violations(model, decision)


def _counts(model: Model, decision: Decision) -> Mapping[str, int]:
    sizes = {"waits": model.waits, "transfers": len(model.frame.pairing)}
    return added([sizes, decision.counts])


def one_step_decides(model: Model) -> bool:
    """Whether what holds of one step holds of any number of them."""
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
