"""Storage that has a name or is a slot: each program with the faults that the language says."""

import pytest

from tests.semantics.judged import broken

ON_SECOND: dict[str, object] = {"placement": [1, 0, 1]}
"""Stage 1 on rank 0, the others on rank 1."""

A0_A1 = ("SEND F0.0 to=0; SEND F0.1 to=0",)
B2 = ("SEND B2.0 to=0; SEND B2.1 to=0",)


def check(programs: tuple[str, ...], found: str, **keys: object) -> None:
    """Programs and what they break, separated by commas."""
    assert broken(*programs, **keys) == sorted(each for each in found.split(", ") if each)


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


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        (("RECV F0.0 from=1 buf=a; 1F0 in=a; RECV F0.1 from=1 buf=a; 1F1 in=a", *A0_A1), ""),
        (
            ("RECV F0.0 from=1 buf=a; RECV F0.1 from=1 buf=a; 1F0 in=a; 1F1 in=a", *A0_A1),
            "PP503 r0.1, PP505 r0.2",
        ),
        (("RECV F0.0 from=1 buf=a; RECV F0.1 from=1 buf=b; 1F0; 1F1", *A0_A1), ""),
        (
            ("RECV F0.0 from=1 buf=a; RECV F0.1 from=1 buf=b; 1F0 in=b; 1F1", *A0_A1),
            "PP505 r0.2",
        ),
        (
            ("RECV F0.0 from=1 buf=a h=h; 1F0 in=a; WAIT h", "SEND F0.0 to=0"),
            "PP501 r0.1",
        ),
        (("RECV F0.0 from=1 buf=a h=h; WAIT h; 1F0 in=a", "SEND F0.0 to=0"), ""),
        (
            ("RECV F0.0 from=1 buf=a h=h; 1F0 in=a; 1B0; WAIT h", "SEND F0.0 to=0"),
            "PP501 r0.1",
        ),
        (
            ("RECV F0.0 from=1 buf=a h=h; 1F0 in=a keep=a; 1B0; WAIT h", "SEND F0.0 to=0"),
            "PP501 r0.1, PP501 r0.2",
        ),
        (
            ("RECV v from=1 buf=a h=h; USE a v; USE a v; WAIT h; USE a v", "SEND v to=0"),
            "PP501 r0.1, PP501 r0.2",
        ),
        (("RECV v from=1 buf=a h=h; USE a v", "SEND v to=0"), "PP501 r0.1"),
        (("RECV v from=1 buf=a h=h; USE b w", "SEND v to=0"), ""),
        (
            (
                "RECV v from=1 buf=a h=h; RECV w from=1 buf=a; WAIT h; USE a w",
                "SEND v to=0; SEND w to=0",
            ),
            "PP502 r0.1",
        ),
        (
            (
                "RECV v from=1 buf=a h=h; WAIT h; RECV w from=1 buf=a; USE a w",
                "SEND v to=0; SEND w to=0",
            ),
            "",
        ),
        (("RECV v from=1 buf=a h=h; WRITE a w; WAIT h", "SEND v to=0"), "PP502 r0.1"),
        (
            ("RECV v from=1 buf=a h=h; WRITE a w; WRITE a w; WAIT h; WRITE a w", "SEND v to=0"),
            "PP502 r0.1, PP502 r0.2",
        ),
        (
            ("WRITE a w; RECV v from=1 buf=a h=h; USE a w; WAIT h", "SEND v to=0"),
            "PP503 r0.1, PP505 r0.2",
        ),
        (("RECV v from=1 buf=a h=h; FREE a; WAIT h", "SEND v to=0"), "PP504 r0.1"),
        (("RECV v from=1 buf=a h=h; FREE a; FREE a; WAIT h", "SEND v to=0"), "PP504 r0.1"),
        (("RECV v from=1 buf=a h=h; FREE a; WAIT h; USE a v", "SEND v to=0"), "PP504 r0.1"),
        (
            ("RECV v from=1 buf=a h=h; FREE a; WRITE a w; WAIT h", "SEND v to=0"),
            "PP502 r0.2, PP504 r0.1",
        ),
        (("RECV v from=1 buf=a; FREE a", "SEND v to=0"), ""),
        (
            ("RECV F0.0 from=1 buf=a h=h; 1F0 in=a; WAIT h", "0F0; SEND F0.0 to=0; 0F1"),
            "PP501 r0.1",
        ),
    ],
)
def test_what_is_received_is_there_once_the_message_is_complete(
    programs: tuple[str, ...], found: str
) -> None:
    check(programs, found, **ON_SECOND)


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        (("SEND v to=1 buf=a; WRITE a w", "RECV v from=0"), ""),
        (("SEND v to=1 buf=a h=h; WRITE a w; WAIT h", "RECV v from=0"), "PP502 r0.1"),
        (("SEND v to=1 buf=a h=h; WAIT h; WRITE a w", "RECV v from=0"), ""),
        (("SEND v to=1 buf=a h=h; WRITE a w", "RECV v from=0"), "PP502 r0.1"),
        (
            ("SEND v to=1 buf=a h=h; WRITE a w; WRITE a z; WAIT h", "RECV v from=0"),
            "PP502 r0.1, PP502 r0.2",
        ),
        (
            (
                "SEND v to=1 buf=a h=h; SEND v to=1 buf=a h=h; WRITE a w",
                "RECV v from=0; RECV v from=0",
            ),
            "PP502 r0.2",
        ),
        (
            (
                "SEND v to=1 buf=a h=h; SEND v to=1 buf=a h=g; WAIT g; WRITE a w",
                "[RECV v from=0 | RECV v from=0]",
            ),
            "PP502 r0.3",
        ),
        (("SEND v to=1 buf=a h=h; FREE a; WAIT h", "RECV v from=0"), "PP504 r0.1"),
        (("SEND v to=1 buf=a h=h; WAIT h; FREE a", "RECV v from=0"), ""),
        (
            ("SEND v to=1 buf=a h=h; WRITE a w; FREE a; WAIT h", "RECV v from=0"),
            "PP502 r0.1, PP504 r0.2",
        ),
        (
            ("WRITE a v; SEND v to=1 buf=a h=h; FREE a; WRITE a w; WAIT h", "RECV v from=0"),
            "PP502 r0.3, PP504 r0.2",
        ),
        (("WRITE a v; WRITE a w; SEND v to=1 buf=a", "RECV v from=0"), "PP503 r0.1, PP505 r0.2"),
        (("WRITE a v; WRITE a w; SEND v to=1", "RECV v from=0"), "PP503 r0.1, PP505 r0.2"),
        (("WRITE a v; FREE a; SEND v to=1", "RECV v from=0"), "PP504 r0.1"),
        (("WRITE a v; WRITE b v; WRITE a w; SEND v to=1", "RECV v from=0"), ""),
        (("SEND v to=1 buf=a h=h; USE a v; WAIT h", "RECV v from=0"), ""),
        (
            ("SEND v to=1 buf=a h=h; RECV w from=1; WRITE a z", "RECV v from=0; SEND w to=0"),
            "",
        ),
        (
            (
                "SEND v to=1 buf=a h=h; RECV w from=1; WRITE a z",
                "RECV v from=0 h=g; SEND w to=0; WAIT g",
            ),
            "PP502 r0.2",
        ),
        (("SEND v to=1 buf=a h=h; AWAIT from=1; WRITE a z", "RECV v from=0; SIGNAL to=0"), ""),
        (
            ("SEND v to=1 buf=a h=h; AWAIT from=1; WRITE a z", "SIGNAL to=0; RECV v from=0"),
            "PP502 r0.2",
        ),
        (
            (
                "0F0 out=a; SEND F0.0 to=1 h=h; 0F1 out=a; WAIT h; SEND F0.1 to=1",
                "RECV F0.0 from=0; RECV F0.1 from=0",
            ),
            "PP502 r0.2",
        ),
        (
            (
                "0F0 out=a; SEND F0.0 to=1 h=h; 0F1 out=b; WAIT h; SEND F0.1 to=1",
                "RECV F0.0 from=0; RECV F0.1 from=0",
            ),
            "",
        ),
    ],
)
def test_what_is_sent_stays_until_the_message_is_complete(
    programs: tuple[str, ...], found: str
) -> None:
    check(programs, found)


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        (
            (
                "[SEND v to=1 buf=a | RECV w from=1 buf=b]",
                "[SEND w to=0 buf=a | RECV v from=0 buf=b]",
            ),
            "",
        ),
        (
            (
                "[SEND v to=1 buf=a | RECV w from=1 buf=a]",
                "[SEND w to=0 buf=a | RECV v from=0 buf=b]",
            ),
            "PP502 r0.0",
        ),
        (
            (
                "[RECV w from=1 buf=a | SEND v to=1 buf=a]",
                "[SEND w to=0 buf=a | RECV v from=0 buf=b]",
            ),
            "PP502 r0.0",
        ),
        (
            ("[RECV v from=1 buf=a | RECV w from=1 buf=a]", "[SEND v to=0 | SEND w to=0]"),
            "PP502 r0.0",
        ),
        (
            (
                "[SEND v to=1 buf=a | SEND v to=1 buf=a]; WRITE a w",
                "[RECV v from=0 | RECV v from=0]",
            ),
            "",
        ),
        (
            (
                "[SEND v to=1 buf=a | SEND v to=1 buf=a] h=h; WRITE a w",
                "[RECV v from=0 | RECV v from=0]",
            ),
            "PP502 r0.1",
        ),
        (
            (
                "WRITE a v; [SEND v to=1 | RECV w from=1 buf=b] h=h; USE b w; WAIT h",
                "[RECV v from=0 | SEND w to=0]",
            ),
            "PP501 r0.2",
        ),
        (
            (
                "WRITE a v; [SEND v to=1 buf=b | RECV v from=1 buf=b]",
                "WRITE c v; [RECV v from=0 | SEND v to=0]",
            ),
            "PP501 r0.1, PP502 r0.1",
        ),
        (("(1F0;1B1)OVERLAP_F_B",), ""),
        (("1F1 keep=k; (1F0 keep=k;1B1)OVERLAP_F_B; 1B0",), "PP503 r0.1, PP505 r0.1"),
        (("1F1 keep=k; (1B1;1F0 keep=k)OVERLAP_F_B; 1B0",), ""),
        (("(1F0 out=a;2F0 in=a)OVERLAP_F_B",), ""),
        (("(1F0 out=a;1F1 out=a)OVERLAP_F_B; 2F0",), "PP503 r0.0, PP505 r0.1"),
        (("(2B0 gout=g;1B0 gin=g gout=g)OVERLAP_F_B; 0B0",), ""),
    ],
)
def test_a_bracket_reads_before_it_writes_and_an_overlap_runs_in_its_order(
    programs: tuple[str, ...], found: str
) -> None:
    check(programs, found)


