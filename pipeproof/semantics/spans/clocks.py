"""Whether any setting of the ranks' clocks makes a trace an execution, across ranks.

An operation has begun and ended somewhere within its span: a span may begin with waiting, and end
with work of the host. So of two events, of which one comes before the other in every execution, the
span of the first must not begin after the span of the second has ended. Clocks of ranks differ by
an offset that stays the same; each rank is set later by as little as it must be, as Bellman and
Ford relax a path. What has to be set later for ever has no setting at all.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pipeproof.ir.operations import IntArray
from pipeproof.ir.recorded import Span, micros_text
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.spans._offence import Offence, called
from pipeproof.semantics.spans.matching import Matched

__all__ = ["against"]

_EARLIEST = -(2**62)
_PICOSECONDS = 10**3  # ticks in one: times fit into int64 for three months


class _Pair(NamedTuple):
    """A cause and an effect, each by instruction and step."""

    cause: tuple[int, int]
    effect: tuple[int, int]


def against(
    model: Model, found: Matched, *, skew: int | None = None, tolerance: int = 0
) -> list[Offence]:
    """Return why a trace is no execution under the model's transport, though each rank ran its own.

    Args:
        model: the schedule under a transport.
        found: the trace, in which every rank ran its program.
        skew: how many ticks clocks of two ranks differ by at most; None for any number.
        tolerance: how many ticks an effect may end before its cause begins.
    """
    seen = _Seen(model, found, tolerance)
    graph = model.happens_before
    levels, reached = _levels(graph)
    never = [i for i in seen.instructions if not reached[2 * i + 1]]
    if never:
        span = min((seen.spans[0][i] for i in never), key=lambda each: each.start)
        name = f"{called(span.name)} of rank {span.rank}"
        why = f"{name} never ends in any execution: it waits for ever"
        return [Offence(why, (span,), span.rank, seen.before(span))]
    return _Setting(graph, levels, seen, skew).offences()


class _Seen:
    """When each instruction was seen to begin and to end, in picoseconds, each step a column."""

    def __init__(self, model: Model, found: Matched, tolerance: int) -> None:
        self.model, self.found = model, found
        self.tolerance = -(-tolerance // _PICOSECONDS)
        self.spans: list[dict[int, Span]] = [{} for _ in range(max(found.steps, 1))]
        self.ends: list[dict[int, int]] = [{} for _ in self.spans]
        for rank, named in enumerate(found.observed):
            self._take(rank, [(each.key, each.span) for each in named])
        whole = [set(step) for step in self.spans]
        self.instructions = sorted(set.intersection(*whole))
        first = min((s.start for step in self.spans for s in step.values()), default=0)
        self.begins = self._column(
            [[s[i].start - first for i in self.instructions] for s in self.spans]
        )
        self.ended = self._column(
            [[-(first - s[i]) for i in self.instructions] for s in self.ends], up=True
        )

    def _take(self, rank: int, named: list[tuple[str, Span]]) -> None:
        by_key: dict[str, list[Span]] = {}
        for key, span in named:
            by_key.setdefault(key, []).append(span)
        counts = Counter(unit.key for unit in self.found.programs[rank])
        whole = {k for k, n in counts.items() if len(by_key.get(k, ())) == n * len(self.spans)}
        units = [unit for unit in self.found.programs[rank] if unit.key in whole]
        seen = Counter(unit.instruction for unit in units)
        of_whole = {unit.instruction for unit in units if seen[unit.instruction] == unit.members}
        taken = {key: iter(by_key[key]) for key in whole}
        for spans, ends in zip(self.spans, self.ends, strict=True):
            for unit in units:
                span = next(taken[unit.key])
                if unit.instruction not in of_whole:
                    continue
                known = spans.get(unit.instruction)
                if known is None or span.start < known.start:
                    spans[unit.instruction] = span
                ends[unit.instruction] = max(ends.get(unit.instruction, span.end), span.end)

    def _column(self, rows: list[list[int]], *, up: bool = False) -> IntArray:
        cut = [[-(-t // _PICOSECONDS) if up else t // _PICOSECONDS for t in row] for row in rows]
        largest = max((abs(t) for row in cut for t in row), default=0)
        is_large = largest >= -_EARLIEST // 4
        found: IntArray = np.asarray(cut, np.object_ if is_large else np.int64)
        return found.reshape(len(rows), len(self.instructions)).T

    def before(self, span: Span) -> int:
        """Return how many spans of its rank begin before a span."""
        return sum(each.span.start < span.start for each in self.found.ordered[span.rank])


class _Level(NamedTuple):
    """Events that wait only for those of levels before, and what waits for them."""

    events: IntArray
    following: IntArray
    of: IntArray


def _levels(graph: Graph) -> tuple[list[_Level], IntArray]:
    """Return the events level by level, and which of them are reached at all."""
    order = np.argsort(graph.before, kind="stable")
    after = graph.after[order]
    bounds = np.searchsorted(graph.before[order], np.arange(graph.size + 1))
    waiting = np.bincount(graph.after, minlength=graph.size) + graph.never
    reached = np.zeros(graph.size, np.int64)
    events, levels = np.flatnonzero(waiting == 0), list[_Level]()
    while len(events):
        reached[events] = 1
        low, counts = bounds[events], bounds[events + 1] - bounds[events]
        first = np.repeat(low - np.cumsum(counts) + counts, counts)
        following = after[first + np.arange(len(first))]
        levels.append(_Level(events, following, np.repeat(np.arange(len(events)), counts)))
        once, times = np.unique(following, return_counts=True)
        waiting[once] -= times
        events = once[waiting[once] == 0]
    return levels, reached


class _Setting:
    """Sets clocks of ranks until causes come before effects, or nothing helps."""

    def __init__(self, graph: Graph, levels: list[_Level], seen: _Seen, skew: int | None) -> None:
        self.graph, self.levels, self.seen = graph, levels, seen
        self.skew = None if skew is None else -(-skew // _PICOSECONDS)
        rows = np.asarray(seen.instructions, np.int64)
        self.starts, self.dones = 2 * rows, 2 * rows + 1
        self.rank = seen.model.frame.instruction_rank[rows]
        self.ranks = seen.model.frame.ranks
        self.later = np.zeros(self.ranks, seen.begins.dtype)
        self.cause: dict[int, tuple[int, _Pair | None]] = {}

    def offences(self) -> list[Offence]:
        if not self.seen.instructions:
            return []
        while True:
            at = self._least()
            late = at[self.dones] - self._ended() - self.seen.tolerance
            if not np.any(late > 0):
                return []
            if self.skew == 0 or self.ranks == 1:
                return [self._plain(at, late)]
            self._set(at, late)
            around = self._circle()
            if around:
                return [self._impossible(around)]

    def _ended(self) -> IntArray:
        return np.asarray(self.seen.ended + self.later[self.rank][:, None])

    def _least(self) -> IntArray:
        """Return the least moment of each event, in each step: none before what it follows.

        A rank begins a step behind the end of the one before.
        """
        steps, begins = self.seen.begins.shape[1], self.seen.begins
        at = np.full((steps, self.graph.size), _EARLIEST, begins.dtype)
        at[:, self.starts] = (begins + self.later[self.rank][:, None]).T
        firsts, lasts = self._program_ends
        for step, now in enumerate(at):
            if step:
                now[firsts] = np.maximum(now[firsts], at[step - 1, lasts])
            for level in self.levels:
                np.maximum.at(now, level.following, now[level.events][level.of])
        return at.T

    @cached_property
    def _program_ends(self) -> tuple[IntArray, IntArray]:
        """Return the first start and the last done of each rank that has a program."""
        frame = self.seen.model.frame
        once = np.flatnonzero(frame.run.copy[frame.ops.first_row] == 0)
        ranks = frame.instruction_rank[once]
        firsts = once[np.diff(ranks, prepend=-1) > 0]
        lasts = once[np.diff(ranks, append=self.ranks) > 0]
        return 2 * firsts, 2 * lasts + 1

    def _set(self, at: IntArray, late: IntArray) -> None:
        """Set ranks later whose effects end too early, and the others as far as clocks differ."""
        worst, new = late.max(axis=1), self.later.copy()
        for rank in sorted({*self.rank[worst > 0].tolist()}):
            rows = np.flatnonzero(self.rank == rank)
            row = int(rows[np.argmax(worst[rows])])
            pair = self._pair(at, row, int(np.argmax(late[row])))
            new[rank] += worst[row]
            self.cause[rank] = int(self.seen.model.frame.instruction_rank[pair.cause[0]]), pair
        if self.skew is not None:
            last = int(np.argmax(new))
            for rank in np.flatnonzero(new < new[last] - self.skew).tolist():
                new[rank] = new[last] - self.skew
                self.cause[rank] = last, None
        self.later = new

    def _pair(self, at: IntArray, row: int, step: int) -> _Pair:
        """Return the cause of an effect that ends too early: whose begin is its least moment."""
        done = int(self.dones[row])
        least = at[done, step]
        stack, seen = [(done, step)], {(done, step)}
        while stack:
            event, of = stack.pop()
            n = self._own.get(event)
            if n is not None:
                begun = self.seen.begins[n, of] + self.later[self.rank[n]]
                if begun == least and (event, of) != (done - 1, step):
                    return _Pair((self.seen.instructions[n], of), (done // 2, step))
            for each in self._waited_for(event, of):
                if each not in seen and at[each] == least:
                    seen.add(each)
                    stack.append(each)
        return _Pair((done // 2, step), (done // 2, step))

    @cached_property
    def _own(self) -> dict[int, int]:
        return {event: n for n, event in enumerate(self.starts.tolist())}

    def _waited_for(self, event: int, step: int) -> Iterator[tuple[int, int]]:
        low, high = np.searchsorted(self._after, [event, event + 1]).tolist()
        for each in self.graph.before[self._by_after[low:high]].tolist():
            yield each, step
        if step and event in self._behind:
            yield self._behind[event], step - 1

    @cached_property
    def _behind(self) -> dict[int, int]:
        firsts, lasts = self._program_ends
        return dict(zip(firsts.tolist(), lasts.tolist(), strict=True))

    @cached_property
    def _by_after(self) -> IntArray:
        return np.argsort(self.graph.after, kind="stable")

    @cached_property
    def _after(self) -> IntArray:
        return np.asarray(self.graph.after[self._by_after])

    def _plain(self, at: IntArray, late: IntArray) -> Offence:
        """Return the effect that ends first of those that end too early."""
        ended = self._ended()
        places = np.argwhere(late > 0).tolist()
        row, step = min(places, key=lambda each: (ended[each[0], each[1]], each))
        pair = self._pair(at, row, step)
        effect, cause = self._ends(pair)
        return self._offence(
            f"{called(effect.name)} of rank {effect.rank} ends before {called(cause.name)} "
            f"of rank {cause.rank} begins, which comes before it in every execution",
            [pair],
        )

    def _circle(self) -> list[_Pair]:
        """Return the causes and effects of ranks of which each was set later because of another.

        A circle of last reasons is one along which ranks would be set later for ever.
        """
        for first in sorted(self.cause):
            rank, trail = first, list[int]()
            while rank in self.cause and rank not in trail:
                trail.append(rank)
                rank = self.cause[rank][0]
            if rank in trail:
                around = trail[trail.index(rank) :]
                return [pair for each in around if (pair := self.cause[each][1]) is not None]
        return []

    def _impossible(self, pairs: list[_Pair]) -> Offence:
        told = [self._needed(pair) for pair in pairs]
        clocks = "the clocks of ranks"
        if self.skew is not None:
            clocks += f", which differ by {micros_text(self.skew * _PICOSECONDS)} us at most,"
        both = {1: "it", 2: "both"}.get(len(pairs), "all")
        return self._offence(
            f"{' and '.join(told)} in every execution; no setting of {clocks} makes {both} so",
            pairs,
        )

    def _needed(self, pair: _Pair) -> str:
        effect, cause = self._ends(pair)
        begins = f"{called(cause.name)} of rank {cause.rank} begins"
        return f"{begins} before {called(effect.name)} of rank {effect.rank} ends"

    def _ends(self, pair: _Pair) -> tuple[Span, Span]:
        (effect, step), (cause, of) = pair.effect, pair.cause
        return self.seen.spans[step][effect], self.seen.spans[of][cause]

    def _offence(self, why: str, pairs: list[_Pair]) -> Offence:
        spans = tuple(span for pair in pairs for span in self._ends(pair))
        first, frame = spans[0], self.seen.model.frame
        position = frame.position(int(frame.ops.first_row[pairs[0].effect[0]]))
        return Offence(why, spans, first.rank, self.seen.before(first), (first.rank, position))
