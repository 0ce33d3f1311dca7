import torch

from pipeproof.execution.faults.states import Operation, State, carried_out, digest, owned
from pipeproof.execution.versions import digest as digest_of_one


def test_a_value_travels_as_an_owned_contiguous_copy() -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    view = whole.t()[1:]
    (copy,) = owned([view])

    assert not view.is_contiguous()
    assert copy.is_contiguous()
    assert torch.equal(copy, view)
    whole.zero_()
    assert copy.sum() > 0


def test_a_state_owns_all_that_it_holds() -> None:
    value, weight, random = torch.ones(2), torch.ones(3), torch.get_rng_state()
    state = State.of([value], [weight], 3, random)
    for each in (value, weight, random):
        each.zero_()

    assert state.inputs[0].sum() == 2
    assert state.weights[0].sum() == 3
    assert isinstance(state.random, torch.Tensor)
    assert state.random.sum() > 0


def test_a_digest_tells_bits_types_and_shapes_apart() -> None:
    zero = torch.zeros(2)

    assert digest([zero]) != digest([-zero])
    assert digest([zero]) != digest([zero.reshape(1, 2)])
    assert digest([zero]) != digest([torch.zeros(2, dtype=torch.int32)])
    assert digest([torch.full((2,), torch.nan)]) == digest([torch.full((2,), torch.nan)])
    assert digest([torch.ones(4, 3).t()]) == digest([torch.ones(3, 4)])
    assert digest([torch.tensor(1.0)]) != digest_of_one(torch.tensor([1.0]))


def test_an_operation_runs_in_its_own_random_state_and_leaves_that_of_the_caller() -> None:
    torch.manual_seed(3)
    state = State.of([torch.ones(50)], [], random=torch.get_rng_state())
    wanted = torch.nn.functional.dropout(torch.ones(50))
    torch.manual_seed(4)
    before = torch.get_rng_state()

    made = carried_out(lambda own: [torch.nn.functional.dropout(own.inputs[0])], state)

    assert torch.equal(made[0], wanted)
    assert torch.equal(torch.get_rng_state(), before)


def test_an_operation_runs_in_its_own_precision_and_autocast_context() -> None:
    value, weight = torch.randn(4, 4), torch.randn(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        wanted = value @ weight
    state = State.of([value], [weight], autocast=torch.bfloat16)
    double = State.of([value.double()], [weight.double()])

    def product(own: State) -> list[torch.Tensor]:
        return [own.inputs[0] @ own.weights[0]]

    assert digest(carried_out(product, state)) == digest([wanted])
    assert digest(carried_out(product, State.of([value], [weight]))) != digest([wanted])
    assert carried_out(product, double)[0].dtype == torch.float64


def test_what_runs_cannot_spoil_the_state() -> None:
    state = State.of([torch.ones(2)], [])

    carried_out(lambda own: [own.inputs[0].zero_()], state)

    assert state.inputs[0].sum() == 2


def test_a_place_is_told_in_words() -> None:
    assert str(Operation(3, 2, 1, "backward")) == "rank 3, stage 2, microbatch 1, backward"
    assert str(Operation(3, 2, -1, "step")) == "rank 3, stage 2, step"


def test_preconditions_are_inputs_random_state_version_and_precision() -> None:
    base = State.of([torch.ones(2)], [torch.ones(2)], 1, "seed", None)
    others = {
        "inputs": State.of([torch.zeros(2)], [torch.ones(2)], 1, "seed"),
        "random state": State.of([torch.ones(2)], [torch.ones(2)], 1, "other"),
        "weight version": State.of([torch.ones(2)], [torch.ones(2)], 2, "seed"),
        "precision": State.of([torch.ones(2)], [torch.ones(2)], 1, "seed", torch.bfloat16),
    }

    own = base.preconditions()
    for name, each in others.items():
        assert [key for key, said in each.preconditions().items() if said != own[key]] == [name]
    same = State.of([torch.ones(2)], [torch.zeros(2)], 1, "seed")
    assert same.preconditions() == own
