"""Whether a trace is an execution of a schedule, under one of the transports that it may have."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.actions import COMPUTE
from pipeproof.ir.costs import costs_of
from pipeproof.ir.operations import IntArray
from pipeproof.ir.recorded import MICROSECOND, Recorded, Span, micros_text
from pipeproof.ir.values import ValueKind
from pipeproof.semantics.earliest import durations, first_makespan, moments
from pipeproof.semantics.logic import Empty, Rel, Rule
from pipeproof.semantics.model import Model
from pipeproof.semantics.rules import all_rules
from pipeproof.semantics.rules.traces import trace_rules
from pipeproof.semantics.spans._offence import Offence, called
from pipeproof.semantics.spans.clocks import against
from pipeproof.semantics.spans.matching import Matched, matched
from pipeproof.semantics.spans.overlaps import overlapping
from pipeproof.semantics.spans.programs import Programs, diverging

__all__ = ["Asked", "Broken", "Conformity", "conformity"]


class Asked(NamedTuple):
    """What is taken for granted of a trace, all in ticks.

    `skew` is by how much clocks of ranks differ at most, None for any number that stays the same.
    `tolerance` is what times of one rank may be off. `partial` says that the recording may begin
    late and end early. `unit` is what a unit of `costs` takes, None where nothing says it.
    """

    skew: int | None = None
    tolerance: int = 0
    partial: bool = False
    unit: int | None = None


class Broken(NamedTuple):
    """A rule of traces, and where a trace breaks it."""

    rule: Rule
    offence: Offence


class Conformity(NamedTuple):
    """What came of a trace.

    `found` is the trace beside the programs. `broken` holds, by transport, what is wrong, first
    first. `unknown` says what keeps a trace from being a whole execution, `notes` what was not
    judged, or how. `comparable` says whether the clocks of its ranks are.
    """

    found: Matched
    broken: Mapping[str, tuple[Broken, ...]]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    comparable: bool

    @property
    def verdict(self) -> str:
        """`nothing`, `refuted`, `unknown` or `conforms`: to one transport, whichever it is."""
        if not self.found.steps:
            return "nothing"
        if all(self.broken.values()):
            return "refuted"
        return "unknown" if self.unknown else "conforms"

    @property
    def under(self) -> tuple[str, ...]:
        """The transports under which nothing is wrong."""
        return tuple(name for name, broken in self.broken.items() if not broken)


def conformity(recorded: Recorded, models: Sequence[Model], asked: Asked) -> Conformity:
    """Return whether a trace is an execution of a schedule.

    Args:
        recorded: the trace.
        models: the schedule under each of its transports, one at least.
        asked: what is taken for granted of the trace.
    """
    return _Judging(recorded, models, asked).judged()


class _Judging:
    def __init__(self, recorded: Recorded, models: Sequence[Model], asked: Asked) -> None:
        self.recorded, self.models = recorded, models
        shared = recorded.together and asked.skew is None
        self.asked = asked._replace(skew=0) if shared else asked
        self.found = matched(models[0].frame, recorded)
        self.notes: list[str] = []
        self.programs = Programs([], ())
        if self.found.steps:
            self.programs = diverging(self.found, tolerance=asked.tolerance, partial=asked.partial)

    @property
    def comparable(self) -> bool:
        return self.asked.skew is not None and not self.recorded.counted

    def judged(self) -> Conformity:
        rules = _rules()
        across = self._is_judged_across()
        relations: Mapping[str, Callable[[Model], list[Offence]]] = {
            "overlapping": self._overlapping,
            "overtime": self._too_fast if across and self.asked.unit else _nothing,
            "diverging": self._diverging if across else self._alone,
        }
        broken = {}
        for model in self.models if self.found.steps else ():
            told = [
                Broken(rule, each) for rel, rule in rules.items() for each in relations[rel](model)
            ]
            broken[model.frame.transport.name] = tuple(sorted(told, key=_order))
        unknown = tuple(self._unknown())
        return Conformity(self.found, broken, unknown, tuple(self.notes), self.comparable)

    def _overlapping(self, model: Model) -> list[Offence]:
        del model
        return overlapping(self.found, tolerance=self.asked.tolerance)

    def _alone(self, model: Model) -> list[Offence]:
        del model
        return self.programs.offences

    def _diverging(self, model: Model) -> list[Offence]:
        return against(model, self.found, skew=self.asked.skew, tolerance=self.asked.tolerance)

    def _is_judged_across(self) -> bool:
        """Whether the ranks are compared with each other; what is said where they are not."""
        if self.programs.offences:
            return False
        if self.recorded.counted:
            self.notes.append("times are numbers of steps: each rank is judged by itself")
            return False
        has_device = any(each.span.device for own in self.found.timed for each in own)
        if self.recorded.asynchronous and not has_device:
            self.notes.append(
                "not comparable across ranks: an accelerator ran behind the host, and only the "
                "host's spans were recorded"
            )
            return False
        if self.programs.partial:
            self.notes.append("not compared across ranks: only part of the steps was recorded")
            return False
        self._say_clocks()
        return True

    def _say_clocks(self) -> None:
        ranks = sum(bool(own) for own in self.found.timed)
        if self.asked.skew is None and ranks > 1:
            self.notes.append(
                "clocks of ranks are not taken as comparable (--skew says by how much they differ):"
                " one offset for each is looked for"
            )
        elif self.asked.skew and ranks > 1:
            skew = micros_text(self.asked.skew)
            self.notes.append(
                f"clocks of ranks differ by {skew} us at most, and times of all ranks together "
                "by as much"
            )
        elif self.recorded.together:
            self.notes.append("all ranks were recorded by one clock")

    def _unknown(self) -> Iterator[str]:
        if self.found.absent:
            ranks = ", ".join(map(str, self.found.absent))
            yield f"the trace holds nothing of rank {ranks}"
        for rank, own in enumerate(self.found.timed):
            lacking = self._lacking(rank) if own and own[0].span.device else []
            if lacking:
                told = f"{called(lacking[0])}" + (", …" if len(lacking) > 1 else "")
                yield f"the accelerator's spans of rank {rank} do not hold all of {told}"
        for rank in self.programs.partial:
            yield f"the trace holds only a part of a step of rank {rank}"

    def _lacking(self, rank: int) -> list[str]:
        """Return the computations of which the accelerator shows fewer than the host."""
        shown = Counter(each.key for each in self.found.timed[rank])
        asked = {u.key for u in self.found.programs[rank] if u.kinds & {*COMPUTE}}
        host = Counter(each.key for each in self.found.ordered[rank] if each.key in asked)
        return [key for key, times in host.items() if shown[key] < times]

    # PP902

    def _too_fast(self, model: Model) -> list[Offence]:
        """Return where a step is over before `costs` allow, at `unit` ticks a unit of time."""
        unit = self.asked.unit or MICROSECOND
        if self.found.absent:
            return []
        found = list(self._ranks_too_fast(model, unit))
        if self.asked.skew is not None and not found:
            found = list(self._all_too_fast(model, unit, self.asked.skew))
        return found

    def _ranks_too_fast(self, model: Model, unit: int) -> Iterator[Offence]:
        frame, costs = model.frame, costs_of(model.frame.run.schedule)
        spent = durations(frame, costs)
        for rank, spans in self._windows():
            units = {each.instruction for each in self.found.programs[rank]}
            least = Fraction(sum(spent[2 * each + 1] for each in units), costs.unit) * unit
            told = f"rank {rank} computes for"
            yield from self._faster(spans, least, 0, told)

    def _all_too_fast(self, model: Model, unit: int, skew: int) -> Iterator[Offence]:
        if not _begins_with_work(model):
            return
        try:
            at = moments(model.frame, model.progress)
        except UnsupportedFeatureError:
            return
        makespan = self._computing(model, at.at)
        if makespan is None or first_makespan(model.frame, at) is None:
            return
        least = Fraction(makespan, at.unit) * unit
        steps: dict[int, list[Span]] = {}
        for n, (_, spans) in enumerate(self._windows()):
            steps.setdefault(n % self.found.steps, []).extend(spans)
        for spans in steps.values():
            yield from self._faster(spans, least, skew, "the schedule takes")

    def _computing(self, model: Model, at: IntArray) -> int | None:
        """Return when the last recorded computation is over, all being as early as it can be."""
        frame = model.frame
        kinds = [kind for kind in COMPUTE if kind.name in self.found.recorded]
        rows = np.flatnonzero(frame.ops.is_kind(*kinds)) if kinds else np.zeros(0, np.int64)
        ends = at[frame.done(rows)]
        return int(ends.max()) if len(ends) and not np.any(ends < 0) else None

    def _windows(self) -> Iterator[tuple[int, list[Span]]]:
        """Yield the computations of each rank in each step."""
        for rank, named in enumerate(self.found.timed):
            of: dict[str, list[Span]] = {}
            for each in named:
                of.setdefault(each.key, []).append(each.span)
            for step in range(self.found.steps):
                steps = self.found.steps
                yield (
                    rank,
                    [
                        s
                        for o in of.values()
                        for n, s in enumerate(o)
                        if n * steps // len(o) == step
                    ],
                )

    def _faster(
        self, spans: list[Span], least: Fraction, skew: int, told: str
    ) -> Iterator[Offence]:
        if not spans:
            return
        first = min(spans, key=lambda each: each.start)
        last = max(spans, key=lambda each: each.end)
        took = last.end - first.start
        if took + skew + self.asked.tolerance < least:
            between = f"from {called(first.name)} to {called(last.name)}"
            why = (
                f"{between} it takes {micros_text(took)} us, and {told} "
                f"{micros_text(int(least))} us at least by the costs of the file"
            )
            named = self.found.ordered[last.rank]
            before = sum(each.span.start < last.start for each in named)
            yield Offence(why, (last, first), last.rank, before)


def _nothing(model: Model) -> list[Offence]:
    del model
    return []


def _rules() -> dict[str, Rule]:
    """Return the rules that a trace can break, by the relation that each asks to be empty."""
    of_time = [rule for rule in all_rules() if rule.axiom == Empty(Rel("overtime"))]
    rules = (*trace_rules(), *of_time)
    return {rule.axiom.rel.name: rule for rule in rules if isinstance(rule.axiom, Empty)}


def _order(each: Broken) -> tuple[int, str, int, str]:
    return each.offence.before, each.rule.code, each.offence.rank, each.offence.why


def _begins_with_work(model: Model) -> bool:
    """Whether every message carries what a computation made, so that nothing moves before one."""
    ops, run = model.frame.ops, model.frame.run
    values = ops.value[run.is_message]
    made = np.isin(values >> 56, [int(ValueKind.F), int(ValueKind.B)])
    return bool(np.all(made & (values >= 0)))
