"""What ready ranks may pick next, and which orders of picks no rule tells apart."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import BACKWARDS, COMPUTE, Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import NONE
from pipeproof.ir.transport import Completion, Groups, Queue, Transport, Wait
from pipeproof.lowering.ready import Needs, Rank, is_plain_kind
from pipeproof.proofs._ready_state import Moment, State, channel_of

__all__ = ["Picking"]

_HARMLESS = frozenset(("shape", "dtype", "layout", "if"))
_DESCRIBED = frozenset(("ready", "bounds", "weights", "costs"))


class _Pick(NamedTuple):
    """An instruction that a ready rank may pick; `timed` where a late message allows it only."""

    rank: int  # its index among the ready ranks
    instruction: int
    timed: bool = False


class Picking:
    """The picks that are possible at a moment, and what of the past they depend on."""

    def __init__(self, run: AsRun, transport: Transport, ranks: Sequence[Rank]) -> None:
        self.run, self.transport, self.ranks = run, transport, ranks
        self.kinds = {
            each: frozenset(Kind(int(run.operations.kind[row])) for row in needs.rows)
            for rank in ranks
            for each, needs in rank.needs.items()
        }
        self._bound = _bound(run)
        self._plain = _is_plain(run, transport, ranks)
        self._contested = _contested(run, transport, ranks)
        self._live = {rank.rank: _Live(run, rank) for rank in ranks}

    # what can be picked

    def further(self, now: Moment) -> list[State]:
        """Return the states that the picks of a moment lead to, in written order."""
        picks = [pick for k in range(len(self.ranks)) for pick in self._picks(now, k)]
        alone = next((pick for pick in picks if self._is_alone(now, pick)), None)
        return [self._after(now, each) for each in ([alone] if alone else picks)]

    def _picks(self, now: Moment, k: int) -> list[_Pick]:
        rank, picked = self.ranks[k], now.state.picks[k]
        if not now.is_between(picked):
            return []
        done = frozenset(picked)
        able = [
            each
            for each, needs in rank.needs.items()
            if each not in done and _are_met(now, done, needs)
        ]
        if rank.limit is not None and self._live[rank.rank].count(picked) >= rank.limit:
            able = [each for each in able if Kind.F not in self.kinds[each]]
        first = {"backward": self._is_backward, "forward": self._is_forward}.get(rank.prefer)
        if first is None or not any(map(first, able)):
            return [_Pick(k, each) for each in able]
        later = self._is_forward if rank.prefer == "backward" else self._is_backward
        sure = any(first(each) and self._is_sure(now, k, each) for each in able)
        return [_Pick(k, each, later(each)) for each in able if not (sure and later(each))]

    def _is_backward(self, instruction: int) -> bool:
        return not self.kinds[instruction].isdisjoint(BACKWARDS)

    def _is_forward(self, instruction: int) -> bool:
        return Kind.F in self.kinds[instruction] and not self._is_backward(instruction)

    def _is_sure(self, now: Moment, k: int, instruction: int) -> bool:
        """Whether what an instruction reads has come in every execution with these picks."""
        ops, needs = self.run.operations, self.ranks[k].needs
        blocking = self.transport.wait is Wait.BLOCKING
        waited = {m for each in now.state.picks[k] for m in needs[each].complete}
        return all(
            row in waited or (blocking and ops.handle[row] == NONE)
            for row in needs[instruction].complete
        )

    def _after(self, now: Moment, pick: _Pick) -> State:
        state, rank = now.state, self.ranks[pick.rank]
        picks = list(state.picks)
        before = picks[pick.rank]
        picks[pick.rank] = (*before, pick.instruction)
        over = state.over
        if self._bound is not None and Kind.F in self.kinds[pick.instruction]:
            live = self._live[rank.rank]
            if live.count(before) + live.started(pick.instruction, before) > self._bound:
                over |= {rank.rank}
        return State(tuple(picks), state.timed or pick.timed, over)

    # which orders are alike

    @property
    def is_fixed(self) -> bool:
        """Whether the order of picks pairs no messages, and none is held back by another."""
        way = self.transport
        waits = way.wait is Wait.BLOCKING and way.capacity is None and not way.lazy
        return self._plain and waits and not self._contested

    def key(self, now: Moment) -> object:
        """Return what two states share if no rule tells what led to them, and what follows, apart.

        Where a rule may look at the order of picks that is the order itself, else what has been
        picked, and what has happened.
        """
        if not self._plain:
            return now.state
        picked = tuple(map(frozenset, now.state.picks))
        return (picked, now.past(self._contested), now.state.timed, now.state.over)

    def _is_alone(self, now: Moment, pick: _Pick) -> bool:
        """Whether a pick may come before all others: it ends at once and takes nothing from them.

        Then every order in which it comes later is told by no rule from one in which it comes now.
        """
        kinds = self.kinds[pick.instruction]
        if not self._plain or pick.timed:
            return False
        if kinds <= frozenset((*COMPUTE, Kind.LOAD)):
            if kinds <= {Kind.R, Kind.L, Kind.LOAD}:
                return not self._is_waited_for(self.ranks[pick.rank], pick.instruction)
            return self._is_early(now, pick)
        if not kinds <= {Kind.SEND, Kind.RECV} or not self._is_free():
            return False
        rank = self.ranks[pick.rank]
        rows = rank.needs[pick.instruction].rows
        lines = {channel_of(self.run, row, self.transport.match) for row in rows}
        return lines.isdisjoint(self._contested) and not self._starts_first(rank, rows)

    def _is_early(self, now: Moment, pick: _Pick) -> bool:
        """Whether no bound and no priority tells when a forward or a backward takes place.

        Where backwards come first, no forward comes between what makes one ready and itself.
        """
        rank, kinds = self.ranks[pick.rank], self.kinds[pick.instruction]
        if rank.prefer == "backward" and Kind.F not in kinds:
            return self._is_sure(now, pick.rank, pick.instruction)
        free = rank.limit is None or Kind.F not in kinds
        return free and self._bound is None and not rank.prefer

    def _is_waited_for(self, rank: Rank, instruction: int) -> bool:
        """Whether what a rank prefers may be picked only once this has run: others wait then."""
        first = {"backward": self._is_backward, "forward": self._is_forward}.get(rank.prefer)
        return first is not None and any(
            first(each) and instruction in needs.done.union(*needs.one_of)
            for each, needs in rank.needs.items()
        )

    def _starts_first(self, rank: Rank, rows: Sequence[int]) -> bool:
        """Whether what a rank prefers waits for one of these messages."""
        first = {"backward": self._is_backward, "forward": self._is_forward}.get(rank.prefer)
        return first is not None and any(
            first(each) and not set(rows).isdisjoint(needs.complete)
            for each, needs in rank.needs.items()
        )

    def _is_free(self) -> bool:
        """Whether no message ever waits for another, nor a send for its receive."""
        way = self.transport
        return (
            way.completion is Completion.BUFFERED
            and way.capacity is None
            and way.queue is Queue.NONE
            and way.groups is Groups.INDEPENDENT
            and not way.lazy
        )


def _are_met(now: Moment, done: frozenset[int], needs: Needs) -> bool:
    """Whether what an instruction needs is there."""
    if needs.nowhere or not needs.done <= done:
        return False
    if any(done.isdisjoint(each) for each in needs.one_of):
        return False
    if not all(map(now.is_complete, needs.complete)):
        return False
    before: dict[tuple[int, ...], int] = defaultdict(int)
    for row in needs.receives:
        channel = channel_of(now.run, row, now.transport.match)
        if not now.is_posted(row, before[channel]):
            return False
        before[channel] += 1
    return True


class _Live:
    """The forwards that are live on a ready rank, as bounds.live counts them."""

    def __init__(self, run: AsRun, rank: Rank) -> None:
        self._starts: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._ends: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._held: dict[int, int] = {}
        ops, halves = run.operations, set[tuple[int, int]]()
        rows = [(each, row) for each, needs in rank.needs.items() for row in needs.rows]
        for _, row in rows:
            if ops.kind[row] == Kind.I:
                halves.add(self._own(run, row))
        for each, row in rows:
            kind, own = Kind(int(ops.kind[row])), self._own(run, row)
            if kind is Kind.F:
                self._starts[each].append(own)
            elif kind is Kind.W or (kind is Kind.B and own not in halves):
                self._ends[own].add(each)
            elif kind in (Kind.HOLD, Kind.DROP):
                count = int(ops.attributes.get(row, {}).get("count", "1"))
                self._held[each] = count if kind is Kind.HOLD else -count

    def _own(self, run: AsRun, row: int) -> tuple[int, int]:
        return int(run.operations.stage[row]), int(run.operations.microbatch[row])

    def _live(self, picks: Sequence[int]) -> set[tuple[int, int]]:
        done = set(picks)
        started = {own for each in picks for own in self._starts.get(each, ())}
        return {own for own in started if not self._ends[own] or not self._ends[own] <= done}

    def count(self, picks: Sequence[int]) -> int:
        """Return how much is live once `picks` are done."""
        return len(self._live(picks)) + sum(self._held.get(each, 0) for each in picks)

    def started(self, instruction: int, picks: Sequence[int]) -> int:
        """Return how many forwards more are live once an instruction has started."""
        return len({*self._starts.get(instruction, ())} - self._live(picks))


def _bound(run: AsRun) -> int | None:
    said = run.schedule.described.get("bounds", {})
    live = said.get("live") if isinstance(said, Mapping) else None
    return None if live is None else int(str(live))


def _is_plain(run: AsRun, transport: Transport, ranks: Sequence[Rank]) -> bool:
    """Whether no rule looks at the order of picks other than by what can be picked, and waits."""
    schedule, ops = run.schedule, run.operations
    if run.storage is not None or schedule.profile != "none" or transport.wait is Wait.EXPLICIT:
        return False
    if not schedule.described.keys() <= _DESCRIBED:
        return False
    if np.any(ops.is_kind(Kind.SAVE)) or np.any(run.is_message & (ops.handle != NONE)):
        return False
    return not any(said - _HARMLESS for said in _attributes(run, ranks))


def _attributes(run: AsRun, ranks: Sequence[Rank]) -> Iterator[frozenset[str]]:
    """Yield what is written behind the instructions that may be picked out of their turn."""
    rows = (row for rank in ranks for needs in rank.needs.values() for row in needs.rows)
    for row in rows:
        if is_plain_kind(run, row):
            yield frozenset(run.operations.attributes.get(row, {}))


def _contested(
    run: AsRun, transport: Transport, ranks: Sequence[Rank]
) -> frozenset[tuple[int, ...]]:
    """Return the channels on which several ends stand at a ready rank: their order pairs them."""
    number: dict[tuple[int, tuple[int, ...]], int] = defaultdict(int)
    ready = {rank.rank for rank in ranks}
    for row in np.flatnonzero(run.is_message).tolist():
        if int(run.operations.rank[row]) in ready:
            end = int(run.operations.kind[row])
            number[end, channel_of(run, row, transport.match)] += 1
    return frozenset(channel for (_, channel), several in number.items() if several > 1)
