"""The executions of all outcomes as formulas: guards that stand in some have a choice's boolean."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pipeproof.engines._smt_ask import Execution, Open
from pipeproof.engines._smt_guarded import FALSE, TRUE, Booleans
from pipeproof.engines._smt_moments import START, rooted
from pipeproof.ir.operations import IntArray
from pipeproof.semantics.choices import Counted, Joint

__all__ = ["Script", "Together", "Within"]

Bools = npt.NDArray[np.bool_]


class Script(Protocol):
    """Formulas that a solver holds; what they name `t…` is a number, all else a boolean."""

    def add(self, clauses: Sequence[str]) -> None:
        """Demand formulas."""

    def check(self, literals: Sequence[str]) -> bool:
        """Whether they can hold where `literals`, names or `(not name)`, are true.

        Raises:
            ExhaustedError: the solver may do no more.
        """

    def true(self, names: Sequence[str]) -> set[str]:
        """Return which booleans are true in what was found last."""

    def number(self, name: str) -> int:
        """Return a number in what was found last."""


class _Pair(NamedTuple):
    """What an event waits for, and the formula of where it does, among where the event stands."""

    before: int
    where: str


class Together:
    """The executions of one order in every outcome.

    An event happens only in outcomes that have it, after all that it waits for there. With
    `closed` it also happens if that does. Moments are left out where nothing needs them.
    """

    def __init__(
        self,
        script: Script,
        joint: Joint,
        picked: Sequence[tuple[tuple[str, str], ...]],
        *,
        closed: bool = False,
    ) -> None:
        self.joint = joint
        self.booleans = Booleans(picked)
        self._script = script
        self._asked = 0
        self._timed = closed or bool(joint.counted)
        self._waits: list[list[_Pair]] = [[] for _ in range(joint.size)]
        self._counted: list[list[Counted]] = [[] for _ in range(joint.size)]
        for each in joint.counted:
            self._counted[each.event].append(each)
        self._read_pairs()
        self._roots = rooted(range(joint.size), self._only) if self._timed else {}
        self._clauses: list[str] = []
        for event in range(joint.size):
            self._support(event)
            if closed:
                self._close(event)
        script.add(list(self.booleans.clauses()))
        self._send(self._clauses)

    def _send(self, clauses: list[str]) -> None:
        self._script.add([*self.booleans.definitions(), *clauses])

    def _read_pairs(self) -> None:
        joint = self.joint
        pairs = zip(joint.before.tolist(), joint.after.tolist(), joint.holds, strict=True)
        for before, after, holds in pairs:
            where = self._where(holds, joint.present[after])
            self._waits[after].append(_Pair(before, where))

    def _where(self, holds: Bools, among: Bools) -> str:
        return TRUE if np.array_equal(holds, among) else self.booleans.where(holds, among)

    # moments

    def _only(self, event: int) -> int | None:
        """Return the one event that this one waits for, START for none, None for several."""
        waits = self._waits[event]
        if self._counted[event] or any(each.where != TRUE for each in waits) or len(waits) > 1:
            return None
        return waits[0].before if waits else START

    def _moment(self, event: int) -> str:
        root, offset = self._roots[event]
        if root == START:
            return str(offset)
        return f"(+ t{root} {offset})" if offset else f"t{root}"

    def _earlier(self, before: int, after: int) -> str:
        return f"(and h{before} (< {self._moment(before)} {self._moment(after)}))"

    # guards

    def _support(self, event: int) -> None:
        """Demand that an event happens only where it stands, after all that it waits for."""
        there, never = self.joint.present[event], self.joint.never[event]
        self._demand(event, TRUE, self._where(there, np.ones_like(there)))
        if np.any(never):
            self._demand(event, self._where(never, there), FALSE)
        own_moment = self._timed and self._roots[event][1] == 0
        for each in self._waits[event]:
            needed = self._earlier(each.before, event) if own_moment else f"h{each.before}"
            self._demand(event, each.where, needed)
        for counted in self._counted[event]:
            needed = _enough(counted, [self._earlier(a, event) for a in counted.arrivals])
            self._demand(event, self._where(counted.holds, there), needed)

    def _demand(self, event: int, where: str, needed: str) -> None:
        if needed != TRUE:
            self._clauses.append(f"(=> (and h{event} {where}) {needed})")

    def _close(self, event: int) -> None:
        """Demand that an event happens, where it stands, if all that it waits for does."""
        there, never = self.joint.present[event], self.joint.never[event]
        able = there & ~never
        if not np.any(able):
            return
        needed = [self._where(able, np.ones_like(able))]
        needed += [f"(=> {each.where} h{each.before})" for each in self._waits[event]]
        for counted in self._counted[event]:
            enough = _enough(counted, [f"h{each}" for each in counted.arrivals])
            needed.append(f"(=> {self._where(counted.holds, there)} {enough})")
        self._clauses.append(f"(=> (and {' '.join(needed)}) h{event})")

    # questions

    def named(self, formula: str) -> str:
        """Return a boolean that demands a formula where it is asked for."""
        name = f"q{self._asked}"
        self._asked += 1
        self._send([f"(=> {name} {formula})"])
        return name

    def outcomes_with(self, formula: str) -> Iterator[int]:
        """Yield each outcome with an execution that satisfies a formula, until none is left.

        Between two of them it is the last one's execution that is read.
        """
        if formula == FALSE:
            return
        name = self.named(formula)
        while self._script.check([name]):
            outcome = self.booleans.outcome(self._script.true(self.booleans.names()))
            yield outcome
            others = (f"(not {each})" for each in self.booleans.literals(outcome))
            self._script.add([f"(=> {name} (or false {' '.join(others)}))"])

    def absent(self, events: int) -> str:
        """Return that some event below `events`, of those that its outcome has, does not happen."""
        some = (
            f"(and {self._where(there, np.ones_like(there))} (not h{event}))"
            for event, there in enumerate(self.joint.present[:events])
            if np.any(there)
        )
        return f"(or false {' '.join(some)})"

    def unordered(self, before: int, after: int, asked: Bools) -> str:
        """Return that an event happens without another, in the outcomes that ask for the order."""
        where = self._where(asked, self.joint.present[after])
        return f"(and {where} h{after} (not h{before}))"

    def heavier(self, event: int, weighs: str, asked: Bools) -> str:
        """Return that too much is live where an event happens, in the outcomes that ask."""
        return f"(and {self._where(asked, self.joint.present[event])} h{event} {weighs})"

    def found(self, literals: Sequence[str]) -> bool:
        """Whether there is an execution with these literals."""
        return self._script.check(literals)

    def read(self, outcome: int) -> Execution:
        """Return the execution that was found last, in the numbers of its outcome."""
        event = self.joint.event[outcome].tolist()
        true = self._script.true([f"h{each}" for each in event])
        moment = np.full(len(event), -1, np.int64)
        happens = [k for k, each in enumerate(event) if f"h{each}" in true]
        if happens:
            when = [self._when(event[k]) for k in happens]
            moment[happens] = np.asarray(when) - min(when) + 1
        return Execution(moment, np.zeros(len(moment), np.int64))

    def _when(self, event: int) -> int:
        root, offset = self._roots[event] if self._timed else (START, 0)
        return offset if root == START else offset + self._script.number(f"t{root}")


class Within:
    """The executions of one outcome among those of all."""

    def __init__(self, together: Together, outcome: int) -> None:
        self._together = together
        self._outcome = outcome

    def ask(
        self,
        happen: Sequence[int] = (),
        absent: Sequence[int] = (),
        *,
        live: tuple[Open, ...] = (),
        more: int = -1,
    ) -> Execution | None:
        """Return an execution in which some events happen and others do not; None for none."""
        own: IntArray = self._together.joint.event[self._outcome]
        literals = self._together.booleans.literals(self._outcome)
        literals += [f"h{own[each]}" for each in happen]
        literals += [f"(not h{own[each]})" for each in absent]
        if live:
            literals.append(self._together.named(f"(> {weight(own, live)} {more})"))
        return self._together.read(self._outcome) if self._together.found(literals) else None


def weight(own: IntArray, live: Sequence[Open]) -> str:
    """Return what all holds weigh that are not over; `own` numbers their events."""
    each = (
        f"(ite (and {' '.join(f'h{own[end]}' for end in hold.ends)}) 0 {hold.weight})"
        for hold in live
    )
    return f"(+ 0 {' '.join(each)})"


def _enough(counted: Counted, before: list[str]) -> str:
    return f"((_ at-least {counted.least}) {' '.join(before)})"
