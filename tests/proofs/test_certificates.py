"""What certificates say of small schedules, and what they leave out."""

import json

import pytest

from pipeproof.verdict.certificate import Blocked, Path, Proved, Refuted, Statement
from tests.properties.certifying import Certified, certified_text, rechecked, rejected, sealed
from tests.semantics.made import CROSSED, PASSED_ON, text

# Two instructions a rank: start and done are 0 to 7, the ends 8 and 9, the message 10 and 11.
DRAINED, ARRIVED = 10, 11


def made(*programs: str, **keys: object) -> Certified:
    return certified_text(text(*programs, **{"transport": "rendezvous", "fragment": True, **keys}))


def only(*programs: str, **keys: object) -> Statement:
    """The only statement, once both programs accept it."""
    found = made(*programs, **keys)
    (statement,) = found.certificate.statements
    assert not rejected(found, found.certificate.text)
    assert not rechecked(found.certificate.text, found.as_run)
    return statement


def left_out(*programs: str, **keys: object) -> list[str]:
    return [each.why for each in made(*programs, **keys).left_out]


def test_a_run_holds_every_event_and_a_path_leads_over_the_wait() -> None:
    said = only(*PASSED_ON)

    assert isinstance(said, Proved)
    assert sorted(said.run) == list(range(12))
    assert said.paths == (Path(ARRIVED, 6, (ARRIVED, 5, 6)),)
    assert {"PP301", "PP403", "PP505"} <= {*said.rules}


def test_a_receive_at_use_needs_one_step() -> None:
    said = only(*PASSED_ON, transport="gloo")

    assert isinstance(said, Proved)
    assert said.paths == (Path(ARRIVED, 6, (ARRIVED, 6)),)


def test_a_reply_orders_what_no_wait_does() -> None:
    """The send of v has been read when the answer to it is there."""
    said = only(
        "SEND v to=1 buf=s h=a; RECV w from=1; WRITE s u",
        "RECV v from=0; SEND w to=0",
    )

    assert isinstance(said, Proved)
    (path,) = (each for each in said.paths if each.after == 4)
    assert isinstance(path, Path)
    assert path.path[0] == path.before == 12
    assert path.path[-1] == 4


def test_a_count_is_shown_by_what_can_happen_without_it() -> None:
    """One place on the channel: the second send shows that the first message has arrived."""
    said = only(
        "SEND v to=1 buf=s; SEND w to=1; USE s v",
        "RECV v from=0 buf=t h=a; RECV w from=0; SIGNAL to=0; WRITE t u",
        transport={"completion": "buffered", "capacity": 1},
    )

    assert isinstance(said, Proved)
    assert any(isinstance(each, Blocked) for each in said.paths)


def test_a_deadlock_is_a_run_to_where_nothing_more_can_happen_and_its_places() -> None:
    said = only(*CROSSED)

    assert isinstance(said, Refuted)
    assert (said.rule, said.run, said.places) == ("PP301", (0, 4), ((0, 0), (1, 0)))


def test_what_starts_too_early_is_a_run_without_what_it_needs() -> None:
    said = only("0F0; SEND F0.0 to=1", "RECV F0.0 from=0 h=a; 1F0; WAIT a", transport="buffered")

    assert isinstance(said, Refuted)
    assert said.rule == "PP501"
    assert said.pair == (13, 6)
    assert said.run[-1] == 6
    assert 13 not in said.run


def test_what_nothing_puts_there_has_no_event() -> None:
    said = only("1F0", microbatches=1, stages=2, placement=[0, 0], fragment=False)

    assert isinstance(said, Refuted)
    assert (said.rule, said.pair) == ("PP401", (-1, 0))


def test_a_message_without_a_partner_is_its_place_and_has_no_events() -> None:
    said = only("SEND v to=1; 0F0", "", transport="buffered")

    assert isinstance(said, Refuted)
    assert (said.rule, said.run, said.places) == ("PP201", (), ((0, 0),))


