"""What an engine may not finish stays open where a fault strikes; what it finds it shows."""

from dataclasses import replace

import pytest

from pipeproof.api import Asked, judge, judge_text
from pipeproof.engines import explore, graph, smt
from pipeproof.engines.explore import Budget
from pipeproof.engines.smt import Limits
from pipeproof.errors import InputError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.transport import NAMED
from pipeproof.lowering.faults import alternatives, faulted
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model
from pipeproof.semantics.policies import under_faults
from pipeproof.semantics.rules import all_rules
from tests.semantics.made import run, text

PAIR = ("0F0; 0SEND_F0; 0RECV_B0; 0B0; 0STEP", "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1STEP")
RULES = under_faults(all_rules())
LATE = {"among": [{"rank": 0, "fault": "stops", "at": 2}], "policy": "abort"}


STEP, STOPPED = 19, 3  # the end of 1STEP, and of the last instruction of rank 0


def model(under: str = "buffered") -> Model:
    plain = run(*PAIR, faults=LATE)
    told = faulted(plain, next(alternatives(plain)))
    return Model(told, NAMED[under], write_in(told, NAMED[under].wait))


def test_an_exploration_that_ends_early_leaves_all_three_open() -> None:
    decision = explore.decide(model(), RULES, budget=Budget(states=2))

    assert set(decision.unknown) == {"PP106", "PP301", "PP706"}
    assert decision.broken == ()


def test_a_solver_that_may_do_nothing_leaves_all_three_open() -> None:
    decision = smt.decide(model(), RULES, limits=Limits(question=1, total=1))

    assert set(decision.unknown) == {"PP106", "PP301", "PP706"}
    assert decision.broken == ()


def test_a_run_that_shows_a_late_step_is_short() -> None:
    made = model()
    runs = {
        engine.NAME: next(
            each.trace for each in engine.decide(made, RULES).broken if each.rule.code == "PP706"
        )
        for engine in (graph, explore, smt)
    }

    assert {len(each) for each in runs.values()} == {len(runs["graph"])}
    for each in runs.values():
        *before, last = each.tolist()
        assert last == STEP
        assert STOPPED in before


def test_a_message_that_lowering_adds_may_be_named() -> None:
    keys = (
        "pipeproof: 1\nmicrobatches: 2\nschedule: {name: 1f1b, ranks: 2}\ntransport: rendezvous\n"
    )
    fault = "faults: {{among: [{{message: {}, fault: {}}}], policy: recover}}\n"
    late = judge_text(keys + fault.format("F0.1", "delayed"), "made", Asked(engine="all"))
    lost = judge_text(keys + fault.format("B1.0", "dropped"), "made")

    assert late.verdict == "proved"
    assert late.transports[0].outcomes == 2
    assert {each.rule for each in lost.transports[0].violations} == {"PP301"}
    with pytest.raises(InputError, match=r"no message holds F1\.0"):
        judge_text(keys + fault.format("F1.0", "dropped"), "made")


def test_a_message_that_is_not_lowered_after_all_is_unknown() -> None:
    made = spec.read(text(*PAIR, faults=LATE), "made", ReadOptions())[0]
    among = {"message": "F1.0", "fault": "dropped"}
    described = {**made.schedule.described, "faults": {"among": (among,)}}
    schedule = replace(made.schedule, described=described)
    verdict = judge(replace(made, schedule=schedule))

    assert verdict.verdict == "unknown"
    assert {each.why for each in verdict.transports[0].unknown} == {
        "F1.0 does not stand in the schedule as it is lowered"
    }


@pytest.mark.parametrize(
    ("among", "found"),
    [
        ("{rank: 2, fault: missing}", "made:5:25: '2' stands here; write a rank below 2"),
        (
            "{rank: 0, fault: stops, at: 6}",
            "made:5:46: rank 0 has 5 instructions; write a position up to 5",
        ),
        (
            "{message: w, fault: dropped}",
            "made:5:28: no message holds w; write a value that a SEND in the programs holds",
        ),
        (
            "{op: 1F1, fault: delayed}",
            "made:5:23: 1F1 stands nowhere; write an operation of the programs",
        ),
    ],
)
def test_what_does_not_stand_in_the_programs_is_told_where_it_is_named(
    among: str, found: str
) -> None:
    head = "pipeproof: 1\nmicrobatches: 2\n\nranks: [[0F0, 0B0, 0F1, 0B1, 0STEP], [1F0]]\n"
    with pytest.raises(InputError) as raised:
        judge_text(f"{head}faults: {{among: [{among}]}}\n", "made")

    assert str(raised.value) == found


def test_one_that_stops_behind_its_last_instruction_may_be_named() -> None:
    faults = {"among": [{"rank": 1, "fault": "stops", "at": 5}], "policy": "recover"}

    assert judge_text(text(*PAIR, faults=faults), "made").verdict == "proved"
