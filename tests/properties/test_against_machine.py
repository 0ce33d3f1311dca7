"""The engines against an operational state machine that shares nothing with them."""

import itertools
import random
from collections import Counter
from collections.abc import Iterable

import pytest

from pipeproof import api
from pipeproof.errors import InputError, UnsupportedFeatureError
from pipeproof.verdict.verdict import TransportVerdict
from tests.oracle import programs
from tests.oracle.instructions import NAMED, Wait, recv, send
from tests.oracle.machine import TooManyStatesError, deadlocks, explore
from tests.oracle.stored import stored_text
from tests.properties.overlapping import compare, project

CASES = 60


def _places(verdict: TransportVerdict, *rules: str) -> set[tuple[str, frozenset[str]]]:
    return {
        (violation.rule, frozenset(f"r{place.rank}.{place.position}" for place in violation.at))
        for violation in verdict.violations
        if violation.rule in rules
    }


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 10))]
)
def test_engine_and_state_machine_agree_on_every_transport(seed: int) -> None:
    stuck = 0
    for number in range(CASES):
        rng = random.Random(seed * 1000 + number)
        drawn = programs.random_programs(rng)
        transport = programs.random_transport(rng, weak=False)
        verdict = api.judge_text(programs.render(drawn, transport), f"seed {seed}.{number}")
        only = verdict.transports[0]
        try:
            result = explore(drawn, transport, limit=20_000)
        except TooManyStatesError:
            continue
        stuck += result.stuck

        assert _places(only, "PP301", "PP205") == set(deadlocks(drawn, transport))
        assert not result.stuck or verdict.verdict == "refuted"
        crossed = {("PP202", frozenset(pair)) for pair in result.mispaired}
        assert _places(only, "PP202") == crossed
        lone = {place for _, at in _places(only, "PP201", "PP204") for place in at}
        assert lone == {*result.unmatched, *result.unsignalled}
    assert stuck > CASES // 10


@pytest.mark.parametrize("seed", range(3))
def test_engine_and_state_machine_agree_on_weak_communicators(seed: int) -> None:
    for number in range(CASES):
        rng = random.Random(seed * 1000 + number)
        drawn = programs.random_programs(rng, messages=(1, 4))
        transport = {**NAMED["rendezvous"], "weak": ["c", "d"]}
        verdict = api.judge_text(programs.render(drawn, transport), f"seed {seed}.{number}")
        result = explore(drawn, transport, limit=20_000)

        blamed = _places(verdict.transports[0], "PP301", "PP205", "PP201", "PP204")
        assert not result.stuck or verdict.verdict == "refuted"
        assert not result.stuck or blamed


@pytest.mark.parametrize("queue", ["direction", "rank"])
def test_engine_and_state_machine_agree_on_a_message_of_a_rank_to_itself(queue: str) -> None:
    transport = {"completion": "buffered", "queue": queue, "groups": "independent"}
    transport |= {"wait": "explicit", "match": "order"}
    posted: programs.Program = (
        recv("a", 1, h="w"),
        recv("v", 0, h="x"),
        send("v", 0, h="y"),
        send("b", 1, h="z"),
    )
    answering: programs.Program = (recv("b", 0, h="w"), Wait("w"), send("a", 0))
    stuck = 0
    for order in itertools.islice(itertools.permutations(posted), 0, None, 3):
        drawn = ((*order, *map(Wait, "wxyz")), answering)
        verdict = api.judge_text(programs.render(drawn, transport), "made")
        wanted = set(deadlocks(drawn, transport))
        stuck += bool(wanted)

        assert _places(verdict.transports[0], "PP301", "PP205") == wanted, order
    assert stuck > 2


def overlaps_compared(texts: Iterable[str]) -> Counter[str]:
    """What machine and engines say alike of schedules, as far as the machine knows them.

    What is received without storage of its own lands in no buffer, or in one of up to three.
    """
    found: Counter[str] = Counter()
    for number, text in enumerate(texts):
        try:
            made = project(text, number % 4)
        except (InputError, UnsupportedFeatureError):
            continue
        for transport in made.transports:
            found += compare(made, transport)
    return found


def test_engines_and_state_machine_see_the_same_accesses_overlap_in_drawn_programs() -> None:
    found = overlaps_compared(stored_text(random.Random(seed)) for seed in range(10))

    assert found["compared"] == 10
    assert found["every state"] > 4, found
    assert found["overlapping"] > 4, found
    assert found["pairs"] > 2 * found["overlapping"], found