def test_crossed_messages_are_their_places() -> None:
    said = only("SEND v to=1", "RECV w from=0")

    assert isinstance(said, Refuted)
    assert (said.rule, said.places) == ("PP202", ((0, 0), (1, 0)))


def test_copies_stand_one_after_the_other() -> None:
    """What nobody waits for may still be under way when the next step begins."""
    said = only("SEND v to=1 h=a", "RECV v from=0 h=a", steps="any")

    assert isinstance(said, Proved)
    assert said.copies == 2
    assert sorted(said.run) == list(range(2 * 4 + 2 + 2 * 2))


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("0F0; SEND v to=0; RECV v from=any", "the runtime chooses"),
        ("CHOOSE c a|b; SEND v to=0; RECV v from=any", "the runtime chooses"),
        ("CHOOSE c a|b; 0SEND_B0 if=c:a", "the runtime chooses"),
        ("0F0; 0F0", "PP102, which is broken"),
    ],
)
def test_what_no_certificate_can_show_is_left_out(program: str, why: str) -> None:
    found = made(program)

    assert found.certificate.statements == ()
    assert [why in each.why for each in found.left_out] == [True]


def test_without_a_rule_that_it_can_show_there_is_no_statement() -> None:
    assert made("0F0", rules={"select": ["PP6"]}).left_out[0].why.startswith("no rule is asked for")


def test_what_section_10_does_not_speak_of_is_left_out() -> None:
    ties = {"tied": [[0, 2], [1, 3]]}
    tied = ("0TIE ranks=0,1; 1TIE ranks=0,1", "2TIE ranks=0,1; 3TIE ranks=0,1")
    assert left_out(*tied, gradients=ties, placement=[0, 0, 1, 1], stages=4) == []
    assert left_out("COLL a ranks=0,1 from=0", "COLL a ranks=0,1") == [
        "the entries of a collective differ in kind"
    ]


def test_a_tie_that_lacks_its_own_rank_is_left_out() -> None:
    why = "a collective lacks the rank that enters it"

    assert left_out("0TIE ranks=1; 0F0", "1F0") == [why]
    assert left_out("0TIE ranks=0; 0F0", "1F0") == []


def test_calls_of_one_atomic_set_in_one_queue_are_a_deadlock() -> None:
    atomic = {"completion": "rendezvous", "queue": "rank", "groups": "atomic", "wait": "explicit"}
    calls = ("RECV v from=0 h=x; RECV w from=0 h=x; WAIT x",)
    said = only("[SEND v to=1 | SEND w to=1] h=x; WAIT x", *calls, transport=atomic)

    assert isinstance(said, Refuted)
    assert said.rule == "PP301"


def test_an_entry_with_a_handle_is_a_place_of_its_deadlock() -> None:
    said = only("RECV a from=1; COLL k ranks=0,1", "COLL k ranks=0,1 h=y; WAIT y; SEND a to=0")

    assert isinstance(said, Refuted)
    assert said.places == ((0, 0), (1, 0), (1, 1))


def test_of_three_ends_without_a_partner_the_third_is_shown() -> None:
    ends = "RECV a from=0 comm=d h=x; RECV a from=0 h=x"
    said = only("SEND a to=1 comm=c h=x", ends, transport="buffered")

    assert isinstance(said, Refuted)
    assert (said.rule, said.places) == ("PP201", ((1, 1),))


def test_a_backward_on_another_rank_than_its_forward_has_none() -> None:
    said = only("0F0; SIGNAL to=1", "AWAIT from=0; 0B0", fragment=False, stages=1, placement=[0])

    assert isinstance(said, Refuted)
    assert (said.rule, said.pair) == ("PP402", (-1, 6))


