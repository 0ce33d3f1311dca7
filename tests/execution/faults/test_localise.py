import pytest
import torch
from torch import Tensor

from pipeproof.execution.faults.localise import (
    Entry,
    Found,
    Peer,
    Says,
    first_fault,
    localise,
    replaying,
)
from pipeproof.execution.faults.states import Operation, State

AT = Operation(1, 2, 3, "forward")


def product(state: State) -> tuple[Tensor, ...]:
    return (state.inputs[0] @ state.weights[0],)


def wrong(state: State) -> tuple[Tensor, ...]:
    return (product(state)[0] + 1,)


def state(value: float = 1.0, weight: float = 1.0, version: int = 0, random: str = "a") -> State:
    return State.of([torch.full((2, 2), value)], [torch.full((2, 2), weight)], version, random)


RIGHT = product(state())
OFF = wrong(state())


def replicas(count: int, culprit: int, made: tuple[Tensor, ...] = OFF) -> list[Peer]:
    return [
        Peer(rank, state(), product, made if rank == culprit else RIGHT) for rank in range(count)
    ]


def test_peers_that_agree_find_nothing() -> None:
    assert localise(AT, replicas(3, 7)) == Found(Says.AGREED, AT)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_from_three_peers_on_the_one_that_differs_is_named_with_two_confirmations(
    count: int,
) -> None:
    for culprit in range(count):
        found = localise(AT, replicas(count, culprit))

        assert (found.says, found.culprit, found.what) == (Says.CULPRIT, culprit, "outputs")
        assert found.operation == AT._replace(rank=culprit)
        assert len(found.confirmations) == 2
        assert "transient" in found.confirmations[1]


def test_two_peers_only_disagree() -> None:
    found = localise(AT, replicas(2, 1))

    assert (found.says, found.culprit) == (Says.DISAGREEMENT, None)
    assert found.why == "rank 0 against 1"


def test_a_fault_that_lasts_is_told_apart_from_one_that_passes() -> None:
    peers = [*replicas(2, 9), Peer(2, state(), wrong, OFF)]
    found = localise(AT, peers)

    assert found.culprit == 2
    assert "it does so again" in found.confirmations[1]


def test_without_a_majority_nobody_is_named() -> None:
    made = [RIGHT, OFF, (torch.zeros(2, 2),)]
    three = [Peer(rank, state(), product, each) for rank, each in enumerate(made)]
    four = [Peer(rank, state(), product, (RIGHT, OFF)[rank % 2]) for rank in range(4)]

    assert localise(AT, three).says is Says.DISAGREEMENT
    assert localise(AT, four).says is Says.DISAGREEMENT
    assert localise(AT, four).why == "rank 0 and 2 against 1 and 3"


def test_two_culprits_among_five_are_a_disagreement() -> None:
    peers = [Peer(r, state(), product, OFF if r in (1, 3) else RIGHT) for r in range(5)]

    assert localise(AT, peers).says is Says.DISAGREEMENT


@pytest.mark.parametrize(
    ("odd", "what"),
    [
        (state(value=2.0), "inputs on rank 2"),
        (state(random="b"), "random state on rank 2"),
        (state(version=1), "weight version on rank 2"),
    ],
)
def test_preconditions_are_compared_before_outputs(odd: State, what: str) -> None:
    peers = [*replicas(2, 9), Peer(2, odd, product, OFF)]
    found = localise(AT, peers)

    assert (found.says, found.culprit, found.why) == (Says.PRECONDITIONS, None, what)
    assert localise(AT, [*replicas(2, 9), Peer(2, state(), product, OFF)]).culprit == 2


def test_preconditions_of_two_peers_name_no_rank() -> None:
    peers = [*replicas(1, 9), Peer(1, state(value=2.0), product, OFF)]

    assert localise(AT, peers).why == "inputs"


