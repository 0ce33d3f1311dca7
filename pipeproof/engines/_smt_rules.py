"""What each axiom asks of the executions of a model."""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pipeproof.engines._smt_ask import ExhaustedError, Solver
from pipeproof.engines._smt_late import Late
from pipeproof.engines._smt_live import Moment, moments
from pipeproof.engines._smt_orders import SPENT, Most, Orders
from pipeproof.engines._smt_show import Found, broken
from pipeproof.ir.actions import Kind
from pipeproof.ir.sizes import size_text
from pipeproof.semantics.found import Finding, Needs, Spot
from pipeproof.semantics.logic import (
    Acyclic,
    All,
    AtMost,
    Axiom,
    Empty,
    Enforced,
    Finally,
    Never,
    NotAfter,
    Rel,
    Rule,
)
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision

if TYPE_CHECKING:
    from pipeproof.semantics.waiting import Cycle

__all__ = ["Decider"]

_BEFORE_RUN = f"{SPENT} before it is known what happens"


class Decider:
    """Decides rules of one model; what they share is asked once."""

    def __init__(self, model: Model, solver: Solver) -> None:
        self.model = model
        self.frame = model.frame
        self.orders = Orders(model, solver)
        self._late = Late(model, solver)
        self._needs: dict[Rel, Needs] = {}
        self._open: list[str] = []

    def decision(self, name: str, rules: tuple[Rule, ...]) -> Decision:
        """Return the decision of the engine `name` on `rules`."""
        instances: dict[str, int] = {}
        unknown: dict[str, str] = {}
        found: list[Found] = []
        happening = self.orders.happening
        for rule in rules:
            self._open = []
            instances[rule.code], more = self._decide(rule, rule.axiom)
            found.extend(more)
            if self._open:
                unknown[rule.code] = "; ".join(dict.fromkeys(self._open))
        complete = happening is not None and bool(np.all(happening))
        return Decision(
            name, instances, broken(self.orders, found), complete=complete, unknown=unknown
        )

    def _decide(self, rule: Rule, axiom: Axiom) -> tuple[int, list[Found]]:
        """Return the number of instances of an axiom, and where it does not hold."""
        match axiom:
            case Empty(rel):
                listed = self.model.findings(rel)
                return listed.instances, [Found(rule, each) for each in listed.found]
            case Never() | Finally() | NotAfter():
                return self._of_events(rule, axiom)
            case Acyclic(_, through):
                return self._acyclic(rule, through)
            case Enforced(rel, _):
                needs = self.needs(rel)
                known = rel.name in self.orders.known.ordered
                return len(needs.after), [] if known else self._unordered(rule, needs)
            case AtMost(measure):
                return self._at_most(rule, measure)
            case All(axioms):
                parts = [self._decide(rule, each) for each in axioms]
                return sum(n for n, _ in parts), [each for _, found in parts for each in found]

    def _of_events(self, rule: Rule, axiom: Never | Finally | NotAfter) -> tuple[int, list[Found]]:
        """Return what happens and must not, or holds where nothing more can happen."""
        if isinstance(axiom, Never):
            listed = self.model.findings(axiom.rel)
            return listed.instances, self._happening(rule, list(listed.found))
        if isinstance(axiom, NotAfter):
            listed = self.model.findings(axiom.rel)
            self._late.open.clear()
            late = [Found(rule, each, trace) for each, trace in self._late.late(listed.found)]
            self._open += self._late.open
            return listed.instances, late
        run = self.orders.progress
        if run is None:
            self._open.append(_BEFORE_RUN)
            return 0, []
        end = self.model.ending(axiom.rel, run.happened)
        return end.instances, [Found(rule, each) for each in end.found]

    def needs(self, rel: Rel) -> Needs:
        """Return the pairs of a relation that must be ordered."""
        if rel not in self._needs:
            self._needs[rel] = self.model.needs(rel)
        return self._needs[rel]

    def _happening(self, rule: Rule, listed: list[Finding]) -> list[Found]:
        happening = self.orders.happening
        if happening is not None:
            return [Found(rule, each) for each in listed if happening[each.event]]
        if listed:
            self._open.append(_BEFORE_RUN)
        return []

    # progress

    @cached_property
    def _cycles(self) -> "tuple[Cycle, ...]":
        happening, run = self.orders.happening, None
        if happening is not None and not np.all(happening):
            run = self.orders.progress
        if run is None:
            return ()
        from pipeproof.semantics.waiting import cycles  # noqa: PLC0415  only where it is stuck

        return cycles(self.model, run.happened)

    def _acyclic(self, rule: Rule, through: str) -> tuple[int, list[Found]]:
        alone = through == "collectives"
        if self.orders.happening is None:
            self._open.append(_BEFORE_RUN)
        found = [each.finding for each in self._cycles if each.collective == alone]
        if alone:
            absent = self.model.findings(Rel("unentered"))
            return absent.instances, [Found(rule, each) for each in (*absent.found, *found)]
        messages = np.sum(self.frame.run.is_message)
        awaits = np.sum(self.frame.ops.is_kind(Kind.AWAIT))
        instances = int(messages + awaits) + len(self.model.edges("guarded").pairs)
        return instances, [Found(rule, each) for each in found]

    # order

    def _unordered(self, rule: Rule, needs: Needs) -> list[Found]:
        """Return what is needed and does not come first, in the order of the pairs."""
        found: list[Found] = []
        told: set[int] = set()
        spent = 0
        pairs = zip(needs.before.tolist(), needs.after.tolist(), needs.rows.tolist(), strict=True)
        for k, (before, after, row) in enumerate(pairs):
            answer = self.orders.pair(before, after)
            if answer.left:
                spent += answer.left == SPENT
                self._open += [answer.left] * (answer.left != SPENT)
            elif not answer.ordered and not (needs.once and row in told):
                told.add(row)
                found.append(Found(rule, self._early(needs, k), answer.trace))
        self._leave(spent, len(needs.after), "pairs")
        return found

    def _early(self, needs: Needs, k: int) -> Finding:
        row, value = int(needs.rows[k]), int(needs.values[k])
        facts = {"op": self.frame.text(row)}
        if needs.why is not None:
            facts["why"] = needs.why(k)
        facts["value"] = self.frame.ops.value_text(value) if value >= 0 else "what it needs"
        if needs.others is not None:
            other = int(needs.others[k])
            facts["other"] = self.frame.text(other) if other >= 0 else "what is there"
        return Finding((Spot(int(needs.after[k]), row),), facts)

    def _leave(self, spent: int, total: int, what: str) -> None:
        if spent:
            self._open.append(f"{SPENT}: {total - spent} of {total} {what} are decided")

    # memory

    def _at_most(self, rule: Rule, measure: Rel) -> tuple[int, list[Found]]:
        """Return where more is live than allowed."""
        if not self.model.is_bounded(measure):
            return 0, []
        holds = self.model.holds(measure)
        bound = holds.bound or 0
        found: list[Found] = []
        if measure.name in self.orders.known.light:
            return len(holds.start), found
        spent = total = 0
        for moment in moments(self.frame, holds):
            total += 1
            try:
                most = self.orders.most(moment, bound)
            except ExhaustedError:
                spent += 1
                continue
            if most is not None and most.left:
                self._open.append(most.left)
            elif most is not None:
                more = (self._overfull(moment, row, most, bound) for row in moment.rows)
                found += [Found(rule, each, most.trace) for each in more]
        self._leave(spent, total, "moments")
        return len(holds.start), found

    def _overfull(self, moment: Moment, row: int, most: Most, bound: int) -> Finding:
        live, most_allowed = size_text(most.weight), size_text(bound)
        text = self.frame.text(row) if row >= 0 else "the end of the program"
        why = f"makes {live} live on rank {moment.rank}, more than {most_allowed}"
        return Finding((Spot(moment.event, row),), {"op": text, "why": why})
