"""Programs under every weight policy, with their right verdict from the language's text."""

import pytest

from tests.semantics.policies import (
    EVERY,
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
        (
            "0F0; 0B0; 0F1; 0STEP; 0B1; 0ROLLBACK; 0SKIP; 0B1; 0STEP",
            SPECULATIVE,
            ["PP601 r0.4", "PP605 r0.4"],
        ),
        ("0F0; 0B0; 0F1; 0STEP; 0B1; 0COMMIT; 0STEP", SPECULATIVE, ["PP601 r0.4", "PP605 r0.4"]),
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
