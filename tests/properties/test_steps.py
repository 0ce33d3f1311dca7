"""What `steps: any` decides on at most two copies is what more copies show."""

import random

import pytest

from pipeproof import api
from tests.oracle import programs

MICROBATCHES = 3
ORDER = api.Asked(select=("PP1", "PP2", "PP3", "PP4"))  # a second STEP needs versions too


def _even(drawn: programs.Programs) -> bool:
    """Whether SIGNAL and AWAIT of every pair of ranks are equal in number."""
    sent: dict[tuple[int, int], int] = {}
    for rank, program in enumerate(drawn):
        for instruction in program:
            if isinstance(instruction, programs.Signal):
                sent[rank, instruction.to] = sent.get((rank, instruction.to), 0) + 1
            if isinstance(instruction, programs.Await):
                key = (instruction.source, rank)
                sent[key] = sent.get(key, 0) - 1
    return not any(sent.values())


BLOCKS = [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 30))]


@pytest.mark.parametrize("seed", BLOCKS)
def test_any_number_of_steps_is_decided_as_two_and_three_are(seed: int) -> None:
    """50 programs a seed, 1,500 in all, 100 of them at once, each under a transport of its own."""
    for number in range(50):
        rng = random.Random(seed * 1000 + number)
        drawn = programs.random_programs(rng, ranks=(2, 3), messages=(1, 5))
        transport = programs.random_transport(rng, weak=False)
        size = {"microbatches": MICROBATCHES}
        text = programs.render(drawn, transport, steps="any", extra=size)
        verdict = api.judge_text(text, "any", ORDER).verdict
        if not _even(drawn):
            assert verdict in {"unknown", "refuted"}
            continue
        for copies in (2, 3):
            longer = programs.renumbered(drawn, copies, MICROBATCHES)
            written = programs.render(longer, transport, steps=copies, extra=size)

            assert api.judge_text(written, f"{copies} copies", ORDER).verdict == verdict
