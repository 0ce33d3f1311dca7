from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from pipeproof.execution.streams._state import alike
from pipeproof.execution.streams.restart import restarted
from tests.execution.streams.flowed import flowed, modelled, only, order, queues
from tests.semantics import made

if TYPE_CHECKING:
    from pipeproof.execution.streams.restart import Restarted
    from pipeproof.semantics.model import Model

TRAINED = (
    "0F0; SEND F0.0 to=1 h=a; 0F1; SEND F0.1 to=1 h=b; RECV B1.0 from=1; 0I0; RECV B1.1 from=1; "
    "0B1; 0W0; WAIT a; WAIT b; 0STEP",
    "RECV F0.0 from=0; 1F0; 1B0; SEND B1.0 to=0; RECV F0.1 from=0; 1F1; 1B1; SEND B1.1 to=0; 1STEP",
)


def trained() -> Model:
    return only(made.text(*TRAINED, microbatches=2, transport="gloo"))


def at(model: Model, cut: int) -> Restarted:
    return restarted(modelled(model), order(model, 1), lambda: queues(cut), cut=cut)


def test_a_restart_anywhere_ends_bitwise_as_a_run_without_it() -> None:
    model = trained()
    found = [at(model, cut) for cut in range(9, len(order(model, 1)), 13)]

    assert not [each for each in found if each.differs]
    assert any(each.under_way for each in found)


@pytest.mark.parametrize("name", ["storage", "weight", "own", "message", "made", "left"])
def test_a_copy_without_a_part_is_noticed(name: str) -> None:
    model = trained()
    whole = flowed(model, queues(0)).kernels.state.snapshot()
    named = [key for key in whole.numbers if key[0] == name]
    if not named:
        whole = whole._replace(numbers={**whole.numbers, (name, 0, 0): torch.zeros(1)})
        named = [(name, 0, 0)]
    for key in named:
        rest = {other: each for other, each in whole.numbers.items() if other != key}

        assert list(alike(whole, whole._replace(numbers=rest))) == [" ".join(map(str, key))]


def test_a_bit_and_a_forward_are_noticed() -> None:
    whole = flowed(trained(), queues(0)).kernels.state.snapshot()
    key = next(key for key in whole.numbers if key[0] == "weight")
    changed = {**whole.numbers, key: torch.nextafter(whole.numbers[key], torch.tensor(9.0))}
    forwards = {k: each for k, each in whole.forwards.items() if k != (1, 1)}

    assert list(alike(whole, whole)) == []
    assert list(alike(whole, whole._replace(numbers=changed))) == [" ".join(map(str, key))]
    assert list(alike(whole, whole._replace(forwards=forwards))) == ["forward 1F1"]
