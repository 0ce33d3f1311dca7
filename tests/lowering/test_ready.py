"""What an instruction of a ready rank needs before it is picked."""

import pytest

from pipeproof.frontends import spec
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from pipeproof.lowering.ready import Needs, ranks_of, row_order, unclear


def run(program: str, *others: str, keys: str = "", ready: str = "") -> AsRun:
    ranks = "".join(f"  - '{each}'\n" if each else "  - []\n" for each in others)
    text = f"""pipeproof: 1
stages: 2
microbatches: 2
placement: [0, 1]
{keys}
ranks:
  - {{order: ready, program: '{program}'{ready}}}
{ranks}"""
    return lower(spec.read(text, "made", ReadOptions())[0].schedule)


def needs(program: str, *others: str) -> dict[int, Needs]:
    (rank,) = ranks_of(run(program, *others))
    return dict(rank.needs)


def test_a_backward_needs_its_forward_and_the_gradient_that_is_received() -> None:
    found = needs("0F0; RECV B1.0 from=1; 0B0", "SEND B1.0 to=0")

    assert found[2].one_of == (frozenset({0}),)
    assert found[2].complete == (1,)
    assert found[1].receives == (1,)
    assert not any(each.nowhere for each in found.values())


def test_a_send_needs_its_value() -> None:
    found = needs("SEND F0.0 to=1; 0F0", "RECV F0.0 from=0")

    assert found[0].one_of == (frozenset({1}),)


def test_a_value_that_nobody_brings_is_nowhere() -> None:
    assert needs("0F0; 0B0", "1F0")[1].nowhere


def test_what_has_no_needs_of_its_own_keeps_its_place() -> None:
    found = needs("0F0; 0F1; 0ZERO; 0B0", "")

    assert found[2].done == {0, 1}
    assert found[3].done == {2}


def test_a_wait_needs_what_was_started_before_it_and_a_handle_keeps_its_order() -> None:
    found = needs("RECV u from=1 h=x; WAIT x; RECV w from=1 h=x", "SEND u to=0; SEND w to=0")

    assert found[1].complete == (0,)
    assert found[2].done == {1}


def test_a_bracket_has_the_needs_of_all_its_members() -> None:
    found = needs("[SEND F0.0 to=1 | RECV u from=1]; 0F0", "[RECV F0.0 from=0 | SEND u to=0]")

    assert found[0].one_of == (frozenset({1}),)
    assert found[0].receives == (1,)


def test_a_weight_gradient_needs_its_input_gradient() -> None:
    assert needs("0F0; 0I0; 0W0", "")[2].one_of == (frozenset({1}),)


def test_the_bound_and_the_priority_are_read() -> None:
    (rank,) = ranks_of(run("0F0", "", ready=", limit: {live: 2}, prefer: backward"))

    assert (rank.rank, rank.limit, rank.prefer) == (0, 2, "backward")


def test_rows_follow_the_picks_and_other_ranks_stay() -> None:
    made = run("0F0; [SEND u to=1 | SEND w to=1]; 0F1", "[RECV u from=0 | RECV w from=0]; 1F0")

    assert row_order(made, {0: (2, 1)}).tolist() == [3, 1, 2, 4, 5, 6]


@pytest.mark.parametrize(
    ("program", "keys", "why"),
    [
        ("0F0", "", ""),
        ("0F0", "steps: any", "any number of steps"),
        ("; ".join(["HOLD 0"] * 401), "", "more than 400 instructions"),
        ("0F0 bucket=a; 0F0 bucket=b", "", "parts of an operation"),
        ("WAIT x; RECV u from=1 h=x", "", "a WAIT before what it waits for"),
        ("RECV F1.0 from=1; RECV F1.0 from=1; SEND F1.0 to=1", "", "receives twice"),
        ("RECV any from=1", "", "open receives"),
        ("0F0", "storage: {stash: {slots: 1, guard: wait}}", "slots that are waited for"),
    ],
)
def test_what_is_not_clear_is_told(program: str, keys: str, why: str) -> None:
    found = unclear(run(program, "", keys=keys))

    assert why in found
    assert bool(found) == bool(why)


def test_a_schedule_without_ready_ranks_is_clear() -> None:
    text = "pipeproof: 1\nmicrobatches: 1\nsteps: any\nranks: [0F0]\n"

    assert unclear(lower(spec.read(text, "made", ReadOptions())[0].schedule)) == ""
