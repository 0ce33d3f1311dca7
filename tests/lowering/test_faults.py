"""Every choice of faults is an alternative, each of what it can strike."""

import dataclasses

import pytest

from pipeproof.ir.as_run import AsRun
from pipeproof.ir.faults import Struck
from pipeproof.lowering.faults import alternatives, faulted, policy_of, unplaced
from tests.semantics.made import run, schedule

PROGRAMS = ("0F0; 0SEND_F0; SEND w to=1", "1RECV_F0; RECV w from=0; 1F0")
MISSING = {"rank": 1, "fault": "missing"}
STOPS = {"rank": 0, "fault": "stops", "at": 2}
LOST = {"message": "F0.0", "fault": "dropped"}


def made(
    *among: object, copies: int = 1, programs: tuple[str, ...] = PROGRAMS, **keys: object
) -> AsRun:
    return run(*programs, faults={"among": list(among), **keys}, fragment=True, copies=copies)


def labels(of: AsRun) -> list[str]:
    return [each.label for each in alternatives(of)]


def test_each_fault_alone_is_an_alternative() -> None:
    found = list(alternatives(made(MISSING, STOPS)))

    assert [each.struck for each in found] == [
        (Struck("missing", 1),),
        (Struck("stops", 0, at=2),),
    ]
    assert [each.label for each in found] == ["rank 1 is missing", "rank 0 stops at 2"]


def test_at_most_bounds_how_many_happen_together() -> None:
    assert labels(made(MISSING, STOPS, LOST, at_most=2)) == [
        "rank 1 is missing",
        "rank 0 stops at 2",
        "F0.0 is dropped",
        "rank 1 is missing and rank 0 stops at 2",
        "rank 1 is missing and F0.0 is dropped",
        "rank 0 stops at 2 and F0.0 is dropped",
    ]
    assert len(labels(made(MISSING, STOPS, LOST, at_most=9))) == 7


def test_a_fault_that_is_named_again_is_one() -> None:
    assert labels(made(LOST, LOST, at_most=2)) == ["F0.0 is dropped"]
    assert len(labels(made(*[LOST] * 60, STOPS, at_most=20))) == 3


def test_a_message_that_is_sent_twice_is_struck_at_each() -> None:
    programs = ("SEND w to=1; SEND w to=2", "RECV w from=0", "RECV w from=0")
    found = made({"message": "w", "fault": "corrupted"}, programs=programs)

    assert labels(found) == [
        "w from rank 0 to rank 1 is corrupted",
        "w from rank 0 to rank 2 is corrupted",
    ]


def test_an_operation_is_struck_at_each_of_its_parts() -> None:
    programs = ("0F0 bucket=a; 0F0 bucket=b", "")
    found = alternatives(made({"op": "0F0", "fault": "delayed"}, programs=programs))

    assert [each.struck[0].base for each in found] == [0, 1]


def test_in_copies_each_fault_is_one_of_each_copy() -> None:
    found = list(alternatives(made(LOST, STOPS, MISSING, copies=2)))

    assert [each.label for each in found] == [
        "F0.0 is dropped in step 0",
        "F0.0 is dropped in step 1",
        "rank 0 stops at 2 in step 0",
        "rank 0 stops at 2 in step 1",
        "rank 1 is missing",
    ]
    assert [each.struck[0].copy for each in found] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("policy", ["raise", "abort", "recover"])
def test_the_policy_is_that_of_the_file(policy: str) -> None:
    of = made(MISSING, policy=policy)
    told = faulted(of, next(alternatives(of))).faults

    assert told is not None
    assert told.policy == policy
    assert told.struck == (Struck("missing", 1),)


def test_without_a_policy_all_must_raise() -> None:
    assert policy_of(schedule(*PROGRAMS, faults={"among": [MISSING]}, fragment=True)) == "raise"


def test_what_does_not_stand_in_the_schedule_as_run_is_named() -> None:
    of = made(MISSING, LOST)
    bare = run("0F0; SEND w to=1", "RECV w from=0", fragment=True)
    other = dataclasses.replace(bare, schedule=of.schedule)

    assert unplaced(of) is None
    assert unplaced(other) == "F0.0"
