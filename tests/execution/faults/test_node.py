from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeproof.execution.faults.findings import Answer
from pipeproof.execution.faults.injections import injected
from pipeproof.execution.faults.node import Manner, Node
from pipeproof.execution.faults.simulated import simulated
from pipeproof.execution.faults.split import part
from tests.execution.faults.ran import events, setting, trial

if TYPE_CHECKING:
    from pipeproof.execution.faults.packets import Body, Packet

LATE = (Answer.LATE_MESSAGE, Answer.LATE_OPERATION)


class Nowhere:
    """A wire that nobody hears."""

    def send(self, to: int, packet: Packet, delay: float = 0.0) -> None:
        del to, packet, delay

    def now(self) -> float:
        return 0.0


class Halting(Node):
    """Rank 1 falls silent within a round of the vote, once it has told one other rank."""

    round = 1

    def tell(self, what: str, number: int = 0, body: Body = None) -> None:
        if (self.rank, what, number) == (1, "vote", self.round):
            self.send(self.others[0], what, number, body)
            self.mute = True
        super().tell(what, number, body)


class HaltingLater(Halting):
    round = 2


class Forgetful(Node):
    """A rank that sends nothing again."""

    def _again(self, packet: Packet) -> None:
        del packet


def test_a_message_that_stays_lost_is_not_recovered_and_nobody_steps() -> None:
    own = setting()
    fault = injected("dropped@r0:0SEND_F0", own.run, events(own))
    ended = simulated(own, fault, Manner(policy="recover"), Forgetful)

    assert [each.outcome for each in ended] == ["not recovered"] * 3
    assert all(each.after == each.before for each in ended)
    lost = [one for one in ended[1].findings if one.answer is Answer.LOST]
    assert [str(one.place) for one in lost] == ["rank 0, stage 0, microbatch 0, forward, message"]


def test_what_comes_within_the_first_look_is_no_fault() -> None:
    for place in ("r1:1F0", "r1:1SEND_F0"):
        found = trial(f"delayed=0.5@{place}")

        assert not found.findings
        assert found.is_kept


@pytest.mark.parametrize("windows", [2.5, 3.0, 3.5])
def test_a_late_message_and_a_late_operation_are_told_apart_and_are_no_wrong_values(
    windows: float,
) -> None:
    answers = []
    for place in ("r1:1F0", "r1:1SEND_F0"):
        found = trial(f"delayed={windows}@{place}", "recover")
        assert found.is_kept, str(found)
        answers += [each.answer for each in found.findings]

    assert answers == [Answer.LATE_OPERATION, Answer.LATE_MESSAGE]


def test_a_message_that_is_waited_for_no_longer_is_lost_and_an_operation_stays_late() -> None:
    lost, late = trial("delayed=9@r1:1SEND_F0", "recover"), trial("delayed=9@r1:1F0", "recover")

    assert [each.answer for each in lost.findings] == [Answer.LOST]
    assert [each.outcome for each in lost.ended] == ["stepped"] * 3
    assert [each.answer for each in late.findings] == [Answer.LATE_OPERATION]


def test_a_wrong_value_is_no_lateness() -> None:
    found = trial("turned=mantissa@r1:1F0")

    assert [each.answer for each in found.findings] == [Answer.WRONG_VALUE]


def test_every_claim_has_two_confirmations() -> None:
    for fault in ("stops@r1:3", "dropped@r0:0SEND_F0", "corrupted@r0:0SEND_F0", "turned@r1:1F0"):
        assert [len(each.confirmations) for each in trial(fault).findings] == [2]


def test_two_ranks_only_disagree_about_a_value() -> None:
    found = trial("turned@r1:1F0", own=(2, 2, "linear"))

    assert [each.answer for each in found.findings] == [Answer.DISAGREEMENT]
    assert found.is_kept


def test_one_rank_alone_notices_no_wrong_value_and_nobody_claims_that_it_does() -> None:
    found = trial("turned@r0:0STEP", own=(1, 2, "linear"))

    assert found.answer is None
    assert not found.findings
    assert found.ended[0].after != found.control[0].after
    assert "cannot be localised: no other rank has a copy" in str(found)


def test_ranks_agree_although_one_of_them_stops_in_the_first_round_of_the_vote() -> None:
    ended = simulated(setting(), None, Manner(), Halting)
    live = [ended[0], ended[2]]

    assert [each.outcome for each in live] == ["raised", "raised"]
    assert all(each.after == each.before for each in live)
    assert live[0].findings == live[1].findings
    assert [each.answer for each in live[0].findings] == [Answer.STOPPED]


def test_who_stops_in_the_second_round_decides_nothing_any_more() -> None:
    ended = simulated(setting(), None, Manner(), HaltingLater)
    live = [ended[0], ended[2]]

    assert [each.outcome for each in live] == ["stepped", "stepped"]
    assert [each.findings[0].after_step for each in live] == [True, True]
    assert [each.findings[0].place.rank for each in live] == [1, 1]


def test_a_rank_says_in_which_operation_it_is_while_it_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(0, lambda flip: part(setting(), flip), None, Nowhere(), Manner())
    seen = []
    monkeypatch.setattr(node.part, "play", lambda events: seen.append((events, node.doing)))
    list(node._instruction(0))

    assert [(events, str(at[0]) if at else None) for events, at in seen] == [
        ([0], "rank 0, stage 0, microbatch 0, forward"),
        ([1], None),
    ]


def test_preconditions_that_differ_are_told_before_any_output_is_compared() -> None:
    node = Node(0, lambda flip: part(setting(), flip), None, Nowhere(), Manner())
    node.part.play([0, 1])
    entry = node.part.ledger[0]
    node._judge(entry, {0: "a|x", 1: "b|y", 2: "a|x"}, {0: "a|x", 1: "b|y", 2: "a|x"})

    assert [each.answer for each in node.findings] == [Answer.PRECONDITIONS]


def test_a_peer_that_runs_an_operation_wrongly_is_the_one_that_is_named() -> None:
    node = Node(0, lambda flip: part(setting(), flip), None, Nowhere(), Manner())
    node.part.play([0, 1])
    said = {0: "a|x", 1: "a|y", 2: "a|x"}
    node._judge(node.part.ledger[0], said, said)

    assert [(each.answer, each.place.rank) for each in node.findings] == [(Answer.WRONG_VALUE, 1)]


def test_what_differs_only_once_is_no_named_fault() -> None:
    node = Node(0, lambda flip: part(setting(), flip), None, Nowhere(), Manner())
    node.part.play([0, 1])
    once, then = {0: "a|x", 1: "a|y", 2: "a|x"}, {0: "a|x", 1: "a|x", 2: "a|x"}
    node._judge(node.part.ledger[0], once, then)

    assert [each.answer for each in node.findings] == [Answer.DISAGREEMENT]