def test_a_loss_that_a_forward_computes_and_gin_names_leaves_storage_out() -> None:
    said = only("0F0; 0B0 gin=s", stages=1)
    with_loss = only("0F0; 0L0 out=s; 0B0 gin=s", stages=1)

    assert isinstance(said, Proved)
    assert isinstance(with_loss, Proved)
    assert not [rule for rule in said.rules if rule.startswith("PP5")]
    assert "PP505" in with_loss.rules


def test_storage_of_which_section_10_does_not_speak_is_not_certified() -> None:
    said = only("0F0; 0I0; 0W0 gout=g")

    assert isinstance(said, Proved)
    assert not [rule for rule in said.rules if rule.startswith("PP5")]


def test_a_value_twice_in_slots_by_use_leaves_storage_out() -> None:
    storage = {"send": {"slots": 2, "slot": "use mod slots", "per": "stage"}}
    programs = ("0F0; 0SEND_F0 buf=s1", "1RECV_F0; {}1B0; 1SEND_B0")
    twice = only(*(each.format("0RECV_B0; ") for each in programs), storage=storage)
    once = only(*(each.format("") for each in programs), storage=storage)

    assert isinstance(twice, Refuted)
    assert twice.rule == "PP201"
    assert isinstance(once, Refuted)
    assert once.rule == "PP505"


def test_weak_communicators_are_left_out() -> None:
    transport = {"completion": "rendezvous", "weak": ["c"]}
    (why,) = left_out("SEND v to=1 comm=c", "RECV v from=0 comm=c", transport=transport)

    assert "inside calls" in why


def test_a_rule_of_which_a_part_stands_outside_is_not_certified() -> None:
    said = only("0F0; 0B0; 0REDUCE h=r; WAIT r; 0STEP")

    assert isinstance(said, Proved)
    assert not {"PP501", "PP502"} & {*said.rules}
    assert {"PP503", "PP504"} <= {*said.rules}


def test_a_statement_that_claims_more_rules_is_rejected() -> None:
    found = made("0F0; 0B0; 0REDUCE h=r; WAIT r; 0STEP")
    content = json.loads(found.certificate.text)
    content["statements"][0]["rules"].append("PP501")

    assert "PP501" in rejected(found, sealed(content))


PARTS = [
    ("0F0 bucket=b; 0F0 bucket=a; 1F0", "0F0 bucket=b; 1F0; 0F0 bucket=a", "PP401"),
    ("0F0; 1F0; 1B0 c=1/2; 1B0 c=1/2; 0B0", "0F0; 1F0; 1B0 c=1/2; 0B0; 1B0 c=1/2", "PP403"),
    ("0F0; 1F0; 1I0 param=a; 1I0 param=b; 0I0", "0F0; 1F0; 1I0 param=a; 0I0; 1I0 param=b", "PP403"),
]


@pytest.mark.parametrize(("whole", "partial", "rule"), PARTS)
def test_what_is_made_in_parts_is_there_with_the_last_one(
    whole: str, partial: str, rule: str
) -> None:
    said, broken = only(whole, stages=2), only(partial, stages=2)

    assert isinstance(said, Proved)
    assert rule in said.rules
    assert isinstance(broken, Refuted)
    assert broken.rule == rule


@pytest.mark.parametrize(("whole", "partial", "rule"), PARTS)
def test_a_proof_that_takes_a_part_for_the_whole_is_rejected_by_both(
    whole: str, partial: str, rule: str
) -> None:
    legal, illegal = made(whole, stages=2), made(partial, stages=2)
    forged = json.loads(illegal.certificate.text)
    forged["statements"] = json.loads(legal.certificate.text)["statements"]

    assert rule in rejected(illegal, sealed(forged))
    assert rule in rechecked(sealed(forged), illegal.as_run)


def test_a_transport_that_the_schedule_has_not_is_rejected() -> None:
    found = made(*PASSED_ON)
    content = json.loads(found.certificate.text)
    content["statements"][0]["transport"] = "gloo"

    assert "no such transport" in rejected(found, sealed(content))


