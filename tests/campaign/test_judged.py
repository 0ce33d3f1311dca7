"""What a task says of a schedule is what the command says of it."""

import pytest

from pipeproof.campaign.judged import judge, judged, read
from pipeproof.errors import InputError
from tests.campaign.test_work import HANGS


def test_each_transport_has_its_verdict_and_its_first_rule() -> None:
    found = judged(read(HANGS))

    assert found.verdict == "refuted"
    assert [(each.transport, each.first, each.at) for each in found.under] == [
        ("rendezvous", "PP301", ("r0.1", "r1.0")),
        ("buffered", "PP301", ("r0.1", "r1.0")),
    ]


def test_only_the_transports_that_are_named_are_judged() -> None:
    answer = judge({"text": HANGS, "transports": ["rendezvous-edge"]})

    assert answer == {
        "verdict": "refuted",
        "under": [
            {
                "transport": "rendezvous-edge",
                "verdict": "refuted",
                "first": "PP301",
                "at": ["r0.1", "r1.0"],
                "rules": ["PP301"],
            }
        ],
    }


def test_a_legal_schedule_has_no_first_rule() -> None:
    found = judged(read("pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\n"))

    assert (found.verdict, found.first("rendezvous")) == ("proved", "")


def test_what_cannot_be_read_is_no_answer() -> None:
    with pytest.raises(InputError):
        judge({"text": "pipeproof: 1\nranks: [0FOO]\nmicrobatches: 1\n"})


def test_a_body_without_text_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError, match="no text 'text'"):
        judge({})
