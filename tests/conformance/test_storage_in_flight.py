"""Storage that messages read and write, under every kind of transport."""

import pytest

from tests.semantics.judged import A0_A1, ON_SECOND, TAGGED, broken, check


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
            (
                "RECV v from=1 buf=a h=h; RECV w from=1 buf=a; RECV z from=1 buf=a h=g; WAIT h; "
                "WAIT g",
                "SEND v to=0; SEND w to=0; SEND z to=0",
            ),
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
