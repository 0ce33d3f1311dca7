"""Checkpoints, what is under way at them, and what a run goes on from."""

import pytest

from pipeproof.api import judge_text
from pipeproof.semantics.relations.restart import undrained, unrestored, unsettled
from tests.semantics.made import frame, needs, places, text

ALL = "versions,pending,order,rng,data"


def shown(*programs: str, **keys: object) -> list[str]:
    """The verdict, then each violation with its places."""
    verdict = judge_text(text(*programs, **{"transport": "rendezvous", **keys}), "made")
    told = [
        " ".join([each.rule, *(f"r{place.rank}.{place.position}" for place in each.at)])
        for under in verdict.transports
        for each in under.violations
    ]
    return [verdict.verdict, *told]


@pytest.mark.parametrize(
    ("program", "at"),
    [
        ("SAVE; 0F0; 0B0; 0STEP", None),
        ("0F0; 0B0; 0STEP; SAVE", None),
        ("0F0; 0I0; 0W0; 0STEP; SAVE", None),
        ("0F0; 0B0; 0SKIP; SAVE", None),
        ("0F0; 0B0; SAVE", None),
        ("0F0; SAVE", None),
        ("LOAD X.0; 0F0; 0B0; SAVE", None),
        ("SAVE; LOAD X.0; 0F0; 0B0", None),
        (f"0F0; SAVE async={ALL}; 0B0; 0STEP", None),
        ("0F0; SAVE async=data; 0B0; 0STEP", None),
        ("0F0; SAVE; 0B0; 0STEP", "r0.1"),
        ("0F0; 0I0; SAVE; 0W0; 0STEP", "r0.2"),
        ("0F0; 0B0; SAVE; 0STEP", "r0.2"),
        ("0F0; 0B0; SAVE; 0SKIP", "r0.2"),
        ("0F0; SAVE; 0R0; 0B0", "r0.1"),
        ("LOAD X.0; SAVE; 0F0; 0B0", "r0.1"),
        ("LOAD Y.0; SAVE; 0F0; 0B0", "r0.1"),
        ("0F0; 0L0; SAVE; 0B0", "r0.2"),
    ],
)
def test_a_checkpoint_of_one_rank_stands_where_nothing_is_under_way(
    program: str, at: str | None
) -> None:
    assert shown(program) == (["proved"] if at is None else ["refuted", f"PP803 {at}"])


