"""Configurations, one by one."""

from collections.abc import Mapping

from pipeproof.campaign.executor import Ended
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets.configured import (
    configured,
    illegal,
    is_base,
    minimising,
    perform,
)
from pipeproof.campaign.targets.generator import known_text


def found(text: str, of: Mapping[str, str]) -> Row:
    task = configured(text, of, (), 1000)
    return Row(task.key, Ended(task, "done", perform(task.body), ""))


DEFERRED = [
    found(
        known_text("zbv", (2, m, None), "torch-deferred"),
        {"name": "zbv", "lowering": "deferred", "microbatches": str(m)},
    )
    for m in (4, 3)
]


def test_a_rule_is_told_once_for_an_origin_by_the_smallest() -> None:
    told = illegal(DEFERRED)

    assert [(each.rule, each.number) for each in told] == [("PP202", 2), ("PP301", 2)]
    assert told == illegal(DEFERRED[::-1])
    assert [each.size[:2] for each in told] == [(2, 3), (2, 3)]
    assert told[0].transports == ("gloo", "nccl-small")
    assert told[0].minimise == minimising(str(told[0].body["text"]), "PP202", "gloo")


def test_the_schedule_that_is_hunted_around_is_no_find() -> None:
    text = known_text("zbv", (2, 3, None), "torch-deferred")
    row = found(text, {"name": "zbv", "is": "base"})

    assert is_base(row.ended.task.body)
    assert row.ended.answer is not None
    assert row.ended.answer["verdict"] == "refuted"
    assert illegal([row]) == []


def test_what_is_no_schedule_has_a_reason() -> None:
    answer = perform({"text": known_text("dualpipev", (2, 1, None)), "of": {}})

    assert answer["verdict"] == "none"
    assert "microbatches" in str(answer["why"])
