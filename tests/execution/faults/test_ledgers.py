from collections import Counter

import pytest
import torch

from pipeproof.execution.faults.ledgers import Bit, Flip, recorded, turned
from pipeproof.execution.faults.states import carried_out, digest
from pipeproof.execution.witness import WITNESSES
from tests.execution.faults.campaign import drawn, healthy, is_named, model, text
from tests.execution.played import document, models, order


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_one_bit_of_one_number_is_turned(dtype: torch.dtype) -> None:
    values = (torch.ones(2, dtype=dtype), torch.full((3,), 1.5, dtype=dtype))

    assert turned(values, Bit.SIGN, 1)[0].tolist() == [1, -1]
    assert turned(values, Bit.EXPONENT, 2)[1].tolist() == [0.75, 1.5, 1.5]
    low = turned(values, Bit.MANTISSA, 9)[1]
    assert 0 < low[2] - 1.5 <= torch.finfo(dtype).eps
    assert values[0].tolist() == [1, 1]


@pytest.mark.parametrize("name", WITNESSES)
@pytest.mark.parametrize("split", [False, True])
def test_every_operation_runs_again_from_its_state_alone(name: str, split: bool) -> None:  # noqa: FBT001
    made = model(split)
    replay = recorded(made.frame.run, made.frame.transport.match, name)
    replay.play(order(made))

    assert replay.first is None
    assert replay.differing is None
    kinds = Counter(each.operation.direction for each in replay.ledger)
    halves = ["backward of the input", "backward of the weights"]
    backward = dict.fromkeys(halves, 6) if split else {"backward": 6}
    assert kinds == {"forward": 6, "step": 3, **backward}
    for each in replay.ledger:
        assert digest(carried_out(each.run, each.state)) == digest(each.outputs), each.operation


def test_a_state_that_is_run_again_counts_recomputation_too() -> None:
    again = document(text(1, 1).replace("0B0", "0R0\n    0B0"))
    made = next(models(again))
    replay = recorded(made.frame.run, made.frame.transport.match, "dropout")
    replay.play(order(made))

    assert [each.operation.direction for each in replay.ledger] == ["forward", "backward", "step"]
    assert all(digest(carried_out(e.run, e.state)) == digest(e.outputs) for e in replay.ledger)


def test_a_turned_bit_is_in_what_is_handed_on() -> None:
    made = model(split=False)
    flip = Flip(0, 0, "forward", Bit.SIGN, element=3)
    broken, clean = (
        recorded(made.frame.run, made.frame.transport.match, "transformer", flip=each)
        for each in (flip, None)
    )
    for each in (broken, clean):
        each.play(order(made))

    own, other = (
        next(e for e in each.ledger if e.operation[1:3] == (1, 0)) for each in (broken, clean)
    )
    assert own.operation == other.operation
    assert digest(own.state.inputs) != digest(other.state.inputs)
    assert broken.differing is not None


def test_thirty_drawn_faults_are_named_by_three_peers_and_not_by_two() -> None:
    faults = [drawn(number) for number in range(30)]

    assert {each.flip.bit for each in faults if each.flip} == set(Bit)
    assert {each.flip.weights for each in faults if each.flip} == {True, False}
    assert all(map(is_named, faults))


def test_healthy_controls_find_nothing() -> None:
    assert not [each for each in map(healthy, range(8)) if each.found(3) or each.found(2)]


@pytest.mark.slow
def test_three_hundred_faults_are_named_and_thirty_controls_find_nothing() -> None:
    faults = [drawn(number) for number in range(300)]
    found = Counter(is_named(each) for each in faults)
    alarms = [each for each in map(healthy, range(30)) if each.found(3) or each.found(2)]
    flips = [each.flip for each in faults if each.flip]
    kinds = Counter(("weights" if each.weights else "value", each.bit.value) for each in flips)
    places = Counter((each.stage, each.direction) for each in flips)
    print(dict(found), len(alarms), dict(kinds), dict(places))  # noqa: T201  the figures

    assert found == {True: 300}
    assert not alarms
