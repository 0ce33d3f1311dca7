"""Messages that move only while both ranks are inside a call."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from pipeproof.ir.transport import Groups, Wait
from pipeproof.semantics.model import Model
from pipeproof.semantics.weak import current, movable, stands_on
from tests.semantics.made import RENDEZVOUS, model

WEAK = replace(RENDEZVOUS, weak=frozenset({"c"}))
PAIR = ("0F0; SEND v to=1 comm=c", "RECV v from=0 comm=c")


def happened(made: Model, *events: int) -> npt.NDArray[np.bool_]:
    done = np.zeros(made.progress.size, np.bool_)
    done[list(events)] = True
    return done


def test_a_rank_stands_at_its_first_instruction_that_has_not_ended() -> None:
    made = model(*PAIR, "")

    assert current(made.frame, happened(made)).tolist() == [0, 2, -1]
    assert current(made.frame, happened(made, 0, 1)).tolist() == [1, 2, -1]
    assert current(made.frame, happened(made, *range(6))).tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("instruction", "inside", "comms"),
    [(0, True, set[int]()), (1, True, {1}), (3, False, set[int]()), (3, True, {1, 2})],
)
def test_a_rank_stands_on_the_communicators_it_waits_for(
    instruction: int,
    inside: bool,  # noqa: FBT001  a table
    comms: set[int],
) -> None:
    made = model("SIGNAL to=1; SEND v to=1 comm=c h=x; SEND u to=1 comm=d h=x; WAIT x", "")

    assert stands_on(made.frame, 0, instruction, inside=inside) == comms


def test_an_end_of_program_stands_on_what_it_waits_for() -> None:
    made = model("SEND v to=1 comm=c", "", under=replace(WEAK, wait=Wait.AT_USE))

    assert stands_on(made.frame, 0, -1, inside=False) == {1}


def test_a_weak_message_moves_while_both_ranks_stand_in_a_call() -> None:
    made = model(*PAIR, under=WEAK)

    assert movable(made, happened(made, 0, 1, 2, 4)).tolist() == [0]


@pytest.mark.parametrize("events", [(), (0, 1, 4), (0, 1, 2)])
def test_a_weak_message_waits_while_a_rank_is_outside(events: tuple[int, ...]) -> None:
    made = model(*PAIR, under=WEAK)

    assert movable(made, happened(made, *events)).tolist() == []


def test_what_moves_with_a_weak_message_moves_only_with_it() -> None:
    transport = replace(WEAK, groups=Groups.ATOMIC)
    made = model(
        "[SEND v to=1 comm=c | SEND u to=1]",
        "RECV u from=0 h=x; RECV v from=0 comm=c h=y; WAIT x",
        under=transport,
    )
    inside = happened(made, 0, 2, 3, 4, 5, 6)

    assert made.weak.tolist() == [0, 1]
    assert movable(made, inside).tolist() == []  # rank 1 waits for u alone, not on c


def test_brackets_move_where_both_ranks_stand_in_a_call_for_all_that_is_weak() -> None:
    made = model(
        "[SEND v to=1 comm=c | SEND u to=1]",
        "[RECV u from=0 | RECV v from=0 comm=c]",
        under=replace(WEAK, groups=Groups.ATOMIC),
    )

    assert movable(made, happened(made, 0, 2)).tolist() == [0, 1]
