from fractions import Fraction
from itertools import product

import pytest
import torch
from torch import Tensor

from pipeproof.execution._asked import Asked
from pipeproof.execution._graph import Graph
from pipeproof.execution.derivatives import (
    Scalars,
    Versions,
    differences,
    disagreement,
)
from pipeproof.execution.reference import Passed, Reference
from pipeproof.execution.witness import EXACT, witness
from tests.semantics import made

ONE_STAGE = "0F0; 0F1; 0B0; 0B1; 0STEP; 0F2; 0B2; 0F3; 0B3"
TWO_STEPS = (
    "0F0; 1F0; 0F1; 1F1; 1B0; 0B0; 1B1; 0B1; 0STEP; 1STEP; 0F2; 1F2; 1B2; 0B2; 0F3; 1F3; 1B3; 0B3"
)


def reference(name: str, seed: int = 0, program: str = TWO_STEPS) -> Reference:
    run = made.run(program, microbatches=2, steps=2, fragment=True)
    model = witness(name, run.schedule.stages, 2, seed)
    asked = Asked(run, len(model.shapes))
    return Reference(model.like(asked.alike, asked.scale), asked)


# differences


@pytest.mark.parametrize("seed", range(3))
def test_whole_gradients_are_differences_of_losses_bit_by_bit(seed: int) -> None:
    off, compared, left = disagreement(reference(EXACT, seed), 2)

    assert off == 0.0
    assert compared > 4 * left > 0


@pytest.mark.parametrize(
    ("name", "within"), [("transformer", 1e-6), ("batchnorm", 1e-4), ("dropout", 1e-6)]
)
def test_other_gradients_are_differences_of_losses_but_for_rounding(
    name: str, within: float
) -> None:
    off, compared, left = disagreement(reference(name, program=ONE_STAGE), 3)

    assert 0 < off < within
    assert compared > 20 * left


@pytest.mark.parametrize("name", [EXACT, "dropout"])
def test_a_gradient_of_other_weights_is_told_apart_from_a_difference(name: str) -> None:
    found = reference(name)
    own = found.passed(0)
    wrong = found.passed(1).gradients
    found._passed["", 0] = Passed(
        own.inputs, own.outputs, own.input_gradients, {**own.gradients, 1: wrong[1]}
    )

    assert disagreement(found, 0)[0] > 0.01


def test_a_kink_has_no_derivative_and_a_bend_has_one() -> None:
    at = [torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)]

    found = differences(
        lambda w: float(torch.relu(w[0][0]) + w[0][1] ** 2 - w[0][2]), at, 2.0**-6, 0.0
    )

    assert found.kinks[0].tolist() == [True, False, False]
    assert found.gradients[0][1:].tolist() == [2.0, -1.0]


# two scalar stages h = a x, y = b h and the loss (y - t)² / 2 at x = 1, t = 10, where a and b have
# the versions 2, 3 and, after one step of 1/10, 16/5 and 19/5

MODEL, TENTH, HUNDREDTH = Scalars(), Fraction(1, 10), Fraction(1, 100)
OLD = Fraction(2), Fraction(3)
NEW = MODEL.step(OLD, MODEL.gradients(Versions(*OLD)), TENTH)

CASES = {
    "version 0": (Versions(*OLD), "-12", "-8"),
    "a fixed version": (Versions(*NEW), "1026/125", "864/125"),
    "stale across stages": (Versions(OLD[0], NEW[1]), "-228/25", "-24/5"),
    "mixed": (Versions(*OLD, back=NEW[1]), "-76/5", "-8"),
    "recomputed under newer weights": (Versions(*OLD, again=NEW[0]), "-12", "-64/5"),
    "recomputed with other random state": (Versions(*OLD, mask=Fraction(0)), "0", "0"),
}


