"""What the gradient of every stage has taken in when an update uses it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from tests.interpreter.program import CONTRIBUTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interpreter.program import Instruction
    from tests.interpreter.spec import Spec
    from tests.interpreter.weights import StageWeights

TAKERS = ("STEP", "SKIP")
_ON_GRADIENTS = ("ZERO", "SCALE", "REDUCE", "NORM", "TIE", "STALE", *CONTRIBUTIONS, *TAKERS)


@dataclass(frozen=True, slots=True)
class Entry:
    """One contribution in a gradient.

    Attributes:
        part: It carries a coefficient, so it may be one part of several.
        versions: The weights that it and its forward read.
        reduced: How often it was reduced.
    """

    stage: int
    microbatch: int
    coefficient: Fraction
    part: bool
    versions: str
    reduced: int = 0


@dataclass(slots=True)
class Sum:
    """The gradient of one parameter of a stage.

    Attributes:
        state: Empty, `reduced`, or the shard that is valid here.
        reductions: How many there were since the last update.
        normed: A norm over these ranks was taken of what is there now.
        tied: It was summed with its tied copies since the last contribution.
    """

    entries: list[Entry] = field(default_factory=list)
    stale: bool = False
    state: str = ""
    reductions: int = 0
    normed: frozenset[str] = frozenset()
    tied: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """What a STEP, a SKIP or the end of the program finds in one parameter's gradient."""

    stage: int
    parameter: str
    kind: str
    turn: int
    position: int
    found: Sum
    withdrawn: bool


