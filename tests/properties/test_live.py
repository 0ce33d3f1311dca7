"""The most that is live is what looking at every state of every interleaving finds."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pipeproof import api
from pipeproof.engines.graph import most_live
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.sizes import UNIT
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model
from tests.oracle.motion import Machine
from tests.oracle.programs import (
    NAMED,
    Compute,
    Instruction,
    Message,
    Programs,
    Transport,
    Wait,
    recv,
    render,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = 50
STATES = 1000
EVERYTHING = "everything"
_KINDS = {"F": "activations", "B": "gradients", "keep": "kept"}
_CONSTANT = {"weights": "versions", "grads": "accumulators", "state": "optimizer state"}
_TAGGED: dict[str, object] = {
    **NAMED["buffered"],
    "capacity": 2,
    "match": "tag",
}
_EXPLICIT: dict[str, object] = {**NAMED["nccl-edge"], "wait": "explicit"}
TRANSPORTS: tuple[Transport, ...] = (
    *("rendezvous", "rendezvous-edge", "rendezvous-atomic", "buffered", "buffered-1", "gloo"),
    *("nccl-lazy", "nccl-eager", _TAGGED, _EXPLICIT),
)

Sizes = dict[str, list[int]]


class Drawn(NamedTuple):
    """Programs, the rank of each stage, and sizes in bytes by stage."""

    programs: Programs
    placement: list[int]
    sizes: Sizes

    def text(self, transport: Transport, bound: int | None = None) -> str:
        """The file, with a bound on memory."""
        sizes = {key: [f"{each}B" for each in own] for key, own in self.sizes.items()}
        keys: dict[str, object] = {
            "stages": len(self.placement),
            "placement": self.placement,
            "sizes": sizes,
        }
        if bound is not None:
            keys["bounds"] = {"memory": f"{bound}B"}
        return render(self.programs, transport, extra=keys)


class Held(NamedTuple):
    """Something that is live from the start of a position until others are done.

    `until` are positions of its rank, `moved` message ends as a mask.
    """

    kind: str
    start: int
    until: int
    moved: int
    size: int


def drawn(rng: random.Random) -> Drawn:
    """A schedule in an order that its data allow, with messages that may overtake much."""
    ranks, stages = rng.randint(2, 3), rng.randint(2, 4)
    placement = [rng.randrange(ranks) for _ in range(stages)]
    placement[: min(ranks, stages)] = rng.sample(range(ranks), min(ranks, stages))
    rows: list[list[Instruction]] = [[] for _ in range(ranks)]
    made: list[tuple[str, int]] = []
    for op in _order(rng, stages, rng.choice([1, 1, 2])):
        kind, stage, microbatch = op
        home = placement[stage]
        for value in _needs(op, stages):
            source = placement[int(value[1 : value.index(".")])]
            if source != home:
                _move(rng, rows, value, source, home)
        rows[home].append(Compute(f"{stage}{kind}{microbatch}"))
        if kind in ("F", "B", "I"):
            made.append((f"{'F' if kind == 'F' else 'B'}{stage}.{microbatch}", home))
        if made and rng.random() < 0.2:
            value, source = rng.choice(made)
            _move(rng, rows, value, source, rng.choice([r for r in range(ranks) if r != source]))
    for row in rows:
        for at in range(len(row) - 1):
            both = row[at : at + 2]
            if all(isinstance(each, Message) for each in both) and rng.random() < 0.2:
                row[at : at + 2] = reversed(both)
    sizes = {key: [rng.randint(0, 9) for _ in placement] for key in ("F", "B", "keep")}
    sizes |= {key: [rng.randint(0, 3) for _ in placement] for key in _CONSTANT}
    return Drawn(tuple(map(tuple, rows)), placement, sizes)


def _order(rng: random.Random, stages: int, microbatches: int) -> list[tuple[str, int, int]]:
    split = rng.random() < 0.5
    back = ("I", "W") if split else ("B",)
    todo = [(k, s, m) for k in ("F", *back) for s in range(stages) for m in range(microbatches)]
    found: list[tuple[str, int, int]] = []
    while todo:
        ready = [op for op in todo if all(each in found for each in _before(op, stages, back))]
        found.append(rng.choice(ready))
        todo.remove(found[-1])
    if rng.random() < 0.3:
        del found[rng.randint(1, len(found)) :]
    return found


def _before(
    op: tuple[str, int, int], stages: int, back: tuple[str, ...]
) -> Iterator[tuple[str, int, int]]:
    kind, stage, microbatch = op
    if kind == "W":
        yield "I", stage, microbatch
    elif kind == "F" and stage:
        yield "F", stage - 1, microbatch
    elif kind != "F":
        yield "F", stage, microbatch
        if stage + 1 < stages:
            yield back[0], stage + 1, microbatch


def _needs(op: tuple[str, int, int], stages: int) -> Iterator[str]:
    kind, stage, microbatch = op
    if kind == "F" and stage:
        yield f"F{stage - 1}.{microbatch}"
    if kind in ("B", "I") and stage + 1 < stages:
        yield f"B{stage + 1}.{microbatch}"


def _move(
    rng: random.Random, rows: list[list[Instruction]], value: str, source: int, target: int
) -> None:
    """Both ends of a message at the end of the programs, each perhaps only started."""
    for rank, message in ((source, send(value, target)), (target, recv(value, source))):
        if rng.random() < 0.6:
            handle = f"{value[0]}{len(rows[rank])}"
            rows[rank].append(
                send(value, target, h=handle) if message.send else recv(value, source, h=handle)
            )
            if not message.send or rng.random() < 0.3:
                rows[rank].append(Wait(handle))
        else:
            rows[rank].append(message)


class Watched(Machine):
    """A machine that knows what is live on a rank in a state."""

    def __init__(self, made: Drawn, transport: Transport) -> None:
        super().__init__(made.programs, transport)
        self.made = made
        self.held = [list(self._held(rank)) for rank in range(len(made.programs))]
        self.own = [
            self._mask(n for n, end in enumerate(self.ends) if end.rank == rank)
            for rank in range(len(made.programs))
        ]

    def _held(self, rank: int) -> Iterator[Held]:
        for stage, home in enumerate(self.made.placement):
            for key, kind in _CONSTANT.items():
                if home == rank:
                    yield Held(kind, 0, len(self.programs[rank]), 0, self.made.sizes[key][stage])
        for position, instruction in enumerate(self.programs[rank]):
            if isinstance(instruction, Message) and not instruction.send:
                yield self._value(rank, position, instruction.value)
            elif isinstance(instruction, Compute):
                stage, kind, microbatch = _read(instruction)
                if kind != "W":
                    letter = "F" if kind == "F" else "B"
                    yield self._value(rank, position, f"{letter}{stage}.{microbatch}")
                if kind == "F":
                    yield self._kept(rank, position, stage, microbatch)

    def _value(self, rank: int, position: int, value: str) -> Held:
        """A value from where it is put on the rank to the last reader that finds it there."""
        until, moved = position, self._mask(iter(self.at[rank, position]))
        for later in range(position + 1, len(self.programs[rank])):
            instruction = self.programs[rank][later]
            if self._puts(instruction, value):
                break
            if isinstance(instruction, Message) and instruction.send and instruction.value == value:
                until, moved = later, moved | self._mask(iter(self.at[rank, later]))
            elif isinstance(instruction, Compute) and self._takes(instruction, value):
                until = later
        if not self._computes(rank, until):  # a message that is posted holds nothing by itself
            until = max(
                (p for p in range(position, until) if self._reads(rank, p, value)), default=-1
            )
        stage = int(value[1 : value.index(".")])
        return Held(_KINDS[value[0]], position, until, moved, self.made.sizes[value[0]][stage])

    def _computes(self, rank: int, position: int) -> bool:
        return isinstance(self.programs[rank][position], Compute)

    def _reads(self, rank: int, position: int, value: str) -> bool:
        """Whether an operation makes or takes a value."""
        instruction = self.programs[rank][position]
        return isinstance(instruction, Compute) and (
            self._puts(instruction, value) or self._takes(instruction, value)
        )

    def _puts(self, instruction: Instruction, value: str) -> bool:
        if isinstance(instruction, Message):
            return not instruction.send and instruction.value == value
        if not isinstance(instruction, Compute):
            return False
        stage, kind, microbatch = _read(instruction)
        return kind != "W" and value == f"{'F' if kind == 'F' else 'B'}{stage}.{microbatch}"

    def _takes(self, instruction: Compute, value: str) -> bool:
        stage, kind, microbatch = _read(instruction)
        return value in _needs((kind, stage, microbatch), len(self.made.placement))

    def _kept(self, rank: int, position: int, stage: int, microbatch: int) -> Held:
        backward = any(
            isinstance(each, Compute) and _read(each)[1] != "F"
            for program in self.programs
            for each in program
        )
        own = {f"{stage}B{microbatch}", f"{stage}W{microbatch}"}
        program = enumerate(self.programs[rank])
        ends = [p for p, each in program if isinstance(each, Compute) and each.op in own]
        until = ends[-1] if ends else len(self.programs[rank])
        start = position if backward else len(self.programs[rank]) + 1
        return Held("kept", start, until, 0, self.made.sizes["keep"][stage])

    def live(self, rank: int, taken: int, complete: int) -> tuple[int, dict[str, tuple[int, int]]]:
        """The instruction that has started last, and by kind how much is live: number, bytes."""
        last = max((p for p, at in self.start[rank].items() if at <= taken), default=-1)
        found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for kind, start, until, moved, size in self.held[rank]:
            if start <= max(last, 0) and (last <= until or moved & ~complete):
                for each in (kind, EVERYTHING):
                    found[each] = found[each][0] + 1, found[each][1] + size
        return last, found


def _read(instruction: Compute) -> tuple[int, str, int]:
    kind = next(each for each in "FBIW" if each in instruction.op)
    stage, microbatch = instruction.op.split(kind)
    return int(stage), kind, int(microbatch)


class Most(NamedTuple):
    """The most by rank and kind, the most bytes by place, and whether every run ends."""

    peaks: dict[tuple[int, str], tuple[int, int]]
    places: dict[tuple[int, int], int]
    ends: bool


def most(machine: Watched) -> Most | None:
    """The most that is live over all states; none where there are too many of them."""
    todo, final = [machine.initial()], True
    seen = set(todo)
    looked: set[tuple[int, int, int]] = set()
    peaks: dict[tuple[int, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    places: dict[tuple[int, int], int] = defaultdict(int)
    while todo:
        state = todo.pop()
        for rank, taken in enumerate(state[0]):
            look = (rank, taken, state[1] & machine.own[rank])
            if look not in looked:
                looked.add(look)
                last, found = machine.live(*look)
                for kind, (number, size) in found.items():
                    before = peaks[rank, kind]
                    peaks[rank, kind] = max(before[0], number), max(before[1], size)
                if any(held.start == max(last, 0) for held in machine.held[rank]):
                    place = rank, max(last, 0)
                    places[place] = max(places[place], found[EVERYTHING][1])
        following = machine.successors(state)
        final &= bool(following) or not machine.hangs(state)
        fresh = [each for each in following if each not in seen]
        seen.update(fresh)
        todo += fresh
        if len(seen) > STATES:
            return None
    return Most(dict(peaks), dict(places), final)


def model(text: str) -> Model:
    run = lower(spec.read(text, "made", ReadOptions())[0].schedule)
    (transport,) = run.schedule.transports
    return Model(run, transport, write_in(run, transport.wait))


def found_peaks(made: Model) -> tuple[dict[tuple[int, str], tuple[int, int]], bool]:
    """The peaks that the engine finds, with bytes, and whether they are exact."""
    peaks, exact = most_live(made)
    return {(p.rank, p.kind): (p.number, p.weight // UNIT) for p in peaks}, exact


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(each, marks=pytest.mark.slow) for each in range(6, 13))]
)
def test_peaks_are_those_over_all_states_or_an_upper_bound(seed: int) -> None:
    exactly = 0
    for number in range(CASES):
        rng = random.Random(seed * 1000 + number)
        made, transport = drawn(rng), rng.choice(TRANSPORTS)
        wanted = most(Watched(made, transport))
        if wanted is None:
            continue
        found, exact = found_peaks(model(made.text(transport)))
        exactly += exact and wanted.ends

        if exact:
            assert wanted.ends, (seed, number)
            assert found == wanted.peaks, (seed, number)
        for key, (count, size) in wanted.peaks.items():
            assert found[key][0] >= count, (seed, number, key)
            assert found[key][1] >= size, (seed, number, key)
    assert exactly > CASES // 2


@pytest.mark.parametrize("seed", range(2))
def test_a_bound_is_broken_where_a_state_exceeds_it(seed: int) -> None:
    broken = 0
    for number in range(20):
        rng = random.Random(seed * 1000 + number)
        made, transport = drawn(rng), rng.choice(TRANSPORTS[:-2])
        wanted = most(Watched(made, transport))
        if wanted is None or not wanted.ends:
            continue
        bound = rng.randint(1, 1 + max(wanted.places.values()))
        verdict = api.judge_text(made.text(transport, bound), "made").transports[0]
        over = {place for place, size in wanted.places.items() if size > bound}
        found = [v.at[0] for v in verdict.violations if v.rule == "PP506"]
        broken += bool(over)

        assert {(place.rank, place.position) for place in found} == over, (seed, number)
        assert len(found) == len(over)
    assert broken