def by_autograd(read: Versions) -> tuple[Tensor, Tensor]:
    """What the replayer's own graphs make of it: backwards over memory that may have changed."""

    def number(value: Fraction) -> Tensor:
        return torch.tensor(float(value), dtype=torch.float64)

    a, b, one = number(read.a), number(read.b), number(Fraction(1))
    first = Graph(lambda w, x: w[0] * x, [a], one)
    hidden = first.output
    if read.again is not None:
        hidden = Graph(lambda w, x: w[0] * x, [number(read.again)], one).output
    second = Graph(lambda w, x: w[0] * x, [b], first.output)
    back = read.b if read.back is None else read.back
    off = second.output - 10
    passed, of_b = second.backward(off, hidden.reshape(1), [number(back)])
    _, of_a = first.backward(passed, first.kept, [a])
    return of_a[0] * float(read.mask), of_b[0] * float(read.mask)


@pytest.mark.parametrize("case", CASES)
def test_the_scalar_model_gives_what_is_derived_by_hand(case: str) -> None:
    read, of_a, of_b = CASES[case]

    assert MODEL.gradients(read) == (Fraction(of_a), Fraction(of_b))


@pytest.mark.parametrize("case", CASES)
def test_the_replayers_graphs_agree_with_the_scalar_model(case: str) -> None:
    read, of_a, of_b = CASES[case]

    found = [float(each) for each in by_autograd(read)]

    assert found == pytest.approx([float(Fraction(of_a)), float(Fraction(of_b))], abs=1e-12)


def test_only_the_valid_cases_are_the_gradient_at_versions_that_existed() -> None:
    true = {MODEL.gradients(Versions(*at)) for at in product(*zip(OLD, NEW, strict=True))}

    valid = {case for case, (read, *_) in CASES.items() if MODEL.gradients(read) in true}
    assert valid == {"version 0", "a fixed version", "stale across stages"}


def test_a_valid_gradient_is_the_difference_of_losses_at_the_versions_that_it_read() -> None:
    step = Fraction(1, 2**20)
    for case in ("version 0", "a fixed version", "stale across stages"):
        a, b = CASES[case][0][:2]
        of_a = (MODEL.loss(a + step, b) - MODEL.loss(a - step, b)) / (2 * step)
        of_b = (MODEL.loss(a, b + step) - MODEL.loss(a, b - step)) / (2 * step)
        assert (of_a, of_b) == MODEL.gradients(CASES[case][0])


def after_two(size: Fraction, second: str) -> list[Fraction]:
    """Losses before, between and after two updates; the second one's gradient is the case's."""
    now = MODEL.step(OLD, MODEL.gradients(Versions(*OLD)), size)
    read = {
        "valid": Versions(*now),
        "mixed": Versions(*OLD, back=now[1]),
        "stale": Versions(*OLD),
        "recomputed": Versions(*OLD, again=now[0]),
    }
    then = MODEL.step(now, MODEL.gradients(read[second]), size)
    return [MODEL.loss(*at) for at in (OLD, now, then)]


SECOND = ("valid", "mixed", "stale", "recomputed")


@pytest.mark.parametrize("second", SECOND)
def test_a_falling_loss_decides_nothing(second: str) -> None:
    before, between, after = after_two(HUNDREDTH, second)

    assert before > between > after


def test_the_cases_end_at_different_losses() -> None:
    assert len({after_two(HUNDREDTH, second)[2] for second in SECOND}) == len(SECOND)


def test_with_a_tenth_the_loss_rises_in_the_invalid_case_and_in_the_stale_one() -> None:
    rises = {
        second for second in SECOND if after_two(TENTH, second)[2] > after_two(TENTH, second)[1]
    }

    assert {"mixed", "stale"} <= rises


@pytest.mark.parametrize(
    ("again", "right"),
    [
        (OLD[0], True),  # from what a checkpoint kept: the forward's own weights
        (NEW[0], False),
    ],
)
def test_a_recomputation_from_the_weights_of_its_forward_changes_nothing(
    again: Fraction,
    right: bool,  # noqa: FBT001  a table
) -> None:
    kept, recomputed = Versions(*OLD), Versions(*OLD, again=again)

    assert (MODEL.gradients(kept) == MODEL.gradients(recomputed)) is right
