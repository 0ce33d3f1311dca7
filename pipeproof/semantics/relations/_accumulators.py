"""Gradients as the program leaves them: what each STEP finds in each accumulator, exactly.

A stage has an accumulator for each parameter that it names, and one for the rest (named "").
Stages are interpreted one by one in program order; they meet at their TIEs.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._asked import ONE, Asked
from pipeproof.semantics.relations._gradient import NOWHERE, Accumulator, Held, Share
from pipeproof.semantics.relations._ties import meeting_ties, named_ranks
from pipeproof.semantics.relations._uncounted import counting
from pipeproof.semantics.relations._windows import (
    Withdrawn,
    boundary_turns,
    param_of,
    taken_back,
    withdrawals,
)

__all__ = ["Held", "Interpretation", "Posted", "Share", "Use", "interpret"]

_GRADIENT = (
    *(Kind.B, Kind.W, Kind.ZERO, Kind.SCALE, Kind.REDUCE, Kind.NORM, Kind.TIE, Kind.STALE),
    *(Kind.STEP, Kind.SKIP, Kind.ROLLBACK),
)
_ADDING, _TIE = (int(Kind.B), int(Kind.W)), int(Kind.TIE)


class Use(NamedTuple):
    """A STEP that takes gradients of a stage; row -1: the end of the program.

    `stepped` says of the end whether the stage has a STEP, so that what is left is never used.
    """

    stage: int
    row: int
    held: tuple[Held, ...]
    stepped: bool = False


class Posted(NamedTuple):
    """What a TIE brings of its copy: shares, leftovers and reduction state, by parameter."""

    shares: Mapping[str, tuple[Share, ...]]
    stale: Mapping[str, int]
    state: Mapping[str, str]


class Interpretation(NamedTuple):
    """All uses in order of stage and row, what TIEs brought, and which TIEs meet."""

    uses: tuple[Use, ...]
    posted: Mapping[int, Posted]
    meetings: Mapping[int, tuple[int, ...]]


class _Stage:
    """One stage's program, as far as its gradient is concerned."""

    def __init__(self, frame: Frame, stage: int, rows: list[int], names: list[str]) -> None:
        self.frame, self.stage, self.rows = frame, stage, rows
        self.accumulators = {name: Accumulator(name) for name in names}
        self.uses: list[Use] = []
        self.taken: dict[int, list[Held]] = {}
        self.forced = False
        self.posted: dict[int, Posted] = {}
        self.stepped = False

    def concerned(self, name: str) -> list[Accumulator]:
        return [self.accumulators[name]] if name else list(self.accumulators.values())


