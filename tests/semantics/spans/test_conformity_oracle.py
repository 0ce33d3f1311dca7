"""Random traces beside a judge that plays them: every guard, step and setting of clocks."""

from heapq import heappop, heappush
from itertools import pairwise
from random import Random

import pytest

from pipeproof.ir.actions import COMPUTE
from pipeproof.ir.recorded import Recorded, Span
from pipeproof.semantics.model import Graph, Model
from pipeproof.semantics.spans.conformity import Asked, conformity
from tests.semantics.made import model
from tests.semantics.spans.made import US

Times = dict[int, tuple[int, int]]
NEVER = 10**9

PROGRAMS = (
    ("0F0; SEND F0.0 to=1", "RECV F0.0 from=0; 1F0"),
    (
        "0F0; SEND F0.0 to=1; RECV B1.0 from=1; 0B0",
        "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0",
    ),
    (
        "0F0; [SEND F0.0 to=1 | RECV B1.0 from=1]; 0B0",
        "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0",
    ),
    (
        "0F0; SEND F0.0 to=1",
        "RECV F0.0 from=0; 1F0; SEND F1.0 to=2",
        "RECV F1.0 from=1; 2F0",
    ),
)
UNDER = ("rendezvous", "rendezvous-atomic", "buffered", "buffered-1", "nccl-lazy", "gloo")


def played(graph: Graph, begun: dict[int, int]) -> list[int]:
    """The least moment of every event, where these do not happen before they were seen to."""
    after: list[list[int]] = [[] for _ in range(graph.size)]
    waiting = [NEVER * int(never) for never in graph.never.tolist()]
    for first, then in zip(graph.before.tolist(), graph.after.tolist(), strict=True):
        after[first].append(then)
        waiting[then] += 1
    ready = [begun.get(event, -NEVER) for event in range(graph.size)]
    at = [NEVER] * graph.size
    heap = [(ready[event], event) for event in range(graph.size) if not waiting[event]]
    heap.sort()
    while heap:
        at_, event = heappop(heap)
        at[event] = at_
        for then in after[event]:
            ready[then] = max(ready[then], at_)
            waiting[then] -= 1
            if not waiting[then]:
                heappush(heap, (ready[then], then))
    return at


def is_execution(repeated: Model, times: Times, offsets: range) -> bool:
    """Whether every rank runs its program, one computation at once, and some offset fits."""
    frame = repeated.frame
    rank = frame.instruction_rank.tolist()
    computes = {int(frame.ops.instruction[row]) for row in rows_that_compute(repeated)}
    for own in range(frame.ranks):
        seen = [(i, times[i]) for i in range(frame.instructions) if rank[i] == own and i in times]
        if any(one[0] > other[0] for (_, one), (_, other) in pairwise(seen)):
            return False
        lasting = [each for i, each in seen if i in computes and each[0] < each[1]]
        if any(one[1] > other[0] for one, other in pairwise(lasting)):
            return False
    for offset in offsets:
        later = [0, offset, 0]
        at = played(
            repeated.happens_before, {2 * i: t[0] + later[rank[i]] for i, t in times.items()}
        )
        if all(at[2 * i + 1] <= t[1] + later[rank[i]] for i, t in times.items()):
            return True
    return False


def rows_that_compute(made: Model) -> list[int]:
    kinds = {int(kind) for kind in COMPUTE}
    return [row for row, kind in enumerate(made.frame.ops.kind.tolist()) if int(kind) in kinds]


def drawn(repeated: Model, random: Random) -> Times:
    """Times near those of an execution, some of them moved."""
    frame = repeated.frame
    graph = repeated.happens_before
    at = played(graph, {2 * i: random.randrange(3) + i % 5 for i in range(frame.instructions)})
    times = {
        i: (2 * at[2 * i], 2 * at[2 * i + 1] + random.randrange(2))
        for i in range(frame.instructions)
    }
    for _ in range(random.randrange(4)):
        moved, by = random.randrange(frame.instructions), random.choice((-3, -2, -1, 1, 2, 3))
        begin, end = times[moved]
        times[moved] = random.choice(((begin, max(begin, end + by)), (min(begin + by, end), end)))
        if random.randrange(2):
            own = frame.instruction_rank.tolist()
            for i in range(moved, frame.instructions):
                if own[i] == own[moved]:
                    times[i] = (times[i][0] + by, times[i][1] + by)
    return times


def once(made: Model, repeated: Model) -> list[int]:
    """Of each instruction of the repeated programs, the one that it repeats."""
    own, all_ = made.frame.run.rank_start.tolist(), repeated.frame.run.rank_start.tolist()
    found = []
    for i, rank in enumerate(repeated.frame.instruction_rank.tolist()):
        length = own[rank + 1] - own[rank]
        found.append(own[rank] + (i - all_[rank]) % length)
    return found


def in_order(times: Times, of: list[int]) -> Times:
    """The same spans, the n-th of a name being that of the n-th step."""
    by_name: dict[int, list[int]] = {}
    for i in sorted(times):
        by_name.setdefault(of[i], []).append(i)
    return {
        i: span
        for own in by_name.values()
        for i, span in zip(own, sorted(times[each] for each in own), strict=True)
    }


@pytest.mark.parametrize("programs", PROGRAMS)
def test_a_trace_conforms_exactly_where_it_can_be_played(programs: tuple[str, ...]) -> None:
    seen = set()
    for seed in range(36):
        random = Random(seed)
        under = UNDER[seed % len(UNDER)]
        steps = 1 if under == "buffered-1" else 1 + seed // len(UNDER) % 2
        made = model(*programs, under=under)
        repeated = model(*programs, under=under, copies=steps)
        if NEVER in played(repeated.happens_before, {}):
            continue
        of = once(made, repeated)
        times = in_order(drawn(repeated, random), of)
        if random.randrange(3) == 0:
            computes = {int(repeated.frame.ops.instruction[r]) for r in rows_that_compute(repeated)}
            times = {i: span for i, span in times.items() if i in computes}
        frame = repeated.frame
        spans = tuple(
            Span(
                int(frame.instruction_rank[i]),
                made.frame.instruction_text(of[i]),
                begin * US,
                end * US,
                file="made.json",
                event=n,
            )
            for n, (i, (begin, end)) in enumerate(sorted(times.items()))
        )
        skew = 0 if len(programs) > 2 or random.randrange(2) else None
        wide = max(each[1] for each in times.values()) + 8
        expected = is_execution(repeated, times, range(-wide, wide) if skew is None else range(1))
        found = conformity(Recorded(spans, ("made.json",)), [made], Asked(skew=skew))
        assert (found.verdict == "conforms") is expected, (seed, under, found.broken)
        seen.add((expected, steps, skew))

    assert len({expected for expected, _, _ in seen}) == 2
    assert {steps for _, steps, _ in seen} == {1, 2}
