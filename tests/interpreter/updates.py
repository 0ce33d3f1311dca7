"""Whether every update uses what is asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interpreter.accumulators import TAKERS, Gradients, Sum, Update
from tests.interpreter.program import CONTRIBUTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interpreter.accumulators import Entry
    from tests.interpreter.program import Instruction
    from tests.interpreter.spec import Spec
    from tests.interpreter.versions import Fault


class Demands:
    """What is asked of the gradients of a schedule."""

    def __init__(self, gradients: Gradients) -> None:
        self.gradients = gradients
        self.spec: Spec = gradients.spec
        self.each = self.spec.key("weights.updates") == "microbatch"
        self.reduce = self.spec.key("gradients.reduce")
        if not self.reduce and self.spec.whole("REDUCE") and not self.spec.fragment:
            self.reduce = "required"

    def faults(self) -> frozenset[Fault]:
        """Every fault, by the rule that is named after it."""
        found = set(self.gradients.faults)
        for update in self.gradients.updates:
            found.update(self._at_update(update))
        for stage in range(self.spec.stages):
            found.update(self._marks(stage))
        found.update(self._early())
        return frozenset(found)

    def _at_update(self, update: Update) -> Iterator[Fault]:
        if update.withdrawn or update.kind == "SKIP":
            return
        where = f"{update.stage}{update.kind} {update.turn}"
        if update.kind == "end" and self._steps(update.stage):
            if self.each and update.found.entries and not self.spec.fragment:
                yield "PP701", where
            if self.each or update.turn >= self.spec.steps or not update.found.entries:
                return
        yield from ((rule, where) for rule in self._contents(update))
        yield from ((rule, where) for rule in self._state(update))

    def _steps(self, stage: int) -> bool:
        return any(s.stage == stage and s.kind in TAKERS for s in self.spec.of_stage(stage))

    def _contents(self, update: Update) -> Iterator[str]:
        by_microbatch: dict[int, list[Entry]] = {}
        for entry in update.found.entries:
            if entry.stage == update.stage:
                by_microbatch.setdefault(entry.microbatch, []).append(entry)
        due = self._due(update)
        for microbatch in sorted(due | set(by_microbatch)):
            entries = by_microbatch.get(microbatch, [])
            if self.each and microbatch in self._taken(update):
                yield "PP702"
            elif not entries:
                later = self.gradients.contributions(update.stage, update.position)
                yield "PP706" if microbatch in later else "PP701"
            elif len(entries) > 1 and not all(entry.part for entry in entries):
                yield "PP702"
            elif microbatch not in due or self._wrong(microbatch, entries):
                yield "PP703"
        foreign = {(e.stage, e.microbatch) for e in update.found.entries if e.stage != update.stage}
        for stage, microbatch in sorted(foreign):
            own = (stage, microbatch)
            copies = [e for e in update.found.entries if (e.stage, e.microbatch) == own]
            if self._wrong(microbatch, copies):
                yield "PP703"

    def _wrong(self, microbatch: int, entries: list[Entry]) -> bool:
        return sum(entry.coefficient for entry in entries) != self.spec.asked(microbatch)

    def _due(self, update: Update) -> set[int]:
        """The microbatches that an update must have."""
        if self.each:
            window = [*self._windows(update.stage)][update.turn]
            return {step.microbatch for _, step in window if step.kind in CONTRIBUTIONS}
        first = update.turn * self.spec.microbatches
        steps = 1 if self._steps(update.stage) else self.spec.steps
        due = set(range(first, first + steps * self.spec.microbatches))
        if not any(self.spec.whole(kind) for kind in "BIW"):
            return set()
        return due & set(self._standing(update.stage)) if self.spec.fragment else due

    def _taken(self, update: Update) -> set[int]:
        """The microbatches that earlier updates have taken."""
        return {
            entry.microbatch
            for other in self.gradients.updates
            if (other.stage, other.parameter) == (update.stage, update.parameter)
            and other.turn < update.turn
            and not other.withdrawn
            for entry in other.found.entries
            if entry.stage == update.stage
        }

    def _standing(self, stage: int) -> Iterator[int]:
        return self.gradients.contributions(stage, -1)

    def _state(self, update: Update) -> Iterator[str]:
        total = update.found
        if total.stale:
            yield "PP708"
        if self.reduce == "required" and not total.reductions:
            yield "PP705"
        if self.reduce in ("required", "once") and total.reductions > 1:
            yield "PP702"
        every = {str(rank) for rank in range(len(self.spec.programs))}
        if self.spec.key("gradients.norm") == "all" and total.normed != every:
            yield "PP709"
        if self._untied(update, total):
            yield "PP707"

    def _untied(self, update: Update, total: Sum) -> bool:
        group = next((g for g in self.spec.tied if update.stage in g), ())
        if not group or total.tied:
            return False
        ties = [
            step.get("param")
            for stage in group
            for step in self.spec.of_stage(stage)
            if step.kind == "TIE" and step.stage == stage
        ]
        return not ties or "" in ties or update.parameter in ties

    def _windows(self, stage: int) -> Iterator[list[tuple[int, Instruction]]]:
        """The program of a stage, cut after each update that is not withdrawn."""
        weights = self.gradients.weights[stage]
        cuts = {position for _, position, _ in weights.closers}
        window: list[tuple[int, Instruction]] = []
        for position, step in weights.program:
            window.append((position, step))
            if position in cuts:
                yield window
                window = []
        yield window

    def _marks(self, stage: int) -> Iterator[Fault]:
        """Marks `last` that do not stand at the last contribution, and only there."""
        windows = [*self._windows(stage)]
        steps = [step for window in windows for _, step in window]
        if not any(step.get("last") and step.kind in CONTRIBUTIONS for step in steps):
            return
        for window in windows:
            adding = [step for _, step in window if step.kind in CONTRIBUTIONS]
            for step in adding:
                if (step.get("last") == "yes") != (step is adding[-1]):
                    yield "PP704", step.identity

    def _early(self) -> Iterator[Fault]:
        """Reductions before the last contribution, save those that the contribution disturbs."""
        if self.reduce == "none":
            return
        disturbed = {name.split()[0] for rule, name in self.gradients.faults if rule == "PP502"}
        for stage in range(self.spec.stages):
            for window in self._windows(stage):
                for turn, (position, step) in enumerate(window):
                    if step.kind != "REDUCE":
                        continue
                    mine = set(self.gradients.concerned(step))
                    after = [
                        s
                        for _, s in window[turn:]
                        if s.kind in CONTRIBUTIONS and mine & set(self.gradients.concerned(s))
                    ]
                    if any(s.identity.split()[0] not in disturbed for s in after):
                        yield "PP704", f"{stage}REDUCE {position}"