TAGGED: dict[str, object] = {
    "completion": "buffered",
    "queue": "none",
    "groups": "independent",
    "wait": "blocking",
    "match": "tag",
    "capacity": 2,
}
EXPLICIT: dict[str, object] = {**TAGGED, "wait": "explicit", "match": "order"}
WEAK: dict[str, object] = {
    "completion": "rendezvous",
    "queue": "none",
    "groups": "independent",
    "wait": "blocking",
    "weak": ["c"],
}
SENT_AND_WRITTEN = ("SEND v to=1 buf=a h=h; WRITE a w; WAIT h", "RECV v from=0")
ANSWERED = ("SEND v to=1 buf=a h=h; RECV w from=1; WRITE a z", "RECV v from=0; SEND w to=0")
TWICE = ("SEND v to=1 buf=a; WRITE a w; SEND w to=1 buf=a", "RECV v from=0; RECV w from=0")
RECEIVED = ("RECV F0.0 from=1 buf=a; 1F0 in=a; RECV F0.1 from=1 buf=a; 1F1 in=a", *A0_A1)


@pytest.mark.parametrize(
    ("under", "programs", "found"),
    [
        ("buffered", SENT_AND_WRITTEN, "PP502 r0.1"),
        ("gloo", SENT_AND_WRITTEN, "PP502 r0.1"),
        ("nccl-lazy", SENT_AND_WRITTEN, "PP502 r0.1"),
        ("rendezvous-atomic", SENT_AND_WRITTEN, "PP502 r0.1"),
        ("rendezvous-rank", SENT_AND_WRITTEN, "PP502 r0.1"),
        (TAGGED, SENT_AND_WRITTEN, "PP502 r0.1"),
        ("buffered", ANSWERED, ""),
        ("gloo", ANSWERED, "PP502 r0.2"),
        ("nccl-eager", ANSWERED, "PP502 r0.2"),
        (TAGGED, ANSWERED, ""),
        ("buffered", TWICE, ""),
        ("buffered-1", TWICE, ""),
        ("gloo", TWICE, "PP502 r0.1"),
        ("nccl-lazy", TWICE, "PP502 r0.1"),
        (EXPLICIT, TWICE, "PP502 r0.1"),
        ("gloo", RECEIVED, ""),
        ("nccl-lazy", RECEIVED, ""),
        ("nccl-small", RECEIVED, ""),
        (EXPLICIT, RECEIVED, "PP501 r0.1, PP501 r0.3, PP502 r0.2"),
        (
            "gloo",
            ("1F0 out=a; SEND F1.0 to=1; 1STEP; WRITE a w", "RECV F1.0 from=0"),
            "",
        ),
        (
            "gloo",
            ("1F0 out=a; SEND F1.0 to=1; WRITE a w; 1STEP", "RECV F1.0 from=0"),
            "PP502 r0.2",
        ),
        (
            "gloo",
            ("RECV F0.0 from=1 buf=a; RECV F0.1 from=1 buf=b; 1F1 in=b; WRITE a w", *A0_A1),
            "",
        ),
        (
            "nccl-direction",
            (
                "RECV F0.0 from=1 buf=a; RECV v from=1 buf=b; WRITE a w; USE b v",
                "SEND F0.0 to=0; SEND v to=0",
            ),
            "PP502 r0.2",
        ),
        (
            TAGGED,
            (
                "SEND v to=1 buf=a h=h; SEND w to=1 h=g; SEND z to=1; WRITE a x",
                "RECV z from=0; RECV w from=0; RECV v from=0",
            ),
            "PP301 r1.0, PP502 r0.3",
        ),
        (
            TAGGED,
            (
                "SEND v to=1 buf=a h=h; SEND w to=1 h=g; SEND z to=1; WRITE a x",
                "RECV w from=0; RECV v from=0; RECV z from=0",
            ),
            "PP502 r0.3",
        ),
        (
            "buffered-1",
            ("SEND v to=1 buf=a h=h; SEND w to=1; WRITE a x", "RECV v from=0; RECV w from=0"),
            "",
        ),
        (
            "buffered",
            ("SEND v to=1 buf=a h=h; SEND w to=1; WRITE a x", "RECV v from=0; RECV w from=0"),
            "PP502 r0.2",
        ),
        (
            WEAK,
            ("SEND v to=1 buf=a comm=c h=h; WRITE a w; WAIT h", "RECV v from=0 comm=c"),
            "PP502 r0.1",
        ),
        (
            WEAK,
            ("SEND v to=1 buf=a comm=c h=h; WAIT h; WRITE a w", "RECV v from=0 comm=c"),
            "",
        ),
        (
            WEAK,
            (
                "SEND v to=1 buf=a comm=c; WRITE a w; SEND w to=1 comm=c",
                "RECV v from=0 comm=c buf=b; USE b v; RECV w from=0 comm=c buf=b; USE b w",
            ),
            "",
        ),
    ],
)
def test_a_hazard_is_what_the_transport_leaves_open(
    under: object, programs: tuple[str, ...], found: str
) -> None:
    check(programs, found, under=under, placement=[1, 0, 1])


