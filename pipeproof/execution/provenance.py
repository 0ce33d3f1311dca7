"""What numbers came of: versions, data, precision, device and flags of this process.

`settled` makes torch deterministic for as long as something runs, and puts back what stood before.
"""

import hashlib
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution._asked import Asked
from pipeproof.execution.versions import digest
from pipeproof.execution.witness import Witness, witness
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun

__all__ = ["Provenance", "provenance", "settled"]

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
_REPEATABLE = ":4096:8"
_GIVEN = ("X", "Y", "A")

Flag = bool | int | str | None


@dataclass(frozen=True, slots=True)
class Provenance:
    """What some numbers came of.

    `inputs` is a digest of all data and first weights, over all seeds. `boundary` says when the
    optimizer runs, `policy` which versions of weights the schedule asks for.
    """

    versions: Mapping[str, str]
    witness: str
    precision: str
    seeds: tuple[int, ...]
    inputs: str
    device: str
    flags: Mapping[str, Flag]
    placement: tuple[int, ...]
    policy: str
    boundary: str
    profile: str


def provenance(run: AsRun, name: str, seeds: Sequence[int], device: str = "cpu") -> Provenance:
    """Return what the numbers of a run come of.

    Args:
        run: the schedule as run.
        name: the witness.
        seeds: those of its data.
        device: where it runs.
    """
    schedule = run.schedule
    models = [witness(name, schedule.stages, schedule.microbatches, seed) for seed in seeds]
    first = witness(name, schedule.stages, schedule.microbatches)
    table = schedule.described.get("weights", {})
    policy = table.get("policy", "flush") if isinstance(table, Mapping) else "flush"
    return Provenance(
        versions(),
        name,
        str(first.dtype).removeprefix("torch."),
        tuple(seeds),
        _inputs(run, models),
        _device(device),
        flags(),
        tuple(map(int, run.placement)),
        str(policy),
        _boundary(run),
        schedule.profile,
    )


def versions() -> Mapping[str, str]:
    """Return the versions of what computes, and the kind of system, without its name."""
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "platform": f"{platform.system()}-{platform.machine()}",
    }


def flags() -> Mapping[str, Flag]:
    """Return what decides whether the same numbers come again."""
    return {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "fill_uninitialized_memory": _fills(),
        "cublas_workspace_config": os.environ.get(_WORKSPACE),
        "cudnn_benchmark": bool(torch.backends.cudnn.benchmark),
        "tf32": bool(torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32),
        "threads": torch.get_num_threads(),
        "autocast": torch.is_autocast_enabled("cpu"),
    }


@contextmanager
def settled() -> Iterator[None]:
    """Make torch deterministic, on one thread and without TF32, until the end."""
    threads, algorithms = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    backends = torch.backends
    were = backends.cudnn.benchmark, backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32
    workspace = os.environ.get(_WORKSPACE)
    os.environ.setdefault(_WORKSPACE, _REPEATABLE)
    try:
        torch.set_num_threads(1)
        torch.set_deterministic_debug_mode("error")  # the other way to say so loads a compiler
        _set_backends(benchmark=False, convolutions=False, products=False)
        yield
    finally:
        _set_backends(benchmark=were[0], convolutions=were[1], products=were[2])
        torch.set_deterministic_debug_mode(algorithms)
        torch.set_num_threads(threads)
        if workspace is None:
            os.environ.pop(_WORKSPACE, None)


def _set_backends(*, benchmark: bool, convolutions: bool, products: bool) -> None:
    torch.backends.cudnn.benchmark = benchmark
    torch.backends.cudnn.allow_tf32 = convolutions
    torch.backends.cuda.matmul.allow_tf32 = products


def _fills() -> bool:
    from torch.utils import deterministic  # noqa: PLC0415  it stands for its flag

    return bool(deterministic.fill_uninitialized_memory)  # type: ignore[attr-defined]


def _device(device: str) -> str:
    if not device.startswith("cuda"):
        return device
    return f"{device} ({torch.cuda.get_device_name(device)})"


def _boundary(run: AsRun) -> str:
    """Return when the optimizer runs, in words."""
    schedule = run.schedule
    if not bool(run.operations.is_kind(Kind.STEP, Kind.SKIP).any()):
        return "none"
    table = schedule.described.get("weights", {})
    if isinstance(table, Mapping) and table.get("updates") == "microbatch":
        return "each microbatch"
    return f"each step of {schedule.microbatches} microbatches"


def _inputs(run: AsRun, models: Sequence[Witness]) -> str:
    found = hashlib.sha256()
    for model in models:
        each = model.like(*_shared(run, model))
        for what in _GIVEN:
            for microbatch in range(run.microbatches):
                found.update(digest(each.given(what, microbatch)).encode())
        for stage in range(run.schedule.stages):
            for weight in each.first(stage):
                found.update(digest(weight).encode())
    return found.hexdigest()


def _shared(run: AsRun, model: Witness) -> tuple[Mapping[int, int], int]:
    """Return which stages start alike and the scale of the loss, as they are where nothing runs."""
    try:
        asked = Asked(run, len(model.shapes))
    except UnsupportedFeatureError:
        return model.alike, model.scale
    return asked.alike, asked.scale
