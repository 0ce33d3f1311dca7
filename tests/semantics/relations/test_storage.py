"""Storage that has a name: each program with the faults that the language says."""

import pytest

from pipeproof.semantics.relations import _under_way
from tests.semantics.judged import A0_A1, ON_SECOND, check


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("WRITE a v; USE a v", ""),
        ("WRITE a v; WRITE b w; USE a v; USE b w", ""),
        ("WRITE a v; WRITE a w; USE a w", ""),
        ("WRITE a v; WRITE a w; USE a v", "PP503 r0.1, PP505 r0.2"),
        ("WRITE a v; WRITE a w; WRITE a z; USE a v", "PP503 r0.1, PP505 r0.3"),
        ("WRITE a v; WRITE a w; WRITE a v; USE a v", ""),
        ("WRITE a v; WRITE a v; USE a v", ""),
        ("WRITE a v; WRITE b w; USE a w", "PP505 r0.2"),
        ("WRITE b v; USE a v", "PP505 r0.1"),
        ("USE a v; WRITE a v", "PP501 r0.0"),
        ("WRITE a w; USE a v; WRITE a v", "PP505 r0.1"),
        ("USE a v; WRITE b v", "PP505 r0.0"),
        ("USE a v; USE a w", ""),
        ("USE a v; WRITE a w; USE a w", ""),
        ("WRITE a w; USE a v", "PP503 r0.0, PP505 r0.1"),
        ("WRITE a v; USE a v; WRITE a w; USE a w; USE a v", "PP503 r0.2, PP505 r0.4"),
        ("WRITE a v; WRITE a w; USE a v; USE a v", "PP503 r0.1, PP505 r0.2, PP505 r0.3"),
    ],
)
def test_what_is_written_last_in_program_order_is_what_storage_holds(
    program: str, found: str
) -> None:
    check((program,), found)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("WRITE a v; USE a v; FREE a", ""),
        ("WRITE a v; FREE a; USE a v", "PP504 r0.1"),
        ("WRITE a v; FREE a; WRITE a v; USE a v", ""),
        ("WRITE a v; FREE a; WRITE a w; USE a v", "PP504 r0.1, PP505 r0.3"),
        ("WRITE a v; FREE a; WRITE a w; USE a w", ""),
        ("WRITE a v; WRITE a w; FREE a; USE a v", "PP503 r0.1, PP504 r0.3"),
        ("FREE a; WRITE b v; USE a v", "PP504 r0.2"),
        ("FREE a; USE a v", "PP504 r0.0"),
        ("FREE a; FREE a", ""),
        ("WRITE a v; USE a v; FREE a; FREE a", ""),
        ("WRITE a v; FREE a; FREE a; USE a v", "PP504 r0.1"),
        ("WRITE a v; FREE b; USE a v", ""),
        ("WRITE a v; FREE a; USE a v; USE a v", "PP504 r0.1"),
        ("WRITE a w; FREE a; USE a v; WRITE a v", "PP504 r0.2"),
        ("1F0 out=a; FREE a; 2F0", "PP504 r0.1"),
        ("1F0 out=a; 2F0; FREE a", ""),
        ("1F0 keep=k; FREE k; 1B0", "PP504 r0.1"),
        ("1F0 keep=k; 1R0; FREE k; 1B0", "PP504 r0.2"),
        ("1F0 keep=k; 1B0; FREE k", ""),
        ("1F0 keep=k; 1I0; FREE k; 1W0", "PP504 r0.2"),
        ("1F0 keep=k; 1I0; 1W0; FREE k", ""),
    ],
)
def test_storage_is_not_given_back_before_its_last_reader(program: str, found: str) -> None:
    check((program,), found)


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        (("LOAD X.0 buf=x; LOAD X.1 buf=y; 0F0 in=x; 0F1 in=y",), ""),
        (("LOAD X.0 buf=x; LOAD X.1 buf=x; 0F0 in=x; 0F1 in=x",), "PP503 r0.1, PP505 r0.2"),
        (("LOAD X.0 buf=x; 0F0 in=x; LOAD X.1 buf=x; 0F1 in=x",), ""),
        (("LOAD X.0 buf=x; LOAD X.1 buf=x; 0F0; 0F1",), "PP503 r0.1, PP505 r0.2"),
        (("0F0 in=x; LOAD X.1 buf=x; 0F1 in=x",), ""),
        (("LOAD X.1 buf=x; 0F0 in=x; 0F1 in=x",), "PP503 r0.0, PP505 r0.1"),
        (("LOAD X.0 buf=x; LOAD X.1 buf=y; 0F0 in=y",), "PP505 r0.2"),
        (("0F0 in=x; LOAD X.0 buf=x",), "PP401 r0.0"),
        (("LOAD A.0 buf=s; 0F0 aux=s; LOAD A.1 buf=s; 0F1 aux=s",), ""),
        (("LOAD A.0 buf=s; LOAD A.1 buf=s; 0F0 aux=s; 0F1 aux=s",), "PP503 r0.1, PP505 r0.2"),
        (("0F0 aux=s; LOAD A.0 buf=s",), "PP501 r0.0"),
        (("0F0 aux=s; LOAD A.0 buf=t",), "PP505 r0.0"),
        (("0F0 aux=s; 0F1 aux=s",), ""),
        (("WRITE s v; 0F0 aux=s",), "PP503 r0.0, PP505 r0.1"),
        (("LOAD A.0 buf=s; LOAD A.1 buf=s; 0F0; 0F1",), ""),
        (("LOAD Y.0 buf=y; 2F0 out=o; 2L0 in=o label=y",), ""),
        (
            ("LOAD Y.0 buf=y; LOAD Y.1 buf=y; 2F0 out=o; 2L0 in=o label=y",),
            "PP503 r0.1, PP505 r0.3",
        ),
        (("2F0 out=o; 2F1 out=o; 2L0; 2L1",), "PP503 r0.1, PP505 r0.2"),
        (("2F0 out=o; 2L0 out=l; 2F1 out=o; 2L1 out=l; 2B0; 2B1",), "PP503 r0.3, PP505 r0.4"),
        (("2F0 out=o; 2L0 out=l; 2B0 gin=l; 2F1 out=o; 2L1 out=l; 2B1 gin=l",), ""),
        (("2F0; 2L0 out=l; 2L1 out=m; 2B0 gin=m",), "PP505 r0.3"),
    ],
)
def test_inputs_and_labels_are_read_where_they_were_put(
    programs: tuple[str, ...], found: str
) -> None:
    check(programs, found)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("1F0 out=a; 1F1 out=b; 2F0 in=a; 2F1 in=b", ""),
        ("1F0 out=a; 1F1 out=a; 2F0 in=a; 2F1 in=a", "PP503 r0.1, PP505 r0.2"),
        ("1F0 out=a; 1F1 out=a; 2F0; 2F1", "PP503 r0.1, PP505 r0.2"),
        ("1F0 out=a; 2F0 out=a; 2L0 in=a", ""),
        ("1F0 out=a; 2F0 in=b", "PP505 r0.1"),
        ("2B0 gout=g; 1B0 gout=g; 0B0 gout=g", ""),
        ("2B0 gout=g; 2B1 gout=g; 1B0; 1B1", "PP503 r0.1, PP505 r0.2"),
        ("2B0 gout=g; 2B1 gout=h; 1B0 gin=g; 1B1 gin=h", ""),
        ("2B0 gout=g; 2B1 gout=h; 1B0 gin=h; 1B1 gin=h", "PP505 r0.2"),
        ("2I0 gout=g; 1I0 gin=g gout=g; 0I0 gin=g; 2W0; 1W0; 0W0", ""),
        ("2I0 gout=g; 1I0 gin=g gout=g; 1W0 gin=g", "PP503 r0.1, PP505 r0.2"),
        ("2I0 gout=g; 1I0 gin=g gout=h; 1W0 gin=g", ""),
        ("2I0 gout=g; 1I0 gout=h; 2I1 gout=g; 1W0 gin=g", "PP503 r0.2, PP505 r0.3"),
        ("1W0 gin=g; WRITE g v; 1W1 gin=g", "PP503 r0.1, PP505 r0.2"),
        ("1I0; 1W0 gout=g; USE a v", ""),
        ("1I0; 2B1 gout=g; 1W0 gout=g; 1B1", "PP503 r0.2, PP505 r0.3"),
        ("1F0 out=a; WRITE b F1.0; WRITE a v; 2F0", ""),
        ("1F0 out=a; WRITE b F1.0; WRITE a v; 2F0 in=a", "PP503 r0.2, PP505 r0.3"),
        ("1F0 out=a; WRITE b F1.0; WRITE b v; 2F0", "PP503 r0.2, PP505 r0.3"),
        ("1F0; WRITE a v; 2F0", ""),
    ],
)
def test_a_value_passed_on_within_a_rank_stays_until_it_is_read(program: str, found: str) -> None:
    check((program,), found)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("1F0 keep=k; 1F1 keep=l; 1B0; 1B1", ""),
        ("1F0 keep=k; 1F1 keep=k; 1B0; 1B1", "PP503 r0.1, PP505 r0.2"),
        ("1F0 keep=k; 1B0; 1F1 keep=k; 1B1", ""),
        ("1F0 keep=k; WRITE k v; 1R0; 1B0", "PP503 r0.1, PP505 r0.2, PP505 r0.3"),
        ("1F0 keep=k; 1I0 gout=k; 1W0", "PP503 r0.1, PP505 r0.2"),
        ("1F0 keep=k; 1I0; 1W0; WRITE k v", ""),
        ("1F0 keep=k; 1B0 gin=k gout=k", "PP503 r0.0, PP505 r0.1"),
        ("1F0 keep=k; 1B0 gout=k; 0B0 gin=k", ""),
        ("0F0 in=x keep=x; 0I0 gout=g; 0W0", ""),
        ("0F0 in=x keep=x; 0I0 gout=x; 0W0", "PP503 r0.1, PP505 r0.2"),
        ("LOAD X.0 buf=x; 0F0 in=x keep=x; LOAD X.1 buf=x; 0B0", "PP503 r0.2, PP505 r0.3"),
        ("LOAD X.0 buf=x; 0F0 keep=x; 0B0; LOAD X.1 buf=x; 0F1 keep=x; 0B1", ""),
        ("LOAD X.0 buf=x; 0F0 keep=x out=x; 1F0 in=x; 0B0", ""),
        ("LOAD X.0 buf=x; 0F0 keep=x out=x; 1F0 in=x out=x; 0B0", "PP503 r0.2, PP505 r0.3"),
        ("0F0 out=a keep=a; 1F0; FREE a; 0B0", "PP504 r0.2"),
        ("WRITE x v; 0F0 in=x keep=x; 0B0", "PP503 r0.0, PP505 r0.1"),
        (
            "WRITE x v; 0F0 in=x keep=x; WRITE x w; 0B0",
            "PP503 r0.0, PP503 r0.2, PP505 r0.1, PP505 r0.3",
        ),
        ("0F0 aux=s keep=s; 0B0", ""),
        ("0F0 aux=s keep=s; LOAD A.1 buf=s; 0B0", "PP503 r0.1, PP505 r0.2"),
        ("0F0 keep=k bucket=p; 0F0 keep=l bucket=q; WRITE k v; 0B0", "PP503 r0.2, PP505 r0.3"),
        ("0F0 keep=k bucket=p; 0F0 keep=l bucket=q; WRITE l v; 0B0", "PP503 r0.2, PP505 r0.3"),
        ("0F0 keep=k bucket=p; 0F0 keep=l bucket=q; 0B0", ""),
        ("0F0 out=o keep=o bucket=p; 0F0 out=o keep=o bucket=q; 0B0", ""),
        ("1B0; WRITE k v", ""),
    ],
)
def test_what_a_forward_keeps_stays_until_its_backward(program: str, found: str) -> None:
    check((program,), found)


