"""What each update is: at which versions its gradient was evaluated, and what it changes."""

import pytest

from pipeproof.verdict.contract import CONVERGENCE, Contract, Evaluated, Update, contract
from tests.semantics.made import run


def made(*programs: str, **keys: object) -> Contract:
    return contract(run(*programs, **keys))


def kinds(*programs: str, **keys: object) -> list[str]:
    return [update.kind for update in made(*programs, **keys).updates]


def weights(policy: str, every: str = "step") -> dict[str, object]:
    return {"weights": {"policy": policy, "updates": every}}


def told(update: Update) -> list[str]:
    """Each part as `stage: versions of microbatches -> version`."""
    return [
        f"{part.stage}{part.parameter}: "
        + " ".join(
            f"{'+'.join(map(str, each.versions))} of {','.join(map(str, each.microbatches))}"
            for each in part.evaluated
        )
        + f" -> {part.applied_to}"
        for part in update.parts
    ]


def test_without_a_step_one_update_ends_the_programs() -> None:
    found = made("0F0; 0F1; 0B0; 0B1", "1F0; 1F1; 1B0; 1B1", microbatches=2)

    assert [update.implicit for update in found.updates] == [True]
    assert told(found.updates[0]) == ["0: 0 of 0,1 -> 0", "1: 0 of 0,1 -> 0"]
    assert [part.operation for part in found.updates[0].parts] == ["end of program"] * 2
    assert [part.position for part in found.updates[0].parts] == [4, 4]
    assert found.updates[0].kind == "valid fixed version"
    assert found.updates[0].one_vector
    assert found.convergence is None


def test_forwards_alone_update_nothing() -> None:
    assert made("0F0; 0F1", microbatches=2).updates == ()


def test_every_step_of_a_flush_has_its_version() -> None:
    found = made("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", steps=2)

    assert [told(update) for update in found.updates] == [["0: 0 of 0 -> 0"], ["0: 1 of 1 -> 1"]]
    assert [(part.rank, part.position) for part in found.updates[1].parts] == [(0, 5)]
    assert [update.kind for update in found.updates] == ["valid fixed version"] * 2


def test_a_stash_gives_each_stage_its_own_delay() -> None:
    found = made(
        "0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP",
        "1F0; 1B0; 1STEP; 1F1; 1B1; 1STEP",
        microbatches=2,
        **weights("stash", "microbatch"),
    )

    assert told(found.updates[1]) == ["0: 0 of 1 -> 1", "1: 1 of 1 -> 1"]
    assert found.updates[1].kind == "valid but stale gradient, delay 0 to 1"
    assert [part.delays for part in found.updates[1].parts] == [(1, 1), (0, 0)]
    assert [update.one_vector for update in found.updates] == [True, False]
    assert found.convergence == CONVERGENCE


def test_vertical_sync_is_stale_by_the_same_everywhere() -> None:
    found = made(
        "0F0; 0F1; 0B0; 0STEP; 0B1 w=0; 0STEP",
        "1F0; 1B0; 1STEP; 1F1 w=0; 1B1 w=0; 1STEP",
        microbatches=2,
        **weights("vertical", "microbatch"),
    )

    assert found.updates[1].kind == "valid but stale gradient, delay 1"
    assert found.updates[1].one_vector


def test_a_mixture_at_one_stage_makes_the_update_of_all_invalid() -> None:
    found = made(
        "0F0; 0F1; 0B0; 0STEP; 0B1 w=stash; 0STEP",
        "1F0; 1F1; 1B0; 1STEP; 1B1; 1STEP",
        microbatches=2,
        **weights("stash", "microbatch"),
    )

    assert [update.kind for update in found.updates] == [
        "valid fixed version",
        "invalid mixed-version derivative",
    ]
    assert found.updates[1].parts[1].evaluated == (Evaluated((0, 1), (1,)),)
    assert found.updates[1].parts[1].delays == (1, 1)


@pytest.mark.parametrize(
    ("program", "keys", "found"),
    [
        (
            "0F0; 0B0; 0STEP; 0R0; 0F1; 0R1 w=0; 0B1; 0STEP",
            {"steps": 2},
            ["invalid mixed-version derivative"] * 2,
        ),
        ("0F0 w=cache; 0B0", {}, ["invalid mixed-version derivative"]),
        ("0F0; 0B0; 0SKIP", {}, ["left out"]),
        ("0F0; 0B0; 0STEP; 0STEP", {"steps": 2}, ["valid fixed version", "nothing was added"]),
        ("0F0 w=1; 0B0 w=1; 0STEP", {}, ["valid gradient of newer weights than it changes"]),
        (
            "0F0; 0B0; 0STEP; 0F1; 0ROLLBACK; 0STEP; 0F1; 0B1; 0STEP",
            {"steps": 2},
            ["valid fixed version"] * 2,
        ),
        ("0F0; 0F1; 0B0; 0B1; 0STEP", {"segments": 2}, ["valid fixed version"]),
    ],
)
def test_what_the_gradient_of_each_update_is(
    program: str, keys: dict[str, object], found: list[str]
) -> None:
    assert kinds(program, **keys) == found


def test_a_skip_says_so() -> None:
    update = made("0F0; 0B0; 0SKIP").updates[0]

    assert [part.skipped for part in update.parts] == [True]


def test_a_parameter_is_a_part_of_its_own() -> None:
    found = made("0F0; 0B0; 0STEP param=a; 0STEP param=b")

    assert [told(update) for update in found.updates] == [["0a: 0 of 0 -> 0", "0b: 0 of 0 -> 0"]]


def test_what_no_update_takes_is_left() -> None:
    found = made("0F0; 0F1; 0B0; 0STEP; 0B1", microbatches=2, **weights("latest", "microbatch"))

    assert found.left == ((0, (1,)),)


def test_what_is_assumed_of_versions_is_said() -> None:
    assert made("0F0; 0B0").assumes == ("every version that is read later is retained",)
    assert made("0F0; 0R0; 0B0", **weights("2bw")).assumes == (
        "2 versions of each stage's weights are retained at once (PP604)",
        "what F kept is reconstructed by R with the version that F read (PP802)",
    )


def test_the_first_of_two_copies_is_told() -> None:
    found = made("0F0; 0B0; 0STEP", steps="any", copies=2)

    assert (len(found.updates), found.steps) == (1, "any")
