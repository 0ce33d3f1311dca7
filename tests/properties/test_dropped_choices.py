"""An outcome of a choice that is left out on purpose is missed by a search of all interleavings."""

import random
from collections.abc import Iterator, Mapping
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest

from pipeproof.api import judge_text
from pipeproof.engines import graph
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import IntArray
from pipeproof.ir.transport import NAMED
from pipeproof.lowering.outcomes import Name, alternatives
from pipeproof.lowering.waits import write_in
from pipeproof.proofs import outcomes as room
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model
from pipeproof.semantics.relations import storage
from pipeproof.semantics.relations._taken import taken
from tests.proofs.test_outcomes import (
    Ends,
    Program,
    drawn,
    ends_by_outcomes,
    ends_by_search,
    written,
)
from tests.semantics.made import run, text

TRANSPORTS = ("rendezvous", "buffered")
Conditions = tuple[tuple[str, ...], ...]
"""For each instruction the outcome that it stands under, empty for any."""


# whose message a receive takes


@pytest.mark.parametrize("name", TRANSPORTS)
@pytest.mark.parametrize("place", [0, -1])
def test_a_match_that_is_left_out_is_missed(name: str, place: int) -> None:
    original = room._possible

    def but_one(
        run: AsRun, model: Model, sources: Mapping[int, int], happened: npt.NDArray[np.bool_]
    ) -> Iterator[tuple[int, int]]:
        found = list(original(run, model, sources, happened))
        if len(found) > 1:
            del found[place]
        yield from found

    def agrees(seed: int) -> bool:
        programs = drawn(seed)
        wanted = ends_by_search(programs, together=name == "rendezvous")
        return ends_by_outcomes(programs, name) == wanted

    assert all(map(agrees, range(30)))
    with patch.object(room, "_possible", but_one):
        assert not all(map(agrees, range(30)))


# which alternative comes


def conditional(seed: int) -> tuple[list[Program], Conditions]:
    """Programs of which some instructions stand under an outcome of the last rank's choice."""
    rng = random.Random(seed)
    programs = drawn(seed)
    said = tuple(
        tuple(rng.choice(["", "", "a", "b", "c"]) for _ in program) for program in programs
    )
    return programs, said


def ends_of_every_outcome(programs: list[Program], said: Conditions, *, together: bool) -> Ends:
    """How far the ranks come, whichever outcome comes, over all interleavings."""
    found: set[tuple[int, ...]] = set()
    for outcome in "abc":
        kept = [
            [each for each, under in zip(*both, strict=True) if under in ("", outcome)]
            for both in zip(programs, said, strict=True)
        ]
        found |= ends_by_search(kept, together=together)
    return frozenset(found)


def ends_of_chosen(programs: list[Program], said: Conditions, name: str) -> Ends:
    """The same, over the outcomes that are looked through."""
    lines = []
    for line, under in zip(written(programs), said, strict=True):
        words = [each for each in line.split("; ") if each]
        pairs = zip(words, under, strict=True)
        lines.append("; ".join(f"{word} if=q:{one}" if one else word for word, one in pairs))
    made = run(*lines, "CHOOSE q a|b|c", fragment=True)
    transport, found = NAMED[name], set[tuple[int, ...]]()
    for each in room.outcomes(made, transport, graph.furthest, 10_000):
        model = Model(each.run, transport, write_in(each.run, transport.wait))
        done = graph.furthest(model)[1 : model.frame.ends : 2]
        ranks = model.frame.instruction_rank
        found.add(tuple(int(done[ranks == rank].sum()) for rank in range(len(programs))))
    return frozenset(found)


@pytest.mark.parametrize("name", TRANSPORTS)
@pytest.mark.parametrize("dropped", "abc")
def test_an_alternative_that_is_left_out_is_missed(name: str, dropped: str) -> None:
    def but_one(run: AsRun) -> dict[Name, tuple[str, ...]]:
        kept = alternatives(run).items()
        return {name: tuple(each for each in alts if each != dropped) for name, alts in kept}

    def agrees(seed: int) -> bool:
        programs, said = conditional(seed)
        wanted = ends_of_every_outcome(programs, said, together=name == "rendezvous")
        return ends_of_chosen(programs, said, name) == wanted

    assert all(map(agrees, range(24)))
    with patch.object(room, "alternatives", but_one):
        assert not all(map(agrees, range(24)))


# who is handed a slot


def order(seed: int) -> tuple[list[list[str]], int]:
    """Orders of forwards and backwards of two stages on two ranks, and how many slots there are."""
    rng = random.Random(seed)
    number = rng.randint(2, 4)
    programs: list[list[str]] = []
    for _ in range(2):
        row: list[str] = []
        left = list(range(number))
        live: list[int] = []
        while left or live:
            if left and (not live or rng.random() < 0.6):
                live.append(left.pop(rng.randrange(len(left)) if rng.random() < 0.3 else 0))
                row.append(f"F{live[-1]}")
            else:
                row.append(f"B{live.pop(rng.randrange(len(live)))}")
        programs.append(row)
    return programs, rng.randint(1, 3)


def hangs(programs: list[list[str]], slots: int) -> bool:
    """Whether the ranks do not come to their ends, where messages are buffered.

    Stage 1 takes F of stage 0 and gives it B; a forward takes a slot of its rank, its backward
    gives it back. No step takes away what another one needs, so that one order stands for all.
    """
    at = [0, 0]
    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(programs):
            if at[rank] == len(program):
                continue
            what, before = program[at[rank]], program[: at[rank]]
            live = sum(each[0] == "F" for each in before) - sum(each[0] == "B" for each in before)
            other = programs[1 - rank][: at[1 - rank]]
            needs = (what[0] == "F") == (rank == 1)
            if (not needs or what in other) and (what[0] == "B" or live < slots):
                at[rank], moved = at[rank] + 1, True
    return at != [len(program) for program in programs]


def as_written(programs: list[list[str]]) -> list[str]:
    lines: list[list[str]] = [[], []]
    for rank, program in enumerate(programs):
        for what in program:
            letter, microbatch = what[0], what[1:]
            incoming = f"RECV {letter}{1 - rank}.{microbatch} from={1 - rank}"
            outgoing = f"SEND {letter}{rank}.{microbatch} to={1 - rank}"
            needs = (letter == "F") == (rank == 1)
            operation = f"{rank}{letter}{microbatch}"
            words = [incoming, operation] if needs else [operation, outgoing]
            lines[rank] += words
    return ["; ".join(line) for line in lines]


def is_judged_rightly(seed: int) -> bool:
    programs, slots = order(seed)
    pool = {"stash": {"slots": slots, "take": "any"}}
    number = 1 + max(int(what[1:]) for what in programs[0])
    spec = text(
        *as_written(programs),
        microbatches=number,
        transport=TAGGED,
        storage=pool,
    )
    verdict = judge_text(spec, f"seed {seed}")
    codes = {each.rule for each in verdict.transports[0].violations}
    assert codes <= {"PP301"}, codes
    return bool(codes) == hangs(programs, slots)


TAGGED: dict[str, object] = {"completion": "buffered", "match": "tag", "wait": "blocking"}


def test_a_taker_of_a_slot_that_is_left_out_is_missed() -> None:
    def but_one(frame: Frame) -> IntArray:
        return taken(frame)[1:]

    assert all(map(is_judged_rightly, range(30)))
    with patch.object(storage, "taken", but_one):
        assert not all(map(is_judged_rightly, range(30)))