FIRST_OF_TORCH = ("RECV B1.0 from=1 buf=g; 0I0 gin=g; RECV B1.1 from=1 buf=g; 0I1 gin=g; 0W0; 0W1",)
GRADIENTS = ("SEND B1.0 to=0; SEND B1.1 to=0",)


@pytest.mark.parametrize(
    ("profile", "found"),
    [("none", ""), ("torch-runtime", "PP503 r0.2, PP505 r0.4")],
)
def test_the_first_stage_of_torch_reads_its_gradient_in_the_weight_half(
    profile: str, found: str
) -> None:
    programs = (*FIRST_OF_TORCH, *GRADIENTS)

    check(programs, found, profile=profile, under="nccl-lazy", placement=[0, 1, 0])


def test_names_are_local_to_a_rank() -> None:
    programs = (
        "1F0 out=a; SEND F1.0 to=1 buf=a",
        "RECV F1.0 from=0 buf=b; 2F1 out=a; 2F0 in=b; WRITE a z",
    )

    check(programs, "", placement=[0, 0, 1])


def test_a_message_to_oneself_reads_and_writes_like_any_other() -> None:
    check(("WRITE a v; [SEND v to=0 buf=a | RECV v from=0 buf=b]; USE b v",), "")
    check(("WRITE a v; [SEND v to=0 buf=a | RECV v from=0 buf=a]",), "PP502 r0.1")
    check(("WRITE a v; SEND v to=0 h=h; RECV v from=0 buf=b; WRITE a w; WAIT h",), "")
    check(
        ("WRITE a v; SEND v to=0 h=h; RECV v from=0 buf=b h=g; WRITE a w; WAIT h; WAIT g",),
        "PP502 r0.3",
    )


