from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pipeproof.execution._graph import Graph
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


def optimizer(weight: Tensor, *, fused: bool) -> None:
    weight.grad = torch.ones_like(weight)
    torch.optim.AdamW([weight], lr=0.1, fused=fused).step()


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
        (partial(optimizer, fused=False), True, True),
        (partial(optimizer, fused=True), True, False),
        (around, True, False),
        (through_a_view, True, False),
        (swapped, False, False),
    ],
    ids=["in place", "AdamW", "fused AdamW", ".data", "a view", "swapped"],
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


# two scalar stages h = a x, y = b h and the loss (y - t)² / 2 at x = 1, t = 10, where a and b have
# the versions 2, 3 and, after one step of 1/10, 16/5 and 19/5


def gradients(forward: tuple[float, float], backward: tuple[float, float]) -> tuple[float, float]:
    """The derivatives for a and b, with the versions that forward and backward read."""

    def stage(weights: "list[Tensor] | tuple[Tensor, ...]", value: Tensor) -> Tensor:
        return weights[0] * value

    scalars = [torch.tensor(each, dtype=torch.float64) for each in (*forward, *backward)]
    first = Graph(lambda w, x: stage(list(w), x), [scalars[0]], torch.ones((), dtype=torch.float64))
    second = Graph(lambda w, x: stage(list(w), x), [scalars[1]], first.output)
    passed, of_b = second.backward(second.output - 10, second.kept, [scalars[3]])
    _, of_a = first.backward(passed, first.kept, [scalars[2]])
    return float(of_a[0]), float(of_b[0])


OLD, NEW = (2.0, 3.0), (3.2, 3.8)


@pytest.mark.parametrize(
    ("forward", "backward", "wanted"),
    [
        (OLD, OLD, (-12, -8)),
        (NEW, NEW, (8.208, 6.912)),
        ((2.0, 3.8), (2.0, 3.8), (-9.12, -4.8)),
        (OLD, (2.0, 3.8), (-15.2, -8)),
    ],
    ids=["stale", "current", "stale across stages", "mixed"],
)
def test_a_backward_with_another_version_is_the_gradient_of_no_version(
    forward: tuple[float, float], backward: tuple[float, float], wanted: tuple[float, float]
) -> None:
    found = gradients(forward, backward)

    assert found == pytest.approx(wanted, abs=1e-12)
    true = {gradients((a, b), (a, b)) for a in (2.0, 3.2) for b in (3.0, 3.8)}
    assert (found in true) is (forward == backward)


def test_a_falling_loss_decides_nothing() -> None:
    def loss(a: float, b: float) -> float:
        return (a * b - 10) ** 2 / 2

    a, b = (w - g / 100 for w, g in zip(OLD, gradients(OLD, OLD), strict=True))
    cases = {
        "valid": gradients((a, b), (a, b)),
        "mixed": gradients(OLD, (OLD[0], b)),
        "stale": gradients(OLD, OLD),
    }

    assert len(set(cases.values())) == 3
    for of_a, of_b in cases.values():
        assert loss(a - of_a / 100, b - of_b / 100) < loss(a, b) < loss(*OLD)
