"""Programs with their right verdict on weight versions, written down from the language's text."""

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

CODES = {
    "mixed": "PP601",
    "off_policy": "PP602",
    "stale": "PP603",
    "retired": "PP604",
    "uncommitted": "PP605",
    "other_recomputations": "PP802",
}
TWO: dict[str, object] = {"microbatches": 2}
THREE: dict[str, object] = {"microbatches": 3}
STEPS: dict[str, object] = {"steps": 2}
EVERY: dict[str, object] = {"updates": "microbatch"}


def weights(policy: str, **more: object) -> dict[str, object]:
    return {"weights": {"policy": policy, **more}}


STASH = weights("stash", **EVERY)
VERTICAL = weights("vertical", **EVERY)
LATEST = weights("latest", **EVERY)
SPECULATIVE = {**STEPS, **weights("speculative")}


def verdict(*programs: str, **keys: object) -> list[str]:
    """The rules of versions that are broken, with their places."""
    made = frame(*programs, **keys)
    return [
        f"{code} {place}"
        for name, code in CODES.items()
        for place in places(made, FINDINGS[name](made))
    ]


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0F0; 0F1; 0B0; 0B1", TWO, []),
        ("0F0; 0F1; 0B0; 0B1; 0STEP", TWO, []),
        ("0F0; 0F1; 0I0; 0I1; 0W0; 0W1; 0STEP", TWO, []),
        ("0F0; 0B0; 0STEP; 0F1; 0B1", TWO, ["PP602 r0.3", "PP602 r0.4"]),
        ("0F0; 0F1; 0B0; 0STEP; 0B1", TWO, ["PP601 r0.4"]),
        ("0F0; 0F1; 0I0; 0W0; 0I1; 0STEP; 0W1", TWO, ["PP601 r0.6"]),
        ("0F0; 0F1; 0I0; 0W0; 0I1; 0STEP; 0W1 w=none", TWO, []),
        ("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", STEPS, []),
        ("0F0; 0B0; 0F1; 0STEP; 0B1; 0STEP", STEPS, ["PP601 r0.4"]),
        ("0F0; 0B0; 0F1; 0STEP; 0B1 w=stash; 0STEP", STEPS, ["PP602 r0.2", "PP602 r0.4"]),
        ("0F0; 0B0; 0STEP; 0F1 w=0; 0B1 w=0; 0STEP", STEPS, ["PP602 r0.3", "PP602 r0.4"]),
        ("0F0; 0B0; 0SKIP; 0F1; 0B1; 0STEP", STEPS, []),
        ("0F0; 0B0; 0F1; 0SKIP; 0B1; 0STEP", STEPS, []),
        ("0F0; 0B0; 0F1; 0B1; 0STEP", STEPS, ["PP602 r0.2", "PP602 r0.3"]),
        ("0F0 w=1; 0B0 w=1; 0STEP", {}, ["PP602 r0.0", "PP602 r0.1"]),
        ("0F0; 0B0 w=1; 0STEP", {}, ["PP601 r0.1"]),
        ("0STEP; 0F0; 0B0", {"fragment": True}, []),
        ("0F0; 0F1; 0STEP", TWO, []),
        ("0F0; 0STEP; 0F1", TWO, ["PP602 r0.2"]),
        ("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", {**TWO, **weights("flush", **EVERY)}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP", {**TWO, **weights("flush", **EVERY)}, ["PP601 r0.4"]),
        (
            "0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP",
            {**TWO, **weights("flush", **EVERY)},
            ["PP602 r0.1", "PP602 r0.4"],
        ),
    ],
)
def test_a_flush_uses_the_version_that_it_updates(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert verdict(program, **keys) == found


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP", {**TWO, **STASH}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP", {**TWO, **STASH}, ["PP601 r0.4"]),
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=stash wv=0; 0STEP", {**TWO, **STASH}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=stash wv=1; 0STEP", {**TWO, **STASH}, ["PP601 r0.4"]),
        ("0F0; 0F1; 0B0; 0STEP; 0B1 wv=0; 0STEP", {**TWO, **STASH}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=0; 0STEP", {**TWO, **STASH}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0I1 w=stash; 0W1; 0STEP", {**TWO, **STASH}, ["PP601 r0.5"]),
        ("0F0; 0F1; 0B0; 0STEP; 0I1; 0W1; 0STEP", {**TWO, **STASH}, ["PP601 r0.4", "PP601 r0.5"]),
        ("0F0; 0F1; 0B0; 0STEP; 0I1 w=stash; 0W1 w=none; 0STEP", {**TWO, **STASH}, []),
        ("0F0 w=7; 0B0 w=stash; 0STEP", STASH, ["PP602 r0.0", "PP602 r0.1"]),
        ("0F0 w=1; 0STEP; 0B0 w=1; 0STEP", STASH, ["PP602 r0.0"]),
        ("0STEP; 0B0 w=stash; 0W0", {**STASH, "fragment": True}, []),
        ("0I0; 0STEP; 0W0", {**STASH, "fragment": True}, ["PP601 r0.2"]),
        (
            "0F0; 0STEP; 0F1; 0B1; 0B0 w=stash",
            {**STASH, "segments": 2, "fragment": True},
            ["PP601 r0.2", "PP601 r0.3"],
        ),
    ],
)
def test_a_stash_gives_the_backward_what_its_forward_read(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert verdict(program, **keys) == found


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=stash", "1F0; 1B0; 1STEP; 1F1 w=0; 1B1 w=stash", []),
        (
            "0F0; 0F1; 0B0; 0STEP; 0B1 w=stash",
            "1F0; 1B0; 1STEP; 1F1; 1B1",
            ["PP602 r1.3", "PP602 r1.4"],
        ),
        ("0F0; 0B0; 0STEP; 0F1; 0B1", "1F0; 1B0; 1STEP; 1F1; 1B1", []),
        (
            "0F0; 0B0; 0STEP; 0F1; 0B1",
            "1F0; 1F1; 1B0; 1STEP; 1B1",
            ["PP601 r1.4"],
        ),
    ],
)
def test_vertical_asks_all_stages_for_the_version_of_the_first(
    first: str, second: str, found: list[str]
) -> None:
    assert verdict(first, second, **TWO, **VERTICAL) == found


