"""The table of what operations read, row by row."""

import random

import numpy as np
import pytest

from pipeproof.ir.actions import Kind
from pipeproof.semantics import versions
from pipeproof.semantics.versions import READERS, Versions, versions_of
from tests.semantics.made import run


def table(*programs: str, **keys: object) -> Versions:
    return versions_of(run(*programs, **keys))


def told(made: Versions, *kinds: Kind) -> dict[str, int | None]:
    """The number that each operation reads, by its text."""
    ops = made.run.operations
    rows = np.flatnonzero(ops.is_kind(*(kinds or READERS))).tolist()
    return {ops.text(row): made.told(row) for row in rows}


def test_every_step_makes_the_next_version_of_its_stage() -> None:
    made = table("0F0; 0STEP; 0F1; 0STEP; 0B1", "1F0; 1STEP; 1B0", microbatches=2)

    assert told(made) == {"0F0": 0, "0F1": 1, "0B1": 2, "1F0": 0, "1B0": 1}
    assert made.number.tolist() == [0, 0, 1, 2, 1]
    assert made.stage.tolist() == [0, 1]


def test_stages_of_one_rank_have_versions_of_their_own() -> None:
    made = table("0F0; 1F0; 1STEP; 0B0; 1B0; 0STEP", placement=[0, 0], stages=2)

    assert told(made) == {"0F0": 0, "1F0": 0, "0B0": 0, "1B0": 1}


@pytest.mark.parametrize(
    ("program", "last"),
    [
        ("0F0; 0STEP; 0B0", 1),
        ("0F0; 0STEP; 0B0 w=latest", 1),
        ("0F0; 0STEP; 0B0 w=0", 0),
        ("0F0; 0STEP; 0B0 w=stash", 0),
        ("0F0; 0STEP; 0B0 w=stash wv=1", 1),
        ("0F0; 0STEP; 0B0 wv=0", 0),
        ("0F0; 0STEP; 0B0 w=none", None),
        ("0STEP; 0B0 w=stash", None),
        ("0F0 fill=1; 0STEP; 0B0 w=cache", 0),
        ("0F0; 0STEP; 0B0 w=cache", None),
        ("0F0; 0STEP; 0GATHER; 0STEP; 0B0", 1),
        ("0F0; 0STEP; 0GATHER bucket=a; 0F0 bucket=b; 0B0", None),
        ("0F0; 0STEP; 0ROLLBACK; 0B0", 0),
        ("0F0; 0STEP; 0COMMIT; 0ROLLBACK; 0B0", 1),
        ("0F0; 0STEP; 0ROLLBACK; 0STEP; 0B0", 1),
        ("0F0; 0STEP; 0STEP; 0ROLLBACK; 0ROLLBACK; 0ROLLBACK; 0B0", 0),
        ("0F0; 0STEP param=a; 0STEP param=b; 0ROLLBACK; 0B0", 0),
        ("0F0; 0SKIP; 0B0", 0),
        ("0F0; 0STEP param=a; 0B0", 1),
        ("0F0; 0STEP param=a; 0STEP; 0B0", None),
        ("0F0; 0STEP param=a; 0STEP; 0B0 param=a", 2),
        ("0F0; 0STEP param=a; 0STEP; 0B0 param=c", 1),
    ],
)
def test_the_last_operation_reads(program: str, last: int | None) -> None:
    made = table(program)
    ops = made.run.operations
    row = int(np.flatnonzero(ops.is_kind(Kind.B))[-1])

    assert made.told(row) == last


def test_what_reads_no_weights_is_told_what_is_current() -> None:
    made = table("0F0; SEND F0.0 to=1; 0STEP; 0COMMIT", "RECV F0.0 from=0; 1STEP; 1F0")

    assert told(made, Kind.STEP, Kind.COMMIT) == {"0STEP": 0, "0COMMIT": 1, "1STEP": 0}
    assert told(made, Kind.SEND, Kind.RECV) == {"SEND F0.0 to=1": 0, "RECV F0.0 from=0": 0}


def test_what_names_no_stage_is_told_nothing() -> None:
    made = table("COLL x ranks=0; 0F0; 5F0", stages=1)

    assert [made.told(row) for row in range(3)] == [None, 0, None]


def test_a_version_of_the_same_number_may_be_another() -> None:
    made = table("0F0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0B1", microbatches=2)

    assert made.number[made.reads.versions].tolist() == [0, 1, 1]
    assert len(set(made.reads.versions.tolist())) == 3
    assert made.uncounted.tolist() == [2]


def test_reads_of_a_followed_stage_and_a_plain_one_come_in_order_of_rows() -> None:
    made = table("0F0 fill=1; 0STEP; 0B0", "1F0; 1STEP; 1B0")

    assert made.reads.rows.tolist() == [0, 2, 3, 5]
    assert made.number[made.reads.versions].tolist() == [0, 1, 0, 1]
    assert not made.plain


