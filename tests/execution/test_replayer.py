"""What is visible, fault by fault: the smallest schedule that has it, and its legal neighbour."""

import dataclasses

import pytest

from pipeproof.errors import ReplayMismatchError, UnsupportedFeatureError
from pipeproof.execution.replayer import Fault, set_up
from pipeproof.ir.faults import Faulted, Struck
from pipeproof.ir.transport import Match
from tests.execution.faulty import CASES, FORWARDS
from tests.execution.played import document, models, played
from tests.semantics import made


@pytest.mark.parametrize("name", CASES)
def test_a_fault_shows_in_the_numbers_and_its_legal_neighbour_shows_none(name: str) -> None:
    fault, keys, wrong, right = CASES[name]
    seen = [
        met.illegal
        for seed in range(3)
        for met in played(made.text(*wrong, **keys), seed).met
        if met.illegal is not None
    ]

    assert any(each.fault is fault and each.visible for each in seen), seen
    for seed in range(3):
        clean = played(made.text(*right, **keys), seed)
        assert not clean.met
        assert len(clean.happened) == len(clean.events)
        assert clean.compared > 0


def test_a_replay_stops_at_the_first_illegal_transition() -> None:
    model = next(models(document(made.text("0B0; 0F0; 0STEP"))))
    replayer = set_up(model.frame.run, Match.ORDER)

    replayer.play(range(7), stop=True)

    assert replayer.happened == [0]
    assert replayer.first is not None
    assert replayer.first.illegal is not None
    assert replayer.first.illegal.found == "nothing"
    assert replayer.first.illegal.expected == "what 0F0 kept"


def test_an_event_that_does_not_exist_or_has_happened_is_refused() -> None:
    model = next(models(document(made.text("0F0; 0B0"))))
    replayer = set_up(model.frame.run, Match.ORDER)

    with pytest.raises(ReplayMismatchError):
        replayer.play([0, 0])
    with pytest.raises(ReplayMismatchError):
        replayer.play([99])


@pytest.mark.parametrize(
    ("program", "keys", "why"),
    [
        (
            "0F0; 0B0; 0STEP; 0ROLLBACK; 0STEP",
            {"storage": {"weights": {"slots": 2}}},
            "beside slots",
        ),
        ("0F0; 0F1; 0B1; 0B0", {"segments": 2, "fragment": True}, "segments"),
        (
            "0F0; 0F1; 0B0; 0STEP; 0B1; 0STEP",
            {"steps": 2, "weights": {"policy": "latest"}},
            "mixes versions",
        ),
        ("CHOOSE x a|b; 0F0; 0B0", {}, "chooses"),
        ("0F0; 0B0; 0REDUCE; 0F1; 0B1; 0REDUCE", {"steps": 2}, "without an update between"),
        (
            "0F0; 0B0; 0REDUCE; 0STEP; 0F1; 0B1; 0STEP",
            {"steps": 2, "fragment": True},
            "of some steps only",
        ),
        (
            "0F0; 0B0; 0STEP; 0B1 w=stash; 0STEP",
            {"steps": 2, "fragment": True, "weights": {"policy": "stash"}},
            "the stash of a forward",
        ),
        (
            "; ".join(("0F0", *(f"0B0 param=p{n}" for n in range(70)))),
            {},
            "the file names more",
        ),
    ],
)
def test_what_no_witness_shows_is_refused(program: str, keys: dict[str, object], why: str) -> None:
    run = made.run(program, **keys)

    with pytest.raises(UnsupportedFeatureError, match=why):
        set_up(run, Match.ORDER)


def test_under_latest_an_old_version_without_a_mixture_is_run() -> None:
    latest = {"steps": 3, "weights": {"policy": "latest"}}
    behind = "0F0; 0B0; 0STEP; 0F1; 0F2 w=0; 0B1; 0STEP; 0B2 w=0; 0STEP"

    found = played(made.text(behind, **latest))

    assert not found.met
    assert found.compared > 0


def test_each_of_many_parameters_has_a_weight_of_its_own() -> None:
    whole = "; ".join(("0F0", *(f"0B0 param=p{n}" for n in range(20)), "0STEP"))

    assert not played(made.text(whole)).met
    for name in ("p0", "p3", "p4", "p19"):
        found = played(made.text(whole.replace(f"0B0 param={name};", f"0B0 c=0 param={name};"))).met
        assert [(each.illegal.fault, each.illegal.visible) for each in found if each.illegal] == [
            (Fault.GRADIENT, True)
        ]


def test_a_rank_that_runs_what_is_ready_is_refused() -> None:
    rank = '"0F0; 0B0"'
    text = made.text("0F0; 0B0")
    ready = text.replace(rank, f"{{order: ready, program: {rank}}}")

    set_up(next(models(document(text))).frame.run, Match.ORDER)
    with pytest.raises(UnsupportedFeatureError, match="what is ready"):
        set_up(next(models(document(ready))).frame.run, Match.ORDER)


def test_what_goes_wrong_is_refused_and_the_rest_of_the_file_is_not() -> None:
    faults = {"among": [{"rank": 0, "fault": "missing"}]}
    run = next(models(document(made.text("0F0; 0B0", faults=faults)))).frame.run

    set_up(run, Match.ORDER)
    with pytest.raises(UnsupportedFeatureError, match="where it is injected"):
        set_up(
            dataclasses.replace(run, faults=Faulted("raise", (Struck("missing", 0),))), Match.ORDER
        )


def test_events_are_numbered_as_the_model_numbers_them() -> None:
    programs = ("SEND F0.0 to=1; SEND F0.1 to=1", "[RECV F0.1 from=0 | RECV F0.0 from=0]; 1F0; 1F1")
    for match in ("order", "tag"):
        text = made.text(*programs, **FORWARDS, transport={"match": match})
        (model,) = models(document(text))
        replayer = set_up(model.frame.run, model.frame.transport.match)

        pairing = model.frame.pairing
        mine = [(each.send, each.receive) for each in replayer.events.transfers]
        assert mine == list(zip(pairing.send.tolist(), pairing.receive.tolist(), strict=True))
        assert len(replayer.events) == model.events
