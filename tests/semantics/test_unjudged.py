"""What a schedule describes that no rule judges is told, never proved."""

from dataclasses import replace

import pytest

from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.unjudged import unjudged
from tests.semantics.made import PASSED_ON, RENDEZVOUS, frame, model

WEAK = replace(RENDEZVOUS, weak=frozenset({""}))


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
    "program",
    [
        *("0ZERO", "0SCALE by=1/2", "0STALE", "0NORM ranks=0", "0TIE ranks=0", "0B0 c=1/2"),
        *("0B0 mode=assign", "0B0 param=a", "0B0 last=yes", "0REDUCE shard=0", "0STEP; 0STEP"),
        *("0B0; 0REDUCE h=x; 0STEP; WAIT x", "0REDUCE h=x; 0B0", "0B0; 0B1; 0STEP", "0I0"),
    ],
)
@pytest.mark.parametrize("norm", ["none", "all"])
def test_gradients_are_judged(program: str, norm: str) -> None:
    asked = {"coefficients": "mean", **({"norm": norm} if norm == "all" else {})}

    assert codes(program, gradients=asked, microbatches=2, fragment=True) == set()


def test_a_bound_of_time_is_judged() -> None:
    assert codes(*PASSED_ON, bounds={"makespan": 9}) == set()


def test_faults_leave_nothing_open() -> None:
    assert codes(*PASSED_ON, faults={"among": [{"rank": 1, "fault": "missing"}]}) == set()


def test_pipelines_are_judged() -> None:
    keys: dict[str, object] = {"stages": 4, "pipelines": [[0, 1], [3, 2]]}

    assert codes("0F0; 1F0; 0STEP; 1STEP", **keys) == set()


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
    "program",
    [
        *("0GATHER", "0COMMIT", "0ROLLBACK", "0COMMIT param=a", "0ROLLBACK param=a", "0F0 w=3"),
        "0STEP; 0F0",
    ],
)
def test_versions_of_weights_are_judged(program: str) -> None:
    assert codes(program, weights={"policy": "stash"}, bounds={"staleness": 1}) == set()


def test_codes_are_sorted_and_say_why() -> None:
    bounds = {"makespan": 9, "memory": "1GiB"}
    found = unjudged(model(*PASSED_ON, bounds=bounds, under=WEAK).frame)

    assert list(found) == ["PP506", "PP902"]
    assert found["PP506"] == "bounds.memory is about the bytes of sizes, which are not given"
    assert found["PP902"] == "time is not judged where messages of a weak communicator move"


def test_a_bound_in_bytes_without_sizes_is_told() -> None:
    assert codes("0F0", bounds={"memory": "1GiB"}) == {"PP506"}
    assert codes("0F0", bounds={"memory": "1GiB"}, sizes={"F": "1MiB"}) == set()
