"""Versions of weights that operations read: copies, recomputation, slots, parameters, words."""

import pytest

from pipeproof.semantics.relations import FINDINGS
from pipeproof.semantics.relations.versions import (
    mixed,
    off_policy,
    other_recomputations,
    retired,
    stale,
    uncommitted,
)
from tests.semantics.made import frame, places
from tests.semantics.policies import (
    CODES,
    LATEST,
    SPECULATIVE,
    STASH,
    STEPS,
    THREE,
    TWO,
    VERTICAL,
    bound,
    verdict,
    weights,
)


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        (
            "0STEP; 0GATHER bucket=a; 0F0 bucket=a; 0F0 bucket=b; 0GATHER bucket=b",
            {},
            ["PP601 r0.3"],
        ),
        ("0STEP; 0GATHER bucket=a; 0F0 bucket=a; 0GATHER bucket=b; 0F0 bucket=b", {}, []),
        ("0STEP; 0GATHER; 0F0 bucket=a; 0F0 bucket=b", {}, []),
        ("0STEP; 0F0; 0B0; 0GATHER", {}, ["PP602 r0.1", "PP602 r0.2"]),
        ("0STEP; 0GATHER bucket=a; 0F0; 0GATHER bucket=b", {}, ["PP601 r0.2"]),
        ("0STEP; 0GATHER; 0F0; 0B0", {}, []),
        ("0F0 fill=1; 0F1 w=cache; 0B0; 0B1", TWO, []),
        ("0F0; 0F1 w=cache; 0B0; 0B1", TWO, ["PP601 r0.1"]),
        ("0F0 w=cache fill=1; 0B0", {}, []),
        ("0F0 w=cache; 0B0", LATEST, ["PP601 r0.0"]),
        (
            "0F0 fill=1; 0B0; 0STEP; 0F1 w=cache; 0B1; 0STEP",
            STEPS,
            ["PP601 r0.4"],
        ),
        ("0F0 fill=1; 0B0; 0STEP; 0F1 fill=1; 0B1 w=cache; 0STEP", STEPS, []),
    ],
)
def test_copies_hold_what_was_put_into_them(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert verdict(program, **{"fragment": "STEP; 0GATHER" in program or not keys, **keys}) == found


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0F0; 0F1; 0B0; 0STEP; 0R1; 0B1 w=stash; 0STEP", {**TWO, **STASH}, ["PP802 r0.4"]),
        ("0F0; 0F1; 0B0; 0STEP; 0R1 w=stash; 0B1 w=stash; 0STEP", {**TWO, **STASH}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0R1 w=0; 0B1 w=0; 0STEP", {**TWO, **STASH}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0R1; 0B1; 0STEP", {**TWO, **LATEST}, ["PP802 r0.4"]),
        ("0F0; 0R0; 0B0; 0STEP", {}, []),
        ("0STEP; 0R0; 0B0", {"fragment": True}, []),
        ("0F0; 0B0; 0STEP; 0F1; 0R1; 0ROLLBACK; 0STEP; 0F1; 0R1; 0B1; 0STEP", SPECULATIVE, []),
        (
            "0F0; 0B0; 0STEP; 0F1; 0R1; 0ROLLBACK; 0STEP; 0F1; 0STEP; 0R1; 0B1 w=1",
            SPECULATIVE,
            ["PP802 r0.9"],
        ),
    ],
)
def test_a_recomputation_reads_what_its_forward_read(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert verdict(program, **keys) == found


def slots(number: int) -> dict[str, object]:
    return {**THREE, **STASH, "storage": {"weights": {"slots": number}}}


IN_FLIGHT = "0F0; 0F1; 0F2; 0B0; 0STEP; 0B1 w=stash; 0STEP; 0B2 w=stash; 0STEP"


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        (IN_FLIGHT, slots(3), []),
        (IN_FLIGHT, slots(2), ["PP604 r0.6"]),
        (IN_FLIGHT, slots(1), ["PP604 r0.4"]),
        (IN_FLIGHT, {**THREE, **STASH}, []),
        (
            "0F0; 0B0; 0STEP; 0R0 w=0",
            {**STASH, "storage": {"weights": {"slots": 1}}},
            ["PP604 r0.2"],
        ),
        ("0F0; 0B0; 0STEP; 0STEP; 0F1 w=1", {**slots(1), "fragment": True}, ["PP604 r0.3"]),
        ("0GATHER; 0STEP; 0F0", {**slots(1), "fragment": True}, ["PP604 r0.1"]),
        ("0GATHER; 0STEP; 0GATHER; 0F0", {**slots(1), "fragment": True}, []),
    ],
)
def test_a_version_keeps_its_slot_until_its_last_reader(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert verdict(program, **keys) == found


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        (
            "0F0; 0B0; 0STEP param=a; 0STEP param=b; 0F1; 0B1; 0STEP param=a; 0STEP param=b",
            STEPS,
            [],
        ),
        ("0F0; 0B0; 0STEP param=a; 0F1; 0STEP param=b; 0B1", STEPS, ["PP601 r0.5"]),
        (
            "0F0; 0B0; 0STEP param=a; 0F1; 0B1; 0STEP param=b; 0STEP",
            STEPS,
            ["PP602 r0.3", "PP602 r0.4"],
        ),
        ("0F0; 0W0 param=a; 0STEP param=a; 0W0 param=b; 0STEP param=b", {}, []),
        ("0F0; 0W0 param=b; 0STEP param=b; 0W0 param=b; 0STEP param=a", {}, ["PP601 r0.3"]),
        ("0F0; 0B0; 0STEP param=a; 0F1 w=1; 0B1 w=1", {**TWO, **STASH}, []),
        ("0F0; 0B0; 0STEP param=a; 0F1; 0B1; 0STEP param=b", {**TWO, **VERTICAL}, []),
    ],
)
def test_each_parameter_has_versions_of_its_own(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert verdict(program, **keys) == found


def test_the_second_of_two_copies_is_not_judged() -> None:
    made = frame("0F0; 0B0; 0STEP", steps="any", copies=2)

    assert [places(made, FINDINGS[name](made)) for name in CODES] == [[]] * len(CODES)


def test_three_things_are_said_in_three_ways() -> None:
    moved = frame("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP", **TWO, **STASH)
    late = frame("0F0; 0B0; 0STEP; 0F1 w=0; 0B1 w=0; 0STEP", **STEPS, **bound(0))
    newer = frame("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", **STEPS, **weights("2bw"))

    assert mixed(moved).found[0].facts["why"] == (
        "0B1 reads version 1 of stage 0, 0F1 read version 0"
    )
    assert off_policy(late).found[0].facts["why"] == (
        "valid gradient of older weights, not those that the policy flush asks for: "
        "0F1 w=0 reads version 0 of stage 0, asked is version 1"
    )
    assert off_policy(newer).found[0].facts["why"].startswith("valid gradient of newer weights")
    assert stale(late).found[0].facts == {
        "op": "0B1 w=0",
        "what": "valid",
        "version": "0",
        "weight": "stage 0",
        "step": "0STEP",
        "current": "1",
        "delay": "1",
        "bound": "0",
    }


def test_a_mixture_under_latest_is_called_one() -> None:
    made = frame("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP", **TWO, **LATEST, **bound(0))

    assert stale(made).found[0].facts["what"] == "mixed"


def test_what_is_said_names_parameter_and_cause() -> None:
    parts = frame("0F0; 0B0; 0STEP param=a; 0F1; 0STEP param=b; 0B1", **STEPS)
    empty = frame("0F0 w=cache; 0B0")
    early = frame("0F0; 0B0; 0STEP; 0F1; 0B1; 0COMMIT; 0STEP", **SPECULATIVE)
    gone = frame(
        "0F0; 0F1; 0B0; 0STEP; 0STEP; 0B1 w=0", **TWO, **STASH, storage={"weights": {"slots": 2}}
    )
    absent = frame("0F0 w=3; 0B0 w=3", **STASH)

    assert mixed(parts).found[0].facts["why"] == (
        "0B1 reads version 1 of parameter b of stage 0, 0F1 read version 0"
    )
    assert mixed(empty).found[0].facts["why"] == (
        "0F0 w=cache reads a cache of stage 0 that was never filled"
    )
    assert uncommitted(early).found[0].facts["why"] == (
        "version 1 of stage 0: 0COMMIT commits it later"
    )
    assert retired(gone).found[0].facts == {
        "op": "0STEP",
        "version": "0",
        "weight": "stage 0",
        "reader": "0B1 w=0",
        "slots": "2",
    }
    assert off_policy(absent).found[0].facts["why"] == (
        "no such version: 0F0 w=3 reads version 3 of stage 0, which there is not at that point"
    )


def test_nothing_is_looked_for_where_nothing_is_said_of_weights() -> None:
    made = frame("0F0; 0R0; 0B0")

    assert [FINDINGS[name](made).instances for name in CODES] == [0] * len(CODES)
    assert other_recomputations(frame("0F0; 0R0; 0B0; 0STEP")).instances == 1
    assert mixed(frame("0F0; 0B0; 0STEP")).instances == 2
    assert off_policy(frame("0F0; 0B0; 0STEP")).instances == 2
