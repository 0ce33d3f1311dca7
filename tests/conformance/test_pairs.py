"""Every pair of short programs: three engines and the state machine say the same of each.

Programs of up to four of SEND u, SEND v, RECV u, RECV v on two ranks are 116,281 pairs, of which
a quarter is judged: exchanging the ranks, or the names, changes nothing. Pairs stand side by side
in one file, each on ranks of its own. `python -m pytest -m slow tests/conformance/test_pairs.py`
judges them all.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import pytest

from pipeproof.engines import explore, graph, smt
from pipeproof.verdict import replay
from tests.engines.stored import models
from tests.oracle import machine
from tests.oracle.instructions import NAMED, Message, Transport
from tests.oracle.motion import Machine
from tests.semantics.made import rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeproof.proofs.agreement import Decide
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision
    from tests.oracle.model import State

LONGEST, SHORT = 4, 2
SIDE_BY_SIDE, BLOCK = 128, 2048
SENDS, NAMES = (True, False), ("u", "v")
RULES = rules("PP201", "PP202", "PP204", "PP205", "PP301", "PP303")
BY_TAG: dict[str, object] = {**NAMED["gloo"], "capacity": 1, "match": "tag"}
TRANSPORTS: dict[str, Transport] = {
    **{name: name for name in ("rendezvous", "buffered", "buffered-1", "nccl-edge", "gloo")},
    "by tag": BY_TAG,
}
"""One of each kind of named transport that such programs tell apart, and one by tag."""

LEGAL = dict(zip(TRANSPORTS, (21, 25, 25, 27, 27, 27), strict=True))
"""How many pairs of up to two are legal."""

Word = tuple[bool, str]
Program = tuple[Word, ...]
Pair = tuple[Program, Program]
Places = frozenset[tuple[int, int]]
Faults = frozenset[tuple[str, Places]]


def renamed(program: Program) -> Program:
    return tuple((sends, "u" if name == "v" else "v") for sends, name in program)


def images(pair: Pair) -> set[Pair]:
    """The pairs that are the same but for the exchange of ranks, of names, or of both."""
    one, other = pair
    named = renamed(one), renamed(other)
    return {pair, (other, one), named, (named[1], named[0])}


@cache
def pairs(longest: int) -> tuple[Pair, ...]:
    """One of each pair of programs, up to exchange."""
    words = tuple(product(SENDS, NAMES))
    programs = [each for n in range(longest + 1) for each in product(words, repeat=n)]
    return tuple(p for p in product(programs, programs) if p == min(images(p)))


def text(block: Sequence[Pair], transport: Transport) -> str:
    """One file in which each pair has two ranks of its own."""
    ranks = []
    for number, pair in enumerate(block):
        for own, program in enumerate(pair):
            peer = 2 * number + 1 - own
            ranks.append(
                [f"SEND {v} to={peer}" if s else f"RECV {v} from={peer}" for s, v in program]
            )
    keys = {
        "pipeproof": 1,
        "fragment": True,
        "microbatches": 1,
        "stages": len(ranks),
        "transport": transport,
        "ranks": ranks,
    }
    return json.dumps(keys)


def faults(model: Model, decision: Decision, number: int) -> list[Faults]:
    """What an engine finds broken of each of a number of pairs, the places by their own ranks."""
    found: list[set[tuple[str, Places]]] = [set() for _ in range(number)]
    for each in decision.broken:
        places = [model.frame.place(spot) for spot in each.finding.spots]
        (of,) = {rank // 2 for rank, _ in places}
        found[of].add((each.rule.code, frozenset((rank % 2, at) for rank, at in places)))
    return [frozenset(each) for each in found]


def engines_say(
    block: Sequence[Pair],
    transport: Transport,
    decides: Sequence[Decide] = (graph.decide, explore.decide, smt.decide),
) -> list[Faults]:
    """What engines find; of each rule that is broken, the first execution is replayed."""
    (model,) = models(text(block, transport))
    told: list[list[Faults]] = []
    for decide in decides:
        decision = decide(model, RULES)
        assert not decision.unknown
        for each in {b.rule.code: b for b in reversed(decision.broken)}.values():
            replay.check(model, each)
        told.append(faults(model, decision, len(block)))
    for number, pair in enumerate(block):
        assert len({found[number] for found in told}) == 1, pair
    return told[0]


def _places(*names: str) -> Places:
    return frozenset((int(name[1]), int(name[3:])) for name in names)


def machine_says(pair: Pair, transport: Transport) -> Faults:
    """What every interleaving shows of a pair, run for run."""
    programs = tuple(
        tuple(Message(sends, name, 1 - rank) for sends, name in program)
        for rank, program in enumerate(pair)
    )
    run = machine.explore(programs, transport)
    blamed = machine.deadlocks(programs, transport)
    assert not run.stuck or blamed or run.unmatched, pair
    found = {(code, _places(*at)) for code, at in blamed}
    found |= {("PP202", _places(*at)) for at in run.mispaired}
    found |= {("PP201", _places(at)) for at in run.unmatched}
    stranded = set.intersection(*(set(_stranded(programs, transport, s)) for s in run.final))
    return frozenset(found | {("PP303", _places(at)) for at in stranded})


def _stranded(
    programs: tuple[tuple[Message, ...], ...], transport: Transport, state: State
) -> Iterator[str]:
    """The sends without partner that have completed in a state."""
    model = Machine(programs, transport)
    for number, end in enumerate(model.ends):
        if model.partner[number] < 0 and end.message.send and state[1] >> number & 1:
            yield model.name(number)


def compared(block: Sequence[Pair], transport: Transport) -> int:
    """How many of the pairs that a block stands for are legal; everybody says the same of each."""
    legal = 0
    for low in range(0, len(block), SIDE_BY_SIDE):
        some = block[low : low + SIDE_BY_SIDE]
        for pair, found in zip(some, engines_say(some, transport), strict=True):
            assert found == machine_says(pair, transport), (pair, transport)
            legal += 0 if found else len(images(pair))
    return legal


def test_a_quarter_of_the_pairs_stands_for_all() -> None:
    assert len(pairs(LONGEST)) == 29_241
    assert sum(len(images(pair)) for pair in pairs(LONGEST)) == 341**2
    assert sum(len(images(pair)) for pair in pairs(SHORT)) == 21**2


@pytest.mark.parametrize("name", TRANSPORTS)
def test_everybody_says_the_same_of_every_pair_of_programs_of_up_to_two(name: str) -> None:
    assert compared(pairs(SHORT), TRANSPORTS[name]) == LEGAL[name]


@pytest.mark.parametrize(
    ("like", "others"),
    [
        (
            "rendezvous",
            "rendezvous-edge rendezvous-serial rendezvous-rank rendezvous-atomic nccl-lazy "
            "nccl-eager nccl-direction nccl-first",
        ),
        ("buffered", "nccl-small"),
    ],
)
def test_short_programs_do_not_tell_other_named_transports_apart(like: str, others: str) -> None:
    wanted = engines_say(pairs(SHORT), like, [graph.decide])

    for name in others.split():
        told = engines_say(pairs(SHORT), name, [graph.decide])
        for pair, own, found in zip(pairs(SHORT), wanted, told, strict=True):
            assert bool(own) == bool(found), (name, pair)


def test_a_pair_beside_others_is_judged_as_if_it_stood_alone() -> None:
    some = pairs(LONGEST)[:: len(pairs(LONGEST)) // 12]

    for transport in TRANSPORTS.values():
        together = engines_say(some, transport)
        for pair, found in zip(some[::4], together[::4], strict=True):
            assert engines_say([pair], transport) == [found]


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSPORTS)
@pytest.mark.parametrize("low", range(0, 29_241, BLOCK))
def test_everybody_says_the_same_of_every_pair_of_programs_of_up_to_four(
    low: int, name: str
) -> None:
    assert compared(pairs(LONGEST)[low : low + BLOCK], TRANSPORTS[name]) < 2 * BLOCK
