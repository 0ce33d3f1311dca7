"""The machine against answers worked out by hand."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.oracle.machine import TooManyStatesError, deadlocks, explore
from tests.oracle.programs import (
    NAMED,
    Await,
    Bracket,
    Collective,
    Compute,
    Instruction,
    Program,
    Programs,
    Signal,
    Wait,
    random_programs,
    random_transport,
    recv,
    render,
    renumbered,
    send,
)

if TYPE_CHECKING:
    from tests.oracle.instructions import Message, Transport

BLOCKING = NAMED["rendezvous"]


def op(name: str) -> Compute:
    return Compute(name)


def group(*members: Message, h: str = "") -> Bracket:
    return Bracket(members, h)


def row(*instructions: Instruction) -> Program:
    return instructions


def check(programs: Programs, transport: Transport, *found: tuple[str, str]) -> None:
    """Stuck or not, and why; places separated by spaces. A handle alone may be left behind."""
    expected = [(code, frozenset(places.split())) for code, places in found]
    assert deadlocks(programs, transport) == expected, transport
    result = explore(programs, transport)
    assert (result.stuck, result.always) == (bool(found), bool(found)), transport
    assert len(result.final) == 1


ALLREDUCE = Collective("allreduce", (0, 1))

CROSSED_SENDS = (
    row(op("0F1"), send("F0.1", 1), recv("F1.0", 1), op("2F0")),
    row(op("1F0"), send("F1.0", 0), recv("F0.1", 0), op("1F1")),
)
CROSSED_SENDS_FIXED = (
    row(op("0F1"), group(send("F0.1", 1), recv("F1.0", 1)), op("2F0")),
    row(op("1F0"), group(send("F1.0", 0), recv("F0.1", 0)), op("1F1")),
)
EXCHANGE_MEETS_RECEIVE = (
    row(
        op("0F0"),
        group(send("F0.0", 1), recv("F1.0", 1)),
        op("0F1"),
        group(send("F0.1", 1), recv("F1.1", 1)),
        op("2F0"),
        send("F2.0", 1),
    ),
    row(
        recv("F0.0", 0),
        op("1F0"),
        group(send("F1.0", 0), recv("F0.1", 0)),
        op("1F1"),
        group(send("F1.1", 0), recv("F2.0", 0)),
        op("3F0"),
    ),
)
RING = (
    row(group(send("F0.2", 1)), group(recv("F2.0", 2)), op("3F0")),
    row(group(send("F1.1", 2)), group(recv("F0.2", 0)), op("1F2")),
    row(group(send("F2.0", 0)), group(recv("F1.1", 1)), op("2F1")),
)
RING_FIXED = (
    row(group(send("F0.2", 1), recv("F2.0", 2)), op("3F0")),
    row(group(send("F1.1", 2), recv("F0.2", 0)), op("1F2")),
    row(group(send("F2.0", 0), recv("F1.1", 1)), op("2F1")),
)
SENDS_BEFORE_RECEIVES = (
    row(group(send("F0.3", 1), send("B2.1", 1)), group(recv("F1.2", 1), recv("B3.2", 1))),
    row(group(send("F1.2", 0), send("B3.2", 0)), group(recv("F0.3", 0), recv("B2.1", 0))),
)
SENDS_BEFORE_RECEIVES_FIXED = (
    row(group(send("F0.3", 1), send("B2.1", 1), recv("F1.2", 1), recv("B3.2", 1))),
    row(group(send("F1.2", 0), send("B3.2", 0), recv("F0.3", 0), recv("B2.1", 0))),
)
EARLY_RECEIVES = (
    row(
        send("F0.0", 1),
        recv("B1.0", 1, h="b0"),
        send("F0.1", 1, h="f1"),
        recv("B1.1", 1, h="b1"),
        Wait("f1"),
        Wait("b0"),
        Wait("b1"),
    ),
    row(
        recv("F0.0", 0),
        recv("F0.1", 0, h="f1"),
        send("B1.0", 0, h="b0"),
        send("B1.1", 0, h="b1"),
        Wait("f1"),
        Wait("b0"),
        Wait("b1"),
    ),
)
SIGNAL_AFTER_SEND = (
    row(op("0F0"), send("F0.0", 1), Signal(1)),
    row(Await(0), recv("F0.0", 0), op("1F0")),
)
SIGNAL_BEFORE_SEND = (
    row(op("0F0"), Signal(1), send("F0.0", 1)),
    row(Await(0), recv("F0.0", 0), op("1F0")),
)
METADATA = (
    row(send("meta01", 1, "cpu"), recv("meta10", 1, "cpu")),
    row(send("meta10", 0, "cpu"), recv("meta01", 0, "cpu")),
)
METADATA_FIXED = (
    row(send("meta01", 1, "cpu", "m"), recv("meta10", 1, "cpu"), Wait("m")),
    row(send("meta10", 0, "cpu", "m"), recv("meta01", 0, "cpu"), Wait("m")),
)
COLLECTIVE_FIRST = (row(ALLREDUCE, send("F0.0", 1)), row(recv("F0.0", 0), ALLREDUCE))
COLLECTIVE_LAST = (row(send("F0.0", 1), ALLREDUCE), row(recv("F0.0", 0), ALLREDUCE))
TOKEN_RECEIVE = (
    row(recv("tok0", 1, "tok", "t"), send("F0.1", 1, "pp"), Wait("t")),
    row(recv("F0.1", 0, "pp"), op("1F1"), send("tok0", 0, "tok")),
)
SPLIT_GROUPS = (
    row(group(send("blk0", 1)), group(recv("blk1", 1))),
    row(group(send("blk1", 0)), group(recv("blk0", 0))),
)
WHOLE_GROUPS = (
    row(group(send("blk0", 1), recv("blk1", 1))),
    row(group(send("blk1", 0), recv("blk0", 0))),
)
RECEIVE_FIRST = (
    row(recv("B1.0", 1), op("0B0"), op("0F1"), send("F0.1", 1)),
    row(recv("F0.1", 0), op("1F1"), op("1B0"), send("B1.0", 0)),
)
TWO_ROLES = (
    row(group(send("B2.0", 1), recv("F1.2", 1), send("F0.3", 1), recv("B3.1", 1))),
    row(group(send("B3.1", 0), recv("F0.3", 0), send("F1.2", 0), recv("B2.0", 0))),
)
TWO_ROLES_FIXED = (
    TWO_ROLES[0],
    row(group(send("F1.2", 0), recv("B2.0", 0), send("B3.1", 0), recv("F0.3", 0))),
)
OUT_OF_ORDER = (row(send("F0.1", 1), send("F0.2", 1)), row(recv("F0.2", 0), recv("F0.1", 0)))
RELAY = (
    row(recv("F1.1", 1, "dev", "n"), Wait("n"), send("state0", 1, "host")),
    row(recv("state0", 0, "host"), send("F1.1", 0, "dev")),
)
RELAY_FIXED = (
    row(send("state0", 1, "host"), recv("F1.1", 1, "dev", "n"), Wait("n")),
    RELAY[1],
)
FIRST_CALLS = (
    row(recv("F2.0", 2), op("0F0"), send("F0.0", 1), op("3F0"), send("F3.0", 1)),
    row(recv("F0.0", 0), op("1F0"), send("F1.0", 2), recv("F3.0", 0), op("4F0"), send("F4.0", 2)),
    row(recv("F1.0", 1), op("2F0"), send("F2.0", 0), recv("F4.0", 1), op("5F0")),
)
LEFT_TOO_EARLY = (
    row(send("x", 1, "c", "x"), recv("y", 1, "c"), Await(1), Wait("x")),
    row(send("y", 0, "c"), recv("x", 0, "c"), Signal(0)),
)


@pytest.mark.parametrize(
    ("programs", "transports", "places"),
    [
        (CROSSED_SENDS, "rendezvous rendezvous-serial", "r0.1 r1.1"),
        (CROSSED_SENDS, "buffered-1", ""),
        (CROSSED_SENDS_FIXED, "rendezvous rendezvous-atomic", ""),
        (EXCHANGE_MEETS_RECEIVE, "rendezvous-atomic", "r0.1 r1.0"),
        (EXCHANGE_MEETS_RECEIVE, "rendezvous", ""),
        (RING, "rendezvous rendezvous-atomic", "r0.0 r1.0 r2.0"),
        (RING, "buffered-1", ""),
        (RING_FIXED, "rendezvous rendezvous-atomic", ""),
        (SENDS_BEFORE_RECEIVES, "rendezvous rendezvous-atomic buffered-1", "r0.0 r1.0"),
        (SENDS_BEFORE_RECEIVES_FIXED, "rendezvous rendezvous-atomic", ""),
        (EARLY_RECEIVES, "rendezvous-serial", "r0.1 r1.1"),
        (EARLY_RECEIVES, "rendezvous", ""),
        (SIGNAL_AFTER_SEND, "rendezvous", "r0.1 r1.0"),
        (SIGNAL_AFTER_SEND, "buffered-1", ""),
        (SIGNAL_BEFORE_SEND, "rendezvous", ""),
        (METADATA, "rendezvous", "r0.0 r1.0"),
        (METADATA, "buffered-1", ""),
        (METADATA_FIXED, "rendezvous", ""),
        (COLLECTIVE_FIRST, "rendezvous buffered-1", "r0.0 r1.0"),
        (COLLECTIVE_LAST, "rendezvous", ""),
        (TOKEN_RECEIVE, "rendezvous-rank", "r0.0 r1.0"),
        (TOKEN_RECEIVE, "rendezvous-serial", ""),
        (SPLIT_GROUPS, "rendezvous rendezvous-atomic", "r0.0 r1.0"),
        (WHOLE_GROUPS, "rendezvous rendezvous-atomic", ""),
        (RECEIVE_FIRST, "rendezvous buffered-1", "r0.0 r1.0"),
        (TWO_ROLES, "rendezvous", ""),
        (TWO_ROLES_FIXED, "rendezvous", ""),
        (OUT_OF_ORDER, "rendezvous buffered-1", ""),
        (RELAY, "rendezvous buffered-1", "r0.0 r0.1 r1.0"),
        (RELAY_FIXED, "rendezvous", ""),
        (FIRST_CALLS, "nccl-lazy", ""),
        (FIRST_CALLS, "nccl-first", "r0.0 r1.0 r2.0"),
    ],
)
def test_reported_deadlocks(programs: Programs, transports: str, places: str) -> None:
    for transport in transports.split():
        check(programs, transport, *([("PP301", places)] if places else []))
        assert not explore(programs, transport).unmatched


def test_messages_that_pair_with_others() -> None:
    both_ways = {("r0.0", "r1.0"), ("r1.0", "r0.0")}
    assert explore(TWO_ROLES, "rendezvous").mispaired == both_ways
    assert not explore(TWO_ROLES_FIXED, "rendezvous").mispaired
    crossed = {("r0.0", "r1.0"), ("r0.1", "r1.1")}
    assert explore(OUT_OF_ORDER, "rendezvous").mispaired == crossed
    by_value = explore(OUT_OF_ORDER, {**BLOCKING, "match": "tag"})
    assert by_value.stuck
    assert not by_value.mispaired


def test_weak_communicator_needs_both_ranks_inside() -> None:
    check(LEFT_TOO_EARLY, BLOCKING)
    check(LEFT_TOO_EARLY, {**BLOCKING, "weak": ["c"]}, ("PP301", "r0.2 r1.1"))
    check(METADATA_FIXED, {**BLOCKING, "weak": ["cpu"]})


def test_weak_message_whose_rank_has_ended() -> None:
    programs = (row(send("x", 1, "c", "x")), row(recv("x", 0, "c")))
    check(programs, {**BLOCKING, "weak": ["c"]}, ("PP301", "r0.0 r1.0"))
    check(programs, BLOCKING)


def test_credits_go_out_in_posting_order() -> None:
    programs = (
        row(send("a", 1, h="a"), send("b", 1, h="b"), Wait("a"), Wait("b")),
        row(recv("b", 0), recv("a", 0)),
    )
    for capacity, found in ((1, [("PP301", "r1.0")]), (2, [])):
        transport = {**BLOCKING, "completion": "buffered", "capacity": capacity, "match": "tag"}
        check(programs, transport, *found)


def test_members_of_a_group_share_the_credit_in_the_order_written() -> None:
    programs = (row(group(send("a", 1), send("b", 1))), row(recv("a", 0), recv("b", 0)))
    check(programs, "buffered-1")


def test_a_queue_does_not_order_the_members_of_a_group() -> None:
    opposite = (
        row(group(send("a", 1), recv("b", 1))),
        row(recv("a", 0, h="a"), send("b", 0), Wait("a")),
    )
    check(opposite, "rendezvous-serial")
    single = (
        row(recv("b", 1, h="b"), send("a", 1), Wait("b")),
        row(recv("a", 0, h="a"), send("b", 0), Wait("a")),
    )
    check(single, "rendezvous-serial", ("PP301", "r0.0 r1.0"))
    check(single, {**BLOCKING, "queue": "pair", "groups": "atomic"}, ("PP301", "r0.0 r1.0"))
    check(single, "rendezvous-edge")


def test_one_queue_for_each_direction() -> None:
    def programs(value: str) -> Programs:
        return (
            row(recv(value, 1, h="b"), send("F0.1", 1), Wait("b")),
            row(recv("F0.1", 0, h="a"), send(value, 0), Wait("a")),
        )

    transport = {**BLOCKING, "queue": "direction"}
    check(programs("B1.0"), transport)
    check(programs("F1.0"), transport, ("PP301", "r0.0 r1.0"))


def test_collectives_wait_for_each_other() -> None:
    a, b = Collective("a", (0, 1)), Collective("b", (0, 1))
    check((row(a, b), row(b, a)), "buffered", ("PP205", "r0.0 r1.0"))
    later = (row(Collective("a", (0, 1), handle="x"), Wait("x"), b), row(b, a))
    check(later, "buffered", ("PP205", "r0.0 r0.1 r1.0"))
    check((row(a, a), row(a)), "rendezvous", ("PP205", "r0.1"))


def test_use_before_the_receive_is_complete() -> None:
    programs = (
        row(recv("F1.0", 1), op("0F0"), op("2F0"), send("F0.0", 1)),
        row(recv("F0.0", 0), op("1F0"), send("F1.0", 0)),
    )
    check(programs, "nccl-edge", ("PP301", "r0.0 r1.0"))
    without_reader = (row(recv("F1.0", 1), op("0F0"), send("F0.0", 1)), programs[1])
    check(without_reader, "nccl-edge")
    before_the_step = (row(recv("F1.0", 1), op("0STEP"), send("F0.0", 1)), programs[1])
    check(before_the_step, "nccl-edge", ("PP301", "r0.0 r1.0"))
    check(programs, {**BLOCKING, "wait": "explicit"})


def test_what_stands_nowhere() -> None:
    programs = (row(Await(1)), row(send("a", 0, h="x")))
    result = explore(programs, "rendezvous")
    assert (result.stuck, result.unmatched, result.unsignalled) == (True, ("r1.0",), ("r0.0",))
    assert not deadlocks(programs, "rendezvous")
    assert not explore((row(), programs[1]), "rendezvous").stuck


def test_limit() -> None:
    with pytest.raises(TooManyStatesError):
        explore(EARLY_RECEIVES, "rendezvous", 10)


def test_render_and_renumber() -> None:
    programs = (row(op("0F0"), group(send("F0.0", 1, "c"), h="x"), Wait("x"), ALLREDUCE), row())
    twice = renumbered(programs, 2, 3)
    assert [message.value for i in twice[0] if isinstance(i, Bracket) for message in i.members] == [
        "F0.0",
        "F0.3",
    ]
    assert render(twice, {"queue": "none", "weak": ["c"]}, steps=2).splitlines() == [
        "pipeproof: 1",
        "fragment: true",
        "stages: 2",
        "microbatches: 2",
        "steps: 2",
        "transport: {queue: none, weak: [c]}",
        "ranks:",
        "  -",
        '    - "0F0"',
        '    - "[SEND F0.0 to=1 comm=c] h=x"',
        '    - "WAIT x"',
        '    - "COLL allreduce ranks=0,1"',
        '    - "0F3"',
        '    - "[SEND F0.3 to=1 comm=c] h=x"',
        '    - "WAIT x"',
        '    - "COLL allreduce ranks=0,1"',
        "  - []",
    ]


def _explained(programs: Programs, transport: Transport) -> bool:
    """Explores: one maximal state, and a hang exactly where something is to blame for it."""
    try:
        result = explore(programs, transport, 3_000)
    except TooManyStatesError:
        return False
    assert len(result.final) == 1
    assert result.stuck == result.always
    found = deadlocks(programs, transport)
    missing = result.unmatched or result.unsignalled
    assert not result.stuck or found or missing
    return True


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(each, marks=pytest.mark.slow) for each in range(3, 6))]
)
def test_one_maximal_state_whatever_the_interleaving(seed: int) -> None:
    rng = random.Random(seed)
    decided = 0
    for number in range(50):
        many = (3, 6) if number % 25 == 0 else (1, 3)
        programs = random_programs(rng, ranks=(2, 3), messages=many)
        decided += sum(_explained(programs, name) for name in NAMED)
    assert decided > 0.95 * 50 * len(NAMED)


@pytest.mark.parametrize("seed", range(2))
def test_one_maximal_state_under_drawn_transports(seed: int) -> None:
    rng = random.Random(seed)
    decided = sum(
        _explained(random_programs(rng, messages=(1, 5)), random_transport(rng)) for _ in range(150)
    )
    assert decided > 130


@pytest.mark.parametrize("seed", range(2))
def test_more_buffering_only_cures(seed: int) -> None:
    rng = random.Random(seed)
    order = ("rendezvous-rank", "rendezvous-serial", "rendezvous-edge", "rendezvous", "buffered")
    for _ in range(100):
        programs = random_programs(rng, ranks=(2, 3), messages=(1, 4))
        stuck = [explore(programs, name).stuck for name in order]
        assert stuck == sorted(stuck, reverse=True)
        assert explore(programs, "buffered").stuck <= explore(programs, "buffered-1").stuck