def test_messages_in_posting_order_are_a_wait_for_those_before_them() -> None:
    programs = (
        "SEND v to=1 buf=a h=h; SEND w to=1 h=g; WAIT g; WRITE a x",
        "[RECV v from=0 | RECV w from=0]",
    )

    check(programs, "PP502 r0.3", under="rendezvous")
    check(programs, "", under="rendezvous-edge")
    check(programs, "PP502 r0.3", under="buffered")
    check(programs, "", under="gloo")


def slots(pool: str, number: int, **more: object) -> dict[str, object]:
    return {"storage": {pool: {"slots": number, **more}}}


USES = {"slot": "use mod slots"}
WARM_UP = (
    "RECV F0.0 from=1; RECV F0.1 from=1; 1F0; 1F1; RECV B2.0 from=1; 1B0; RECV B2.1 from=1; 1B1"
)
FEEDING = "SEND F0.0 to=0; SEND F0.1 to=0; SEND B2.0 to=0; SEND B2.1 to=0"
RELAY = (
    "SEND F0.0 to=1; SEND F0.1 to=1",
    "RECV F0.0 from=0; SEND F0.0 to=2; RECV F0.1 from=0; SEND F0.1 to=2",
    "RECV F0.0 from=1; RECV F0.1 from=1; 1F0; 1F1",
)
OUT_OF_ORDER = "1F0; 1F1; 1B1; 1F3; 1B3; 1B0; 1F2; 1B2"