def test_weights_of_one_version_that_differ_are_named_even_where_outputs_are_equal() -> None:
    odd = State.of([torch.ones(2, 2)], [torch.ones(2, 2)], 0, "a")
    odd.weights[0].view(torch.int32)[0, 0] ^= 1
    peers = [*replicas(2, 9), Peer(2, odd, product, RIGHT)]
    found = localise(AT, peers)

    assert (found.says, found.culprit, found.what) == (Says.CULPRIT, 2, "weights")
    assert len(found.confirmations) == 2
    assert localise(AT, peers[1:]).says is Says.DISAGREEMENT


def test_ranks_that_replay_on_its_state_name_it() -> None:
    found = localise(AT, replaying(AT, state(), OFF, product, (0, 3)))

    assert (found.says, found.culprit) == (Says.CULPRIT, 1)
    assert localise(AT, replaying(AT, state(), RIGHT, product, (0, 3))).says is Says.AGREED
    assert localise(AT, replaying(AT, state(), OFF, product, (0,))).says is Says.DISAGREEMENT


def test_a_rank_that_replays_wrongly_is_the_one_that_is_named() -> None:
    own, first, second = replaying(AT, state(), RIGHT, product, (0, 3))
    found = localise(AT, [own, first, second._replace(run=wrong)])

    assert found.culprit == 3


def test_without_an_independent_copy_nothing_can_be_localised() -> None:
    own = state()
    alone = localise(AT, replaying(AT, own, OFF, product, ()))
    shared = localise(AT, [Peer(rank, own, product, RIGHT) for rank in range(3)])

    assert alone.says is Says.CANNOT
    assert shared.says is Says.CANNOT
    assert "the same memory" in shared.why


def test_nobody_is_named_where_the_others_do_not_make_the_same_twice() -> None:
    count = iter(range(100))

    def drifting(own: State) -> tuple[Tensor, ...]:
        return (product(own)[0] + next(count),)

    peers = [*replicas(1, 0), Peer(1, state(), drifting, RIGHT), Peer(2, state(), drifting, RIGHT)]

    assert localise(AT, peers).says is Says.CANNOT


def test_an_operation_is_replayed_in_its_own_precision_and_random_state() -> None:
    value, weight = torch.randn(4, 4), torch.randn(4, 4)

    def dropped(own: State) -> tuple[Tensor, ...]:
        return (torch.nn.functional.dropout(own.inputs[0] @ own.weights[0]),)

    torch.manual_seed(1)
    random = torch.get_rng_state()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = dropped(State.of([value], [weight]))
    right = State.of([value], [weight], 0, random, torch.bfloat16)
    plain = State.of([value], [weight], 0, random)

    assert localise(AT, replaying(AT, right, made, dropped, (0, 3))).says is Says.AGREED
    assert localise(AT, replaying(AT, plain, made, dropped, (0, 3))).says is Says.CULPRIT


def test_a_value_that_is_not_contiguous_is_replayed_on_an_owned_copy() -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    view = whole.t()
    own = State.of([view], [torch.ones(3, 2)])
    made = product(own)
    peers = replaying(AT, own, made, product, (0, 3))
    whole.fill_(7)

    assert all(peer.state.inputs[0].is_contiguous() for peer in peers)
    assert localise(AT, peers).says is Says.AGREED


def test_ledgers_are_compared_up_to_the_first_fault() -> None:
    def ledger(*made: tuple[Tensor, ...]) -> list[Entry]:
        return [
            Entry(AT._replace(microbatch=m), state(), each, product) for m, each in enumerate(made)
        ]

    clean = [ledger(RIGHT, RIGHT, RIGHT) for _ in range(2)]
    broken = ledger(RIGHT, OFF)
    found = first_fault({0: clean[0], 1: broken, 2: clean[1]})

    assert found is not None
    assert (found.culprit, found.operation) == (1, AT._replace(microbatch=1))
    assert str(found) == "wrong value in its outputs: rank 1, stage 2, microbatch 1, forward"
    assert first_fault({0: clean[0], 1: clean[1], 2: ledger(RIGHT)}) is None