def test_vertical_goes_by_the_first_stage_of_each_pipeline() -> None:
    keys = {**VERTICAL, "stages": 4, "pipelines": [[0, 1], [3, 2]], **TWO}
    programs = ["0F0", "1F0", "2STEP; 2F1", "3F1"]

    assert verdict(*programs, **keys, fragment=True) == ["PP602 r2.1"]


THREE_STEPS = {**weights("2bw"), "steps": 3}


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0F0; 0B0; 0STEP; 0F1 w=0; 0B1 w=0; 0STEP; 0F2 w=1; 0B2 w=1; 0STEP", THREE_STEPS, []),
        (
            "0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP; 0F2 w=1; 0B2 w=1; 0STEP",
            THREE_STEPS,
            ["PP602 r0.3", "PP602 r0.4"],
        ),
        (
            "0F0; 0B0; 0STEP; 0F1 w=0; 0B1 w=0; 0STEP; 0F2 w=0; 0B2 w=0; 0STEP",
            THREE_STEPS,
            ["PP602 r0.6", "PP602 r0.7", "PP604 r0.5"],
        ),
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP", {**weights("2bw"), "steps": 2}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP", {**weights("2bw"), "steps": 2}, ["PP601 r0.4"]),
        (
            "0F0; 0B0; 0STEP; 0F1 w=0; 0B1 w=0; 0STEP; 0F2 w=1; 0B2 w=1; 0STEP",
            {**THREE_STEPS, "storage": {"weights": {"slots": 1}}},
            ["PP604 r0.2", "PP604 r0.5"],
        ),
    ],
)
def test_2bw_reads_the_version_before_the_one_that_it_updates(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert verdict(program, **keys) == found


def bound(staleness: int) -> dict[str, object]:
    return {"bounds": {"staleness": staleness}}


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP", {**TWO, **LATEST}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP", {**TWO, **LATEST, **bound(1)}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP", {**TWO, **LATEST, **bound(0)}, ["PP603 r0.4"]),
        (
            "0F0; 0F1; 0F2; 0B0; 0STEP; 0B1; 0STEP; 0B2; 0STEP",
            {**THREE, **LATEST, **bound(1)},
            ["PP603 r0.7"],
        ),
        (
            "0F0; 0F1; 0B0; 0STEP; 0I1; 0W1 w=none; 0STEP",
            {**TWO, **LATEST, **bound(0)},
            ["PP603 r0.5"],
        ),
        ("0F0; 0F1; 0B0; 0STEP; 0B1", {**TWO, **LATEST, **bound(0)}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0B1; 0SKIP", {**TWO, **LATEST, **bound(0)}, []),
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP", {**TWO, **STASH, **bound(0)}, ["PP603 r0.4"]),
        ("0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP", {**TWO, **STASH, **bound(1)}, []),
        ("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", {**STEPS, **bound(0)}, []),
        (
            "0F0; 0B0; 0F1; 0STEP; 0B1; 0STEP",
            {**STEPS, **weights("latest"), **bound(0)},
            ["PP603 r0.4"],
        ),
        ("0F0; 0B0 w=9; 0STEP", LATEST, ["PP602 r0.1"]),
    ],
)
def test_staleness_is_counted_from_the_oldest_version_read_to_the_one_updated(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert verdict(program, **keys) == found


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        ("0F0; 0B0; 0STEP; 0F1; 0COMMIT; 0B1; 0STEP", SPECULATIVE, []),
        ("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", SPECULATIVE, []),
        ("0F0; 0B0; 0STEP; 0F1; 0B1; 0COMMIT; 0STEP", SPECULATIVE, ["PP605 r0.4"]),
        ("0F0; 0B0; 0STEP; 0F1; 0COMMIT; 0B1; 0STEP", STEPS, ["PP605 r0.3"]),
        ("0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0F1; 0B1; 0STEP", SPECULATIVE, []),
        ("0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0B1; 0STEP", SPECULATIVE, []),
        (
            "0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0B1 w=stash; 0STEP",
            SPECULATIVE,
            ["PP605 r0.6"],
        ),
        (
            "0F0; 0B0; 0STEP; 0F1; 0B1; 0ROLLBACK; 0STEP; 0F1; 0B1; 0STEP",
            SPECULATIVE,
            ["PP605 r0.4"],
        ),
        ("0F0; 0B0; 0STEP; 0ROLLBACK; 0SKIP; 0F1; 0B1; 0STEP", SPECULATIVE, []),
        (
            "0F0; 0B0; 0STEP; 0ROLLBACK; 0STEP; 0F1 w=0; 0B1 w=0; 0STEP",
            SPECULATIVE,
            ["PP602 r0.5", "PP602 r0.6"],
        ),
        ("0F0; 0B0; 0STEP; 0F1; 0R1; 0COMMIT; 0B1; 0STEP", SPECULATIVE, []),
        (
            "0F0; 0B0; 0STEP; 0GATHER; 0ROLLBACK; 0F1; 0GATHER; 0F1; 0B1; 0STEP",
            {**SPECULATIVE, "steps": 1, **TWO},
            ["PP605 r0.5"],
        ),
    ],
)
def test_only_forwards_read_what_is_not_committed(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert verdict(program, **keys) == found


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


def pipedream(stage: int, stages: int, total: int) -> list[str]:
    """The 1F1B order without a flush: an update after every backward, with a stash."""
    warm = min(stages - 1 - stage, total)
    program = [f"{stage}F{m}" for m in range(warm)]
    for m in range(total):
        if m + warm < total:
            program.append(f"{stage}F{m + warm}")
        program += [f"{stage}B{m} w=stash wv={max(0, m - warm)}", f"{stage}STEP"]
    return program


def off_by_one(programs: list[list[str]], stage: int, op: str, version: int) -> list[list[str]]:
    changed = [list(program) for program in programs]
    at = next(n for n, each in enumerate(changed[stage]) if each.split()[0] == op)
    changed[stage][at] = f"{op} w={version}"
    return changed


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_the_closed_form_of_pipedream_holds_and_one_off_does_not(stages: int) -> None:
    total = 2 * stages
    programs = [pipedream(stage, stages, total) for stage in range(stages)]
    keys = {**STASH, "microbatches": total}

    assert verdict(*map("; ".join, programs), **keys) == []
    for stage in range(stages):
        last = total - 1
        version = max(0, last - (stages - 1 - stage)) - 1
        wrong = off_by_one(programs, stage, f"{stage}B{last}", version)
        at = next(n for n, each in enumerate(wrong[stage]) if each.endswith(f"w={version}"))
        assert verdict(*map("; ".join, wrong), **keys) == [f"PP601 r{stage}.{at}"]


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_pipedream_keeps_as_many_versions_as_microbatches_are_in_flight(stages: int) -> None:
    programs = ["; ".join(pipedream(stage, stages, 2 * stages)) for stage in range(stages)]
    keys = {**STASH, "microbatches": 2 * stages}
    enough, few = ({"storage": {"weights": {"slots": n}}} for n in (stages, stages - 1))

    assert verdict(*programs, **keys, **enough) == []
    assert {each.split()[0] for each in verdict(*programs, **keys, **few)} == {"PP604"}
    assert all(each.split()[1].startswith("r0.") for each in verdict(*programs, **keys, **few))


def vertical(stage: int, stages: int, total: int) -> list[str]:
    """PipeDream with vertical sync: every stage reads what the first read, m - (P - 1)."""
    program = []
    for each in pipedream(stage, stages, total):
        op = each.split()[0]
        if op[1] in "FB":
            version = max(0, int(op[2:]) - (stages - 1))
            program.append(f"{op} w={version}")
        else:
            program.append(op)
    return program


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_the_closed_form_of_vertical_sync_holds_and_one_off_does_not(stages: int) -> None:
    total = 2 * stages
    programs = [vertical(stage, stages, total) for stage in range(stages)]
    keys = {**VERTICAL, "microbatches": total}

    assert verdict(*map("; ".join, programs), **keys) == []
    for stage in range(1, stages):
        wrong = programs
        for kind in "FB":
            wrong = off_by_one(wrong, stage, f"{stage}{kind}{total - 1}", stages - 1)
        found = verdict(*map("; ".join, wrong), **keys)
        assert [each.split()[0] for each in found] == ["PP602", "PP602"]
        assert all(each.split()[1].startswith(f"r{stage}.") for each in found)


def double_buffered(stage: int, stages: int, batch: int, steps: int) -> list[str]:
    """2BW over 1F1B without a flush: batch t reads max(0, t - 1), the update after its last."""
    program = []
    for each in pipedream(stage, stages, batch * steps):
        op = each.split()[0]
        if op[1] in "FB":
            version = max(0, int(op[2:]) // batch - 1)
            program.append(f"{op} w={version}")
            if op[1] == "B" and (int(op[2:]) + 1) % batch == 0:
                program.append(f"{stage}STEP")
    return program


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_the_closed_form_of_2bw_holds_and_one_off_does_not(stages: int) -> None:
    batch, steps = stages, 4
    programs = [double_buffered(stage, stages, batch, steps) for stage in range(stages)]
    keys = {**weights("2bw"), "microbatches": batch, "steps": steps}

    assert verdict(*map("; ".join, programs), **keys) == []
    for version in (1, 3):
        wrong = programs
        for kind in "FB":
            wrong = off_by_one(wrong, 0, f"0{kind}{batch * steps - 1}", version)
        rules = {each.split()[0] for each in verdict(*map("; ".join, wrong), **keys)}
        assert rules & {"PP601", "PP602"}


@pytest.mark.parametrize("stages", [4, 8])
def test_2bw_with_too_few_microbatches_reads_what_there_is_not_yet(stages: int) -> None:
    enough, few = stages - 1, stages - 2
    keys = weights("2bw")
    for batch, reads in ((enough, 0), (few, 6 if stages == 4 else None)):
        programs = [double_buffered(stage, stages, batch, 4) for stage in range(stages)]
        found = verdict(*map("; ".join, programs), **keys, microbatches=batch, steps=4)
        assert (len(found) == 0) == (reads == 0)