@dataclass(slots=True)
class Gradients:
    """All gradients of a schedule, and what happened to them.

    Attributes:
        updates: What each update found, in no certain order.
        faults: Pairs of a rule and the identity of an instruction.
    """

    spec: Spec
    weights: list[StageWeights]
    sums: dict[tuple[int, str], Sum] = field(default_factory=dict)
    running: dict[tuple[int, str], set[tuple[int, str]]] = field(default_factory=dict)
    saved: dict[tuple[int, int], dict[str, Sum]] = field(default_factory=dict)
    turns: Counter[tuple[int, str]] = field(default_factory=Counter)
    updates: list[Update] = field(default_factory=list)
    faults: set[tuple[str, str]] = field(default_factory=set)

    def parameters(self, stage: int) -> list[str]:
        """The parameters of a stage; the empty one is the rest."""
        steps = [s for s in self.spec.of_stage(stage) if s.stage == stage]
        used = [s for s in steps if s.kind in _ON_GRADIENTS]
        named = sorted({s.get("param") for s in used} - {""})
        rest = any(s.kind in CONTRIBUTIONS and not s.get("param") for s in used)
        return [*named, *([""] if rest or not named else [])]

    def concerned(self, step: Instruction) -> list[str]:
        """The parameters that an instruction is about."""
        every = self.parameters(step.stage)
        return [name for name in every if step.get("param") in ("", name)]

    def run(self) -> None:
        """Runs all ranks, each until a TIE at which the others are not yet."""
        for stage in range(self.spec.stages):
            for name in self.parameters(stage):
                self.sums[stage, name] = Sum()
        at = [0] * len(self.spec.programs)
        met: dict[tuple[int, int], set[int]] = defaultdict(set)
        moved = True
        while moved:
            moved = False
            for rank, program in enumerate(self.spec.programs):
                while at[rank] < len(program) and self._goes_on(rank, at[rank], met):
                    at[rank] += 1
                    moved = True
        self._end()

    def _goes_on(self, rank: int, position: int, met: dict[tuple[int, int], set[int]]) -> bool:
        step = self.spec.programs[rank][position]
        group = next((g for g in self.spec.tied if step.stage in g), ())
        if step.kind != "TIE" or not group:
            self._take(rank, position, step)
            return True
        turn = sum(
            s.kind == "TIE" and s.stage == step.stage for s in self.spec.programs[rank][:position]
        )
        entered = met[group[0], turn]
        if step.stage not in entered:
            self._touch(step, rank, position, reads=True)
            entered.add(step.stage)
            if len(entered) == len(group):
                self._tie(group, turn)
        return len(entered) == len(group)

    def _tie(self, group: tuple[int, ...], turn: int) -> None:
        """Sums the tied copies."""
        first = [s for s in self.spec.of_stage(group[0]) if s.kind == "TIE" and s.stage == group[0]]
        for name in self.concerned(first[turn]):
            copies = [self.sums[stage, name] for stage in group if (stage, name) in self.sums]
            if len({copy.state for copy in copies}) > 1:
                self.faults |= {("PP707", f"{stage}TIE {turn}") for stage in group}
            together = [entry for copy in copies for entry in copy.entries]
            for copy in copies:
                copy.entries, copy.tied, copy.normed = list(together), True, frozenset()

    def _take(self, rank: int, position: int, step: Instruction) -> None:
        if step.kind == "WAIT":
            self.running.pop((rank, step.name), None)
        elif step.kind == "ROLLBACK":
            self._give_back(step.stage, position)
        elif step.kind in _ON_GRADIENTS:
            reads = step.kind in ("STEP", "SCALE", "NORM", "REDUCE", "TIE")
            self._touch(step, rank, position, reads=reads)
            if step.kind in TAKERS:
                self._use(step, position)
            else:
                for name in self.concerned(step):
                    self._change(self.sums[step.stage, name], step, position)

    def _touch(self, step: Instruction, rank: int, position: int, *, reads: bool) -> None:
        """Notes a use of a gradient whose reduction may still run."""
        mine = {(step.stage, name) for name in self.concerned(step)}
        busy = any(mine & used for used in self.running.values())
        writes = step.kind in (*CONTRIBUTIONS, "ZERO")
        if busy and (reads or writes):
            self.faults.add(("PP501" if reads else "PP502", f"{step.identity} {step.get('by')}"))
        if step.kind in ("REDUCE", "NORM", "TIE") and step.get("h"):
            self.running.setdefault((rank, step.get("h")), set()).update(mine)
        del position

    def _change(self, total: Sum, step: Instruction, position: int) -> None:
        match step.kind:
            case "ZERO":
                total.entries, total.stale, total.normed = [], False, frozenset()
            case "SCALE":
                by = Fraction(step.get("by"))
                total.entries = [replace(e, coefficient=e.coefficient * by) for e in total.entries]
            case "STALE":
                total.stale = True
            case "REDUCE":
                total.entries = [replace(e, reduced=e.reduced + 1) for e in total.entries]
                total.state = f"shard={step.get('shard')}" if step.get("shard") else "reduced"
                total.reductions += 1
                total.normed = frozenset()
            case "NORM":
                total.normed = frozenset(step.get("ranks").split(","))
            case _:
                self._add(total, step, position)

    def _add(self, total: Sum, step: Instruction, position: int) -> None:
        if step.get("mode") == "assign":
            total.entries, total.stale = [], False
        versions = [
            f"{reading.step.kind}:{sorted(reading.versions)}"
            for reading in self.weights[step.stage].readings
            if reading.step.microbatch == step.microbatch
            and (reading.position == position or reading.step.kind in ("F", "I"))
        ]
        part, text = bool(step.get("c")), " ".join(versions)
        total.entries.append(Entry(step.stage, step.microbatch, step.coefficient, part, text))
        total.tied, total.normed = False, frozenset()

    def _use(self, step: Instruction, position: int) -> None:
        fate = next((f for f in self.weights[step.stage].fates if f.position == position), None)
        withdrawn = fate is not None and fate.withdrawn
        taken: dict[str, Sum] = {}
        for name in self.concerned(step):
            taken[name] = self._close(step.stage, name, step.kind, position, withdrawn=withdrawn)
        if withdrawn and fate is not None:
            self.saved[step.stage, fate.settled] = taken

    def _close(self, stage: int, name: str, kind: str, position: int, *, withdrawn: bool) -> Sum:
        turn, found = self.turns[stage, name], self.sums[stage, name]
        self.updates.append(Update(stage, name, kind, turn, position, found, withdrawn))
        self.turns[stage, name] += not withdrawn
        self.sums[stage, name] = Sum()
        return found

    def _give_back(self, stage: int, position: int) -> None:
        """Gives back what a withdrawn STEP took."""
        for name, found in self.saved.pop((stage, position), {}).items():
            now = self.sums[stage, name]
            self.sums[stage, name] = replace(found, entries=[*found.entries, *now.entries])

    def _end(self) -> None:
        for stage in range(self.spec.stages):
            end = len(self.spec.of_stage(stage))
            for name in self.parameters(stage):
                self._close(stage, name, "end", end, withdrawn=False)

    def observed(self) -> dict[str, str]:
        """What each update used, by what it is."""
        found: dict[str, str] = {}
        for update in self.updates:
            end = update.kind == "end"
            if not (end and not update.found.entries):
                key = f"{update.stage}{update.kind} #{update.turn} {update.parameter}"
                found[f"{key} {'withdrawn' if update.withdrawn else ''}"] = _text(update.found)
        return found

    def contributions(self, stage: int, after: int) -> Iterator[int]:
        """The microbatches that a stage contributes after a position."""
        for position, step in enumerate(self.spec.of_stage(stage)):
            if step.stage == stage and step.kind in CONTRIBUTIONS and position > after:
                yield step.microbatch


def _text(total: Sum) -> str:
    entries = sorted(
        f"{e.stage}.{e.microbatch} c={e.coefficient} reduced={e.reduced} {e.versions}"
        for e in total.entries
    )
    rest = (total.stale, total.state, total.reductions, sorted(total.normed), total.tied)
    return f"{entries} {rest}"