def test_nothing_is_judged_of_values_with_storage_of_their_own() -> None:
    programs = ("RECV F0.0 from=1; RECV F0.1 from=1; 1F0; 1F1; 1B1; 1B0", *A0_A1)

    check(programs, "", **ON_SECOND)


PIPELINES: dict[str, object] = {"pipelines": [[0, 1], [2, 3]], "stages": 4}


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("0F0 in=x; 2F1 in=x; 1F0; 3F1", ""),
        ("1F0; 3F1; 1B0; 3B1", "PP503 r0.1, PP505 r0.2"),
        ("1F0; 1B0; 3F1; 3B1", ""),
        ("0F0 out=a; 2F1 out=a; 1F0; 3F1", "PP503 r0.1, PP505 r0.2"),
        (
            "0F0 out=a; 2F1 out=b; 1F0; 3F1; 1B0 gout=a; 3B1 gout=b; 0B0; 2B1",
            "PP503 r0.3, PP505 r0.4",
        ),
    ],
)
def test_each_pipeline_has_its_own_first_and_last_stage(program: str, found: str) -> None:
    check((program,), found, storage={"registers": ["loss"]}, **PIPELINES)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("1F0 keep=a; 1F1 keep=b; 1B1; 1B0", ""),
        ("1F0 keep=a; 1F1 keep=a; 1B1; 1B0", "PP503 r0.1, PP505 r0.3"),
    ],
)
def test_each_segment_keeps_its_own(program: str, found: str) -> None:
    check((program,), found, microbatches=1, segments=2)