WHICH = (
    "CHOOSE which a|b; 0F0; SEND F0.0 to=1 if=which:a",
    "CHOOSE which a|b; RECV F0.0 from=0 if=which:a; 1F0 if=which:a",
)


def test_every_outcome_of_a_choice_has_a_statement_of_the_same_rules() -> None:
    found = made(*WHICH, steps=1)
    said = found.certificate.statements

    assert [each.outcome for each in said] == [(("which", "a"),), (("which", "b"),)]
    assert {len(each.run) for each in said} == {12 + 2 + 2, 6 + 2}
    assert len({each.rules for each in said if isinstance(each, Proved)}) == 1
    assert not rejected(found, found.certificate.text)
    assert not rechecked(found.certificate.text, found.as_run)


@pytest.mark.parametrize("dropped", [0, 1])
def test_a_certificate_that_lacks_an_outcome_is_rejected_by_both(dropped: int) -> None:
    found = made(*WHICH, steps=1)
    content = json.loads(found.certificate.text)
    del content["statements"][dropped]

    assert "an outcome is missing" in rejected(found, sealed(content))
    assert "an outcome is missing" in rechecked(sealed(content), found.as_run)


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": {"which": "c"}},
        {"outcome": {"which": "b"}},
        {"outcome": {}},
        {"outcome": {"which": "a", "other": "b"}},
        {"rules": ["PP301"]},
    ],
)
def test_an_outcome_that_is_none_or_differs_is_rejected_by_both(change: dict[str, object]) -> None:
    found = made(*WHICH, steps=1)
    content = json.loads(found.certificate.text)
    content["statements"][0] |= change

    assert rejected(found, sealed(content))
    assert rechecked(sealed(content), found.as_run)


def test_a_statement_without_its_outcome_is_rejected_by_both() -> None:
    found = made(*WHICH, steps=1)
    content = json.loads(found.certificate.text)
    for each in content["statements"]:
        del each["outcome"]
    del content["statements"][1]

    assert "the runtime chooses" in rejected(found, sealed(content))
    assert rechecked(sealed(content), found.as_run)


def test_what_one_outcome_breaks_is_shown_of_that_outcome() -> None:
    said = only("CHOOSE c a|b; SEND v to=1 if=c:a", "CHOOSE c a|b; RECV v from=0", steps=1)

    assert isinstance(said, Refuted)
    assert said.outcome == (("c", "b"),)
    assert (said.rule, said.places) == ("PP201", ((1, 1),))


def test_a_choice_that_is_made_again_has_a_number_and_a_copy() -> None:
    found = made("CHOOSE c a|b; 0F0 if=c:a; CHOOSE c a|b; SEND v to=1 h=x", "RECV v from=0 h=x")
    first, *_ = found.certificate.statements

    assert len(found.certificate.statements) == 4
    assert first.outcome == (("c", "a"), ("c#2", "a"))
    assert not rechecked(found.certificate.text, found.as_run)

    twice = made("CHOOSE c a|b; 0F0 if=c:a; SEND v to=1 h=x", "RECV v from=0 h=x", steps="any")
    assert len(twice.certificate.statements) == 4
    assert twice.certificate.statements[1].outcome == (("c", "a"), ("c@2", "b"))
    assert not rejected(twice, twice.certificate.text)
    assert not rechecked(twice.certificate.text, twice.as_run)


@pytest.mark.parametrize(("after", "path", "holds"), [(5, [11, 5], True), (7, [11, 5, 7], False)])
def test_what_comes_before_an_event_comes_before_all_that_follow_in_its_program(
    after: int, path: list[int], *, holds: bool
) -> None:
    said = made(*PASSED_ON)
    whole = json.loads(said.certificate.text)
    whole["statements"][0]["paths"] = [{"before": ARRIVED, "after": after, "path": path}]
    changed = sealed(whole)

    assert (not rejected(said, changed)) is holds
    assert (not rechecked(changed, said.as_run)) is holds
