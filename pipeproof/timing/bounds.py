"""What no execution can be faster than, whatever the order of the operations on each rank.

All bounds hold for the operations, the placement and the costs of the schedule. They ask for less
than a schedule must: that data comes before what reads it, that a rank computes one thing at a
time, and that no more forwards wait than in this schedule.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.timing.measures import StageTotals
from pipeproof.timing.timeline import Timeline

__all__ = ["Bounds", "lower_bounds"]


class Bounds(NamedTuple):
    """Lower bounds on the makespan, in ticks.

    `path` is the longest chain of data of one microbatch; `work` that of the rank which, with its
    own work, what must come before it and what must come after it, takes longest; `memory` that of
    the stage at which microbatches wait for each other's place. `memory` is None where no forward
    waits for a backward.
    """

    path: int
    work: int
    memory: int | None

    @property
    def best(self) -> int:
        """The largest of them, which is the one that says most."""
        return max(self.path, self.work, self.memory or 0)


class _Micro(NamedTuple):
    """One microbatch in its pipeline: what each stage of the line takes, in ticks.

    `to` is what the activation takes to the next stage, `fro` the gradient to the one before.
    """

    stages: tuple[int, ...]
    forward: tuple[int, ...]
    backward: tuple[int, ...]
    rest: tuple[int, ...]
    to: tuple[int, ...]
    fro: tuple[int, ...]

    def head(self, place: int) -> int:
        """The least that must have passed before the forward of a stage begins."""
        return sum(self.forward[:place]) + sum(self.to[:place])

    def tail(self, place: int) -> int:
        """The least that must pass behind the backward of a stage."""
        return sum(self.backward[:place]) + sum(self.fro[1 : place + 1])

    def onwards(self, place: int) -> int:
        """The least that must pass behind the forward of a stage until all forwards are over."""
        return sum(self.forward[place + 1 :]) + sum(self.to[place:])

    def held(self, place: int) -> int:
        """The least from the begin of a stage's forward to the end of its backward, rest too."""
        out = sum(self.forward[place:]) + sum(self.to[place:])
        return out + sum(self.backward[place:]) + sum(self.fro[place + 1 :]) + self.rest[place]


def lower_bounds(run: AsRun, line: Timeline, stages: tuple[StageTotals, ...]) -> Bounds:
    """Return the lower bounds of a schedule's makespan.

    Args:
        run: the schedule as run.
        line: one execution; its operations and costs are taken, not its times.
        stages: how many forwards of each stage wait at most.
    """
    micros = _micros(run, line)
    path = max((_path(each) for each in micros), default=0)
    return Bounds(path, _work(run, line, micros), _memory(micros, stages))


def _micros(run: AsRun, line: Timeline) -> list[_Micro]:
    """Return what each microbatch takes in each stage of its pipeline."""
    took: dict[int, dict[tuple[int, Kind], int]] = defaultdict(dict)
    for span in line.spans:
        took[span.microbatch][span.stage, span.kind] = span.end - span.start
    comm = line.costs.ticks["comm"]
    found = []
    for of in took.values():
        for stages in run.schedule.lines:
            if not all((stage, Kind.F) in of for stage in stages):
                continue
            crosses = [run.placement[a] != run.placement[b] for a, b in pairwise(stages)]
            found.append(
                _Micro(
                    stages,
                    tuple(of[stage, Kind.F] for stage in stages),
                    tuple(of.get((s, Kind.B), of.get((s, Kind.I), 0)) for s in stages),
                    tuple(0 if (s, Kind.B) in of else of.get((s, Kind.W), 0) for s in stages),
                    (*(x * comm[s] for s, x in zip(stages, crosses, strict=False)), 0),
                    (
                        0,
                        *_back(
                            stages,
                            of,
                            [x * comm[b] for b, x in zip(stages[1:], crosses, strict=True)],
                        ),
                    ),
                )
            )
    return found


def _back(
    stages: tuple[int, ...], of: dict[tuple[int, Kind], int], comm: list[int]
) -> Iterator[int]:
    """Yield what the gradient to the stage before takes, 0 where that one has no backward."""
    for before, ticks in zip(stages[:-1], comm, strict=True):
        yield ticks if (before, Kind.B) in of or (before, Kind.I) in of else 0


def _path(micro: _Micro) -> int:
    """Return the longest chain of data of a microbatch."""
    down = micro.head(len(micro.stages))
    back, longest = down, down
    for place in reversed(range(len(micro.stages))):
        back += micro.backward[place]
        longest = max(longest, back + micro.rest[place])
        back += micro.fro[place]
    return longest


def _work(run: AsRun, line: Timeline, micros: list[_Micro]) -> int:
    """Return what the rank that takes longest takes: fill, its own work, and drain."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for micro in micros:
        for place, stage in enumerate(micro.stages):
            rank = run.placement[stage]
            first[rank] = min(first.get(rank, micro.head(place)), micro.head(place))
            after = _after(micro, place)
            last[rank] = min(last.get(rank, after), after)
    others = {span.rank for span in line.spans if span.kind not in _CHAINED}
    return max(
        line.busy(rank) + first.get(rank, 0) + (0 if rank in others else last.get(rank, 0))
        for rank in range(line.ranks)
    )


_CHAINED = (Kind.F, Kind.B, Kind.I)


def _after(micro: _Micro, place: int) -> int:
    """Return the least that must pass behind the last operation of a stage, whichever it is."""
    if any(micro.backward):
        return micro.tail(place)
    return micro.onwards(place)


def _memory(micros: list[_Micro], stages: tuple[StageTotals, ...]) -> int | None:
    """Return what waiting for room takes: all that is held, over how much can be held at once."""
    if not any(any(micro.backward) for micro in micros):
        return None
    most = 0
    for totals in stages:
        own = [
            (micro, micro.stages.index(totals.stage))
            for micro in micros
            if totals.stage in micro.stages
        ]
        if not own or not totals.live:
            continue
        held = sum(micro.held(place) for micro, place in own)
        fill = min(micro.head(place) for micro, place in own)
        drain = min(0 if micro.rest[place] else micro.tail(place) for micro, place in own)
        most = max(most, fill + -(-held // totals.live) + drain)
    return most
