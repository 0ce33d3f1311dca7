"""A corrupted value is followed to the steps that rest on it."""

import pytest

from pipeproof.lowering.faults import alternatives, faulted
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model
from pipeproof.semantics.relations.faulty import late_steps
from tests.semantics.made import RENDEZVOUS, places, run


def rests(*programs: str, **keys: object) -> list[str]:
    """The STEPs that rest on a message, F0.0 unless another `name` is given, once corrupted."""
    name = keys.pop("name", "F0.0")
    faults = {"among": [{"message": name, "fault": "corrupted"}], "policy": "recover"}
    plain = run(*programs, faults=faults, fragment=True, **keys)
    told = faulted(plain, next(alternatives(plain)))
    frame = Model(told, RENDEZVOUS, write_in(told, RENDEZVOUS.wait)).frame
    return places(frame, late_steps(frame))


@pytest.mark.parametrize(
    ("reader", "found"),
    [
        ("1F0; 1B0; 1STEP", "rests"),
        ("1F0; 1I0; 1W0; 1STEP", "rests"),
        ("1F0; 1R0; 1B0; 1STEP", "rests"),
        ("1F0; 1L0; 1B0; 1STEP", "rests"),
        ("1STEP", "is sound"),
        ("1F0; 1STEP", "is sound"),
        ("1F0; 1B0; 1ZERO; 1STEP", "is sound"),
        ("1F0; 1B0; 1ZERO param=a; 1STEP", "rests"),
        ("1F0; 1B0 param=a; 1ZERO param=a; 1STEP", "is sound"),
        ("1F0; 1B0 param=a; 1STEP param=b", "is sound"),
        ("1F0; 1B0; 1B1 mode=assign; 1STEP", "is sound"),
        ("1F0; 1B0; 1SKIP", "is sound"),
        ("1F0; 1STEP; 1B0; 1STEP", "rests"),
        ("1F0; 1B0; 1STEP; 1ROLLBACK; 1STEP", "rests"),
        ("1F1; 1B1; 1STEP", "is sound"),
    ],
)
def test_a_value_is_followed_to_the_step_that_takes_it(reader: str, found: str) -> None:
    programs = ("0F0; 0SEND_F0", f"1RECV_F0; {reader}")
    last = f"r1.{programs[1].count(';')}"

    assert rests(*programs, microbatches=2) == ([last] if found == "rests" else [])


def test_a_value_is_followed_to_the_step_of_the_next_copy() -> None:
    programs = ("0F0; 0SEND_F0", "1RECV_F0; 1STEP; 1F0; 1B0")
    keys: dict[str, object] = {"steps": "any", "weights": {"updates": "microbatch"}}

    assert rests(*programs, copies=1, **keys) == []
    assert rests(*programs, copies=2, **keys) == ["r1.1"]
    assert rests(programs[0], "1RECV_F0; 1F0; 1B0; 1STEP", copies=2, **keys) == ["r1.3"]


def test_a_value_is_followed_over_ranks() -> None:
    programs = ("0F0; 0SEND_F0", "1RECV_F0; 1F0; 1SEND_F0", "2RECV_F0; 2F0; 2B0; 2STEP")

    assert rests(*programs) == ["r2.3"]


def test_an_extra_input_is_followed() -> None:
    programs = ("SEND A.0 to=1", "RECV A.0 from=0 buf=s; 1F0 aux=s; 1B0; 1STEP")

    assert rests(*programs, name="A.0") == ["r1.3"]


def test_a_loss_that_is_received_is_followed_where_no_l_stands() -> None:
    keys: dict[str, object] = {"name": "L.0", "placement": [1]}

    assert rests("SEND L.0 to=1", "RECV L.0 from=0; 0B0; 0STEP", **keys) == ["r1.2"]
    assert rests("SEND L.0 to=1", "RECV L.0 from=0; 0I0; 0W0; 0STEP", **keys) == ["r1.3"]
    assert rests("SEND L.0 to=1", "0B0; RECV L.0 from=0; 0STEP", **keys) == []
    assert rests("SEND L.0 to=1", "RECV L.0 from=0; 0F0; 0B0; 0STEP", **keys) == []


