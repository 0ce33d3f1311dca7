"""Pools of slots and registers: who shares one, who waits for one."""

import pytest

from tests.semantics.judged import A0_A1, ON_SECOND, TAGGED, check

B2 = ("SEND B2.0 to=0; SEND B2.1 to=0",)


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
