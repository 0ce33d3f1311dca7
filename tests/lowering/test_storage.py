"""Which storage each access touches, in the order in which a rank touches it."""

import pytest

from pipeproof.ir.as_run import AsRun
from pipeproof.ir.storage import Stored, Touch, content_text
from pipeproof.lowering.storage import write_in
from tests.semantics.made import run

FRAGMENT: dict[str, object] = {"fragment": True, "microbatches": 4, "stages": 3}
RECEIVING = "RECV F0.0 from=1; RECV F0.1 from=1; 1F0; 1F1"
SENDING = "SEND F0.0 to=0; SEND F0.1 to=0"


def stored(made: AsRun) -> Stored:
    found = write_in(made)
    assert found is not None
    return found


def accesses(made: AsRun, number: int | None = None) -> list[str]:
    """Accesses of a storage, or of all, as `a: 1F0 reads F0.0`."""
    found, ops = stored(made), made.operations
    verbs = {Touch.READ: "reads", Touch.WRITE: "writes", Touch.FREE: "frees"}
    listed = []
    for k in range(len(found)):
        what = "" if found.touch[k] == Touch.FREE else f" {content_text(ops, int(found.values[k]))}"
        verb, row = verbs[Touch(int(found.touch[k]))], int(found.rows[k])
        place = found.labels[int(found.storage[k])]
        if number is None or found.storage[k] == number:
            listed.append(f"{place}: {made.spelled.text(row).split(' ')[0]} {verb}{what}")
    return listed


@pytest.mark.parametrize(
    "program", ["0F0; 1F0; 1B0; 0B0", "0F0 w=0; 0B0 c=1/2", "HOLD 1; 0F0; DROP 1"]
)
def test_where_nothing_names_storage_there_is_no_table(program: str) -> None:
    assert write_in(run(program, **FRAGMENT)) is None
    assert run(program, **FRAGMENT).storage is None


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("WRITE a v; USE a v; FREE a", ["WRITE writes v", "USE reads v", "FREE frees"]),
        ("LOAD X.0 buf=a; 0F0 in=a", ["LOAD writes X.0", "0F0 reads X.0"]),
        ("LOAD X.0 buf=a; 0F0", ["LOAD writes X.0", "0F0 reads X.0"]),
        ("0F0 out=a; 1F0", ["0F0 writes F0.0", "1F0 reads F0.0"]),
        ("0F0 out=a; 1F0 in=a out=a", ["0F0 writes F0.0", "1F0 reads F0.0", "1F0 writes F1.0"]),
        ("1F0 keep=a; 1B0", ["1F0 writes what 1F0 kept", "1B0 reads what 1F0 kept"]),
        ("0F0 in=a keep=a; 0B0", ["0F0 reads X.0", "0B0 reads X.0"]),
        ("0F0 out=a keep=a; 0B0", ["0F0 writes F0.0", "0B0 reads F0.0"]),
        (
            "WRITE a v; 0F0 in=a keep=a; 0B0",
            ["WRITE writes v", "0F0 reads X.0", "0B0 reads v"],
        ),
        (
            "1F0 keep=a; 1R0; 1I0; 1W0",
            [
                "1F0 writes what 1F0 kept",
                *(f"{each} reads what 1F0 kept" for each in ("1R0", "1I0", "1W0")),
            ],
        ),
        ("2L0 in=a out=b", ["2L0 reads F2.0"]),
        ("2L0 label=a", ["2L0 reads Y.0"]),
        ("0F0 aux=a", ["0F0 reads A.0"]),
        ("1B0 gin=a gout=a", ["1B0 reads B2.0", "1B0 writes B1.0"]),
        ("1W0 gin=a gout=a", ["1W0 reads B2.0", "1W0 writes what 1W0 wrote"]),
    ],
)
def test_attributes_name_what_is_read_and_written(program: str, found: list[str]) -> None:
    assert accesses(run(program, **FRAGMENT), 0) == [f"a: {each}" for each in found]


