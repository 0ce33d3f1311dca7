from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from pipeproof.execution.ranks.processes import Returned
from pipeproof.execution.runtime._parts import Part, unsplit, witness_of
from pipeproof.execution.runtime.programs import Program
from pipeproof.execution.runtime.steps import BEFORE, Share, Told, given, run

if TYPE_CHECKING:
    from pipeproof.execution.ranks.processes import Processes
    from pipeproof.execution.runtime.ran import Runtime

LEGAL = "0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n"


@pytest.fixture
def ranks(runtime: Runtime) -> Processes:
    return runtime.processes


def seen(processes: Processes, text: str) -> list[Told]:
    program = Program(2, 1, (0, 1), text, messages=True)
    answers = processes.call(run, [Share(program, rank) for rank in range(2)], limit=5)
    return [answer.value for answer in answers if isinstance(answer, Returned)]


def test_every_rank_compares_its_numbers_over_two_steps(ranks: Processes) -> None:
    first, last = seen(ranks, LEGAL)

    assert (first.wrong, first.error) == (last.wrong, last.error) == ((), "")
    assert first.compared == 2 * 2 * 4, "a gradient and an update of each weight"
    assert last.compared == first.compared + 2 * 2, "the output and the loss as well"


def test_an_error_of_torch_is_told_with_the_action_that_raised_it(ranks: Processes) -> None:
    first, last = seen(ranks, LEGAL.replace("0RECV_B0,", ""))

    assert first.at == "0B0"
    assert first.error.endswith("Attempted to run compute action=0B0 before receiving input")
    assert not first.gone
    assert last.gone or not last.error


def test_what_the_loader_refuses_is_told_before_any_action(ranks: Processes) -> None:
    told = seen(ranks, LEGAL.replace("1F0,1B0", "1B0,1F0"))

    assert [each.at for each in told] == [BEFORE] * 2
    assert all("without first running Forward" in each.error for each in told)


def test_what_one_run_leaves_behind_does_not_reach_the_next(ranks: Processes) -> None:
    left = seen(ranks, LEGAL.replace("1F0,1B0", "1B0,1F0"))
    after = seen(ranks, LEGAL)

    assert all(each.error for each in left)
    assert not any(each.error or each.wrong for each in after)


def test_gradients_of_the_unsplit_model_are_divided_as_torch_divides_them() -> None:
    alone, three = unsplit(witness_of(2, 1, 1)), unsplit(witness_of(2, 3, 1))

    assert torch.equal(alone.losses[0] * 3, three.losses[0])
    assert not torch.equal(three.gradients[0][0], alone.gradients[0][0])
    assert len(three.losses) == 3


def test_each_step_has_weights_and_data_of_its_own() -> None:
    part = Part(witness_of(2, 2, 1), 0)
    before = [each.detach().clone() for each in part.weights]
    part.renew(witness_of(2, 2, 2))

    assert any(not torch.equal(old, new) for old, new in zip(before, part.weights, strict=True))
    assert not torch.equal(witness_of(2, 2, 1).given("X", 0), witness_of(2, 2, 2).given("X", 0))


def test_what_is_given_depends_on_the_size_only() -> None:
    program = Program(2, 1, (0, 1), LEGAL, messages=True)

    assert given(program) == given(Program(1, 1, (0, 0)))
    assert given(program) != given(Program(2, 2, (0, 1), LEGAL, messages=True))
