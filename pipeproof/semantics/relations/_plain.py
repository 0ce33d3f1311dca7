"""What is wrong with gradients whose contributions only need counting: in columns, no loop."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among, counted, distinct, first_of, without
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._asked import Asked
from pipeproof.semantics.relations._faults import Faults, Item, Used
from pipeproof.semantics.relations._spots import ordinal_in_group
from pipeproof.semantics.relations._ties import named_ranks
from pipeproof.semantics.relations._windows import boundary_turns, closed_before

__all__ = ["Counts", "count", "unnormed_uses"]

_LISTED = 8


class Counts(NamedTuple):
    """What is lost, repeated, or enters with another coefficient than is asked for."""

    lost: Faults
    repeated: Faults
    wrong: Faults


class _Counter:
    """Contributions to plain stages, each with the use that takes it."""

    def __init__(self, frame: Frame, asked: Asked, stages: list[int]) -> None:
        self.frame, self.asked, self.stages = frame, asked, stages
        self.total = asked.total
        ops, schedule = frame.ops, frame.run.schedule
        adding = ops.is_kind(Kind.B, Kind.W) & (frame.run.copy == 0)
        adding &= (ops.stage >= 0) & (ops.stage < schedule.stages)
        adding &= (ops.microbatch >= 0) & (ops.microbatch < self.total)
        every = np.flatnonzero(adding)
        chosen = np.zeros(schedule.stages, np.bool_)
        chosen[stages] = True
        every = every[chosen[ops.stage[every]]]
        home = np.asarray(frame.run.placement)[ops.stage[every]] == ops.rank[every]
        self.rows, away = every[home], every[~home]
        self.key = self._key(self.rows)
        self.elsewhere = distinct(self._key(away))
        self.turn = closed_before(frame, self.rows)
        self._find_uses(schedule.stages)
        self.counts = Counts(Faults(), Faults(), Faults())

    def _key(self, rows: IntArray) -> IntArray:
        ops = self.frame.ops
        return np.asarray(ops.stage[rows] * self.total + ops.microbatch[rows])

    def _find_uses(self, stages: int) -> None:
        """Find the row of each stage's k-th boundary, and how many it has; SKIP uses nothing."""
        ops, run = self.frame.ops, self.frame.run
        marks, _ = boundary_turns(self.frame)
        marks = marks[(run.copy[marks] == 0) & among(ops.stage[marks], self.stages)]
        marks = marks[np.asarray(run.placement)[ops.stage[marks]] == ops.rank[marks]]
        order = np.lexsort((marks, ops.stage[marks]))
        self.marks = marks[order]
        of = ops.stage[self.marks]
        self.first = np.searchsorted(of, np.arange(stages))
        self.number = np.searchsorted(of, np.arange(stages), side="right") - self.first
        self.stepped = np.zeros(stages, np.bool_)
        self.stepped[of[ops.kind[self.marks] == Kind.STEP]] = True

    def use(self, stage: int, turn: int) -> Used | None:
        """Return what uses the gradient of a stage for the `turn`-th time."""
        if turn >= self.number[stage]:
            return Used(stage, -1)
        row = int(self.marks[self.first[stage] + turn])
        return Used(stage, row) if self.frame.ops.kind[row] == Kind.STEP else None

    def report(self, faults: Faults, key: IntArray, turn: IntArray, why: str) -> None:
        """Report microbatches at their uses; of each use and reason only the first ones."""
        stage = key // self.total
        turn = np.minimum(turn, self.number[stage])
        slot = stage * (int(self.number.max(initial=0)) + 1) + turn
        order = np.lexsort((key, slot))
        key, turn, stage, slot = key[order], turn[order], stage[order], slot[order]
        shown = ordinal_in_group(slot) < _LISTED
        for k, s, t in zip(
            key[shown].tolist(), stage[shown].tolist(), turn[shown].tolist(), strict=True
        ):
            use = self.use(s, t)
            if use is not None:
                faults.add(use, Item(k % self.total, why))
        hidden, at = first_of(slot[~shown])
        for s, t, number in zip(
            stage[~shown][at].tolist(),
            turn[~shown][at].tolist(),
            counted(slot[~shown])[1].tolist() if len(hidden) else [],
            strict=True,
        ):
            use = self.use(s, t)
            if use is not None:
                faults.more[use] = faults.more.get(use, 0) + number

    def due(self) -> IntArray:
        """Return the keys of all contributions that are asked for."""
        if self.frame.fragment:
            return distinct(self.key)
        parts = [
            stage * self.total + np.flatnonzero(self.asked.runs_through(stage))
            for stage in self.stages
        ]
        return without(np.concatenate(parts), self.elsewhere) if parts else self.key[:0]

    def of_step(self, key: IntArray) -> IntArray:
        """Return the step of the microbatch of each key."""
        return np.asarray(key % self.total // self.asked.per_step)

    def judge_steps(self) -> None:
        stage = self.key // self.total
        step, ends = self.of_step(self.key), self.number[stage]
        on_time = (self.turn == step) | ((self.turn >= ends) & (step >= ends))
        self._judge_due(on_time, step)
        self._judge_present(self.key[on_time], step[on_time])
        unused = (self.turn >= ends) & (ends >= self.asked.steps)
        foreign = ~on_time & ~unused
        self._report_foreign(self.key[foreign], self.turn[foreign])
        if not self.frame.fragment:
            self._report_surplus()

    def _report_surplus(self) -> None:
        """A STEP beyond those covered has nothing to take."""
        first = self.asked.steps
        for stage in np.flatnonzero(self.number > first).tolist():
            taking = set(self.turn[self.key // self.total == stage].tolist())
            for turn in range(first, int(self.number[stage])):
                use = self.use(stage, turn)
                if use is not None and turn not in taking:
                    self.counts.lost.add(use, Item(turn * self.asked.per_step, self.asked.surplus))

    def _judge_due(self, on_time: npt.NDArray[np.bool_], step: IntArray) -> None:
        due = self.due()
        self.counts.lost.instances += len(due)
        strange = on_time & ~among(self.key, due) & ~among(self.key, self.elsewhere)
        self.report(self.counts.wrong, self.key[strange], step[strange], "another pipeline runs it")
        absent = without(due, self.key[on_time])
        absent = absent[~self.asked.nothing[absent % self.total % self.asked.per_step]]
        late = self.key[~on_time & (self.turn > step)]
        absent = absent[~among(absent, late)]
        early = among(absent, self.key[~on_time])
        for chosen, why in ((early, "an earlier step took it"), (~early, "no B or W adds it")):
            self.report(self.counts.lost, absent[chosen], self.of_step(absent[chosen]), why)

    def _judge_present(self, key: IntArray, turn: IntArray) -> None:
        """Judge contributions that stand where they are asked for."""
        self.counts.repeated.instances += len(key)
        self.counts.wrong.instances += len(key)
        slot, number = counted(key * (len(self.frame.ops) + 1) + turn)
        key, turn = slot // (len(self.frame.ops) + 1), slot % (len(self.frame.ops) + 1)
        for times in distinct(number[number > 1]).tolist():
            again = number == times
            self.report(self.counts.repeated, key[again], turn[again], f"added {times} times")
        place = key % self.total % self.asked.per_step
        off = (number == 1) & ~self.asked.plain[place]
        for coefficient in sorted({self.asked.coefficients[k] for k in place[off].tolist()}):
            same = np.asarray([each == coefficient for each in self.asked.coefficients], np.bool_)
            chosen = off & same[place]
            self.report(self.counts.wrong, key[chosen], turn[chosen], f"1 instead of {coefficient}")

    def _report_foreign(self, key: IntArray, turn: IntArray) -> None:
        step = self.of_step(key)
        for number in distinct(step).tolist():
            chosen = step == number
            why = f"it belongs to step {number}"
            self.report(self.counts.wrong, key[chosen], turn[chosen], why)

    def judge_updates(self) -> None:
        """Judge where a STEP takes whatever came: each once, and nothing is left."""
        stage = self.key // self.total
        left = (self.turn >= self.number[stage]) & self.stepped[stage]
        self.counts.lost.instances += len(distinct(self.key))
        if not self.frame.fragment:
            ends = self.number[stage[left]]
            self.report(self.counts.lost, self.key[left], ends, "no STEP takes it")
        key, turn = self.key[~left], self.turn[~left]
        self._judge_present(key, turn)
        order = np.lexsort((turn, key))
        key, turn = key[order], turn[order]
        again = np.zeros(len(key), np.bool_)
        again[1:] = (key[1:] == key[:-1]) & (turn[1:] != turn[:-1])
        self.report(self.counts.repeated, key[again], turn[again], "an earlier STEP took it")


def count(frame: Frame, asked: Asked, stages: list[int]) -> Counts:
    """Return what is wrong with the gradients of `stages`, where every coefficient is 1.

    Near linear in operations; nothing but additions, reductions, norms and boundaries stands
    there.
    """
    counter = _Counter(frame, asked, stages)
    if asked.each_update:
        counter.judge_updates()
    else:
        counter.judge_steps()
    return counter.counts


def unnormed_uses(frame: Frame, asked: Asked, stages: list[int]) -> tuple[int, list[Used]]:
    """Return how many uses of `stages` there are, and those without a norm over all ranks.

    The norm comes after the last contribution and the last reduction of the use.
    """
    counter = _Counter(frame, asked, stages)
    ops, every = frame.ops, frozenset(range(frame.ranks))
    mine = (frame.run.copy == 0) & among(ops.stage, stages)
    changed = np.concatenate((counter.rows, np.flatnonzero(mine & ops.is_kind(Kind.REDUCE))))
    norms = [
        row
        for row in np.flatnonzero(mine & ops.is_kind(Kind.NORM)).tolist()
        if every <= named_ranks(frame, row)
    ]
    last = _last(frame, changed)
    norm = _last(frame, np.asarray(norms, np.int64))
    adding = _last(frame, counter.rows)
    used = [
        (stage, turn)
        for stage in stages
        for turn in range(int(counter.number[stage]) + 1)
        if _is_used(counter, stage, turn, adds=(stage, turn) in adding)
    ]
    bare = [
        counter.use(stage, turn)
        for stage, turn in used
        if norm.get((stage, turn), -1) <= last.get((stage, turn), -1)
    ]
    return len(used), [use for use in bare if use is not None]


def _is_used(counter: _Counter, stage: int, turn: int, *, adds: bool) -> bool:
    use = counter.use(stage, turn)
    if use is None or use.row >= 0:
        return use is not None
    asked = counter.asked
    open_ = not counter.stepped[stage] if asked.each_update else turn < asked.steps
    return bool(open_) and adds


def _last(frame: Frame, rows: IntArray) -> dict[tuple[int, int], int]:
    """Return the last of `rows` by stage and use."""
    rows = np.sort(rows)
    stage, turn = frame.ops.stage[rows], closed_before(frame, rows)
    return dict(zip(zip(stage.tolist(), turn.tolist(), strict=True), rows.tolist(), strict=True))