@pytest.mark.parametrize(
    ("programs", "keys", "found"),
    [
        ((WARM_UP, FEEDING), slots("receive", 2), ""),
        ((WARM_UP, FEEDING), slots("receive", 1), "PP503 r0.1, PP505 r0.2"),
        ((WARM_UP, FEEDING), slots("receive", 2, per="rank"), ""),
        ((WARM_UP, FEEDING), slots("receive", 2, **USES), ""),
        (
            ("RECV F0.0 from=1; RECV B2.0 from=1; 1F0; 1B0", "SEND F0.0 to=0; SEND B2.0 to=0"),
            slots("receive", 1),
            "",
        ),
        (
            ("RECV F0.0 from=1; RECV B2.0 from=1; 1F0; 1B0", "SEND F0.0 to=0; SEND B2.0 to=0"),
            slots("receive", 1, per="rank"),
            "PP503 r0.1, PP505 r0.2",
        ),
        (
            ("RECV F0.0 from=1; RECV F0.2 from=1; 1F0; 1F2", "SEND F0.0 to=0; SEND F0.2 to=0"),
            slots("receive", 2),
            "PP503 r0.1, PP505 r0.2",
        ),
        (
            ("RECV F0.0 from=1; RECV F0.2 from=1; 1F0; 1F2", "SEND F0.0 to=0; SEND F0.2 to=0"),
            slots("receive", 2, **USES),
            "",
        ),
        (
            ("RECV F0.0 from=1 buf=a; RECV F0.1 from=1; 1F0; 1F1", *A0_A1),
            slots("receive", 1),
            "",
        ),
        (
            ("RECV F0.0 from=1; RECV v from=1; 1F0; USE a z", "SEND F0.0 to=0; SEND v to=0"),
            slots("receive", 1),
            "",
        ),
        (RELAY, {**slots("receive", 2), "placement": [0, 2, 2]}, ""),
        (RELAY, {**slots("receive", 1), "placement": [0, 2, 2]}, "PP503 r2.1, PP505 r2.2"),
        (
            ("1F0; 1F1; SEND F1.0 to=1; SEND F1.1 to=1", "RECV F1.0 from=0; RECV F1.1 from=0"),
            slots("send", 1),
            "PP503 r0.1, PP505 r0.2",
        ),
        (
            ("1F0; 1F1; SEND F1.0 to=1; SEND F1.1 to=1", "RECV F1.0 from=0; RECV F1.1 from=0"),
            slots("send", 2),
            "",
        ),
        (
            ("1F0; SEND F1.0 to=1 h=h; 1F1; SEND F1.1 to=1", "RECV F1.0 from=0; RECV F1.1 from=0"),
            slots("send", 1),
            "PP502 r0.2",
        ),
        (
            ("1F0; 1F1; SEND F1.0 to=1; 1F2", "RECV F1.0 from=0"),
            slots("send", 1),
            "",
        ),
        (
            (
                "1F0; SEND F1.0 to=1 h=h; 1B1; SEND B1.1 to=1; WAIT h",
                "RECV F1.0 from=0; RECV B1.1 from=0",
            ),
            slots("send", 1),
            "",
        ),
        (
            (
                "1F0; SEND F1.0 to=1 h=h; 1B1; SEND B1.1 to=1; WAIT h",
                "RECV F1.0 from=0; RECV B1.1 from=0",
            ),
            slots("send", 1, per="rank"),
            "PP502 r0.2",
        ),
        (("1F0; 1F1; 1B0; 1B1",), slots("stash", 2), ""),
        (("1F0; 1F1; 1B0; 1B1",), slots("stash", 1), "PP503 r0.1, PP505 r0.2"),
        (("1F0; 1B0; 1F1; 1B1",), slots("stash", 1), ""),
        (("1F0; 1F1; 1I0; 1F2; 1W0; 1W1; 1B2",), slots("stash", 2), "PP503 r0.3, PP505 r0.4"),
        (("1F0; 1F1; 1I0; 1W0; 1F2; 1B2; 1B1",), slots("stash", 2), ""),
        (("1F0; 1R0; 1F1; 1B0; 1B1",), slots("stash", 1), "PP503 r0.2, PP505 r0.3"),
        ((OUT_OF_ORDER,), slots("stash", 2), ""),
        ((OUT_OF_ORDER,), slots("stash", 3), "PP503 r0.3, PP505 r0.5"),
        ((OUT_OF_ORDER,), slots("stash", 4), ""),
        ((OUT_OF_ORDER,), slots("stash", 3, **USES), ""),
        ((OUT_OF_ORDER,), slots("stash", 2, **USES), "PP503 r0.3, PP505 r0.5"),
        (("1F0; 2F0; 2B0; 1B0",), slots("stash", 1), ""),
        (("1F0; 2F0; 2B0; 1B0",), slots("stash", 1, per="rank"), "PP503 r0.1, PP505 r0.3"),
        (("1F0; 2F0; 2B0; 1B0",), slots("stash", 2, per="rank", **USES), ""),
        (("1F0 keep=k; 1F1; 1B0; 1B1",), slots("stash", 1), ""),
        (("2F0; 2B0; 2F1; 2B1",), {"storage": {"registers": ["loss"]}}, ""),
        (("2F0; 2F1; 2B0; 2B1",), {"storage": {"registers": ["loss"]}}, "PP503 r0.1, PP505 r0.2"),
        (
            ("2F0; 2F1; 2I0; 2I1; 2W0",),
            {"storage": {"registers": ["loss"]}},
            "PP503 r0.1, PP505 r0.2",
        ),
        (("2F0; 2F1; 2B0; 2B1",), {"storage": {"registers": ["grad"]}}, ""),
        (("2F0; 2F1; 2L0; 2B0; 2L1; 2B1",), {"storage": {"registers": ["loss"]}}, ""),
        (("2F0; 2L0; 2L1; 2B0",), {"storage": {"registers": ["loss"]}}, "PP503 r0.2, PP505 r0.3"),
        (("2F0; 2L0 out=l; 2L1; 2B0",), {"storage": {"registers": ["loss"]}}, ""),
        (
            ("RECV B2.0 from=1; RECV B2.1 from=1; 1B0; 1B1", *B2),
            {"storage": {"registers": ["grad"]}},
            "PP503 r0.1, PP505 r0.2",
        ),
        (
            ("RECV B2.0 from=1; 1B0; RECV B2.1 from=1; 1B1", *B2),
            {"storage": {"registers": ["grad"]}},
            "",
        ),
    ],
)
def test_pools_and_registers_hold_one_value_a_slot(
    programs: tuple[str, ...], keys: dict[str, object], found: str
) -> None:
    placed = ON_SECOND if len(programs) > 1 else {}

    check(programs, found, **{**placed, **keys})


