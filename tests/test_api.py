"""The one use case: judge a schedule under each transport."""

import json

import pytest

from pipeproof import api
from pipeproof.api import Asked, judge, judge_text
from pipeproof.errors import LimitError, ParseError, ReplayMismatchError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.verdict import replay
from pipeproof.verdict.decision import Broken
from pipeproof.verdict.verdict import FileVerdict, Outcome, TransportVerdict
from tests.semantics.made import CROSSED, PASSED_ON, text


def document(*programs: str, **keys: object) -> Document:
    limits = {"instructions": 10**9}
    return spec.read(text(*programs, **keys), "made", ReadOptions(limits=limits))[0]


def judged(*programs: str, **keys: object) -> FileVerdict:
    """The verdict over a file, `asked` what is asked of it."""
    asked = keys.pop("asked", None)
    assert asked is None or isinstance(asked, Asked)
    return judge(document(*programs, **keys), asked)


def only(*programs: str, **keys: object) -> TransportVerdict:
    """The verdict under one transport, `rendezvous` unless another is given."""
    (found,) = judged(*programs, **{"transport": "rendezvous", **keys}).transports
    return found


def test_a_legal_schedule_is_proved_under_each_of_its_transports() -> None:
    found = judged(*PASSED_ON, transport=["rendezvous", "gloo"])

    assert found.verdict == "proved"
    assert [each.name for each in found.transports] == ["rendezvous", "gloo"]
    assert (found.stages, found.ranks, found.microbatches, found.operations) == (2, 2, 1, 4)
    assert (found.path, found.lowering, found.profile) == ("made", "as-written", "none")
    assert found.forward_only


def test_strict_stands_for_six_transports() -> None:
    assert [each.name for each in judged(*PASSED_ON).transports] == [
        *("rendezvous", "rendezvous-edge", "rendezvous-serial", "rendezvous-rank"),
        *("rendezvous-atomic", "buffered"),
    ]


def test_one_transport_that_refutes_refutes_the_file() -> None:
    found = judged(*CROSSED, fragment=True, transport=["rendezvous", "buffered"])

    assert [each.outcome for each in found.transports] == [Outcome.REFUTED, Outcome.PROVED]
    assert found.verdict == "refuted"
    assert found.first_rule == "PP301"


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (("gloo",), ["gloo"]),
        (("custom", "gloo"), ["custom", "gloo"]),
        (("gloo", "gloo"), ["gloo"]),
        (("buffered", "strict"), ["buffered", "rendezvous"]),
    ],
)
def test_asked_transports_stand_for_those_of_the_file(
    said: tuple[str, ...], names: list[str]
) -> None:
    own = {"completion": "rendezvous", "queue": "none", "wait": "blocking"}
    found = judged(*PASSED_ON, transport=own, asked=Asked(transports=said))

    assert [each.name for each in found.transports][: len(names)] == names


@pytest.mark.parametrize(
    ("select", "ignore", "codes"),
    [
        (("PP3",), (), {"PP301", "PP303"}),
        (("PP301", "PP2"), ("PP20",), {"PP301"}),
        ((), ("PP1", "PP2", "PP4", "PP5", "PP6", "PP7", "PP8", "PP9"), {"PP301", "PP303"}),
    ],
)
def test_only_selected_rules_are_judged(
    select: tuple[str, ...], ignore: tuple[str, ...], codes: set[str]
) -> None:
    assert set(only(*PASSED_ON, asked=Asked(select=select, ignore=ignore)).instances) == codes


def test_the_rules_of_the_file_and_those_that_are_asked_for_leave_out_together() -> None:
    found = only(*PASSED_ON, rules={"ignore": ["PP2"]}, asked=Asked(select=("PP2", "PP3")))

    assert set(found.instances) == {"PP301", "PP303"}


def test_nothing_is_proved_where_no_rule_says_why_it_is_stuck() -> None:
    found = only("SEND v to=1", "1F0", fragment=True, asked=Asked(select=("PP301",)))

    assert found.outcome is Outcome.UNKNOWN
    assert [each.rule for each in found.unknown] == ["PP301"]


def test_a_rule_that_is_not_asked_for_leaves_nothing_open() -> None:
    found = only(
        "SEND v to=1", "1F0", fragment=True, asked=Asked(select=("PP1",), ignore=("PP105",))
    )

    assert (found.outcome, found.unknown) == (Outcome.PROVED, ())


def test_a_rule_that_stands_nowhere_may_be_what_is_unknown() -> None:
    found = only("0F0", stages=1, bounds={"memory": "1GiB"})

    assert found.outcome is Outcome.UNKNOWN
    assert [(each.rule, each.why) for each in found.unknown] == [
        ("PP506", "bounds.memory is about the bytes of sizes, which are not given"),
    ]


def test_a_choice_that_is_not_judged_leaves_every_rule_unknown() -> None:
    ready = "pipeproof: 1\nmicrobatches: 1\nsteps: any\nranks: [{order: ready, program: 0F0}]\n"
    found = judge_text(ready, "made").transports[0]

    assert found.outcome is Outcome.UNKNOWN
    assert {each.rule for each in found.unknown} == {
        rule.code for rule in api.rules() if not rule.warns
    }


def test_a_profile_that_is_asked_for_brings_its_rules() -> None:
    late = ("0F0; 0B0; 0SEND_F0", "1RECV_F0; 1F0")

    assert only(*late, fragment=True).outcome is Outcome.PROVED
    assert only(*late, fragment=True, asked=Asked(profile="torch-runtime")).violations[0].rule == (
        "PP504"
    )


# Steps