@pytest.mark.parametrize(
    ("program", "found", "whole"),
    [
        ("2F0; 2B0", "", ""),
        ("2F0 out=l; 2B0 gin=l", "", ""),
        ("2F0 out=l; 2F1 out=l; 2B0 gin=l; 2B1 gin=l", "PP503 r0.1, PP505 r0.2", None),
        ("2F0 out=l; 2B0 gin=g", "", "PP505 r0.1"),
        ("2F0; 2I0 gin=g gout=g; 2W0", "", "PP505 r0.1"),
        ("WRITE g v; 2F0; 2B0 gin=g", "PP503 r0.0, PP505 r0.2", "PP505 r0.2"),
        ("WRITE l L.0; WRITE l v; 2F0; 2B0 gin=l", "PP503 r0.1, PP505 r0.3", None),
        ("WRITE l L.0; WRITE l v; 2B0 gin=l", "PP503 r0.1, PP505 r0.2", None),
        ("WRITE l v; 2B0 gin=l", "PP503 r0.0, PP505 r0.1", None),
        ("2B0 gin=l", "", None),
    ],
)
def test_a_loss_is_read_where_it_is_said_to_be(program: str, found: str, whole: str | None) -> None:
    check((program,), found)
    if whole is not None:
        other = "; ".join(each.replace("2", "0", 1) for each in program.split("; "))
        check((other,), whole, fragment=False, stages=1, microbatches=1)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("USE a v; 0F0", ""),
        ("WRITE a w; USE a v; 0F0", "PP503 r0.0, PP505 r0.1"),
        ("USE a B0.0; 0F0", "PP505 r0.0"),
        ("WRITE a w; USE a B0.0; 0F0", "PP505 r0.1"),
        ("0F0; SEND v to=0 buf=a h=h", "PP105, PP201 r0.1, PP303 r0.1"),
        ("0F0 in=x", ""),
        ("LOAD X.0 buf=x; 0F0 in=y", "PP505 r0.1"),
        ("0F0 aux=s; WRITE s v; USE s v", ""),
        ("WRITE s v; 0F0 aux=s; USE s v", "PP503 r0.0, PP505 r0.1"),
    ],
)
def test_in_a_whole_schedule_only_inputs_and_named_values_are_there_from_the_start(
    program: str, found: str
) -> None:
    whole = {"fragment": False, "stages": 1, "microbatches": 1}

    check((program,), found, under="buffered", **whole)


