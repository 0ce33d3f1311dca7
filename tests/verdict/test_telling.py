"""From what an engine decided to what is said."""

from pipeproof.engines.graph import decide
from pipeproof.semantics.model import Model
from pipeproof.verdict.telling import trace, violations
from pipeproof.verdict.verdict import Place, TraceStep, Violation
from tests.semantics.made import CROSSED, model, rules


def told(made: Model, *codes: str) -> tuple[Violation, ...]:
    return violations(made, decide(made, rules(*codes)))


def places(violation: Violation) -> list[tuple[int, int, int | None]]:
    return [(place.rank, place.position, place.step) for place in violation.at]


def test_a_violation_says_rule_sentence_and_places() -> None:
    (found,) = told(model("0F0; 0F0 keep=b"), "PP102")

    assert (found.rule, found.name, found.cost) == ("PP102", "duplicate-operation", 2)
    assert found.message == "0F0 keep=b has already taken place"
    assert found.at == (Place(0, 1, "0F0 keep=b", 1, stage=0, microbatch=0, version=0),)
    assert (found.first, found.reached) == (True, True)


def test_only_the_first_violation_is_first() -> None:
    found = told(model("0F0; 0F0; 0F0"), "PP102")

    assert [each.first for each in found] == [True, False]


def test_places_stand_in_program_order() -> None:
    (found,) = told(model(*CROSSED), "PP301")

    assert places(found) == [(0, 0, None), (1, 0, None)]


def test_what_is_missing_has_no_place() -> None:
    (found,) = told(model("0F0", microbatches=2), "PP101")

    assert (found.at, found.trace, found.message) == ((), (), "0F1 stands nowhere")


def test_what_is_of_no_stage_has_no_version() -> None:
    found = told(model("SEND v to=1", ""), "PP201")

    assert found[0].at == (Place(0, 0, "SEND v to=1", 0),)


def test_a_torch_message_is_told_as_it_was_written() -> None:
    (found,) = told(model("0F0; 0SEND_F0", "1F0"), "PP201")

    assert found.at == (Place(0, 1, "0SEND_F0", 1, stage=0, microbatch=0, version=0),)


def test_a_version_counts_the_steps_before_it_on_its_stage() -> None:
    found = told(model("0F0; 0STEP; 1STEP; 0STEP; 0F0", "2STEP"), "PP102")

    assert [place.version for each in found for place in each.at] == [2]


def test_the_end_of_a_program_is_the_number_of_its_instructions() -> None:
    (found,) = told(model("0B0; 0REDUCE", "1F0; 1B0"), "PP705")

    assert found.at == (Place(1, 2, "end of program", -1),)
    assert found.trace[-1] == TraceStep("end of program", "done", 1, 2)


def test_an_execution_is_told_event_by_event() -> None:
    made = model("SEND v to=1; SEND u to=1", "RECV u from=0; RECV v from=0")
    found = told(made, "PP202")

    assert found[0].trace == (
        TraceStep("SEND v to=1", "start", 0, 0),
        TraceStep("RECV u from=0", "start", 1, 0),
        TraceStep("v", "drained", 0, 0),
        TraceStep("v", "arrived", 1, 0),
    )


def test_a_message_without_a_sender_is_told_by_its_receive() -> None:
    made = model("RECV v from=1", "")
    arrived = made.events - 1

    assert list(trace(made, [arrived - 1, arrived])) == [
        TraceStep("v", "drained", 0, 0),
        TraceStep("v", "arrived", 0, 0),
    ]


# Two copies


def test_positions_in_the_second_copy_are_those_of_the_first_with_step_1() -> None:
    made = model("SEND v to=1 h=x", "RECV v from=0; RECV v from=0", copies=2, steps="any")
    found = told(made, "PP201")

    assert [places(each) for each in found] == [[(1, 0, 1)], [(1, 1, 1)]]
    assert [each.at[0].operation for each in found] == ["RECV v from=0"] * 2


def test_a_fault_that_both_copies_have_is_told_once() -> None:
    made = model("0F0; 0B0; 0F0", copies=2, steps="any")

    assert [places(each) for each in told(made, "PP102")] == [[(0, 2, None)]]


def test_a_sharding_that_does_not_end_as_it_starts_shows_in_the_second_copy() -> None:
    made = model("0UNSHARD; 0F0; 1UNSHARD; 1F0; 1RESHARD", copies=2, steps="any")
    (found,) = told(made, "PP102")

    assert places(found) == [(0, 0, 1)]
    assert (found.at[0].operation, found.at[0].row, found.at[0].version) == ("0UNSHARD", 0, 0)


def test_the_end_of_two_copies_is_told_as_the_end_of_the_program() -> None:
    made = model("0B0; 0REDUCE; 1B0", copies=2, steps="any")
    found = told(made, "PP705")

    assert [places(each) for each in found] == [[(0, 3, None)]]


def test_what_is_missing_is_told_for_each_copy() -> None:
    made = model("0F0", copies=2, steps="any", microbatches=2)

    assert [each.message for each in told(made, "PP101")] == [
        *("0F1 stands nowhere", "0F3 stands nowhere"),
    ]


def test_positions_of_a_trace_run_on_over_the_copies() -> None:
    made = model("0F0; 0F0", copies=2, steps="any")
    last = list(trace(made, [6, 7]))

    assert last == [TraceStep("0F0", "start", 0, 3), TraceStep("0F0", "done", 0, 3)]