@pytest.mark.parametrize(
    ("number", "found"),
    [(1, "PP503 r0.1, PP503 r0.5, PP505 r0.2, PP505 r0.6"), (2, "")],
)
def test_slots_are_counted_on_over_steps(number: int, found: str) -> None:
    programs = ("1F0; 1F1; 1B0; 1B1; 1F2; 1F3; 1B2; 1B3",)

    check(programs, found, microbatches=2, steps=2, **slots("stash", number))


@pytest.mark.parametrize(
    ("program", "number", "found"),
    [
        ("1F0; 1F1; 1B0; 1B1", 2, ""),
        ("1F0; 1F1; 1B0; 1B1", 1, "PP503 r0.1, PP505 r0.2"),
        ("1F0; SEND F1.0 to=1 h=h; 1B0", 1, "PP502 r0.0"),
        ("1F0; SEND F1.0 to=1 h=h; WAIT h; 1B0", 1, ""),
    ],
)
def test_any_number_of_steps_shares_the_slots(program: str, number: int, found: str) -> None:
    receiving = "RECV F1.0 from=0" if "SEND" in program else ""
    storage = {"stash": {"slots": number}, "send": {"slots": number}}

    check((program, receiving), found, microbatches=2, steps="any", storage=storage)


WAITING = {"guard": "wait"}
SENDING_TWO = "1F0; SEND F1.0 to=1 h=h; 1F1; SEND F1.1 to=1 h=h; WAIT h"