class _Interpreter:
    def __init__(self, frame: Frame, asked: Asked, stages: list[int]) -> None:
        self.frame, self.asked = frame, asked
        ops = frame.ops
        rows = _rows(frame, asked, stages)
        self.meetings = meeting_ties(frame, rows)
        marks, turns = boundary_turns(frame)
        self.turns = dict(zip(marks.tolist(), turns.tolist(), strict=True))
        self.closing = _closing(frame, marks, turns)
        self.back = withdrawals(frame)
        self.gone, partly = taken_back(frame)
        self.lost = {**self.gone, **partly}
        self.everywhere = frozenset(range(frame.ranks))
        self.coefficients: dict[str, Fraction] = {"": ONE}
        own: dict[int, list[int]] = {stage: [] for stage in stages}
        for row, stage in zip(rows.tolist(), ops.stage[rows].tolist(), strict=True):
            own[stage].append(row)
        names = _names(frame, own, self.meetings)
        self.stages = {
            stage: _Stage(frame, stage, mine, names[stage]) for stage, mine in own.items()
        }

    def run(self) -> Interpretation:
        waiting = {stage: self._run(made) for stage, made in self.stages.items()}
        while waiting:
            before = self._progress(waiting)
            for stage in list(waiting):
                if next(waiting[stage], None) is None:
                    del waiting[stage]
            if waiting and before == self._progress(waiting):
                self.stages[min(waiting)].forced = True
        uses = [use for stage in sorted(self.stages) for use in self.stages[stage].uses]
        return Interpretation(tuple(uses), self._posted(), self.meetings)

    def _progress(self, waiting: Mapping[int, object]) -> tuple[int, int]:
        return len(waiting), sum(len(made.posted) for made in self.stages.values())

    def _posted(self) -> dict[int, Posted]:
        return {row: each for made in self.stages.values() for row, each in made.posted.items()}

    def _run(self, made: _Stage) -> Iterator[bool]:
        ops = self.frame.ops
        kinds = ops.kind[np.asarray(made.rows, np.int64)].tolist()
        microbatches = ops.microbatch[np.asarray(made.rows, np.int64)].tolist()
        for row, kind, microbatch in zip(made.rows, kinds, microbatches, strict=True):
            if kind in _ADDING:
                self._contribute(made, row, microbatch)
            elif kind == _TIE:
                yield from self._tie(made, row)
            else:
                self._other(made, row, Kind(kind))
        self._end(made)

    def _contribute(self, made: _Stage, row: int, microbatch: int) -> None:
        said = self.frame.ops.attributes.get(row, {})
        text = said.get("c", "")
        if text not in self.coefficients:
            self.coefficients[text] = Fraction(text)
        share = Share(made.stage, microbatch, row, self.coefficients[text])
        assign = said.get("mode") == "assign"
        for each in made.concerned(said.get("param", "")):
            if assign:
                each.clear(row)
            each.add(share, row)

    def _other(self, made: _Stage, row: int, kind: Kind) -> None:
        said = self.frame.ops.attributes.get(row, {})
        if kind in (Kind.STEP, Kind.SKIP):
            self._take(made, row, kind)
        elif kind is Kind.ROLLBACK:
            for lost in self.back.get(row, ()):
                self._give_back(made, lost)
        else:
            for each in made.concerned(said.get("param", "")):
                self._change(each, row, kind, said)

    def _change(self, each: Accumulator, row: int, kind: Kind, said: Mapping[str, str]) -> None:
        if kind is Kind.ZERO:
            each.clear(row)
        elif kind is Kind.SCALE:
            each.scales.append((len(each.shares), Fraction(said["by"])))
        elif kind is Kind.REDUCE:
            shard = said.get("shard")
            each.state = "reduced" if shard is None else f"reduced to shard {shard}"
            each.normed = False
        elif kind is Kind.NORM:
            each.normed |= self.everywhere <= named_ranks(self.frame, row)
        else:
            each.stale = row

    def _give_back(self, made: _Stage, lost: Withdrawn) -> None:
        every = lost.row in self.gone and self.lost[lost.row] == lost.parameters
        for held in made.taken.get(lost.row, []):
            if every or held.name in lost.parameters:
                made.accumulators[held.name].give_back(held)

    def _take(self, made: _Stage, row: int, kind: Kind) -> None:
        concerned = made.concerned(param_of(self.frame, row))
        if row in self.lost:
            lost, gone = self.lost[row], row in self.gone
            made.taken[row] = [each.take() for each in concerned if gone or each.name in lost]
            concerned = [each for each in concerned if not gone and each.name not in lost]
        if row in self.gone:
            return
        for each in concerned:
            each.turn = self.turns[row]
        taken = tuple(each.take() for each in concerned)
        for each in concerned:
            each.turn += 1
        rest = made.accumulators.get("")
        if rest is not None and rest not in concerned and row in self.closing:
            rest.take()
            rest.turn = self.turns[row] + 1
        if kind is Kind.STEP:
            made.stepped = True
            made.uses.append(Use(made.stage, row, taken))

    def _end(self, made: _Stage) -> None:
        """Where a step has no STEP it ends with the program."""
        left = [
            each.held()
            for each in made.accumulators.values()
            if self.asked.each_update or each.turn < self.asked.steps
        ]
        made.uses.append(Use(made.stage, NOWHERE, tuple(left), made.stepped))

    def _tie(self, made: _Stage, row: int) -> Iterator[bool]:
        concerned = made.concerned(param_of(self.frame, row))
        made.posted[row] = Posted(
            {each.name: tuple(each.settled()) for each in concerned},
            {each.name: each.stale for each in concerned},
            {each.name: each.state for each in concerned},
        )
        partners = [other for other in self.meetings[row] if other != row]
        owners = [self.stages[int(stage)] for stage in self.frame.ops.stage[partners].tolist()]
        while not made.forced and any(
            other not in of.posted for other, of in zip(partners, owners, strict=True)
        ):
            yield True
        made.forced = False
        brought = [
            of.posted[other]
            for other, of in zip(partners, owners, strict=True)
            if other in of.posted
        ]
        ranks = named_ranks(self.frame, row)
        if any(self._is_between(made, row, other) for other in partners):
            ranks = frozenset()  # what it sums up is not what its copy will hold
        for each in concerned:
            _sum_up(each, [made.posted[row], *brought])
            each.tied, each.normed = each.tied | ranks, False

    def _is_between(self, made: _Stage, row: int, later: int) -> bool:
        """Whether a TIE is followed by anything of either gradient before it meets its copy's."""
        ops = self.frame.ops
        if later < row or ops.rank[later] != ops.rank[row]:
            return False
        both = (made, self.stages[int(ops.stage[later])])
        return any(bisect_left(of.rows, later) > bisect_right(of.rows, row) for of in both)


