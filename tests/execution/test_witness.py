import pytest
import torch

from pipeproof.execution.witness import EXACT, WITNESSES, Circumstances, InexactError, witness

KINDS = sorted(WITNESSES)


@pytest.mark.parametrize("name", KINDS)
def test_every_microbatch_and_every_stage_has_numbers_of_its_own(name: str) -> None:
    model = witness(name, 3, 4)

    inputs = [model.given("X", m)[0] for m in range(4)]
    weights = [model.first(s)[0] for s in range(3)]
    for numbers in (inputs, weights):
        pairs = [(a, b) for n, a in enumerate(numbers) for b in numbers[:n]]
        assert not any(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", KINDS)
def test_the_gradient_reaches_every_weight_and_the_input(name: str) -> None:
    model = witness(name, 1, 2, seed=3)
    weights = [each.requires_grad_() for each in model.first(0)]
    value = model.given("X", 0).requires_grad_()

    made = model.run(weights, value, Circumstances("r"))
    found = torch.autograd.grad(model.loss(made, model.given("Y", 0)), [value, *weights])

    assert all(bool(each.any()) for each in found)


def test_the_last_microbatch_of_a_step_is_smaller() -> None:
    model = witness(EXACT, 1, 3)

    assert [model.rows(m) for m in range(6)] == [3, 3, 2, 3, 3, 2]
    assert witness(EXACT, 1, 1).rows(0) == 3


def test_stages_that_are_alike_start_with_the_same_weights() -> None:
    model = witness(EXACT, 3, 1).like({2: 0}, 1)

    assert torch.equal(model.first(2)[0], model.first(0)[0])
    assert not torch.equal(model.first(1)[0], model.first(0)[0])


def test_an_exact_update_leaves_small_whole_numbers() -> None:
    model = witness(EXACT, 1, 1)

    updated = model.updated(torch.tensor([2.0, -2.0]), torch.tensor([-1.0, 7.0]))

    assert updated.tolist() == [-2.0, 1.0]


@pytest.mark.parametrize("number", [0.5, 2.0**53, float("inf")])
def test_what_is_no_whole_number_below_2_to_the_53_is_told(number: float) -> None:
    model = witness(EXACT, 1, 1)

    model.assert_exact(torch.tensor([2.0**53 - 1, float("nan")], dtype=torch.float64))
    with pytest.raises(InexactError):
        model.assert_exact(torch.tensor([number], dtype=torch.float64))


@pytest.mark.parametrize("name", [EXACT, "dropout"])
def test_another_random_state_gives_another_result(name: str) -> None:
    model = witness(name, 1, 1, seed=1)
    value = torch.cat([model.given("X", m) for m in range(8)])

    first, again, other = (
        model.run(model.first(0), value, Circumstances(rng)) for rng in ("a", "a", "b")
    )

    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_another_context_gives_another_result() -> None:
    model = witness(EXACT, 1, 1)
    value = model.given("X", 0)

    made = [model.run(model.first(0), value, Circumstances(None, at)) for at in (None, "a", "b")]

    assert not torch.equal(made[0], made[1])
    assert not torch.equal(made[1], made[2])


def test_an_unknown_witness_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'resnet'; write one of linear"):
        witness("resnet", 1, 1)
