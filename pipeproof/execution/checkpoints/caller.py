"""What belongs to the caller: the state of every generator, and settings of torch.

An execution must leave them as they were; a checkpoint has them beside what the caller hands in.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from pipeproof.execution.checkpoints._trees import CheckpointError, Tree, read_all, write_all

__all__ = ["randomness", "set_randomness", "untouched"]

_NUMPY = 5  # what numpy says of its generator: a name, keys, a position, and a number kept back


def randomness() -> dict[str, Tree]:
    """Return the state of the generators of python, numpy and torch, and of each CUDA device."""
    name, keys, *rest = np.random.get_state()
    version, words, kept = random.getstate()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return write_all(
        {
            "python": (version, torch.tensor(words), kept),
            "numpy": (str(name), torch.tensor(np.asarray(keys).tolist()), *rest),
            "torch": torch.get_rng_state(),
            "cuda": devices,
        }
    )


def set_randomness(said: dict[str, Tree]) -> None:
    """Put the state of every generator back.

    Raises:
        CheckpointError: one is missing, or there are other CUDA devices here.
    """
    found = read_all(said)
    match found.get("python"), found.get("numpy"), found.get("torch"), found.get("cuda"):
        case (version, Tensor() as words, kept), tuple(numpy), Tensor() as cpu, list(devices) if (
            len(numpy) == _NUMPY
        ):
            _set_devices([each for each in devices if isinstance(each, Tensor)])
            name, keys, *rest = numpy
            random.setstate((version, tuple(words.tolist()), kept))
            np.random.set_state((name, np.asarray(keys, np.uint32), *rest))
            torch.set_rng_state(cpu)
        case _:
            message = "the state of a generator is missing"
            raise CheckpointError(message)


def _set_devices(states: list[Tensor]) -> None:
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if len(states) != there:
        message = f"random states of {len(states)} CUDA devices, and {there} are here"
        raise CheckpointError(message)
    if there:
        torch.cuda.set_rng_state_all(states)


@contextmanager
def untouched() -> Iterator[None]:
    """Leave the caller's generators and settings of torch as they were, also on an exception."""
    states, dtype, threads = randomness(), torch.get_default_dtype(), torch.get_num_threads()
    grads, cudnn = torch.is_grad_enabled(), torch.backends.cudnn
    algorithms, warns = _deterministic()
    flags = cudnn.benchmark, cudnn.deterministic
    try:
        yield
    finally:
        set_randomness(states)
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(grads)
        if (algorithms, warns) != _deterministic():  # the call alone loads a compiler
            torch.use_deterministic_algorithms(algorithms, warn_only=warns)
        cudnn.benchmark, cudnn.deterministic = flags


def _deterministic() -> tuple[bool, bool]:
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled(), warns
