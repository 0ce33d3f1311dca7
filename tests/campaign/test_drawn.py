"""Schedules drawn from seeds: the same again, readable, and what they are by construction."""

import subprocess
import sys
from collections import Counter

import pytest

from pipeproof import api
from pipeproof.campaign.drawn import KINDS, broken_rule, drawn

SEEDS = range(500, 516)
PRINTED = "from pipeproof.campaign.drawn import *; print(*(drawn(k, 7) for k in sorted(KINDS)))"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_seed_gives_the_same_schedule_again_and_another_one_another(kind: str) -> None:
    texts = [drawn(kind, seed) for seed in SEEDS]

    assert texts == [drawn(kind, seed) for seed in SEEDS]
    assert len({*texts}) > 8


def test_what_is_drawn_does_not_depend_on_hashes() -> None:
    found = {
        subprocess.run(  # noqa: S603  our own interpreter
            [sys.executable, "-c", PRINTED],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(found) == 1


def test_what_is_legal_by_construction_is_proved() -> None:
    for seed in SEEDS:
        assert api.judge_text(drawn("legal", seed), "legal").verdict == "proved", seed


def test_what_is_spoiled_by_construction_is_refuted_by_many_rules() -> None:
    rules: Counter[str] = Counter()
    for seed in SEEDS:
        found = api.judge_text(drawn("broken", seed), "broken")
        assert found.verdict == "refuted", seed
        assert broken_rule(seed) in {w.rule for t in found.transports for w in t.violations}
        rules.update(each.violations[0].rule for each in found.transports)

    assert len(rules) >= 4, rules


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="write one of broken, every, legal, small"):
        drawn("none", 1)
