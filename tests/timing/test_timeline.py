"""The earliest execution: against a schedule of one's own, operation by operation."""

import random
from fractions import Fraction
from itertools import pairwise

import pytest

from pipeproof.ir.actions import COMPUTE, Kind
from pipeproof.ir.transport import NAMED
from pipeproof.semantics.model import Model
from pipeproof.timing.timeline import timeline
from tests.semantics.made import CROSSED, model
from tests.timing.made import FREE, NAMES, known

UNITS = ("F", "B", "I", "W", "comm")


Computation = tuple[Kind, int, int]


class Listed:
    """Each rank goes through its program, and waits for what it reads.

    A message leaves when both its ends have been come to, and takes its time from there.
    """

    def __init__(self, made: Model, costs: dict[str, list[Fraction]]) -> None:
        self.run, self.ops, self.costs = made.frame.run, made.frame.run.operations, costs
        self.rows = range(len(self.ops))
        self.posted: dict[tuple[bool, str], Fraction] = {}
        self.ends: dict[Computation, Fraction] = {}
        self.all = {self.key(row) for row in self.rows}
        self.received = {
            (int(self.ops.rank[row]), self.value(row))
            for row in self.rows
            if self.kind(row) is Kind.RECV
        }

    def kind(self, row: int) -> Kind:
        return Kind(int(self.ops.kind[row]))

    def key(self, row: int) -> Computation:
        return self.kind(row), int(self.ops.stage[row]), int(self.ops.microbatch[row])

    def value(self, row: int) -> str:
        return self.ops.value_text(int(self.ops.value[row]))

    def there(self, rank: int, value: str, own: Computation) -> Fraction | None:
        """When a value is on a rank."""
        if (rank, value) not in self.received:
            return self.ends.get(own)
        sent, received = self.posted.get((True, value)), self.posted.get((False, value))
        if sent is None or received is None:
            return None
        return max(sent, received) + self.costs["comm"][own[1]]

    def needs(self, rank: int, kind: Kind, stage: int, m: int) -> list[Fraction | None]:
        if kind is Kind.F:
            before = (Kind.F, stage - 1, m)
            return [self.there(rank, f"F{stage - 1}.{m}", before)] if stage else []
        if kind is Kind.W:
            return [self.ends.get((Kind.I, stage, m))]
        own = self.ends.get((Kind.F, stage, m))
        if stage + 1 == self.run.schedule.stages:
            return [own]
        after = next(k for k in (Kind.B, Kind.I) if (k, stage + 1, m) in self.all)
        return [own, self.there(rank, f"B{stage + 1}.{m}", (after, stage + 1, m))]

    def goes(self, rank: int, row: int, now: Fraction) -> Fraction | None:
        """When a rank that comes to a row now is over it; None while it must wait."""
        kind = self.kind(row)
        if kind in {Kind.SEND, Kind.RECV}:
            self.posted[kind is Kind.SEND, self.value(row)] = now
        if kind not in COMPUTE:
            return now
        found = self.needs(rank, *self.key(row))
        since = [each for each in found if each is not None]
        if len(since) < len(found):
            return None
        ended = max([now, *since]) + self.costs[kind.name][self.key(row)[1]]
        self.ends[self.key(row)] = ended
        return ended

    def play(self) -> dict[Computation, Fraction]:
        ranks = range(self.run.schedule.ranks)
        left = [[row for row in self.rows if self.ops.rank[row] == rank] for rank in ranks]
        free = [Fraction()] * len(left)
        while any(left):
            for rank, rows in enumerate(left):
                while rows and (now := self.goes(rank, rows[0], free[rank])) is not None:
                    free[rank] = now
                    rows.pop(0)
        return self.ends


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_every_operation_ends_as_early_as_its_data_and_its_rank_let_it(
    name: str, seed: int
) -> None:
    rng = random.Random(seed)
    ranks, microbatches = rng.choice(((2, 4), (3, 3), (4, 8)))
    stages = ranks * (1 if name in {"gpipe", "1f1b"} else 2)
    costs = {unit: [Fraction(rng.randint(1, 40), 10) for _ in range(stages)] for unit in UNITS}
    written = {unit: [f"{float(each)}" for each in all_] for unit, all_ in costs.items()}
    made = known(name, ranks, microbatches, written)
    line = timeline(made)
    expected = Listed(made, costs).play()
    found = {
        (span.kind, span.stage, span.microbatch): Fraction(span.end, line.unit)
        for span in line.spans
    }

    assert found == expected
    assert line.makespan == max(span.end for span in line.spans)


@pytest.mark.parametrize("name", NAMES)
def test_no_rank_does_two_things_at_once(name: str) -> None:
    spans = timeline(known(name, 4, 8, {"F": "1.5", "comm": "0.25"})).spans

    for before, after in pairwise(spans):
        assert before.rank < after.rank or before.end <= after.start


def test_a_message_takes_its_time() -> None:
    line = timeline(known("gpipe", 2, 2, {"comm": "3"}))

    assert {each.end - each.start for each in line.transfers} == {3}
    assert len(line.transfers) == 4


def test_messages_of_a_queue_follow_each_other() -> None:
    programs = ("0F0; 0SEND_F0; 0F1; 0SEND_F1", "1RECV_F0; 1RECV_F1; 1F0; 1F1")
    keys = {"microbatches": 2, "costs": {"comm": 3}}
    lines = [timeline(model(*programs, **keys, under=each)) for each in (NAMED["gloo"], FREE)]
    found = [[(each.start, each.end) for each in line.transfers] for line in lines]

    assert found == [[(1, 4), (4, 7)], [(1, 4), (2, 5)]]


def test_operations_of_an_overlap_stand_one_after_the_other() -> None:
    line = timeline(model("0F0; (0F1;0B0)OVERLAP_F_B; 0B1", microbatches=2))

    assert [(each.start, each.end) for each in line.spans] == [(0, 1), (1, 2), (2, 4), (4, 6)]


def test_what_is_stuck_has_no_end() -> None:
    with pytest.raises(ValueError, match="it has no end"):
        timeline(model(*CROSSED))
