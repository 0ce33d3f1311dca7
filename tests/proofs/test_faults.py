"""Every alternative of what may go wrong is judged by the policy of the file."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

from pipeproof.api import Asked, judge_text
from pipeproof.errors import InputError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.proofs._outside import outside
from pipeproof.proofs.judging import Judging
from pipeproof.verdict.verdict import TransportVerdict
from tests.semantics.made import text

if TYPE_CHECKING:
    from pipeproof.semantics.model import Model
    from pipeproof.verdict.decision import Decision

PAIR = ("0F0; 0SEND_F0; 0RECV_B0; 0B0; 0STEP", "1RECV_F0; 1F0; 1B0; 1SEND_B0; 1STEP")
SPARE = ("0F0; 0SEND_F0; 0B0; 0STEP", "1RECV_F0; 1F0", "SIGNAL to=0")
MISSING: Mapping[str, object] = {"rank": 1, "fault": "missing"}


def judged(
    *programs: str, among: Sequence[Mapping[str, object]], **keys: object
) -> TransportVerdict:
    """The verdict `under` one transport; `policy` and `at_most` belong to the faults."""
    engine = str(keys.pop("engine", "graph"))
    faults: dict[str, object] = {"among": list(among)}
    faults |= {key: keys.pop(key) for key in ("policy", "at_most") if key in keys}
    under = keys.pop("under", "rendezvous")
    written = text(*programs, faults=faults, transport=under, **keys)
    return judge_text(written, "made", Asked(engine=engine)).transports[0]


def told(verdict: TransportVerdict) -> list[str]:
    """Each violation as its code and places."""
    return [
        " ".join([each.rule, *(f"r{place.rank}.{place.position}" for place in each.at)])
        for each in verdict.violations
    ]


@pytest.mark.parametrize("engine", ["graph", "explore", "smt", "all"])
@pytest.mark.parametrize(
    ("fault", "policy", "under", "found"),
    [
        (MISSING, "raise", "rendezvous", []),
        (MISSING, "abort", "rendezvous", ["PP301 r0.1"]),
        (MISSING, "recover", "rendezvous", ["PP301 r0.1", "PP106 r0.4 r1.4"]),
        ({"rank": 0, "fault": "stops", "at": 2}, "raise", "rendezvous", []),
        ({"rank": 0, "fault": "stops", "at": 2}, "raise", "buffered", ["PP706 r1.4"]),
        (
            *({"rank": 0, "fault": "stops", "at": 2}, "abort", "buffered"),
            ["PP706 r1.4", "PP106 r0.4 r1.4"],
        ),
        ({"rank": 0, "fault": "stops", "at": 2}, "recover", "buffered", ["PP106 r0.4"]),
        ({"message": "F0.0", "fault": "dropped"}, "raise", "gloo", ["PP106 r0.3"]),
        ({"message": "B1.0", "fault": "dropped"}, "raise", "rendezvous", ["PP706 r1.4"]),
        ({"message": "B1.0", "fault": "delayed"}, "recover", "rendezvous", []),
        ({"message": "B1.0", "fault": "corrupted"}, "recover", "rendezvous", ["PP706 r0.4"]),
        ({"message": "B1.0", "fault": "duplicated"}, "recover", "rendezvous", []),
        ({"op": "1F0", "fault": "delayed"}, "recover", "buffered-1", []),
        (
            *({"op": "1F0", "fault": "delayed"}, "raise", "buffered-1"),
            ["PP706 r1.4", "PP706 r0.4"],
        ),
    ],
)
def test_a_policy_is_kept_or_broken_where_it_is(
    fault: dict[str, object], policy: str, under: str, found: list[str], engine: str
) -> None:
    verdict = judged(*PAIR, among=[fault], policy=policy, under=under, engine=engine)

    assert told(verdict) == found
    assert verdict.outcome.value == ("refuted" if found else "proved")
    assert not verdict.unknown


def test_the_message_says_in_which_alternative() -> None:
    verdict = judged(*PAIR, among=[MISSING], policy="abort")

    (violation,) = verdict.violations
    assert violation.message == "rank 0 at 0SEND_F0 waits for ever (where rank 1 is missing)"
    assert violation.first


def test_that_in_which_nothing_goes_wrong_is_judged_as_ever() -> None:
    crossed = ("SEND F0.0 to=1; RECV B1.0 from=1", "SEND B1.0 to=0; RECV F0.0 from=0")
    late = [{"message": "F0.0", "fault": "delayed"}]
    verdict = judged(*crossed, among=late, policy="recover", fragment=True)

    assert told(verdict) == ["PP301 r0.0 r1.0"]
    assert verdict.violations[0].message.endswith("rank 0 at SEND F0.0 to=1")


def test_what_goes_wrong_anyway_is_not_told_of_a_fault() -> None:
    crossed = ("SEND F0.0 to=1; RECV B1.0 from=1; 0STEP", "SEND B1.0 to=0; RECV F0.0 from=0; 1STEP")
    among = [{"rank": 2, "fault": "missing"}]
    verdict = judged(*crossed, "", among=among, policy="recover", fragment=True)

    assert told(verdict) == ["PP301 r0.0 r1.0"]


def test_a_copy_that_nobody_waits_for_may_be_missing() -> None:
    programs = ("0F0; 0B0; 0STEP; SEND s to=1 h=x", "RECV s from=0 h=x")
    among: list[Mapping[str, object]] = [
        MISSING,
        {"message": "s", "fault": "dropped"},
        {"message": "s", "fault": "corrupted"},
    ]
    kept = judged(*programs, among=among, at_most=3, policy="recover", fragment=True)
    waits = (programs[0] + "; WAIT x", programs[1])
    stuck = judged(*waits, among=among, policy="recover", fragment=True)

    assert kept.outcome.value == "proved"
    assert kept.outcomes == 8
    assert told(stuck) == ["PP301 r0.4"]


def test_a_message_that_comes_twice_breaks_what_follows_it() -> None:
    programs = ("SEND a to=1; SEND b to=1", "RECV a from=0; RECV b from=0")
    among = [{"message": "a", "fault": "duplicated"}]
    tag = {"completion": "buffered", "match": "tag"}
    order = judged(*programs, among=among, policy="recover", fragment=True, engine="all")
    by_tag = judged(*programs, among=among, policy="recover", fragment=True, under=tag)

    assert "PP202 r0.0 r1.1" in told(order)
    assert "PP201 r0.1" in told(order)
    assert by_tag.outcome.value == "proved"


def test_only_the_rules_that_are_asked_for_are_judged() -> None:
    verdict = judged(*PAIR, among=[MISSING], policy="recover", rules={"select": ["PP301"]})

    assert told(verdict) == ["PP301 r0.1"]
    assert judged(*PAIR, among=[MISSING], rules={"ignore": ["PP1", "PP3", "PP7"]}).violations == ()


def test_two_faults_happen_together_only_where_the_file_says_so() -> None:
    programs = ("RECV a from=1 h=x; RECV a from=2 h=x; 0STEP", "SEND a to=0", "SEND a to=0")
    among: list[Mapping[str, object]] = [
        {"rank": 1, "fault": "missing"},
        {"rank": 2, "fault": "missing"},
    ]
    keys: dict[str, object] = {"policy": "recover", "fragment": True, "stages": 3}
    one = judged(*programs, among=among, **keys)
    two = judged(*programs, among=among, at_most=2, **keys)

    assert one.outcomes == 3
    assert two.outcomes == 4


# choices, copies, limits


def test_every_outcome_of_choices_is_judged_with_every_fault() -> None:
    programs = (
        "0F0; 0B0; CHOOSE q go|stay; SEND a to=1 if=q:go; 0STEP if=q:go; 0SKIP if=q:stay",
        "RECV a from=0 if=q:go; 1STEP if=q:go; 1SKIP if=q:stay",
    )
    among = [{"message": "a", "fault": "dropped"}]
    keys: dict[str, object] = {"fragment": True, "stages": 2, "under": "rendezvous"}
    verdict = judged(*programs, among=among, policy="abort", **keys)

    assert told(verdict) == ["PP301 r1.0", "PP706 r0.4", "PP106 r0.4 r1.1"]
    assert "(where q is go, a is dropped)" in verdict.violations[0].message
    assert verdict.outcomes == 2 + 1  # where q is stay, no message is there to be dropped


def test_an_outcome_in_which_a_fault_cannot_strike_is_judged_once() -> None:
    programs = ("CHOOSE q a|b; 0F0 if=q:a; 0F0 if=q:b; 0B0; 0STEP",)
    among = [{"op": "0F0", "fault": "delayed"}]
    verdict = judged(*programs, among=among, policy="recover", fragment=True)

    assert verdict.outcome.value == "proved"
    assert verdict.outcomes == 4


def test_a_receive_from_whichever_rank_takes_what_is_there_after_the_fault() -> None:
    programs = (
        "RECV a from=any h=x; RECV a from=any h=y; WAIT x; 0STEP",
        "SEND a to=0 h=x",
        "SEND a to=0 h=x",
    )
    keys: dict[str, object] = {"fragment": True, "stages": 3, "under": "buffered"}
    one = judged(*programs, among=[MISSING], policy="recover", **keys)
    both = [MISSING, {"rank": 2, "fault": "missing"}]
    two = judged(*programs, among=both, at_most=2, policy="recover", **keys)

    assert one.outcome.value == "proved"
    assert told(two) == ["PP301 r0.2", "PP106 r0.3"]


BY_TAG: Mapping[str, object] = {"completion": "buffered", "match": "tag"}


@pytest.mark.parametrize("receive", ["RECV a from=any", "RECV any from=1", "RECV b from=1 v=any"])
@pytest.mark.parametrize("kind", ["dropped", "duplicated"])
def test_what_an_open_receive_takes_after_a_loss_is_unknown(kind: str, receive: str) -> None:
    programs = (f"{receive} h=x; 0STEP", "SEND a to=0 h=x")
    among = [{"message": "a", "fault": kind}]
    under = BY_TAG if "from=1" in receive else "buffered"
    keys: dict[str, object] = {"fragment": True, "stages": 2, "under": under}
    verdict = judged(*programs, among=among, policy="recover", **keys)

    assert verdict.outcome.value == "unknown"
    assert {each.why for each in verdict.unknown} == {
        "open receives are not looked through where messages get lost or come twice"
    }
    corrupted = judged(*programs, among=[{"message": "a", "fault": "corrupted"}], **keys)
    assert told(corrupted) == ["PP706 r0.1"]


def test_a_root_that_waits_for_nobody_may_step() -> None:
    programs = ("COLL c ranks=0,1 from=0; 0STEP", "COLL c ranks=0,1 from=0; 1STEP")
    keys: dict[str, object] = {"fragment": True, "stages": 2, "engine": "all"}
    to_all = [program.replace(" from=0", "") for program in programs]

    assert told(judged(*programs, among=[MISSING], **keys)) == ["PP706 r0.1"]
    assert told(judged(*to_all, among=[MISSING], **keys)) == []


@pytest.mark.parametrize(
    ("fault", "policy", "outcome"),
    [
        (MISSING, "raise", "proved"),
        ({"message": "F0.0", "fault": "delayed"}, "recover", "proved"),
        ({"message": "F0.0", "fault": "corrupted"}, "recover", "refuted"),
        ({"rank": 0, "fault": "stops", "at": 2}, "raise", "proved"),
        ({"rank": 1, "fault": "stops", "at": 5}, "recover", "refuted"),
    ],
)
def test_any_number_of_steps_is_judged_on_copies(
    fault: dict[str, object], policy: str, outcome: str
) -> None:
    verdict = judged(*PAIR, among=[fault], policy=policy, steps="any")

    assert verdict.outcome.value == outcome
    assert verdict.steps == "any"


def test_who_goes_on_after_the_copies_leaves_any_number_of_steps_open() -> None:
    programs = ("0F0; SEND a to=1; 0B0; 0SKIP", "RECV a from=0")
    among = [{"rank": 1, "fault": "stops", "at": 1}]
    keys: dict[str, object] = {"fragment": True, "stages": 2, "under": "buffered"}
    some = judged(*programs, among=among, policy="abort", **keys)
    any_ = judged(*programs, among=among, policy="abort", steps="any", **keys)

    assert some.outcome.value == "proved"
    assert any_.outcome.value == "unknown"
    assert {each.why for each in any_.unknown} == {
        "any number of steps: rank 0 goes on after the fault"
    }


def test_one_step_with_faults_says_nothing_of_more() -> None:
    assert judged(*PAIR, among=[MISSING]).steps == 1


def test_more_than_are_looked_through_is_unknown() -> None:
    programs = ("; ".join(f"SEND v{n} to=1" for n in range(30)), "")
    receives = "; ".join(f"RECV v{n} from=0" for n in range(30))
    among: list[Mapping[str, object]] = [
        {"message": f"v{n}", "fault": "delayed"} for n in range(30)
    ]
    verdict = judged(programs[0], receives, among=among, at_most=4, policy="recover", fragment=True)

    assert verdict.outcome.value == "unknown"
    assert [each.rule for each in verdict.unknown] == ["PP106", "PP301", "PP706"]
    assert verdict.unknown[0].why == "more than 4096 alternatives are not looked through"


def test_no_certificate_speaks_of_faults() -> None:
    written = text(*PAIR, faults={"among": [MISSING]}, transport="rendezvous")
    kept: list[tuple[Model, Decision]] = []
    document = spec.read(written, "made", ReadOptions())[0]
    Judging(document, Asked(), kept).verdict()

    assert [outside(model) for model, _ in kept] == ["faults are chosen"]


def test_what_a_fault_names_must_stand_in_the_programs() -> None:
    among = [
        {"rank": 2, "fault": "missing"},
        {"rank": 0, "fault": "stops", "at": 6},
        {"message": "F1.0", "fault": "dropped"},
        {"message": "w", "fault": "dropped"},
        {"op": "2F0", "fault": "delayed"},
    ]
    written = text(*PAIR, faults={"among": among})
    with pytest.raises(InputError) as raised:
        judge_text(written, "made")

    assert [problem.found for problem in raised.value.problems] == [
        "'2' stands here",
        "rank 0 has 5 instructions",
        "no message holds F1.0",
        "no message holds w",
        "2F0 stands nowhere",
    ]


def test_the_faults_of_a_rank_that_runs_what_is_ready_are_unknown() -> None:
    written = (
        "pipeproof: 1\nmicrobatches: 1\ntransport: buffered\n"
        'ranks: [{order: ready, program: "0F0; 0B0; 0STEP"}]\n'
        "faults: {among: [{rank: 0, fault: stops, at: 3}], policy: recover}\n"
    )
    bare = written[: written.index("faults")]

    assert judge_text(bare, "made").verdict == "proved"
    assert judge_text(written, "made").verdict == "unknown"