def test_a_tie_and_a_norm_carry_it_to_other_stages() -> None:
    tie = ("0F0; 0SEND_F0; 0TIE ranks=0,1; 0STEP", "1RECV_F0; 1F0; 1B0; 1TIE ranks=0,1; 1STEP")
    norm = tuple(program.replace("TIE", "NORM") for program in tie)
    plain = tuple(program.replace("TIE ranks=0,1", "REDUCE") for program in tie)
    gradients = {"tied": [[0, 1]]}

    assert rests(*tie, gradients=gradients) == ["r0.3", "r1.4"]
    assert rests(*norm) == ["r0.3", "r1.4"]
    assert rests(*plain) == ["r1.4"]


def test_a_tie_and_a_norm_carry_it_from_a_stage_that_takes_no_step() -> None:
    programs = ("0F0; 0SEND_F0; 0TIE ranks=0,1; 0STEP", "1RECV_F0; 1F0; 1B0; 1TIE ranks=0,1")
    gradients = {"tied": [[0, 1]]}
    assert rests(*programs, gradients=gradients) == ["r0.3"]
    assert rests(*(each.replace("TIE", "NORM") for each in programs)) == ["r0.3"]

    before, after = f"{programs[1]}; 1ZERO", programs[1].replace("1TIE", "1ZERO; 1TIE")
    assert rests(programs[0], f"{before}; 1STEP", gradients=gradients) == ["r0.3"]
    assert rests(programs[0], f"{after}; 1STEP", gradients=gradients) == []

    late = f"{programs[1].replace('1TIE ranks=0,1', '1SKIP')}; 1TIE ranks=0,1; 1STEP"
    assert rests(programs[0], late, gradients=gradients) == []


def test_a_value_that_is_written_again_is_a_copy_of_what_stands_there() -> None:
    sends = "0F0; 0SEND_F0"

    assert rests(sends, "1RECV_F0; WRITE q F0.0; 1F0 in=q; 1B0; 1STEP") == ["r1.4"]
    assert rests(sends, "1RECV_F0; WRITE q F0.1; 1F1 in=q; 1B1; 1STEP", microbatches=2) == []


def test_a_segment_spoils_those_that_take_over_from_it() -> None:
    programs = ("0F0; 0SEND_F0", "1RECV_F0; 1F0; 1F1; 1B1; 1STEP")

    assert rests(*programs, segments=2) == ["r1.4"]
    assert rests(*programs, microbatches=2) == []


def test_a_state_that_is_handed_on_spoils_who_takes_it() -> None:
    programs = ("0F0; 0SEND_F0", "1RECV_F0; 1F0 state=q; 1F1 state=q; 1B1; 1STEP")

    assert rests(*programs, microbatches=2) == ["r1.4"]
    assert rests(programs[0], programs[1].replace("1F1 state=q", "1F1"), microbatches=2) == []


def pipeline(stages: int) -> tuple[str, ...]:
    """One microbatch through a pipeline of stages, a rank each, and back."""
    programs = []
    for stage in range(stages):
        ends = stage == 0, stage == stages - 1
        lines = [] if ends[0] else [f"{stage}RECV_F0"]
        lines += [f"{stage}F0", *([] if ends[1] else [f"{stage}SEND_F0", f"{stage}RECV_B0"])]
        lines += [f"{stage}B0", *([] if ends[0] else [f"{stage}SEND_B0"]), f"{stage}STEP"]
        programs.append("; ".join(lines))
    return tuple(programs)


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_a_forward_spoils_every_step_and_a_backward_those_before_it(stages: int) -> None:
    programs = pipeline(stages)
    steps = [f"r{stage}.{program.count(';')}" for stage, program in enumerate(programs)]

    for stage in range(stages - 1):
        assert rests(*programs, name=f"F{stage}.0") == steps
        assert rests(*programs, name=f"B{stage + 1}.0") == steps[: stage + 1]