def test_one_step_decides_for_any_number_where_all_is_complete_at_the_end() -> None:
    assert only(*PASSED_ON).steps == "any"
    assert only(*PASSED_ON, steps="any").steps == "any"
    assert only("0F0; 0B0; 0STEP; 0F1; 0B1; 0STEP", steps=2).steps == 2


@pytest.mark.parametrize(
    "programs",
    [
        ("SEND v to=1 h=x", "RECV v from=0"),
        ("COLL a ranks=0 h=x", ""),
        ("0UNSHARD; 0F0", ""),
        ("SIGNAL to=1", ""),
    ],
)
def test_one_step_is_one_step_where_something_is_left_open(programs: tuple[str, ...]) -> None:
    assert only(*programs, fragment=True).steps == 1


def test_a_message_that_a_later_one_proves_complete_is_not_left_open() -> None:
    programs = (
        "SEND v to=1 h=x; SEND u to=1",
        "RECV v from=0; RECV u from=0",
    )

    assert only(*programs, fragment=True).steps == "any"


def test_any_number_of_steps_is_decided_on_two_copies() -> None:
    found = only("0UNSHARD; 0F0", steps="any")

    assert found.steps == "any"
    assert [(each.rule, each.at[0].position, each.at[0].step) for each in found.violations] == [
        ("PP102", 0, 1),
    ]


def test_signals_that_differ_in_number_leave_any_number_of_steps_unknown() -> None:
    found = only("SIGNAL to=1", "", steps="any", fragment=True)

    assert found.outcome is Outcome.UNKNOWN
    assert [each.rule for each in found.unknown] == ["PP301"]


# Buffering


def test_a_schedule_that_needs_buffers_is_warned_of_beside_its_deadlock() -> None:
    found = only(*CROSSED, fragment=True)

    assert [each.rule for each in found.violations] == ["PP301"]
    assert [each.rule for each in found.warnings] == ["PP302"]
    assert "stuck under rendezvous" in found.warnings[0].message


def test_a_deadlock_that_buffers_do_not_cure_has_no_warning() -> None:
    found = only("RECV v from=1; SEND u to=1", "RECV u from=0; SEND v to=0", fragment=True)

    assert [each.rule for each in found.violations] == ["PP301"]
    assert found.warnings == ()


def test_a_warning_that_is_not_asked_for_is_not_given() -> None:
    assert only(*CROSSED, fragment=True, asked=Asked(ignore=("PP302",))).warnings == ()


def test_a_deadlock_of_a_buffered_transport_has_no_warning() -> None:
    programs = (
        "SEND v to=1; SEND u to=1; SIGNAL to=1",
        "AWAIT from=0; RECV v from=0; RECV u from=0",
    )
    found = only(*programs, fragment=True, transport="buffered-1")

    assert [each.rule for each in found.violations] == ["PP301"]
    assert found.warnings == ()


# What is said beside the verdict


@pytest.mark.parametrize(
    ("programs", "keys", "gone"),
    [
        (("0F0; SEND F0.0 to=1 buf=b", "RECV F0.0 from=0; 1F0"), {}, "storage"),
        (("0F0; 0STEP", ""), {"stages": 1}, "weight versions"),
        (("0F0; 0B0; 0REDUCE", ""), {"stages": 1}, "reductions"),
        (("0UNSHARD; 0F0; 0RESHARD", ""), {"stages": 1}, "sharding"),
        (("0F0; SEND F0.0 to=1 shape=2", "RECV F0.0 from=0; 1F0"), {}, "shapes"),
        (PASSED_ON, {"bounds": {"live": 4}}, "memory"),
    ],
)
def test_what_is_not_described_is_named(
    programs: tuple[str, ...], keys: dict[str, object], gone: str
) -> None:
    everything = {"storage", "weight versions", "reductions", "sharding", "shapes", "memory"}

    assert everything - set(judged(*programs, **keys).undescribed) == {gone}


def test_a_verdict_names_what_it_assumes() -> None:
    assert "A7" in only("COLL a ranks=0", stages=1).assumes
    assert "A5" not in only("COLL a ranks=0", stages=1).assumes
    assert "A5" in only(*PASSED_ON).assumes


# Errors


def test_more_operations_than_are_looked_through_are_refused() -> None:
    with pytest.raises(LimitError, match="made:1:1: 3000000 stages by 2 microbatches"):
        judged("0F0", stages=3_000_000, microbatches=2)


def test_a_fragment_asks_for_no_operations() -> None:
    assert judged("0F0", stages=1000, microbatches=10_000, fragment=True).verdict == "proved"


def test_text_that_is_no_spec_is_refused() -> None:
    with pytest.raises(ParseError, match=r"^a\.yaml:1:"):
        judge_text("pipeproof: 7\n", "a.yaml")


def test_text_of_a_spec_is_judged() -> None:
    assert judge_text(text(*PASSED_ON), "a.yaml").verdict == "proved"


def test_a_counterexample_that_does_not_replay_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> Broken:
        raise ReplayMismatchError

    monkeypatch.setattr(replay, "check", refuse)

    with pytest.raises(ReplayMismatchError):
        judged("0F0; 0F0")


def test_rules_stand_in_order_of_their_codes() -> None:
    codes = [rule.code for rule in api.rules()]

    assert codes == sorted(codes)


def test_as_run_resolves_messages_and_lists_waits() -> None:
    found = json.loads(api.as_run(document("0F0; 0SEND_F0", "1RECV_F0; 1F0", transport="gloo")))

    assert found["programs"] == [["0F0", "SEND F0.0 to=1"], ["RECV F0.0 from=0", "1F0"]]
    assert found["placement"] == [0, 1]
    assert {tuple(map(int, pair)) for pair in found["waits"]["at-use"]} == {(1, 8), (2, 6)}
