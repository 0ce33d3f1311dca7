"""Whole schedules that step before they know whether they may, judged by the whole command."""

import pytest

from pipeproof.api import judge_text
from tests.semantics.made import text

FIRST = "0F0; 0SEND_F0; 0RECV_B0; 0B0; 0STEP; {} 0RECV_B1; 0B1; 0STEP"
SECOND = "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1STEP; {} 1B1; 1SEND_B1; 1STEP"
COMMITTED = ("0F1; 0SEND_F1; 0COMMIT;", "1RECV_F1; 1F1; 1COMMIT;")
AGAIN = ("0F1; 0ROLLBACK; 0STEP; 0F1; 0SEND_F1;", "1ROLLBACK; 1STEP; 1RECV_F1; 1F1;")
SENT_AHEAD = "0F1; 0SEND_F1; 0ROLLBACK; 0STEP; 0F1; 0SEND_F1;"
DRAINED = "1RECV_F1; 1ROLLBACK; 1STEP; 1RECV_F1; 1F1;"
DONE_AGAIN = "1RECV_F1; 1F1; 1ROLLBACK; 1STEP; 1RECV_F1; 1F1;"
KEPT = "1RECV_F1; 1ROLLBACK; 1STEP; 1F1; 1RECV_F1;"


def judged(first: str, second: str, policy: str = "speculative") -> tuple[str, set[str]]:
    programs = (FIRST.format(first), SECOND.format(second))
    keys = {"steps": 2, "transport": "buffered", "weights": {"policy": policy}}
    verdict = judge_text(text(*programs, **keys), "speculation")
    return verdict.verdict, {v.rule for each in verdict.transports for v in each.violations}


@pytest.mark.parametrize(
    ("first", "second"),
    [COMMITTED, AGAIN, (SENT_AHEAD, DRAINED), (SENT_AHEAD, DONE_AGAIN)],
)
def test_what_is_committed_or_done_again_is_legal(first: str, second: str) -> None:
    assert judged(first, second) == ("proved", set())


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        ("0F1; 0SEND_F1; 0ROLLBACK; 0STEP;", AGAIN[1], {"PP101"}),
        (SENT_AHEAD, KEPT, {"PP101", "PP402"}),
        (COMMITTED[0], DONE_AGAIN, {"PP105", "PP106", "PP201", "PP401"}),
        (COMMITTED[0], "1RECV_F1; 1F1; 1B1; 1COMMIT;", {"PP102", "PP605", "PP702"}),
    ],
)
def test_what_is_neither_is_refuted(first: str, second: str, rules: set[str]) -> None:
    verdict, found = judged(first, second)

    assert verdict == "refuted"
    assert found & rules


def test_a_flush_lets_nobody_read_ahead() -> None:
    verdict, found = judged(*COMMITTED, policy="flush")

    assert (verdict, found) == ("refuted", {"PP605"})
