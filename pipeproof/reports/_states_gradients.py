"""Gradients on their way: what was added since the last step, scaled, reduced, tied."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.reports._states_words import by_event, listed, over, short, staged
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._ties import meeting_ties
from pipeproof.semantics.relations._uncounted import counting
from pipeproof.semantics.relations._windows import (
    boundary_turns,
    param_of,
    taken_back,
    withdrawals,
)

__all__ = ["Gradients"]

_Told = Iterator[tuple[str, str]]
_ADDING = (Kind.B, Kind.W)
_CHANGING = (Kind.ZERO, Kind.SCALE, Kind.NORM, Kind.STALE)
_WAITING = (Kind.REDUCE, Kind.TIE)
_TAKING = (Kind.STEP, Kind.SKIP)
_MOST_RUNS = 4


@dataclass(slots=True)
class _Run:
    """Contributions of successive microbatches of a stage with one coefficient."""

    stage: int
    low: int
    high: int
    coefficient: Fraction

    def told(self, own: int) -> str:
        said = f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"
        more = [f"stage {self.stage}"] if self.stage != own else []
        more += [f"by {self.coefficient}"] if self.coefficient != 1 else []
        return f"{said} ({', '.join(more)})" if more else said


@dataclass(slots=True)
class _Gradient:
    """One accumulator: its contributions, how many of them were there when it was reduced."""

    stage: int
    name: str
    runs: list[_Run] = field(default_factory=list)
    reduced: int = 0
    word: str = ""
    marks: list[str] = field(default_factory=list)
    taking: str = ""

    def add(self, microbatch: int, coefficient: Fraction) -> None:
        last = self.runs[-1] if len(self.runs) > self.reduced else None
        follows = last is not None and last.high + 1 == microbatch and last.stage == self.stage
        if last is not None and follows and last.coefficient == coefficient:
            last.high = microbatch
        else:
            self.runs.append(_Run(self.stage, microbatch, microbatch, coefficient))
        self.marks = [mark for mark in self.marks if mark == "leftovers"]

    def clear(self) -> None:
        self.runs, self.reduced, self.word, self.marks, self.taking = [], 0, "", [], ""

    def scale(self, by: Fraction) -> None:
        for run in self.runs:
            run.coefficient *= by

    def mark(self, word: str) -> None:
        if word not in self.marks:
            self.marks.append(word)

    def reduce(self, word: str) -> None:
        self.reduced, self.word = len(self.runs), word

    def told(self) -> str:
        parts = [self._listed(self.runs[: self.reduced]), self.word] if self.word else []
        rest = self._listed(self.runs[self.reduced :])
        parts.append(f"not reduced: {rest}" if rest and self.word else rest)
        return ", ".join(filter(None, [*parts, *self.marks, self.taking]))

    def _listed(self, runs: list[_Run]) -> str:
        if not runs:
            return ""
        one = len(runs) == 1 and runs[0].low == runs[0].high
        said = listed((run.told(self.stage) for run in runs), len(runs), _MOST_RUNS)
        return f"{'microbatch' if one else 'microbatches'} {said}"


class Gradients:
    """The contributions of each stage, and of each parameter that is named, since its last step."""

    group = "gradients"

    def __init__(self, frame: Frame) -> None:
        """Look at what concerns the gradients of `frame`."""
        self._frame = frame
        ops = frame.ops
        adding = staged(frame, *_ADDING)
        adding = counting(frame, adding[ops.microbatch[adding] >= 0])
        changing, waiting = staged(frame, *_CHANGING), staged(frame, *_WAITING)
        taking, back = staged(frame, *_TAKING), staged(frame, Kind.ROLLBACK)
        ending = np.concatenate((adding, changing, taking, back))
        events = np.concatenate((frame.done(ending), over(frame, waiting)))
        starting = np.concatenate((waiting, taking))
        self._begins = by_event(frame.start(starting), starting)
        self._ends = by_event(events, np.concatenate((ending, waiting)))
        self._of = self._accumulators(np.concatenate((ending, waiting)), adding)
        self._meets = meeting_ties(frame, np.sort(waiting))
        self._brought: dict[int, dict[str, list[_Run]]] = {}
        self._back = withdrawals(frame)
        self._whole, self._partly = taken_back(frame)
        self._taken: dict[int, list[tuple[str, list[_Run]]]] = {}
        self._closing = self._last_parts()

    def _accumulators(self, rows: IntArray, adding: IntArray) -> dict[int, dict[str, _Gradient]]:
        """Make the accumulators of each stage: those named, and one for the rest, if any."""
        ops = self._frame.ops
        names: dict[int, set[str]] = {int(stage): set() for stage in set(ops.stage[rows].tolist())}
        attributed = [row for row in rows.tolist() if row in ops.attributes]
        for row in attributed:
            names[int(ops.stage[row])].add(param_of(self._frame, row))
        partial = {row for row in attributed if param_of(self._frame, row)}
        whole = {int(ops.stage[row]) for row in adding.tolist() if row not in partial}
        added = set(ops.stage[adding].tolist())
        found: dict[int, dict[str, _Gradient]] = {}
        for stage, own in names.items():
            own.discard("")
            rest = {""} if stage in whole or stage not in added else set()
            found[stage] = {name: _Gradient(stage, name) for name in sorted(own | rest)}
        return found

    def _last_parts(self) -> set[int]:
        """Return the STEPs and SKIPs that are the last part of theirs: the rest goes with them."""
        ops = self._frame.ops
        rows, turns = boundary_turns(self._frame)
        key = ops.rank[rows] * self._frame.run.schedule.stages + ops.stage[rows]
        last = (np.diff(key, append=-1) != 0) | (np.diff(turns, append=-1) != 0)
        return set(rows[last].tolist())

    def begins(self) -> _Told:
        yield from ()

    def moments(self) -> Iterable[Iterable[int]]:
        return (self._begins, self._ends)

    def happens(self, event: int) -> _Told:
        for row in self._begins.get(event, ()):
            for each in self._concerned(row):
                self._begin(each, row)
                yield self._told(each)
        for row in self._ends.get(event, ()):
            for each in self._end(row):
                yield self._told(each)

    def _told(self, each: _Gradient) -> tuple[str, str]:
        name = f"stage {each.stage}" + (f" {short(each.name)}" if each.name else "")
        return name, each.told()

    def _concerned(self, row: int) -> list[_Gradient]:
        own = self._of[int(self._frame.ops.stage[row])]
        name = param_of(self._frame, row)
        return [own[name]] if name else list(own.values())

    def _begin(self, each: _Gradient, row: int) -> None:
        match Kind(int(self._frame.ops.kind[row])):
            case Kind.REDUCE:
                each.reduce("being reduced")
            case Kind.TIE:
                copy = [_Run(r.stage, r.low, r.high, r.coefficient) for r in each.runs]
                self._brought.setdefault(row, {})[each.name] = copy
                each.mark("being tied")
            case Kind.STEP if each.runs:
                each.taking = "being taken"
            case _:
                pass

    def _end(self, row: int) -> list[_Gradient]:
        kind = Kind(int(self._frame.ops.kind[row]))
        concerned = self._concerned(row)
        if kind in _TAKING:
            return self._take(row, concerned)
        if kind is Kind.ROLLBACK:
            return self._give_back(row)
        for each in concerned:
            self._change(each, row, kind)
        return concerned

    def _change(self, each: _Gradient, row: int, kind: Kind) -> None:
        said = self._frame.ops.attributes.get(row, {})
        match kind:
            case Kind.B | Kind.W:
                if said.get("mode") == "assign":
                    each.clear()
                each.add(int(self._frame.ops.microbatch[row]), Fraction(said.get("c", "1")))
            case Kind.ZERO:
                each.clear()
            case Kind.SCALE:
                each.scale(Fraction(said["by"]))
            case Kind.REDUCE:
                shard = said.get("shard")
                each.word = "reduced" if shard is None else f"reduced to shard {short(shard)}"
            case Kind.TIE:
                self._tie(each, row)
            case _:
                each.mark("leftovers" if kind is Kind.STALE else "norm taken")

    def _tie(self, each: _Gradient, row: int) -> None:
        """Leave the sum of all copies, of which each was read as its TIE began."""
        found: dict[tuple[int, int, int], _Run] = {}
        for other in self._meets.get(row, (row,)):
            for run in self._brought.get(other, {}).get(each.name, []):
                have = found.setdefault(
                    (run.stage, run.low, run.high), _Run(run.stage, run.low, run.high, Fraction())
                )
                have.coefficient += run.coefficient
        each.runs = [found[key] for key in sorted(found)]
        each.reduced = len(each.runs) if each.word else 0
        each.marks = ["tied" if mark == "being tied" else mark for mark in each.marks]

    def _take(self, row: int, concerned: list[_Gradient]) -> list[_Gradient]:
        rest = self._of[int(self._frame.ops.stage[row])].get("")
        if rest is not None and rest not in concerned and row in self._closing:
            concerned = [*concerned, rest]
        if row in self._whole or row in self._partly:
            self._taken[row] = [(each.name, each.runs) for each in concerned]
        for each in concerned:
            each.clear()
        return concerned

    def _give_back(self, row: int) -> list[_Gradient]:
        own = self._of[int(self._frame.ops.stage[row])]
        changed: list[_Gradient] = []
        for lost in self._back.get(row, ()):
            every = self._whole.get(lost.row, set()) == set(lost.parameters)
            for name, runs in self._taken.get(lost.row, []):
                if every or name in lost.parameters:
                    own[name].runs = [*runs, *own[name].runs]
                    changed.append(own[name])
        return changed
