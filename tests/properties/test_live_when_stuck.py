"""What is live where guards run in a circle: a transfer is not over before it is posted."""

import random
from dataclasses import replace
from types import ModuleType

import pytest

from pipeproof.engines import explore, graph, smt
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.transport import NAMED, Match
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Decision
from tests.oracle.programs import random_programs, random_transport, render
from tests.semantics.made import model, rules

ENGINES = (graph, explore, smt)
IN_ORDER = replace(NAMED["rendezvous-edge"], match=Match.TAG)
CIRCLE = (
    "RECV x from=1; RECV F0.0 from=1; SEND y to=1",
    "SEND F0.0 to=0; RECV y from=0; SEND x to=0",
)
"""What the first receive waits for is sent behind the activation that the second one takes."""
SENT = ("1F0; RECV x from=1; [SEND F1.0 to=1 | RECV F0.1 from=1]",)
ANSWERED = ("RECV F1.0 from=0; SEND x to=0; SEND F0.1 to=0",)
"""The answer to an activation is asked for before that is sent."""
SIZES: dict[str, object] = {"sizes": {"F": "3B", "B": "5B", "keep": "1B"}}


def told(decision: Decision) -> list[tuple[int, str, bool]]:
    """The events at which too much is live, how much, and whether they are reached."""
    assert not decision.unknown
    found = ((each.finding.spots[0].event, each) for each in decision.broken)
    return sorted((event, each.finding.facts["why"], each.reached) for event, each in found)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("programs", "bound", "position", "weight"),
    [
        (CIRCLE, 2, 1, 3),
        (SENT + ANSWERED, 5, 2, 6),
    ],
)
def test_a_message_behind_a_deadlock_is_live_when_it_is_posted(
    engine: ModuleType, programs: tuple[str, ...], bound: int, position: int, weight: int
) -> None:
    keys = {**SIZES, "stages": 2, "microbatches": 2, "fragment": True, "under": IN_ORDER}
    scarce = model(*programs, bounds={"memory": f"{bound}B"}, **keys)
    enough = model(*programs, bounds={"memory": f"{weight}B"}, **keys)
    why = f"makes {weight} B live on rank 0, more than {bound} B"

    assert (2 * position, why, False) in told(engine.decide(scarce, rules("PP506")))
    assert 2 * position not in [event for event, *_ in told(engine.decide(enough, rules("PP506")))]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_message_that_has_come_and_was_read_is_over_behind_a_deadlock(
    engine: ModuleType,
) -> None:
    programs = ("RECV F0.0 from=1; 1F0; RECV x from=1; 1F1", "SEND F0.0 to=0; SEND y to=0")
    keys = {**SIZES, "stages": 2, "microbatches": 2, "fragment": True, "under": IN_ORDER}
    made = model(*programs, bounds={"memory": "6B"}, **keys)

    assert told(engine.decide(made, rules("PP506"))) == []


def test_engines_agree_on_what_is_live_in_random_programs_that_get_stuck() -> None:
    stuck = broken = 0
    for seed in (11, 83, 275, *range(400, 406)):
        rng = random.Random(seed)
        programs = random_programs(rng)
        keys = {**SIZES, "bounds": {"memory": f"{rng.randint(4, 12)}B"}, "stages": 10}
        text = render(programs, random_transport(rng, weak=False), extra=keys)
        run = lower(spec.read(text, "made", ReadOptions())[0].schedule)
        for transport in run.schedule.transports:
            made = Model(run, transport, write_in(run, transport.wait))
            first, *others = (engine.decide(made, rules("PP506")) for engine in ENGINES)
            stuck += not first.complete
            broken += len(first.broken)

            if not first.unknown:
                assert all(told(each) == told(first) for each in others), (seed, transport)
    assert stuck > 3
    assert broken > 5
