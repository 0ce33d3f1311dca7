"""The engine against an operational state machine that shares nothing with it."""

import random

import pytest

from pipeproof import api
from pipeproof.verdict.verdict import TransportVerdict
from tests.oracle import programs
from tests.oracle.instructions import NAMED
from tests.oracle.machine import TooManyStatesError, deadlocks, explore

CASES = 60


def _places(verdict: TransportVerdict, *rules: str) -> set[tuple[str, frozenset[str]]]:
    return {
        (violation.rule, frozenset(f"r{place.rank}.{place.position}" for place in violation.at))
        for violation in verdict.violations
        if violation.rule in rules
    }


@pytest.mark.parametrize("seed", range(10))
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
