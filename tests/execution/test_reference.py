from fractions import Fraction

import pytest
import torch

from pipeproof.execution._asked import Asked
from pipeproof.execution.reference import Reference
from pipeproof.execution.witness import EXACT, Witness, witness
from pipeproof.ir.values import ValueKind, encode
from tests.execution.played import document, played, ran
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


# sums in another order

BACKWARDS_FIRST_TO_LAST = "0F0; 0F1; 0F2; 0B0; 0B1; 0B2"
BACKWARDS_MIXED = "0F0; 0F1; 0F2; 0B2; 0B0; 0B1"
FLOATING = ("transformer", "batchnorm", "dropout")


def stepping(program: str, norm: str = "", steps: int = 3) -> str:
    """The program once a step, with other microbatches in each, and an update behind it."""
    names = [{str(m): str(m + 3 * step) for m in range(3)} for step in range(steps)]
    each = [
        "; ".join(word[:2] + own[word[2:]] for word in program.split("; ")) + f"; {norm}0STEP"
        for own in names
    ]
    gradients = {"norm": "all"} if norm else {}
    return made.text(
        "; ".join(each), microbatches=3, steps=steps, transport="buffered", gradients=gradients
    )


@pytest.mark.parametrize("norm", ["", "0NORM ranks=0; "], ids=["plain", "normed"])
@pytest.mark.parametrize("witness", FLOATING)
def test_sums_in_another_order_are_off_by_rounding_in_every_step_and_in_nothing_else(
    witness: str, norm: str
) -> None:
    for seed in range(2):
        (found,) = ran(document(stepping(BACKWARDS_MIXED, norm)), seed, witness)

        assert found.wrong == ""
        assert 0 < found.ratio <= 1


@pytest.mark.parametrize("witness", FLOATING)
def test_sums_in_the_same_order_are_equal_bit_by_bit(witness: str) -> None:
    (found,) = ran(document(stepping(BACKWARDS_FIRST_TO_LAST)), 0, witness)

    assert (found.wrong, found.ratio) == ("", 0.0)


@pytest.mark.parametrize("witness", FLOATING)
def test_rounding_hides_no_contribution_that_is_missing_in_a_later_step(witness: str) -> None:
    missing = stepping(BACKWARDS_MIXED).replace("0B4; ", "")

    (found,) = ran(document(missing), 0, witness)

    assert found.wrong.startswith("0STEP")


@pytest.mark.parametrize(
    ("by", "within"), [(0.0, True), (2.0**-24, True), (1e-4, False), (float("nan"), False)]
)
def test_what_is_off_by_more_than_rounding_is_told(
    by: float,
    within: bool,  # noqa: FBT001  a table
) -> None:
    replayer = played(
        made.text(BACKWARDS_MIXED, microbatches=3, transport="buffered"), 0, "dropout"
    )

    replayer.gradients.of[0, 0].own *= 1 + by
    ratio = replayer.gradients.differs(0, 0)

    assert (ratio is not None and ratio <= 1) is within


def test_the_bound_is_the_number_of_parts_times_their_magnitudes() -> None:
    run = made.run(BACKWARDS_MIXED, microbatches=3)
    model = witness("transformer", 1, 3)
    found = Reference(model, Asked(run, len(model.shapes)))

    sought, bound = found.rounded(0, 0, None)

    parts = torch.stack([found.passed(m).gradients[0][0].double() for m in range(3)])
    assert torch.equal(sought, parts.sum(0))
    assert torch.equal(bound, 3 * 2.0**-24 * parts.abs().sum(0))


def test_shares_and_scalings_are_rounded_once_more() -> None:
    run = made.run(
        "0F0; 0F1; 0F2; 0B0; 0B1; 0B2; 0SCALE by=1/3",
        microbatches=3,
        gradients={"coefficients": "mean"},
    )
    model = witness("transformer", 1, 3)
    found = Reference(model, Asked(run, len(model.shapes)))

    _, bound = found.rounded(0, 0, None)

    parts = torch.stack([found.passed(m).gradients[0][0].double() / 3 for m in range(3)])
    assert torch.allclose(bound, (2 + 1 + 2) * 2.0**-24 * parts.abs().sum(0), rtol=1e-12)