@pytest.mark.parametrize(
    ("programs", "keys", "told"),
    [
        (("0F0; 0SEND_F0", "1RECV_F0; 1F0; SAVE"), {}, []),
        (("0F0; 0SEND_F0; SAVE", "1RECV_F0; 1F0"), {}, []),
        (("0F0; 0SEND_F0", "1RECV_F0; SAVE; 1F0"), {}, ["PP803 r1.1"]),
        (("0F0; SAVE; 0SEND_F0", "1RECV_F0; 1F0"), {}, ["PP803 r0.1"]),
        (("0F0; 0SEND_F0 h=x; WAIT x; SAVE", "1RECV_F0; 1F0"), {}, []),
        (("0F0; 0SEND_F0 h=x; SAVE; WAIT x", "1RECV_F0; 1F0"), {}, ["PP803 r0.2"]),
        (("0F0; 0SEND_F0 h=x; SAVE", "1RECV_F0; 1F0"), {}, ["PP803 r0.2"]),
        (("0F0; 0SEND_F0 h=x; AWAIT from=1; SAVE", "1RECV_F0; SIGNAL to=0; 1F0"), {}, []),
        (("0F0; 0SEND_F0", "1RECV_F0 h=x; SAVE; WAIT x; 1F0"), {}, ["PP803 r1.1"]),
        (("SEND v to=1", "RECV v from=0 h=x; SAVE; WAIT x"), {"stages": 2}, ["PP803 r1.1"]),
        (("SEND v to=1", "RECV v from=0 buf=b; SAVE; USE b v"), {"stages": 2}, ["PP803 r1.1"]),
        (
            ("0F0; 0SEND_F0; 0RECV_B0; 0B0; 0STEP", "1RECV_F0; 1F0; 1B0; 1STEP; SAVE; 1SEND_B0"),
            {"fragment": False},
            ["PP803 r1.4"],
        ),
        (
            ("0F0; 0SEND_F0; 0RECV_B0; 0B0; 0STEP", "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1STEP; SAVE"),
            {"fragment": False},
            [],
        ),
        (("0F0; 0SEND_F0; SAVE", "1RECV_F0; 1F0"), {"transport": "gloo"}, ["PP803 r0.2"]),
        (("0F0; 0SEND_F0; SAVE", "1RECV_F0; 1F0"), {"transport": "buffered"}, []),
        (("0F0; 0SEND_F0; 0STEP; SAVE", "1RECV_F0; 1F0; 1STEP"), {"transport": "gloo"}, []),
        (("0F0; 0B0; SAVE; 0STEP; SAVE", "SAVE"), {"stages": 1}, ["PP803 r0.2"]),
        (("0F0; SAVE; SAVE; 0B0", ""), {"stages": 1}, ["PP803 r0.1", "PP803 r0.2"]),
    ],
)
def test_a_checkpoint_among_ranks_stands_where_nothing_is_under_way(
    programs: tuple[str, ...], keys: dict[str, object], told: list[str]
) -> None:
    found = shown(*programs, **{"fragment": True, **keys})

    assert found == ["refuted" if told else "proved", *told]


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0F0; 0F1; 0B0; SAVE", {"microbatches": 2}, ["r0.3"]),
        ("0F0; 0F1; 0B0; SAVE", {"microbatches": 2, "fragment": True}, []),
        ("0F0; 0I0; SAVE", {}, ["r0.2"]),
        ("0F0; 0I0; SAVE", {"fragment": True}, []),
        ("0F0; SAVE; 0F0; 0B0", {}, []),
        ("0F0; 0F0; SAVE; 0B0", {}, ["r0.2"]),
        ("0F0 bucket=x; SAVE; 0F0 bucket=y; 0B0", {}, ["r0.1"]),
        ("0F0; 0B0; 0STEP; 0ROLLBACK; SAVE; 0STEP", {}, ["r0.4"]),
        ("0F0; 0B0; 0STEP; SAVE; 0ROLLBACK; 0STEP", {}, ["r0.3"]),
        ("0F0; 0B0; 0STEP; 0COMMIT; SAVE", {}, []),
        ("0F0; 0B0; 0ZERO; SAVE; 0STEP", {}, []),
        ("0F0; 0B0; SAVE; 0ZERO; 0STEP", {}, ["r0.2"]),
        ("0F0; 0B0 param=a; 0B0 param=b; 0STEP param=a; SAVE; 0STEP param=b", {}, ["r0.4"]),
        ("0F0; 0B0 param=a; 0STEP param=a; SAVE; 0B0 param=b; 0STEP param=b", {}, ["r0.3"]),
        ("0B0 param=a; 0STEP param=a; SAVE; 0STEP param=b", {"fragment": True}, []),
        ("0B0; 0STEP param=a; SAVE; 0STEP param=b", {"fragment": True}, ["r0.2"]),
        ("0B0; 0ZERO param=b; 0STEP param=a; SAVE; 0STEP param=b", {"fragment": True}, []),
        ("0B0; 0B1 mode=assign; 0STEP; SAVE", {"microbatches": 2, "fragment": True}, []),
        ("0STEP; 0B0; SAVE", {"fragment": True}, []),
        ("0B0; SAVE; 1STEP", {"stages": 2, "fragment": True}, []),
        ("LOAD A.0; SAVE; 0F0 aux=s", {"fragment": True}, ["r0.1"]),
        ("LOAD A.0; SAVE; 0F0", {"fragment": True}, []),
        ("LOAD X.0; SAVE; LOAD X.0; 0F0", {"fragment": True}, []),
        ("0F0; 1F0; 0B0; SAVE; 1B0", {"stages": 2, "fragment": True}, ["r0.3"]),
        ("WRITE b v; SAVE; USE b v", {"fragment": True, "stages": 1}, []),
    ],
)
def test_what_is_under_way_is_what_a_later_row_still_needs(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    made = frame(program, **keys)

    assert places(made, undrained(made)) == found


def test_several_causes_at_one_checkpoint_are_one_violation_with_the_first_of_them() -> None:
    made = frame("LOAD X.1; 0F0; SAVE; 0F1; 0B0; 0B1; 0STEP", microbatches=2)
    (found,) = undrained(made).found

    assert found.facts == {"op": "SAVE", "value": "X.1", "other": "0F1"}


def test_a_forward_without_a_backward_says_what_it_waits_for() -> None:
    made = frame("0F0; 0F1; SAVE; 0B1", microbatches=2)
    (found,) = undrained(made).found

    assert found.facts == {"op": "SAVE", "value": "0F0", "other": "the backward of 0F0"}


def test_only_messages_that_nothing_before_the_checkpoint_waits_for_are_in_question() -> None:
    made = frame(
        "SEND a to=1; SEND b to=1 h=x; SEND c to=1 h=y; WAIT y; SAVE; SEND d to=1; WAIT x",
        "RECV a from=0; RECV b from=0; RECV c from=0; RECV d from=0; SAVE",
        fragment=True,
        stages=2,
    )

    assert needs(made, unsettled(made)) == ["drained b -> start r0.4"]


def test_several_messages_at_one_checkpoint_are_one_violation_with_the_first_of_them() -> None:
    programs = ("SEND a to=1 h=x; SEND b to=1 h=x; SAVE; WAIT x", "RECV a from=0; RECV b from=0")

    assert shown(*programs, fragment=True, stages=2) == ["refuted", "PP803 r0.2"]
    made = frame(*programs, fragment=True, stages=2)
    assert needs(made, unsettled(made)) == ["drained a -> start r0.2", "drained b -> start r0.2"]


def test_a_checkpoint_that_stands_among_open_work_asks_nothing_of_messages() -> None:
    made = frame("0F0; 0SEND_F0 h=x; SAVE; WAIT x; 0B0", "1RECV_F0; 1F0; 1B0")

    assert places(made, undrained(made)) == ["r0.2"]
    assert needs(made, unsettled(made)) == []


def test_a_message_that_one_step_leaves_open_is_under_way_in_the_next() -> None:
    found = judge_text(
        text(
            "SAVE; 0F0; 0SEND_F0 h=x",
            "1RECV_F0; 1F0",
            transport="buffered",
            steps="any",
            fragment=True,
        ),
        "made",
    ).first

    assert found is not None
    assert (found.rule, found.at[0].position, found.at[0].step) == ("PP803", 0, 1)
    assert found.message == (
        "SAVE is taken while F0.0 is under way: 0SEND_F0 h=x is not complete there"
    )


@pytest.mark.parametrize(
    ("program", "at"),
    [
        ("CONSUME 4; SAVE; RESUME at=4", None),
        ("CONSUME 4; CONSUME 2; SAVE; RESUME at=6", None),
        ("CONSUME 4; SAVE; CONSUME 4; RESUME at=4", None),
        ("CONSUME 4; SAVE; CONSUME 4; SAVE; RESUME at=8", None),
        ("CONSUME 4; SAVE; CONSUME 2; RESUME at=4; CONSUME 4; SAVE; RESUME at=8", None),
        ("RESUME at=8; CONSUME 4; SAVE; RESUME at=12", None),
        ("CONSUME 4; RESUME at=7", None),
        ("RESUME at=7; CONSUME 4; SAVE", None),
        ("SAVE; RESUME at=0", None),
        (f"CONSUME 4; SAVE async={ALL}; RESUME at=4", None),
        ("SAVE async=data; SAVE; RESUME at=0", None),
        ("SAVE async=data", None),
        ("RESTORE rng have=a want=a", None),
        ("CONSUME 4; SAVE; RESUME at=3", "r0.2"),
        ("CONSUME 4; SAVE; CONSUME 4; RESUME at=8", "r0.3"),
        ("CONSUME 4; SAVE; CONSUME 4; SAVE; RESUME at=4", "r0.4"),
        ("CONSUME 4; SAVE; RESUME at=4; RESUME at=5", "r0.3"),
        ("SAVE async=versions,pending,order,rng; RESUME at=0", "r0.1"),
        ("SAVE async=pending,order,rng,data; RESUME at=0", "r0.1"),
        ("SAVE; SAVE async=data; RESUME at=0", "r0.2"),
        ("CONSUME 1; SAVE async=data; RESUME at=0", "r0.2"),
        ("RESTORE rng have=a want=b", "r0.0"),
    ],
)
def test_a_run_goes_on_from_what_was_saved(program: str, at: str | None) -> None:
    told = shown(program, fragment=True, stages=1)

    assert told == (["proved"] if at is None else ["refuted", f"PP804 {at}"])


def test_each_rank_counts_what_it_takes_itself() -> None:
    made = frame("CONSUME 4; SAVE; RESUME at=4", "SAVE; RESUME at=4", "CONSUME 4", fragment=True)

    assert places(made, unrestored(made)) == ["r1.1"]


def test_all_that_is_wrong_with_a_resume_is_told_at_once() -> None:
    made = frame(f"CONSUME 8; SAVE async={ALL.replace('rng,', '')}; RESUME at=2", fragment=True)
    (found,) = unrestored(made).found

    assert found.facts["why"] == (
        "goes on at 2, the last SAVE stands at 8 and goes on from a SAVE without rng"
    )


def test_places_in_the_data_are_those_of_the_first_copy() -> None:
    program = "CONSUME 4; SAVE; RESUME at=4"
    made = frame(program, steps="any", fragment=True, copies=2)

    assert (unrestored(made).instances, places(made, unrestored(made))) == (1, [])


def test_nothing_is_asked_where_no_checkpoint_stands() -> None:
    made = frame("0F0; 0B0")

    assert [undrained(made).instances, unrestored(made).instances] == [0, 0]
    assert len(unsettled(made).after) == 0
