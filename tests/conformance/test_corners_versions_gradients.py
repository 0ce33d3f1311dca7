"""Programs that are nearly right, and what exactly is wrong with each: every place, no other."""

import json
from pathlib import Path

import pytest

from pipeproof import api

TABLE = Path(__file__).parents[1] / "data" / "corners-versions-gradients.jsonl"
CASES = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]


def shown(programs: list[str], keys: dict[str, object]) -> str:
    """Return the verdict where nothing is broken, else every rule with its places."""
    head = {"pipeproof": 1, "microbatches": 1, "transport": "rendezvous", **keys}
    text = json.dumps({**head, "ranks": [program or [] for program in programs]})
    verdict = api.judge_text(text, "corner.yaml")
    broken = {
        f"{violation.rule} {','.join(f'r{each.rank}.{each.position}' for each in violation.at)}"
        for under in verdict.transports
        for violation in under.violations
    }
    return "; ".join(sorted(each.strip() for each in broken)) or verdict.verdict


@pytest.mark.parametrize("case", CASES, ids=lambda case: " | ".join(case["programs"])[:70])
def test_a_program_shows_its_faults_and_no_other(case: dict[str, object]) -> None:
    programs, keys = case["programs"], case["keys"]
    assert isinstance(programs, list)
    assert isinstance(keys, dict)

    assert shown(programs, keys) == case["shows"]
