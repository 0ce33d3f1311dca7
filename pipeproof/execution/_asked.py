"""What a schedule asks of its numbers, read from the file: versions, updates and shares."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from math import lcm, prod
from typing import NamedTuple

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution._numbers import Names, Numbers, withdrawn
from pipeproof.execution._shares import coefficients, slots, texts
from pipeproof.execution._speculation import Speculation
from pipeproof.execution._unsupported import unsupported
from pipeproof.execution.witness import Circumstances
from pipeproof.ir.accesses import known
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.values import ValueKind, microbatch_of, stage_of

__all__ = ["Asked", "Line"]

_BACKWARDS = (Kind.B, Kind.I, Kind.W)
_READERS = (Kind.F, *_BACKWARDS, Kind.R)
_ADDING = (Kind.B, Kind.W)


class Line(NamedTuple):
    """A microbatch on its way: the stages that it runs through, in order."""

    stages: tuple[int, ...]
    microbatch: int


class Asked:
    """What is asked of each forward, backward and update of a schedule.

    `home` holds the rows of each stage on its rank, in program order. An end is a STEP or SKIP of
    a stage; ends of one weight are counted from 0.
    """

    def __init__(self, run: AsRun, weights: int) -> None:
        """Read what is asked.

        Args:
            run: the schedule as run.
            weights: how many weights a stage of the witness has.

        Raises:
            UnsupportedFeatureError: the witness cannot show what the schedule asks.
        """
        self.run, self.ops, self.schedule = run, run.operations, run.schedule
        self.weights = range(weights)
        self.per_step = max(self.schedule.ids_per_step, 1)
        table = self.schedule.described.get("weights", {})
        said = table if isinstance(table, Mapping) else {}
        self.policy, self.each = (
            str(said.get("policy", "flush")),
            said.get("updates") == "microbatch",
        )
        self.slots = slots(schedule=run.schedule, policy=self.policy)
        self.segments, self._shares = max(run.schedule.segments, 1), coefficients(run.schedule)
        self._due: dict[tuple[int, int, int | None], dict[int, Fraction]] = {}
        for why in unsupported(run, slots=self.slots is not None):
            raise UnsupportedFeatureError(why)
        self.home = self._home()
        self.names = {stage: self._names(stage, weights) for stage in self.home}
        self.speculation = {
            stage: Speculation(self.ops, rows, self._about(stage))
            for stage, rows in self.home.items()
        }
        self.ends = {(stage, k): self._ends(stage, k) for stage in self.home for k in self.weights}
        self._require_pure()

    def _require_pure(self) -> None:
        """Check that under `latest` every backward reads the version that its forward read."""
        if self.policy != "latest":
            return
        for stage, rows in self.home.items():
            numbers = self.numbers(stage)
            for row in rows:
                held, microbatch = self.advance(numbers, row), int(self.ops.microbatch[row])
                first = numbers.first.get(self.begins(microbatch), {})
                if int(self.ops.kind[row]) in _READERS and any(held[k] != first[k] for k in held):
                    message = "a gradient mixes versions, as latest allows: no model has it"
                    raise UnsupportedFeatureError(message)

    def said(self, row: int) -> Mapping[str, str]:
        """Return what is written behind an operation."""
        return self.ops.attributes.get(row, {})

    def _home(self) -> dict[int, list[int]]:
        home: dict[int, list[int]] = {stage: [] for stage in range(self.schedule.stages)}
        ranks, placement = self.ops.rank.tolist(), self.run.placement
        for row, stage in enumerate(self.ops.stage.tolist()):
            if 0 <= stage < self.schedule.stages and placement[stage] == ranks[row]:
                home[stage].append(row)
        return home

    def _names(self, stage: int, weights: int) -> Names:
        """Share the weights of a stage out among the names that it and its copies have for them."""
        rows = [r for s in self.copies.get(stage, (stage,)) for r in self.home.get(s, ())]
        parameters = sorted({p for r in rows if (p := self.said(r).get("param")) is not None})
        own = (self.said(row) for row in self.home[stage])
        buckets = sorted({each["bucket"] for each in own if "bucket" in each})
        adding = [r for r in rows if int(self.ops.kind[r]) in _ADDING]
        rest = not adding or any("param" not in self.said(row) for row in adding)
        return Names(parameters, buckets, weights, rest=rest)

    def numbers(self, stage: int) -> Numbers:
        """Return the versions of a stage at the start of its program."""
        gathers = any(self.ops.kind[row] == Kind.GATHER for row in self.home[stage])
        return Numbers(self.names[stage], gathers=gathers)

    # updates

    def _ends(self, stage: int, k: int) -> list[int]:
        ops = self.ops
        rows = (r for r in self.home[stage] if Kind(int(ops.kind[r])) in (Kind.STEP, Kind.SKIP))
        lost, about = self.speculation[stage].lost, self._about(stage)
        return [row for row in rows if k in about(row) and (row, k) not in lost]

    def _about(self, stage: int) -> Callable[[int], list[int]]:
        return lambda row: self.names[stage].of_parameter(self.said(row))

    @property
    def steps(self) -> bool:
        """Whether a STEP or SKIP stands anywhere."""
        return any(self.ends.values())

    def made_by(self, stage: int, k: int, number: int) -> int | None:
        """Return the end that makes a version of a weight, None where there is no such version."""
        made = [e for e, row in enumerate(self.ends[stage, k]) if self._is_step(row)]
        return made[number - 1] if 0 < number <= len(made) else None

    def before(self, stage: int, k: int, end: int | None) -> int:
        """Return the version of a weight that is current at an end, at the program's for None."""
        return sum(map(self._is_step, self.ends[stage, k][:end]))

    def _is_step(self, row: int) -> bool:
        return int(self.ops.kind[row]) == Kind.STEP

    def end_of(self, stage: int, k: int, microbatch: int) -> int | None:
        """Return the end that takes what a stage does for a microbatch, None without one."""
        ends = self.ends[stage, k]
        if self.each:
            row = max(self._adding.get((stage, microbatch), [-1]))
            return next((e for e, at in enumerate(ends) if at > row), None) if row >= 0 else None
        turn = microbatch // self.per_step
        if turn >= len(ends):
            return None
        begun = self._begun.get((stage, turn), -1)
        if ends[turn] < begun:
            return next((e for e, at in enumerate(ends) if at > begun), None)
        return turn

    def leaves_out(self, stage: int, microbatch: int, kind: Kind) -> bool:
        """Whether a fragment leaves out an operation."""
        return self.schedule.fragment and (stage, microbatch) not in self._rows_of(kind)

    def adding(self, stage: int, microbatch: int) -> list[int]:
        """Return the rows that add to a stage's gradient for a microbatch."""
        return self._adding.get((stage, microbatch), [])

    @cached_property
    def _adding(self) -> dict[tuple[int, int], list[int]]:
        return self._rows_of(*_ADDING)

    def _rows_of(self, *kinds: Kind) -> dict[tuple[int, int], list[int]]:
        found: dict[tuple[int, int], list[int]] = {}
        for row in known(self.run, *kinds).tolist():
            found.setdefault((int(self.ops.stage[row]), int(self.ops.microbatch[row])), []).append(
                row
            )
        return found

    @cached_property
    def _begun(self) -> dict[tuple[int, int], int]:
        first: dict[tuple[int, int], int] = {}
        for (stage, microbatch), rows in self._rows_of(Kind.F, *_BACKWARDS).items():
            key = stage, microbatch // self.per_step
            first[key] = min(first.get(key, rows[0]), *rows)
        return first

    def due(self, stage: int, k: int, end: int | None) -> Mapping[int, Fraction]:
        """Return what an end of a stage, None for the program's, must take, and in which shares."""
        key = stage, k, end
        if key not in self._due:
            self._due[key] = self._find_due(stage, k, end)
        return self._due[key]

    def _find_due(self, stage: int, k: int, end: int | None) -> dict[int, Fraction]:
        asked = self._asked_of(stage)
        return {m: share for m, share in asked.items() if self.end_of(stage, k, m) == end}

    def numbered(self, stage: int, k: int, end: int | None) -> Mapping[int, Fraction]:
        """Return what an end is to take by its number, and in which shares.

        What is due goes on to the end after it where an end stands before all of its step.
        """
        if self.each or end is None:
            return self.due(stage, k, end)
        return {m: c for m, c in self._asked_of(stage).items() if m // self.per_step == end}

    def _asked_of(self, stage: int) -> dict[int, Fraction]:
        contributes = self.each or self.schedule.fragment
        return {
            m: self.coefficient(m)
            for m in range(self.run.microbatches)
            if stage in self.line(m).stages and (not contributes or (stage, m) in self._adding)
        }

    def coefficient(self, microbatch: int) -> Fraction:
        """Return the share with which a microbatch is to enter the gradient."""
        return self._shares[microbatch % self.per_step]

    # gradients

    @cached_property
    def replicated(self) -> bool:
        """Whether gradients are reduced over replicas, so that a second one is run beside."""
        reduce = self.schedule.gradients.reduce
        there = bool(self.ops.is_kind(Kind.REDUCE).any())
        marked = self.is_reduced_by_mark and any("last" in said for said in self._said())
        return reduce != "none" and (reduce == "required" or there or marked)

    def reduced(self, stage: int) -> bool:
        """Whether a stage's gradient is to be that of all replicas."""
        reduce, fragment = self.schedule.gradients.reduce, self.schedule.fragment
        if self.is_reduced_by_mark:
            return self.replicated and self.carries_mark(stage)
        if reduce != "once" and not (fragment and reduce == "default"):
            return self.replicated
        return any(int(self.ops.kind[row]) == Kind.REDUCE for row in self.home[stage])

    def carries_mark(self, stage: int) -> bool:
        """Whether contributions of a stage say which of them is the last."""
        return any("last" in self.said(row) for row in self.home[stage])

    @cached_property
    def is_reduced_by_mark(self) -> bool:
        """Whether the contribution with the mark starts the reduction: where no REDUCE is to."""
        required = self.schedule.gradients.reduce == "required"
        return not required and not bool(self.ops.is_kind(Kind.REDUCE).any())

    def is_last(self, row: int) -> bool:
        """Whether a contribution is the last one before the next STEP or SKIP of its stage."""
        stage = int(self.ops.stage[row])
        home, lost = self.home[stage], self.speculation[stage].lost
        for later in home[home.index(row) + 1 :]:
            kind = Kind(int(self.ops.kind[later]))
            if kind in _ADDING:
                return False
            if kind is Kind.SKIP or (kind is Kind.STEP and later not in {r for r, _ in lost}):
                return True
        return True

    @property
    def normed(self) -> bool:
        """Whether a norm over all ranks is asked for."""
        return self.schedule.gradients.other.get("norm") == "all"

    @cached_property
    def copies(self) -> dict[int, tuple[int, ...]]:
        """Stages that hold the same parameters, for each of them."""
        said = self.schedule.gradients.other.get("tied", ())
        lists = [tuple(map(int, texts(each))) for each in said] if isinstance(said, tuple) else []
        lines = self.schedule.lines
        if len(lines) > 1:
            lists += [
                tuple(line[place] for line in lines if place < len(line))
                for place in range(max(map(len, lines)))
            ]
        return {stage: each for each in lists for stage in each}

    @property
    def alike(self) -> dict[int, int]:
        """The stage whose first weights each of several copies has."""
        return {stage: min(copies) for stage, copies in self.copies.items()}

    @property
    def scale(self) -> int:
        """A number that makes every share of a gradient whole, however it comes about."""
        shares = [share.denominator for share in self._shares]
        shares += [Fraction(said["c"]).denominator for said in self._said() if "c" in said]
        scales = [
            prod(Fraction(self.said(row).get("by", "1")).denominator for row in rows)
            for rows in self.home.values()
        ]
        return lcm(*shares) * lcm(*scales)

    def _said(self) -> Iterable[Mapping[str, str]]:
        return self.ops.attributes.values()

    def tied(self, stage: int, k: int) -> tuple[int, ...]:
        """Return the stages whose gradients of a weight are summed, itself alone without copies."""
        copies = self.copies.get(stage)
        if copies is None:
            return (stage,)
        ties = [r for s in copies for r in self.home.get(s, ()) if self.ops.kind[r] == Kind.TIE]
        named = {name for row in ties if (name := self.said(row).get("param")) is not None}
        about = {k for name in named for k in self.names[stage].of_parameter({"param": name})}
        return copies if not named or k in about else (stage,)

    # versions and ways

    def line(self, microbatch: int) -> Line:
        """Return the stages that a microbatch runs through, one of a step after the file too."""
        known = microbatch
        while known not in self._lines and known >= max(self.run.microbatches, self.per_step):
            known -= self.per_step
        return Line(self._lines.get(known, self.schedule.lines[0]), microbatch)

    @cached_property
    def _lines(self) -> dict[int, tuple[int, ...]]:
        of = {stage: line for line in self.schedule.lines for stage in line}
        sent = {
            (stage_of(code), microbatch_of(code))
            for code in self.ops.value[self.run.is_message].tolist()
            if code >> 56 in (ValueKind.F, ValueKind.B)
        }
        rows = (*self._rows_of(Kind.F, *_BACKWARDS), *sorted(sent))
        return {m: of[stage] for stage, m in reversed(rows) if stage in of}

    def version(self, stage: int, k: int, microbatch: int) -> int:
        """Return the version of a weight that a stage is to use for a microbatch."""
        begins = self.begins(microbatch)
        match self.policy:
            case "stash" | "latest":
                return self._read(stage, k, begins)
            case "vertical":
                return self._read(self.line(microbatch).stages[0], k, begins)
            case "2bw":
                return max(self._current(stage, k, microbatch) - 1, 0)
            case _:
                return self._current(stage, k, microbatch)

    def begins(self, microbatch: int) -> int:
        """Return the first segment of a microbatch, itself where it is not cut into any."""
        return microbatch - microbatch % self.segments

    def _current(self, stage: int, k: int, microbatch: int) -> int:
        return self.before(stage, k, self.end_of(stage, k, microbatch))

    def _read(self, stage: int, k: int, microbatch: int) -> int:
        first = self._first_reads[stage].get(microbatch, {})
        number = first.get(k, next(iter(first.values()), 0))
        return number if 0 <= number <= self.before(stage, k, None) else 0

    @cached_property
    def _first_reads(self) -> dict[int, dict[int, dict[int, int]]]:
        found = {}
        for stage, rows in self.home.items():
            numbers = self.numbers(stage)
            for row in rows:
                self.advance(numbers, row)
            found[stage] = numbers.first
        return found

    def advance(self, numbers: Numbers, row: int) -> dict[int, int]:
        """Let a row read or change versions; return what it reads or makes."""
        kind, said = Kind(int(self.ops.kind[row])), self.said(row)
        microbatch = int(self.ops.microbatch[row])
        if kind is Kind.STEP:
            lost = self.speculation[int(self.ops.stage[row])].lost
            return numbers.step(said, {k: withdrawn(row) for r, k in lost if r == row})
        if kind is Kind.ROLLBACK:
            numbers.withdraw(self.speculation[int(self.ops.stage[row])].back.get(row, ()))
        if kind is Kind.GATHER:
            numbers.gather(said)
        if kind not in _READERS:
            return {}
        held = numbers.read(kind, microbatch, said)
        if kind is not Kind.R and held:
            numbers.keep_read(microbatch, held)
        return held

    def circumstances(self, stage: int, microbatch: int) -> Circumstances:
        """Return the random state and context of a forward."""
        rows = self._forwards.get((stage, microbatch), [])
        said = self.said(rows[0]) if rows else {}
        return Circumstances(said.get("rng"), said.get("ctx"))

    def takes_extra(self, stage: int, microbatch: int) -> bool:
        """Whether a forward reads an extra input."""
        return any("aux" in self.said(r) for r in self._forwards.get((stage, microbatch), []))

    @cached_property
    def _forwards(self) -> dict[tuple[int, int], list[int]]:
        return self._rows_of(Kind.F)
