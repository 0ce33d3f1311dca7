"""Every order in which ranks with `order: ready` may run their instructions."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import read_only
from pipeproof.ir.ready import Ready, Stuck
from pipeproof.ir.transport import Transport
from pipeproof.lowering.outcomes import kept
from pipeproof.lowering.ready import Rank, ranks_of, row_order, unclear
from pipeproof.proofs._ready_picks import Picking
from pipeproof.proofs._ready_state import Fixed, Moment, Paired, Reordered, State
from pipeproof.semantics.model import Model
from pipeproof.verdict.verdict import Outcome, TransportVerdict, Undecided

__all__ = ["Ordered", "TooManyError", "as_run_ready", "is_unclear", "orders"]

_STATES = 16_384  # that are looked through where guards are fixed, fewer of long programs
_SLOW = 512  # and where each has guards of its own
_WORK = 48_000_000  # states times the square of their length
_LATER = ("PP5", "PP6", "PP7", "PP8")
_ORDERED = ("PP4", *_LATER)  # rules that the order of a program breaks
_WAITS = ("PP205", "PP301")
_LATE = "it rests on a message that is late where a priority was not kept"


class Ordered(NamedTuple):
    """A schedule in one order of its ready ranks, and that order in words."""

    run: AsRun
    label: str


class TooManyError(Exception):
    """There are more outcomes than are looked through."""


def is_unclear(run: AsRun, transport: Transport) -> bool:
    """Whether there are ready ranks whose orders are not looked through."""
    if "ready" not in run.schedule.described:
        return False
    return bool(transport.weak) or bool(unclear(run))


def orders(
    run: AsRun,
    transport: Transport,
    furthest: Callable[[Model], npt.NDArray[np.bool_]],
    most: int,
) -> Iterator[Ordered]:
    """Yield the orders in which ready ranks can run, each as a schedule of its own.

    Everything else runs as far as it can, then each ready rank that stands between instructions
    picks one whose needs are met: needs only grow, so that nothing is missed. Orders that no rule
    tells apart have one representative. Where nothing can be picked and something is left, that is
    an order, too: what is left stands behind as it is written, and its first never starts.

    Args:
        run: the schedule, its other choices settled.
        transport: when messages move.
        furthest: the furthest execution of a schedule without choices.
        most: how many are looked through.

    Raises:
        TooManyError: there are more.
    """
    ranks = ranks_of(run)
    picking = Picking(run, transport, ranks)
    fixed = Fixed(run, transport, ranks) if picking.is_fixed else None
    length = sum(len(rank.needs) for rank in ranks)
    limit = min(_STATES, max(_SLOW, _WORK // (length * length + 1))) if fixed else _SLOW
    start = State(tuple(() for _ in ranks))
    seen: set[object] = set()
    met = {start}
    todo, found = [start], 0
    while todo:
        state = todo.pop()
        now = Paired(fixed, state) if fixed else Reordered(run, transport, ranks, state, furthest)
        key = picking.key(now)
        if key in seen:
            continue
        seen.add(key)
        if len(seen) > limit:
            raise TooManyError
        further = picking.further(now)
        todo.extend(each for each in reversed(further) if each not in met)
        met.update(further)
        if not further:
            found += 1
            if found > most:
                raise TooManyError
            yield Ordered(_outcome(run, ranks, now), _said(run, ranks, state))


def _outcome(run: AsRun, ranks: tuple[Rank, ...], now: Moment) -> AsRun:
    """Return the schedule in the order of a state in which nothing more can be picked."""
    order: dict[int, tuple[int, ...]] = {}
    left: list[tuple[Rank, list[int]]] = []
    for rank, picks in zip(ranks, now.state.picks, strict=True):
        rest = [each for each in rank.needs if each not in picks]
        order[rank.rank] = (*picks, *rest)
        if rest and now.is_between(picks):
            left.append((rank, rest))
    rows = row_order(run, order)
    place = np.full(len(run.operations), -1, np.int64)
    place[rows] = np.arange(len(rows))
    completed, posted = list[tuple[int, int]](), list[int]()
    for rank, picks in zip(ranks, now.state.picks, strict=True):
        for each in picks:
            needs = rank.needs[each]
            completed += [(int(place[m]), int(place[needs.rows[0]])) for m in needs.complete]
            posted += [int(place[row]) for row in needs.receives]
    ready = Ready(
        completed=read_only(np.asarray(completed, np.int64).reshape(-1, 2)),
        posted=read_only(np.asarray(posted, np.int64)),
        stuck=tuple(_stuck(now, place, rank, rest) for rank, rest in left),
        timed=now.state.timed,
    )
    return dataclasses.replace(kept(run, rows), settled=True, ready=ready)


def _stuck(now: Moment, place: npt.NDArray[np.int64], rank: Rank, rest: list[int]) -> Stuck:
    """Return what a rank that can pick nothing is left with."""
    left = [rank.needs[each] for each in rest]
    messages = [m for needs in left for m in needs.complete if now.is_open(m)]
    receives = [row for needs in left for row in needs.receives if not now.is_posted(row)]
    return Stuck(
        int(place[left[0].rows[0]]),
        tuple(int(place[m]) for m in dict.fromkeys(messages)),
        tuple(int(place[row]) for row in receives),
        any(needs.nowhere for needs in left),
    )


def _said(run: AsRun, ranks: tuple[Rank, ...], state: State) -> str:
    parts = []
    for rank, picks in zip(ranks, state.picks, strict=True):
        first = run.operations.first_row
        rows = [int(run.base[first[each]]) for each in picks]
        spelled = run.spelled
        texts = [spelled.instruction_text(int(spelled.instruction[row])) for row in rows]
        parts.append(f"rank {rank.rank} runs {', '.join(texts) or 'nothing'}")
    return "; ".join(parts)


def as_run_ready(verdict: TransportVerdict, run: AsRun) -> TransportVerdict:
    """Return what a verdict over one order says of the runtime that ran in it.

    Where a pick was allowed only because a message may be late, an order is judged in more
    executions than it has: what holds in them holds, what is broken in them may not be, and is
    left open. Where ranks are stuck, the order of what is left is nobody's: what it alone breaks is
    left out.
    """
    if run.ready is None or not verdict.violations:
        return verdict
    if run.ready.timed:
        broken = {each.rule for each in verdict.violations}
        codes = broken | {each.rule for each in verdict.unknown}
        return dataclasses.replace(
            verdict,
            outcome=Outcome.UNKNOWN,
            violations=(),
            warnings=(),
            unknown=tuple(Undecided(code, _LATE) for code in sorted(codes)),
        )
    waits = any(each.rule in _WAITS for each in verdict.violations)
    codes_ = _ORDERED if waits else _LATER
    real = tuple(v for v in verdict.violations if v.reached or not v.rule.startswith(codes_))
    if not real:
        return verdict
    first = dataclasses.replace(real[0], first=True)
    return dataclasses.replace(verdict, violations=(first, *real[1:]))
