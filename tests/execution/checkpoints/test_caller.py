from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from pipeproof.execution.checkpoints.caller import randomness, set_randomness, untouched
from pipeproof.execution.checkpoints.restart import taken_up
from pipeproof.execution.checkpoints.state import CheckpointError
from tests.execution.checkpoints.saved import TINY, held, moment

GENERATORS = ("python", "numpy", "torch", "cuda")


def drawn() -> tuple[float, float, float, float]:
    """The next number of each generator, and one that a generator keeps back."""
    return random.random(), random.gauss(0, 1), float(np.random.normal()), float(torch.randn(()))


def test_all_generators_go_on_from_where_they_were() -> None:
    drawn()  # leaves a number kept back in python's and numpy's generator
    states = randomness()
    first = [drawn(), drawn()]
    drawn()

    set_randomness(states)

    assert [drawn(), drawn()] == first


@pytest.mark.parametrize("name", GENERATORS)
def test_a_state_that_is_missing_is_refused(name: str) -> None:
    states = randomness()
    del states[name]

    with pytest.raises(CheckpointError, match="the state of a generator is missing"):
        set_randomness(states)


def test_states_of_devices_that_are_not_here_are_refused() -> None:
    states = randomness()
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    states["cuda"] = [torch.zeros(16, dtype=torch.uint8)] * (there + 1)

    with pytest.raises(CheckpointError, match="CUDA devices"):
        set_randomness(states)


def test_states_of_devices_are_taken_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    state, put = torch.arange(16, dtype=torch.uint8), list[torch.Tensor]()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: [state])
    monkeypatch.setattr(torch.cuda, "set_rng_state_all", put.extend)

    set_randomness(randomness())

    assert [each.tolist() for each in put] == [state.tolist()]


@pytest.mark.gpu
def test_a_cuda_device_goes_on_from_where_it_was() -> None:
    states = randomness()
    first = torch.randn(3, device="cuda")

    set_randomness(states)

    assert torch.equal(torch.randn(3, device="cuda"), first)


def test_a_restart_puts_generators_back_and_hands_out_what_the_caller_left() -> None:
    at = moment(TINY, 4)
    random.seed(5)
    np.random.seed(6)
    torch.manual_seed(7)
    parts = held(at.live(), at.setting)
    first = drawn()

    taken_up(at.setting, parts)

    assert drawn() == first
    assert parts[0].caller == {"lines read": 7}


def test_whatever_runs_inside_leaves_the_caller_as_it_was() -> None:
    threads, before = torch.get_num_threads(), randomness()
    cudnn = torch.backends.cudnn.benchmark

    def disturbs() -> None:
        with untouched():
            drawn()
            torch.set_num_threads(threads + 1)
            torch.set_default_dtype(torch.float64)
            torch.set_grad_enabled(False)
            torch.backends.cudnn.benchmark = not cudnn
            message = "stop"
            raise KeyError(message)

    with pytest.raises(KeyError, match="stop"):
        disturbs()

    assert str(randomness()) == str(before)
    assert torch.get_num_threads() == threads
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()
    assert torch.backends.cudnn.benchmark == cudnn
