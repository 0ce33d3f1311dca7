"""Whatever programs are made of, judging them ends in a verdict, and nothing is left undecided."""

from collections import Counter

import pytest

from pipeproof import api
from pipeproof.campaign.drawn import Maker
from pipeproof.errors import InputError, UnsupportedFeatureError

FEW, MANY, BLOCK = 40, 3040, 250


def judged(seed: int) -> str:
    """Judge the spec of a seed: proved, refuted, unknown; refused where it is no spec."""
    text = Maker(seed).text()
    try:
        verdict = api.judge_text(text, "every.yaml")
    except (InputError, UnsupportedFeatureError):
        return "refused"
    open_ = {each.why for under in verdict.transports for each in under.unknown}
    assert [why for why in open_ if not any(said in why for said in _MAY_STAY_OPEN)] == [], text
    return verdict.verdict


_MAY_STAY_OPEN = (
    "is a choice",  # of any content where messages pair by tag, or of too many outcomes
    "any number of steps",
    "only known from above",
    "bytes of sizes, which are not given",
)


def test_some_programs_of_every_instruction_end_in_a_verdict() -> None:
    found = Counter(judged(seed) for seed in range(FEW))

    assert found["refused"] < FEW // 4
    assert found["refuted"] > FEW // 2


@pytest.mark.slow
@pytest.mark.parametrize("block", range(FEW, MANY, BLOCK))
def test_programs_of_every_instruction_end_in_a_verdict(block: int) -> None:
    found = Counter(judged(seed) for seed in range(block, block + BLOCK))

    assert found["refused"] < BLOCK // 4