TO_BOTH = "SEND v to=1 buf=a h=h; SEND v to=2 buf=a h=g; WRITE a w"
TAKEN = "RECV v from=0 buf=t; USE t v"
ANSWERED = f"{TAKEN}; SEND z to=0"


@pytest.mark.parametrize("under", ["rendezvous", "rendezvous-edge", "buffered", "nccl-lazy"])
@pytest.mark.parametrize(
    ("programs", "found"),
    [
        ((f"{TO_BOTH}; WRITE a x", TAKEN, TAKEN), "PP502 r0.2, PP502 r0.3"),
        (
            (f"{TO_BOTH}; RECV z from=2 buf=b; USE b z; WRITE a x", TAKEN, ANSWERED),
            "PP502 r0.2, PP502 r0.5",
        ),
        (
            (f"{TO_BOTH}; RECV z from=1 buf=b; USE b z; WRITE a x", ANSWERED, TAKEN),
            "PP502 r0.2, PP502 r0.5",
        ),
        (
            (
                f"{TO_BOTH}; RECV y from=1 buf=b; RECV z from=2 buf=c; USE b y; USE c z; WRITE a x",
                f"{TAKEN}; SEND y to=0",
                ANSWERED,
            ),
            "PP502 r0.2",
        ),
        (
            (f"{TO_BOTH}; RECV z from=2 buf=b; USE b z; FREE a", TAKEN, ANSWERED),
            "PP502 r0.2, PP504 r0.5",
        ),
        (
            (
                "[SEND v to=1 buf=a | SEND v to=2 buf=a] h=h; WRITE a w; RECV z from=2 buf=b; "
                "USE b z; WRITE a x",
                TAKEN,
                ANSWERED,
            ),
            "PP502 r0.1, PP502 r0.4",
        ),
        (
            (
                "SEND v to=1 buf=a h=h; WRITE a w; SEND w to=1 buf=a h=g; RECV z from=1 buf=b; "
                "USE b z; WRITE a x",
                "RECV v from=0 buf=d; RECV w from=0 buf=e; USE d v; USE e w; SEND z to=0",
            ),
            "PP502 r0.1",
        ),
        (
            (
                "SEND v to=1 buf=a h=h; WRITE a w; SEND w to=1 buf=a h=g; WRITE a x; WRITE a y",
                "RECV v from=0; RECV w from=0",
            ),
            "PP502 r0.1, PP502 r0.3, PP502 r0.4",
        ),
    ],
)
def test_a_write_comes_after_every_transfer_and_not_after_the_last_one_alone(
    under: str, programs: tuple[str, ...], found: str
) -> None:
    check(programs, found, under=under)


@pytest.mark.parametrize("most", [0, 1000])
def test_many_transfers_that_are_never_waited_for_are_told_at_every_write(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_under_way, "_PAIRS", most)
    sent = "; ".join(f"SEND v{k} to=1 h=h buf=a" for k in range(4))
    written = "; ".join(f"WRITE a w{k}" for k in range(5))
    taken = "; ".join(f"RECV v{k} from=0" for k in range(4))
    found = ", ".join(f"PP502 r0.{k}" for k in range(4, 9))

    check((f"{sent}; {written}", taken), found)