def _closing(frame: Frame, marks: IntArray, turns: IntArray) -> set[int]:
    """Return the boundaries that are the last part of theirs: then the rest is taken too."""
    key = frame.ops.rank[marks] * frame.run.schedule.stages + frame.ops.stage[marks]
    last = (np.diff(key, append=-1) != 0) | (np.diff(turns, append=-1) != 0)
    return set(marks[last].tolist())


def _sum_up(accumulator: Accumulator, copies: list[Posted]) -> None:
    """Leave the sum of all copies in an accumulator."""
    name = accumulator.name
    accumulator.shares = _merged(share for copy in copies for share in copy.shares.get(name, ()))
    accumulator.scales = []
    accumulator.stale = max(copy.stale.get(name, NOWHERE) for copy in copies)


def _merged(shares: Iterable[Share]) -> list[Share]:
    found: dict[int, Share] = {}
    for share in shares:
        have = found.get(share.row)
        if have is None:
            found[share.row] = share
        else:
            coefficient, times = have.coefficient + share.coefficient, have.times + share.times
            found[share.row] = have._replace(coefficient=coefficient, times=times)
    return list(found.values())


def _rows(frame: Frame, asked: Asked, stages: list[int]) -> IntArray:
    """Return what concerns the gradients of `stages`, on their ranks, in the first copy."""
    ops = frame.ops
    chosen = np.zeros(frame.run.schedule.stages + 1, np.bool_)
    chosen[stages] = True
    staged = (ops.stage >= 0) & (ops.stage < frame.run.schedule.stages)
    home = np.asarray((*frame.run.placement, -1))[np.where(staged, ops.stage, -1)]
    mine = staged & (home == ops.rank) & chosen[np.where(staged, ops.stage, -1)]
    mine &= (frame.run.copy == 0) & ops.is_kind(*_GRADIENT)
    adding = ops.is_kind(Kind.B, Kind.W)
    mine &= ~adding | ((ops.microbatch >= 0) & (ops.microbatch < asked.total))
    return counting(frame, np.flatnonzero(mine))


def _names(
    frame: Frame, own: dict[int, list[int]], meetings: Mapping[int, tuple[int, ...]]
) -> dict[int, list[str]]:
    """Return the accumulators of each stage; stages that meet in a TIE have the same.

    There is a rest where something adds to a whole stage, or no parameter is added to.
    """
    names = {stage: set(_own_names(frame, rows)) for stage, rows in own.items()}
    leader = {stage: stage for stage in own}
    for met in set(meetings.values()):
        stages = [int(stage) for stage in frame.ops.stage[list(met)].tolist()]
        joined = {leader[stage] for stage in stages}
        for stage, first in leader.items():
            if first in joined:
                leader[stage] = min(joined)
    together: dict[int, set[str]] = {}
    for stage, first in leader.items():
        together.setdefault(first, set()).update(names[stage])
    return {stage: sorted(together[first]) for stage, first in leader.items()}


def _own_names(frame: Frame, rows: list[int]) -> Iterator[str]:
    named = {row: param_of(frame, row) for row in rows if row in frame.ops.attributes}
    yield from (name for name in named.values() if name)
    own = np.asarray(rows, np.int64)
    adding = own[among(frame.ops.kind[own], _ADDING)]
    partial = [row for row, name in named.items() if name]
    if not len(adding) or not np.all(among(adding, partial)):
        yield ""


def interpret(frame: Frame, asked: Asked, stages: list[int]) -> Interpretation:
    """Return what every STEP of `stages` takes, and what is left where a step ends without one.

    Linear in the rows of these stages times the parameters that they name.
    """
    return _Interpreter(frame, asked, stages).run()
