"""One process of `bench_healthy.py`: every oracle, or one training in one mode.

Run as `python -m tests.benchmarks.healthy_process MODE SHAPE`, where the mode may be `oracles` and
the shape is JSON; prints JSON.
"""

import hashlib
import json
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from pipeproof.execution.derivatives import disagreement
from pipeproof.execution.replayer import set_up
from pipeproof.execution.training import Training, Watcher, unsplit
from pipeproof.execution.watching import Checkpoints, Identities, Recording
from pipeproof.execution.witness import EXACT, WITNESSES
from tests.execution.played import ran
from tests.execution.trained import generated, known


class Shape(NamedTuple):
    """What is trained, and how long."""

    schedule: str
    ranks: int
    microbatches: int
    witness: str
    optimizer: str
    steps: int


def oracles(shape: Shape) -> dict[str, object]:
    """Check the schedule on every witness, and everything that is measured against the unsplit."""
    begun, wrong = perf_counter(), []
    read = generated(shape.schedule, shape.ranks, shape.microbatches)
    for witness in WITNESSES:
        wrong += [f"{witness}: {each.wrong}" for each in ran(read, 0, witness, 1) if each.wrong]
    schedule = known(shape.schedule, shape.ranks, shape.microbatches)
    for witness, optimizer in ((EXACT, "descent"), (shape.witness, shape.optimizer)):
        model = schedule.model(witness)
        found = Training(schedule.run, model, schedule.rows, optimizer).train(2)
        if found.digests != unsplit(model, 2, optimizer).digests:
            wrong.append(f"{witness}: another training than that of the unsplit model")
    off, _, _ = disagreement(set_up(schedule.run, schedule.match).reference, 0)
    if off:
        wrong.append(f"gradients are {off} off differences of losses")
    return {"seconds": perf_counter() - begun, "wrong": wrong}


def measured(mode: str, shape: Shape) -> dict[str, object]:
    """Train in one mode."""
    schedule = known(shape.schedule, shape.ranks, shape.microbatches)
    model = schedule.model(shape.witness)
    with tempfile.TemporaryDirectory() as folder:
        watchers = watching(mode, Path(folder))
        found = Training(schedule.run, model, schedule.rows, shape.optimizer, watchers).train(
            shape.steps
        )
    said = repr((found.losses, found.digests)).encode()
    return {
        "training": found.training,
        "watching": found.watching,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "digest": hashlib.sha256(said).hexdigest(),
    }


def watching(mode: str, folder: Path) -> Sequence[Watcher]:
    """Return what watches a training in a mode."""
    each: dict[str, Watcher] = {
        "recording": Recording(),
        "identities": Identities(),
        "checkpoints": Checkpoints(folder),
    }
    return [] if mode == "plain" else list(each.values()) if mode == "all" else [each[mode]]


if __name__ == "__main__":
    asked = Shape(*json.loads(sys.argv[2]))
    print(json.dumps(oracles(asked) if sys.argv[1] == "oracles" else measured(sys.argv[1], asked)))