def test_a_group_reads_before_it_writes() -> None:
    made = run("[RECV v from=1 buf=a | SEND w to=1 buf=a]", "[SEND v to=0 | RECV w from=0]")

    assert accesses(made) == ["a: SEND reads w", "a: RECV writes v"]


def test_a_name_on_two_ranks_is_two_storages() -> None:
    made = run("WRITE a v", "WRITE a v", **FRAGMENT)

    assert stored(made).labels == ("a", "a")
    assert stored(made).storage.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("storage", "labels"),
    [
        ({"receive": {"slots": 2}}, ["slot 0 of receive", "slot 1 of receive"]),
        ({"receive": {"slots": 1}}, ["slot 0 of receive"]),
        ({"stash": {"slots": 2}}, ["slot 0 of stash", "slot 1 of stash"]),
        ({"send": {"slots": 2}}, []),
        ({"registers": ["grad"]}, []),
        ({"weights": {"slots": 2}}, []),
    ],
)
def test_a_pool_has_a_slot_for_each_residue(storage: dict[str, object], labels: list[str]) -> None:
    made = run(RECEIVING, SENDING, storage=storage, **{**FRAGMENT, "placement": [1, 0, 0]})

    assert list(stored(made).labels) == labels


def test_slots_of_one_stage_on_two_ranks_are_apart() -> None:
    made = run(
        "RECV F0.0 from=1",
        "RECV F0.0 from=0",
        storage={"receive": {"slots": 1}},
        **FRAGMENT,
    )

    assert stored(made).storage.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("per", "number"),
    [({}, 4), ({"per": "rank"}, 2), ({"per": "rank", "slot": "use mod slots"}, 2)],
)
def test_stages_and_directions_share_the_pool_of_a_rank_where_it_says_so(
    per: dict[str, object], number: int
) -> None:
    programs = (
        "RECV F0.0 from=1; RECV F0.1 from=1; RECV B2.0 from=1; RECV B2.1 from=1",
        f"{SENDING}; SEND B2.0 to=0; SEND B2.1 to=0",
    )
    keys = {**FRAGMENT, "placement": [1, 0, 1]}
    made = run(*programs, storage={"receive": {"slots": 2, **per}}, **keys)

    assert len(stored(made).labels) == number


def test_uses_are_counted_in_program_order() -> None:
    program = "1F3; 1F1; 1F0; 1B3; 1B1; 1B0"
    made = run(program, storage={"stash": {"slots": 2, "slot": "use mod slots"}}, **FRAGMENT)

    assert accesses(made, 0)[0] == "slot 0 of stash: 1F3 writes what 1F3 kept"
    assert "slot 0 of stash: 1F0 writes what 1F0 kept" in accesses(made, 0)
    assert "slot 1 of stash: 1F1 writes what 1F1 kept" in accesses(made, 1)


def test_an_attribute_wins_over_a_pool() -> None:
    made = run("1F0 keep=k; 1B0", storage={"stash": {"slots": 1}}, **FRAGMENT)

    assert stored(made).labels == ("k",)


def test_only_slots_of_a_guarded_pool_are_guarded() -> None:
    storage = {"stash": {"slots": 1, "guard": "wait"}, "registers": ["loss"]}
    made = run("2F0 in=a; 2B0", storage=storage, **FRAGMENT)
    found = stored(made)

    guarded = {found.labels[int(n)] for n in found.storage[found.guarded]}
    assert guarded == {"slot 0 of stash"}


def test_a_second_copy_goes_on_in_the_slots_of_its_ids() -> None:
    keys = {**FRAGMENT, "microbatches": 1}
    made = run("1F0; 1B0", storage={"stash": {"slots": 2}}, copies=2, **keys)

    assert stored(made).storage.tolist() == [0, 0, 1, 1]