def test_operations_out_of_place_or_of_unknown_identity_read_nothing() -> None:
    made = table("0F0; 0F9; 0B0", "0W0; 1F0; 1B0", stages=2)

    assert made.reads.rows.tolist() == [0, 2, 4, 5]


def test_steps_that_are_withdrawn_take_nothing() -> None:
    made = table("0B0; 0STEP; 0ROLLBACK; 0SKIP; 0STEP")

    assert made.ends.rows.tolist() == [3, 4]
    assert [each.tolist() for each in made.lost] == [[0], [1]]


def test_a_step_that_is_withdrawn_of_one_parameter_takes_the_others() -> None:
    made = table("0B0; 0STEP; 0ROLLBACK param=a; 0STEP param=a")

    assert made.names == ("", "a")
    assert made.ends.weights.tolist() == [0, 1]
    assert made.ends.rows.tolist() == [1, 3]


def test_parameters_are_taken_by_their_own_steps() -> None:
    made = table("0W0 param=a; 0STEP param=a; 0W0 param=b; 0STEP param=b")

    assert made.names == ("a", "b")
    assert made.ends.weights.tolist() == [0, 1]
    assert made.ends.rows.tolist() == [1, 3]
    assert [each.tolist() for each in made.adds] == [[0, 2], [0, 1]]


def test_the_end_of_the_first_copy_is_the_end() -> None:
    made = table("0F0; 0B0; 0STEP", steps="any", copies=2)

    assert made.number[made.at_end(np.asarray([0]))].tolist() == [1]
    assert made.number[made.reads.versions].tolist() == [0, 0, 1, 1]


def test_where_weights_never_change_nothing_matters() -> None:
    assert not table("0F0; 0B0").matters
    assert table("0F0; 0B0", weights={"policy": "stash"}).matters
    assert table("0F0; 0B0; 0STEP").matters
    assert table("0F0 w=cache; 0B0").matters
    assert table("0F0; 0B0; 0STEP").still
    assert not table("0F0; 0STEP; 0B0").still


def drawn(rng: random.Random) -> str:
    """A program of one stage whose operations read in every way that needs no copy."""
    program: list[str] = []
    for m in range(4):
        for kind in "FRIW":
            ways = ["", "", " w=latest", " w=stash", f" w={rng.randint(0, 3)}"]
            ways += [] if kind in "FR" else [" w=none", " wv=1", f" w=stash wv={rng.randint(0, 3)}"]
            program.append(f"0{kind}{m}{rng.choice(ways)}")
    rng.shuffle(program)
    for _ in range(rng.randint(0, 3)):
        program.insert(rng.randint(0, len(program)), "0STEP")
    return "; ".join(program)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_counted_is_what_is_followed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run(drawn(random.Random(seed)), microbatches=4)
    counted = versions_of(made)
    monkeypatch.setattr(versions, "followed_stages", lambda _: np.ones(1, np.bool_))
    followed = versions_of(made)

    for one in (counted, followed):
        assert not np.any(one.withdrawn)
    assert counted.reads.rows.tolist() == followed.reads.rows.tolist()
    for column in ("number", "absent", "made"):
        left, right = (getattr(one, column)[one.reads.versions] for one in (counted, followed))
        assert left.tolist() == right.tolist()


AHEAD = (
    "0F0; SEND F0.0 to=1; 0B0; 0STEP; 0F1; SEND F0.1 to=1; 0ROLLBACK; 0STEP; 0F1; SEND F0.1 to=1"
)


@pytest.mark.parametrize(
    ("second", "lost"),
    [
        ("RECV F0.0 from=0; 1F0; RECV F0.1 from=0; RECV F0.1 from=0; 1F1", []),
        ("RECV F0.0 from=0; 1F0; RECV F0.1 from=0; 1F1; RECV F0.1 from=0", ["1F1 at 3"]),
        ("RECV F0.0 from=0; 1F0; RECV F0.1 from=0; 1F1; RECV F0.1 from=0; 1F1", ["1F1 at 3"]),
        (
            "RECV F0.0 from=0; 1F0; RECV F0.1 from=0; 1F1; 1L1; RECV F0.1 from=0; 1F1; 1L1",
            ["1F1 at 3", "1L1 at 4"],
        ),
    ],
)
def test_what_works_on_what_a_withdrawn_forward_made_does_not_count(
    second: str, lost: list[str]
) -> None:
    made = table(AHEAD, second, microbatches=2)
    ops = made.run.operations
    rows = [int(row) for row in made.uncounted]

    assert [f"{ops.text(row)} at {ops.position[row]}" for row in rows] == ["0F1 at 4", *lost]


def test_it_spreads_over_stages_of_one_rank() -> None:
    made = table("0STEP; 0F0; 1F0; 0ROLLBACK; 0F0; 1F0", placement=[0, 0], stages=2)

    assert made.uncounted.tolist() == [1, 2]
