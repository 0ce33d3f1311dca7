"""What a schedule describes that no rule judges is told, never proved."""

import pytest

from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.unjudged import unjudged
from tests.semantics.made import PASSED_ON, RENDEZVOUS, frame, model

VERSIONS = {"PP601", "PP602", "PP603", "PP604", "PP605", "PP802"}
GRADIENT = {"PP701", "PP702", "PP703", "PP708"}


def codes(*programs: str, **keys: object) -> set[str]:
    return set(unjudged(frame(*programs, **keys)))


def test_order_alone_leaves_nothing_open() -> None:
    assert codes(*PASSED_ON) == set()


@pytest.mark.parametrize(
    "program",
    [
        "RECV v from=any",
        "RECV any from=0",
        "RECV v from=0 v=any",
        "CHOOSE q a|b",
        "CHOOSE q a|b; 0F0 if=q:a",
    ],
)
def test_a_choice_leaves_every_rule_open(program: str) -> None:
    assert codes(program) == {"PP"}


def test_a_rank_that_runs_what_is_ready_is_a_choice() -> None:
    text = "pipeproof: 1\nmicrobatches: 1\nranks: [{order: ready, program: 0F0}]\n"
    made = lower(spec.read(text, "made", ReadOptions())[0].schedule)

    assert set(unjudged(Frame(made, RENDEZVOUS, write_in(made, RENDEZVOUS.wait)))) == {"PP"}


@pytest.mark.parametrize(
    ("program", "open_"),
    [
        ("0ZERO", GRADIENT),
        ("0SCALE by=1/2", GRADIENT),
        ("0STALE", GRADIENT),
        ("0NORM ranks=0", {"PP709"}),
        ("0TIE ranks=0", {"PP707"}),
    ],
)
def test_an_instruction_names_the_rules_it_needs(program: str, open_: set[str]) -> None:
    assert codes(program) == open_


@pytest.mark.parametrize(
    ("program", "open_"),
    [
        ("0B0 c=1/2", GRADIENT),
        ("0B0 mode=assign", GRADIENT),
        ("0B0 param=a", {*GRADIENT, "PP707"}),
        ("0B0 last=yes", {"PP701", "PP704"}),
        ("0REDUCE shard=0", {"PP707"}),
    ],
)
def test_an_attribute_names_the_rules_it_needs(program: str, open_: set[str]) -> None:
    assert codes(program) == open_


@pytest.mark.parametrize(
    ("keys", "open_"),
    [
        ({"bounds": {"makespan": 9}}, {"PP902"}),
        ({"gradients": {"coefficients": "mean"}}, {*GRADIENT, "PP707", "PP709"}),
        ({"faults": {"among": [{"rank": 1, "fault": "missing"}]}}, {"PP106", "PP301", "PP706"}),
    ],
)
def test_a_key_names_the_rules_it_needs(keys: dict[str, object], open_: set[str]) -> None:
    assert open_ <= codes(*PASSED_ON, **keys)


def test_reductions_alone_are_judged() -> None:
    assert codes("0F0; 0B0; 0REDUCE", gradients={"reduce": "required"}) == set()


def test_stages_of_two_pipelines_are_tied_once_they_step() -> None:
    keys: dict[str, object] = {"stages": 4, "pipelines": [[0, 1], [3, 2]]}

    assert codes("0F0; 1F0", **keys) == set()
    assert codes("0F0; 1F0; 0STEP; 1STEP", **keys) == {"PP707"}


@pytest.mark.parametrize(
    "program",
    [
        *("HOLD 1", "DROP 1"),
        *("FREE b", "WRITE b v", "USE b v", "SEND v to=0 buf=b", "0F0 keep=b", "0F0 rng=a"),
        *("0F0 state=a", "LOAD X.0 sample=3", "SAVE", "CONSUME 1", "RESUME at=1"),
    ],
)
def test_storage_and_restart_leave_nothing_open(program: str) -> None:
    assert codes(program) == set()


@pytest.mark.parametrize(
    ("program", "open_"),
    [
        ("0B0; 0REDUCE h=x; WAIT x; 0STEP", set[str]()),
        ("0B0; 0REDUCE h=x; 0STEP; WAIT x", {"PP501", "PP502"}),
        ("0B0; 0REDUCE h=x; 0STEP", {"PP501", "PP502"}),
        ("0B0; 0REDUCE h=x; 1STEP", set[str]()),
        ("0REDUCE h=x; 0B0", {"PP501", "PP502"}),
        ("0B0; 0REDUCE; 0STEP", set[str]()),
    ],
)
def test_a_gradient_that_is_used_while_its_reduction_may_run_is_told(
    program: str, open_: set[str]
) -> None:
    assert codes(program, stages=2) == open_


def test_a_second_step_leaves_gradients_open() -> None:
    assert {*GRADIENT} <= codes("0STEP; 0STEP")
    assert codes("0F0; 0B0; 0STEP", copies=2, steps="any") == set()


@pytest.mark.parametrize("program", ["0COMMIT param=a", "0ROLLBACK param=a"])
def test_a_step_of_which_one_parameter_is_taken_back_leaves_versions_open(program: str) -> None:
    assert codes(program) >= VERSIONS


@pytest.mark.parametrize("program", ["0GATHER", "0COMMIT", "0ROLLBACK", "0F0 w=3", "0STEP; 0F0"])
def test_versions_of_weights_are_judged(program: str) -> None:
    assert codes(program, weights={"policy": "stash"}, bounds={"staleness": 1}) == set()


def test_codes_are_sorted_and_say_why() -> None:
    faults = {"among": [{"rank": 1, "fault": "missing"}]}
    found = unjudged(model("0F0", bounds={"makespan": 9}, faults=faults).frame)

    assert list(found) == sorted(found)
    assert found["PP106"] == "the key faults is not judged yet"
    assert found["PP902"] == "bounds.makespan is not judged yet"
