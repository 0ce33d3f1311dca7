import pytest

from pipeproof.execution.faults.findings import Answer
from pipeproof.execution.faults.injections import Injection, What, injected, injections_of
from tests.execution.faults.campaign import text
from tests.execution.faults.ran import events, every, of_text, setting


def read(fault: str) -> Injection:
    own = setting()
    return injected(fault, own.run, events(own))


@pytest.mark.parametrize(
    ("fault", "answer", "place"),
    [
        ("missing@r2", Answer.MISSING, "rank 2"),
        ("stops@r1:0", Answer.STOPPED, "rank 1"),
        ("stops@r1:2", Answer.STOPPED, "rank 1, stage 1, microbatch 0, forward"),
        ("delayed@r1:1F0", Answer.LATE_OPERATION, "rank 1, stage 1, microbatch 0, forward"),
        ("delayed=7@r0:1", Answer.LATE_MESSAGE, "rank 0, stage 0, microbatch 0, forward, message"),
        ("dropped@r0:0SEND_F1", Answer.LOST, "rank 0, stage 0, microbatch 1, forward, message"),
        (
            "duplicated@r2:2SEND_B1",
            Answer.DOUBLED,
            "rank 2, stage 2, microbatch 1, backward, message",
        ),
        (
            "corrupted@r0:0SEND_F0#0",
            Answer.IDENTITY,
            "rank 0, stage 0, microbatch 0, forward, message",
        ),
        ("misshapen@r0:0SEND_F0", Answer.SHAPE, "rank 0, stage 0, microbatch 0, forward, message"),
        ("turned=sign@r2:2STEP", Answer.WRONG_VALUE, "rank 2, stage 2, step"),
    ],
)
def test_a_fault_is_read_with_what_it_is_to_be_named_as(
    fault: str, answer: Answer, place: str
) -> None:
    own, found = setting(), read(fault)

    assert found.answer(own.run) is answer
    assert str(found.place(own.run)) == place
    assert found.text == fault


def test_amounts_are_windows_and_bits() -> None:
    assert read("delayed=2.5@r1:1F0").windows == 2.5
    assert read("delayed@r1:1F0").windows == 3
    assert read("turned=exponent@r1:1F0").bit == "exponent"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("dropped", "write KIND@PLACE"),
        ("droped@r0:0F0", "'droped' is no fault; write one of missing, stops"),
        ("droped@r0:0F0", "did you mean dropped?"),
        ("dropped@r9:0F0", "there is no rank 9, the schedule has 3"),
        ("missing@r1:1F0", "a missing rank has no place in its program"),
        ("dropped@r1", "say at which instruction of rank 1"),
        (
            "dropped@r0:0F0",
            "0F0 does not stand on rank 0; dropped can be any of 0SEND_F0, 0SEND_F1",
        ),
        ("turned=low@r0:0F0", "turned=low: write one of sign, exponent, mantissa"),
        ("delayed=x@r0:0F0", "delayed takes a number of observation windows"),
        ("dropped=2@r0:0SEND_F0", "dropped takes no amount"),
        ("stops@r0:99", "99 does not stand on rank 0"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_was_expected(fault: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("?", r"\?")):
        read(fault)


def test_one_of_several_equal_instructions_is_named_by_its_turn() -> None:
    own = of_text(text(1, 1).replace("0STEP", "0STEP\n    0STEP"))
    with pytest.raises(ValueError, match="0STEP stands 2 times; add #0 to #1"):
        injected("delayed@r0:0STEP", own.run, events(own))

    assert injected("delayed@r0:0STEP#1", own.run, events(own)).row == 3


def test_the_faults_of_a_file_are_each_an_injection() -> None:
    among = (
        "[{message: F0.0, fault: dropped}, {op: 1F0, fault: delayed}, "
        "{rank: 2, fault: stops, at: 3}, {rank: 0, fault: missing}]"
    )
    own = of_text(f"{text()}faults: {{among: {among}}}\n")
    found = list(injections_of(own.run, events(own)))

    assert [each.text for each in found] == [
        "dropped@r0:0SEND_F0",
        "delayed@r1:1F0",
        "stops@r2:3",
        "missing@r0",
    ]
    assert not list(injections_of(setting().run, events(setting())))


def test_every_fault_that_can_be_written_is_read() -> None:
    own = setting()
    found = [injected(fault, own.run, events(own)) for fault in every(own)]

    assert {each.what for each in found} == set(What)


@pytest.mark.parametrize("fault", ["dropped@r0:0SEND_F0#x", "dropped@r0:²", "turned@r²:0F0"])
def test_what_is_no_number_stands_for_no_place(fault: str) -> None:
    with pytest.raises(ValueError, match=r"does not stand on rank 0|write KIND@PLACE"):
        read(fault)
