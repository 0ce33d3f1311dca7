from fractions import Fraction

import torch

from pipeproof.execution._asked import Asked
from pipeproof.execution.reference import Reference
from pipeproof.execution.witness import EXACT, Witness, witness
from pipeproof.ir.values import ValueKind, encode
from tests.semantics import made

TWO_STEPS = "0F0; 0F1; 0B0; 0B1; 0STEP; 0F2; 0F3; 0B2; 0B3; 0STEP"


def reference(*programs: str, **keys: object) -> Reference:
    run = made.run(*programs, **keys)
    model: Witness = witness(EXACT, run.schedule.stages, run.schedule.microbatches)
    return Reference(model, Asked(run, len(model.shapes)))


def unsplit(found: Reference, microbatch: int, stages: int) -> tuple[torch.Tensor, ...]:
    """Gradients of all first weights, by nothing but a plain backward."""
    model = found.witness
    weights = [w.clone().requires_grad_() for s in range(stages) for w in model.first(s)]
    value = model.given("X", microbatch)
    for stage in range(stages):
        value = model.run(weights[4 * stage : 4 * stage + 4], value)
    return torch.autograd.grad(model.loss(value, model.given("Y", microbatch)), weights)


def test_gradients_are_those_of_one_plain_backward() -> None:
    found = reference("0F0; 1F0; 1B0; 0B0")

    mine = found.passed(0).gradients
    assert all(map(torch.equal, (*mine[0], *mine[1]), unsplit(found, 0, 2)))


def test_gradients_agree_with_finite_differences() -> None:
    found = reference("0F0; 0B0")
    model, weights = found.witness, list(found.witness.first(0))

    def loss(step: float) -> float:
        moved = [*weights[:3], weights[3] + step * torch.tensor([1.0, 0, 0, 0])]
        return float(model.loss(model.run(moved, model.given("X", 0)), model.given("Y", 0)))

    difference = (loss(0.5) - loss(-0.5)) / 1.0  # exact: the loss is quadratic in this weight
    assert difference == float(found.passed(0).gradients[0][3][0])


def test_a_step_takes_its_microbatches_with_their_shares() -> None:
    found = reference(TWO_STEPS, steps=2, microbatches=2, gradients={"coefficients": ["2", "3"]})

    first = [found.passed(m).gradients[0][0] for m in (0, 1)]
    assert torch.equal(found.taken(0, 0, 0), 2 * first[0] + 3 * first[1])
    wanted = found.witness.updated(found.witness.first(0)[0], found.taken(0, 0, 0))
    assert torch.equal(found.weight(0, 0, 1), wanted)


def test_the_second_step_works_on_the_weights_that_the_first_one_made() -> None:
    found = reference(TWO_STEPS, steps=2, microbatches=2)
    weights = [found.weight(0, k, 1) for k in range(4)]

    made_of = found.witness.run(weights, found.witness.given("X", 2))

    assert torch.equal(found.value(encode(ValueKind.F, 0, 2)), made_of)


def test_two_buffered_versions_are_one_update_behind() -> None:
    found = reference(TWO_STEPS, steps=2, microbatches=2, weights={"policy": "2bw"})

    made_of = found.witness.run(found.witness.first(0), found.witness.given("X", 2))

    assert torch.equal(found.value(encode(ValueKind.F, 0, 2)), made_of)


def test_shares_by_tokens_are_whole_numbers_of_the_scaled_loss() -> None:
    run = made.run(
        "0F0; 0F1; 0B0 c=3/4; 0B1 c=1/4",
        microbatches=2,
        gradients={"coefficients": {"tokens": [6, 2]}},
    )
    asked = Asked(run, 4)
    model = witness(EXACT, 1, 2).like(asked.alike, asked.scale)
    found = Reference(model, asked)

    assert asked.scale == 4
    assert asked.due(0, 0, None) == {0: Fraction(3, 4), 1: Fraction(1, 4)}
    taken = found.taken(0, 0, None)
    assert torch.equal(taken, taken.round())


def test_tied_stages_take_the_sum_of_their_gradients() -> None:
    found = reference("0F0; 1F0; 1B0; 0B0", gradients={"tied": [["0", "1"]]})

    parts = [found.passed(0).gradients[stage][0] for stage in (0, 1)]
    assert torch.equal(found.taken(0, 0, None), parts[0] + parts[1])
    assert torch.equal(found.taken(1, 0, None), found.taken(0, 0, None))
