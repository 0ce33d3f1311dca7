"""Which send meets which receive."""

from pipeproof.ir.as_run import AsRun
from pipeproof.ir.transport import Match
from pipeproof.semantics.pairing import pair_messages, pair_signals
from tests.semantics.made import run


def pairs(made: AsRun, match: Match = Match.ORDER) -> list[tuple[str, str]]:
    """Each transfer as rank and position of its send and receive, `-` for one that is missing."""
    pairing, ops = pair_messages(made, match), made.operations

    def place(row: int) -> str:
        return f"r{ops.rank[row]}.{ops.position[row]}" if row >= 0 else "-"

    both = zip(pairing.send.tolist(), pairing.receive.tolist(), strict=True)
    return [(place(send), place(receive)) for send, receive in both]


def test_messages_of_a_channel_pair_in_posting_order() -> None:
    made = run("SEND v to=1; SEND u to=1", "RECV u from=0; RECV v from=0")

    assert pairs(made) == [("r0.0", "r1.0"), ("r0.1", "r1.1")]


def test_by_tag_messages_of_one_value_pair_oldest_first() -> None:
    made = run(
        "SEND v to=1; SEND u to=1; SEND v to=1", "RECV u from=0; RECV v from=0; RECV v from=0"
    )

    assert pairs(made, Match.TAG) == [("r0.0", "r1.1"), ("r0.1", "r1.0"), ("r0.2", "r1.2")]


def test_directions_communicators_and_ranks_are_channels_of_their_own() -> None:
    made = run(
        "SEND v to=1; RECV v from=1; SEND v to=1 comm=c; SEND v to=2",
        "RECV v from=0 comm=c; SEND v to=0; RECV v from=0",
        "RECV v from=0",
    )
    pairing = pair_messages(made, Match.ORDER)

    assert pairs(made) == [
        *(("r0.0", "r1.2"), ("r0.2", "r1.0"), ("r0.3", "r2.0"), ("r1.1", "r0.1")),
    ]
    assert len(set(pairing.channel.tolist())) == 4


def test_what_is_left_over_meets_nothing() -> None:
    made = run("SEND v to=1; SEND u to=1", "RECV v from=0; RECV t from=2", "")

    assert pairs(made) == [("r0.0", "r1.0"), ("r0.1", "-"), ("-", "r1.1")]


def test_rows_lead_to_their_transfer() -> None:
    made = run("0F0; SEND v to=1; SEND u to=9", "RECV v from=0")
    pairing = pair_messages(made, Match.ORDER)

    assert pairing.of_row.tolist() == [-1, 0, -1, 0]
    assert len(pairing) == 1


def test_members_of_a_bracket_pair_in_their_written_order() -> None:
    made = run("[SEND v to=1 | SEND u to=1]", "RECV v from=0; RECV u from=0")
    pairing = pair_messages(made, Match.ORDER)

    assert list(zip(pairing.send.tolist(), pairing.receive.tolist(), strict=True)) == [
        *((0, 2), (1, 3)),
    ]


def test_signals_pair_in_order_between_two_ranks() -> None:
    made = run(
        "SIGNAL to=1; SIGNAL to=1; SIGNAL to=2", "AWAIT from=0; AWAIT from=0", "AWAIT from=0"
    )
    signals, awaits, lone = pair_signals(made)

    assert list(zip(signals.tolist(), awaits.tolist(), strict=True)) == [(0, 3), (1, 4), (2, 5)]
    assert lone.tolist() == []


def test_an_await_too_many_is_alone_and_a_signal_too_many_is_nothing() -> None:
    made = run("SIGNAL to=1; AWAIT from=1; AWAIT from=1", "SIGNAL to=0; SIGNAL to=2", "")
    signals, awaits, lone = pair_signals(made)

    assert (signals.tolist(), awaits.tolist(), lone.tolist()) == ([3], [1], [2])


def test_without_messages_there_are_no_transfers() -> None:
    assert pairs(run("0F0")) == []
