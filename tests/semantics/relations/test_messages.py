"""Messages that do not find each other, or find the wrong one."""

from dataclasses import replace

import pytest

from pipeproof.ir.transport import Match
from pipeproof.semantics.found import Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.messages import (
    crossed,
    misshapen,
    split,
    stranded,
    unbalanced,
    unmatched,
)
from tests.semantics.made import BUFFERED, RENDEZVOUS, event, frame, places


def facts(found: Findings) -> list[dict[str, str]]:
    return [dict(finding.facts) for finding in found.found]


def counts(made: Frame) -> dict[str, int]:
    """How much each of the six relations holds of."""
    relations = (crossed, misshapen, split, stranded, unbalanced, unmatched)
    return {each.__name__: len(each(made).found) for each in relations if each(made).found}


def test_messages_that_find_each_other_break_nothing() -> None:
    made = frame("SEND v to=1", "RECV v from=0")

    assert counts(made) == {}
    assert [f(made).instances for f in (crossed, misshapen, split, stranded, unbalanced)] == [
        *(1, 1, 2, 1, 1),
    ]
    assert unmatched(made).instances == 2


def test_a_message_without_a_partner_says_what_it_lacks() -> None:
    made = frame("SEND v to=1; RECV u from=2", "", "")
    found = unmatched(made)

    assert places(made, found) == ["r0.0", "r0.1"]
    assert facts(found) == [
        {"op": "SEND v to=1", "missing": "receive", "peer": "1"},
        {"op": "RECV u from=2", "missing": "send", "peer": "2"},
    ]


def test_an_await_without_a_signal_is_unmatched_and_a_signal_without_an_await_is_not() -> None:
    made = frame("SIGNAL to=1", "AWAIT from=0; AWAIT from=0; SIGNAL to=0")
    found = unmatched(made)

    assert (found.instances, places(made, found)) == (2, ["r1.1"])
    assert facts(found)[0]["missing"] == "signal"


def test_a_channel_whose_counts_differ_is_unbalanced_and_has_no_place() -> None:
    made = frame("SEND v to=1 comm=c; SEND u to=1 comm=c", "RECV v from=0 comm=c")
    found = unbalanced(made)

    assert places(made, found) == [""]
    assert facts(found) == [
        {
            "source": "0",
            "destination": "1",
            "comm": " on communicator c",
            "sent": "2",
            "received": "1",
        }
    ]


def test_each_channel_is_counted_on_its_own() -> None:
    made = frame("SEND v to=1; RECV u from=1", "SEND u to=0; SEND w to=0; RECV t from=2", "")
    found = unbalanced(made)

    assert found.instances == 3
    assert [(each["source"], each["sent"], each["received"]) for each in facts(found)] == [
        *(("0", "1", "0"), ("1", "2", "1"), ("2", "0", "1")),
    ]


def test_by_tag_counts_may_agree_where_values_do_not() -> None:
    tagged = replace(RENDEZVOUS, match=Match.TAG)

    assert counts(frame("SEND v to=1", "RECV u from=0", under=tagged)) == {
        "stranded": 1,
        "unmatched": 2,
    }


def test_one_value_on_two_communicators_is_split_and_nothing_else() -> None:
    made = frame("0F0; SEND v to=1 comm=c", "RECV v from=0")

    assert counts(made) == {"split": 1}
    assert places(made, split(made)) == ["r0.1 r1.0"]
    assert facts(split(made))[0] == {
        "op": "SEND v to=1 comm=c",
        "value": "v",
        "one": "c",
        "other": "the default one",
    }


def test_splits_pair_in_order_and_leave_the_rest_unmatched() -> None:
    made = frame("SEND v to=1 comm=c; SEND v to=1 comm=c", "RECV v from=0; RECV u from=0 comm=d")

    assert places(made, split(made)) == ["r0.0 r1.0"]
    assert places(made, unmatched(made)) == ["r0.1", "r1.1"]


def test_values_or_routes_that_differ_are_not_split() -> None:
    made = frame("SEND v to=1 comm=c; SEND u to=2 comm=c", "RECV u from=0", "RECV v from=0")

    assert places(made, split(made)) == []


def test_a_receive_that_gets_another_value_is_crossed_at_both_ends() -> None:
    made = frame("SEND v to=1; SEND u to=1", "RECV u from=0; RECV v from=0")
    found = crossed(made)

    assert places(made, found) == ["r0.0 r1.0", "r0.1 r1.1"]
    assert facts(found)[0] == {"sent": "v", "wanted": "u", "source": "0", "destination": "1"}
    assert event(made, found.found[0].event) == "arrived v"


def test_a_receive_of_anything_is_not_crossed() -> None:
    assert crossed(frame("SEND v to=1", "RECV any from=0")).found == []


@pytest.mark.parametrize("what", ["shape", "dtype", "layout"])
def test_ends_that_give_different_attributes_are_misshapen(what: str) -> None:
    made = frame(f"SEND v to=1 {what}=a", f"RECV v from=0 {what}=b")
    found = misshapen(made)

    assert places(made, found) == ["r0.0 r1.0"]
    assert facts(found)[0] == {
        "op": f"SEND v to=1 {what}=a",
        "what": what,
        "sent": "a",
        "wanted": "b",
    }


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        (" shape=2x3", ""),
        ("", " dtype=bf16"),
        (" shape=2x3", " dtype=bf16"),
        (" shape=a", " shape=a"),
    ],
)
def test_ends_that_do_not_both_give_an_attribute_agree(sent: str, wanted: str) -> None:
    assert counts(frame(f"SEND v to=1{sent}", f"RECV v from=0{wanted}")) == {}


def test_several_differences_of_one_message_are_told_once() -> None:
    made = frame("SEND v to=1 shape=a dtype=a", "RECV v from=0 shape=b dtype=b")

    assert [each["what"] for each in facts(misshapen(made))] == ["shape"]


def test_a_message_that_nobody_receives_must_not_leave_its_sender() -> None:
    made = frame("SEND v to=1; SEND u to=1", "RECV v from=0", under=BUFFERED)
    found = stranded(made)

    assert places(made, found) == ["r0.1"]
    assert facts(found) == [{"op": "SEND u to=1", "peer": "1"}]
    assert event(made, found.found[0].event) == "drained u"


def test_a_split_message_is_not_stranded_beside_it() -> None:
    made = frame("SEND v to=1 comm=c", "RECV v from=0", under=BUFFERED)

    assert counts(made) == {"split": 1}