@pytest.mark.parametrize(
    ("programs", "keys", "found"),
    [
        (("1F0; 1F1; 1B0; 1B1",), slots("stash", 1, **WAITING), "PP301 r0.1"),
        (("1F0; 1F1; 1B0; 1B1",), slots("stash", 2, **WAITING), ""),
        (("1F0; 1B0; 1F1; 1B1",), slots("stash", 1, **WAITING), ""),
        (("1F0; 1I0; 1F1; 1W0",), slots("stash", 1, **WAITING), "PP301 r0.2"),
        (("1F0; 1F1; (1B0;1F2)OVERLAP_F_B; 1B1; 1B2",), slots("stash", 2, **WAITING), ""),
        (("1F0; 1F1; (1F2;1B0)OVERLAP_F_B; 1B1; 1B2",), slots("stash", 2, **WAITING), "PP301 r0.2"),
        (
            (SENDING_TWO, "RECV F1.0 from=0; RECV F1.1 from=0"),
            slots("send", 1, **WAITING),
            "",
        ),
        (
            (SENDING_TWO, "RECV F1.1 from=0; RECV F1.0 from=0"),
            {**slots("send", 1, **WAITING), "under": {**TAGGED, "completion": "rendezvous"}},
            "PP301 r0.1 r0.2 r1.0",
        ),
        (
            (SENDING_TWO, "RECV F1.1 from=0; RECV F1.0 from=0"),
            {**slots("send", 2, **WAITING), "under": {**TAGGED, "completion": "rendezvous"}},
            "",
        ),
        (
            ("1F0; SEND F1.0 to=1 h=h; 1F1; SEND F1.1 to=1 h=h", "RECV F1.0 from=0"),
            slots("send", 1, **WAITING),
            "PP105, PP201 r0.3",
        ),
        ((WARM_UP, FEEDING), slots("receive", 1, **WAITING), "PP301 r0.1"),
        ((WARM_UP, FEEDING), slots("receive", 2, **WAITING), ""),
        (
            ("RECV F0.0 from=1 h=h; RECV F0.1 from=1 h=g; WAIT h; 1F0; WAIT g; 1F1", *A0_A1),
            slots("receive", 1, **WAITING),
            "PP301 r0.1",
        ),
        (
            ("RECV F0.0 from=1 h=h; 1F0; RECV F0.1 from=1; WAIT h; 1F1", *A0_A1),
            slots("receive", 1, **WAITING),
            "PP501 r0.1",
        ),
    ],
)
def test_a_writer_waits_for_its_slot_where_the_pool_says_so(
    programs: tuple[str, ...], keys: dict[str, object], found: str
) -> None:
    placed = ON_SECOND if len(programs) > 1 else {}

    check(programs, found, **{**placed, **keys})


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


@pytest.mark.parametrize("under", ["rendezvous", "nccl-lazy", "buffered-1", TAGGED])
def test_faults_behind_a_deadlock_are_all_told(under: object) -> None:
    programs = (
        "RECV z from=1; SEND v to=1 buf=a comm=d h=h; WRITE a w; WRITE b x; FREE b; USE b x",
        "RECV y from=0; SEND z to=0; RECV v from=0 comm=d h=g",
    )
    program = "RECV y from=1; USE c y; SEND y to=1 h=g; WRITE b x; FREE b; USE b x"

    assert {"PP502 r0.2", "PP504 r0.4"} <= set(broken(*programs, under=under))
    assert {"PP505 r0.1", "PP504 r0.4"} <= set(broken(program, "RECV y from=0", under=under))


def test_the_content_of_crossed_messages_is_told_by_the_pairing() -> None:
    programs = ("SEND v to=1; SEND w to=1", "RECV w from=0 buf=a; RECV v from=0 buf=b; USE a w")

    check(programs, "PP202 r0.0 r1.0, PP202 r0.1 r1.1")


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
