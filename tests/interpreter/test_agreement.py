"""What is proved is legal to the interpreter, and what it finds legal is not refuted."""

from __future__ import annotations

from random import Random

import pytest

from pipeproof import api
from pipeproof.errors import InputError
from tests.interpreter.edits import ORIGINS, edited
from tests.interpreter.machine import TooManyStatesError
from tests.interpreter.observation import observe

# Rules whose demands the interpreter makes, too; it says nothing of identity and messages.
_KNOWN = ("PP5", "PP6", "PP70", "PP801", "PP802", "PP804")


def disagreement(seed: int) -> str | None:
    """What verdict and interpreter say of a random schedule; none where they agree."""
    rng = Random(f"agreement {seed}")
    try:
        text = edited(rng, ORIGINS[seed % len(ORIGINS)](rng)).text
        found = api.judge_text(text, "edited.yaml")
        seen = observe(text)
    except (InputError, TooManyStatesError):
        return None
    codes = {v.rule for transport in found.transports for v in transport.violations}
    verdict = found.outcome.value
    false_proof = verdict == "proved" and not seen.legal
    false_alarm = verdict == "refuted" and seen.legal and all(c.startswith(_KNOWN) for c in codes)
    if verdict != "unknown" and not false_proof and not false_alarm:
        return None
    return f"{seed}: {verdict} {sorted(codes)}, {sorted(seen.faults)} {seen.wrong_reads}\n{text}"


def test_edited_schedules_are_judged_as_they_are_interpreted() -> None:
    found = [told for seed in range(64) if (told := disagreement(seed))]

    assert not found, "\n".join(found[:3])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_thousands_of_edited_schedules_are_judged_as_they_are_interpreted(part: int) -> None:
    seeds = range(500 * (part + 1), 500 * (part + 2))
    found = [told for seed in seeds if (told := disagreement(seed))]

    assert not found, f"{len(found)} differ\n" + "\n".join(found[:3])
