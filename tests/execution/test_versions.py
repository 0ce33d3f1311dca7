from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pipeproof.execution.versions import Read, Reading, digest, observed

Write = Callable[[Tensor], None]


def in_place(weight: Tensor) -> None:
    with torch.no_grad():
        weight.add_(1)


def around(weight: Tensor) -> None:
    weight.data.add_(1)


def through_a_view(weight: Tensor) -> None:
    weight.detach().numpy()[:] += 1


def swapped(weight: Tensor) -> None:
    weight.data = weight.detach() + 1


def descent(weight: Tensor) -> None:
    weight.grad = torch.ones_like(weight)
    torch.optim.SGD([weight], lr=0.1).step()


def adamw(weight: Tensor, *, foreach: bool = False, fused: bool = False) -> None:
    weight.grad = torch.ones_like(weight)
    torch.optim.AdamW([weight], lr=0.1, foreach=foreach, fused=fused).step()


def step_between(write: Write, hooks: bool) -> Reading:  # noqa: FBT001  as it is called
    """Forward, write, backward, over two layers."""
    torch.manual_seed(0)
    first, second = (torch.randn(3, 3).requires_grad_() for _ in range(2))
    reading = Reading([first, second], hooks=hooks)
    value = torch.randn(2, 3).requires_grad_()
    with reading.during("0F0"):
        made = functional.linear(functional.relu(functional.linear(value, first)), second)
    write(second)
    reading.updated()
    with reading.during("0B0"):
        torch.autograd.grad(made.sum(), [value, first])
    return reading


@pytest.mark.parametrize(
    ("write", "seen", "refused"),
    [
        (in_place, True, True),
        (descent, True, True),
        (adamw, True, True),
        (partial(adamw, foreach=True), True, True),
        (partial(adamw, fused=True), True, False),
        (around, True, False),
        (through_a_view, True, False),
        (swapped, False, False),
    ],
    ids=["in place", "SGD", "AdamW", "AdamW foreach", "AdamW fused", ".data", "a view", "swapped"],
)
def test_digests_see_the_writes_that_autograd_misses(
    write: Write,
    seen: bool,  # noqa: FBT001  a table
    refused: bool,  # noqa: FBT001
) -> None:
    found = observed(partial(step_between, write))

    assert (found.refused is not None) is refused
    assert bool(found.mixed) is seen
    assert found.mixed == ((Read("0B0", 1, 1),) if seen else ())


@pytest.mark.parametrize("hooks", [True, False])
def test_the_weight_of_a_first_stage_is_read_by_no_backward(
    hooks: bool,  # noqa: FBT001  a table
) -> None:
    weight = torch.ones(2, 2).requires_grad_()
    reading = Reading([weight], hooks=hooks)
    with reading.during("0F0"):
        made = functional.linear(torch.ones(2, 2), weight)
    in_place(weight)
    reading.updated()
    with reading.during("0B0"):
        torch.autograd.grad(made.sum(), [weight])

    assert not [each for each in reading.reads if each.operation == "0B0"]
    assert not reading.mixed


def test_what_was_swapped_is_read_in_the_version_of_its_forward() -> None:
    found = observed(partial(step_between, swapped))

    assert Read("0B0", 1, 0) in found.reads
    assert Read("0B0", 0, 0) in found.reads


def test_numbers_of_no_version_are_told_as_none() -> None:
    weight = torch.ones(2, 2).requires_grad_()
    reading = Reading([weight])
    value = torch.ones(2, 2).requires_grad_()
    with reading.during("0F0"):
        made = functional.linear(value, weight)
    around(weight)
    with reading.during("0B0"):
        torch.autograd.grad(made.sum(), [value])

    assert reading.mixed == [Read("0B0", 0, None)]


def test_equal_numbers_have_equal_digests() -> None:
    assert digest(torch.ones(2, 2)) == digest(torch.ones(4, 4)[:2, :2])
    assert digest(torch.ones(2)) != digest(torch.tensor([1.0, 1.0000001]))
