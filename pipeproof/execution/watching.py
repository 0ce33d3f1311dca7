"""What may watch a training: a record of it, identities and versions, checkpoints."""

import io
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.errors import PipeproofError
from pipeproof.execution.checkpoints.files import write
from pipeproof.execution.training import Training
from pipeproof.execution.versions import digest
from pipeproof.ir.actions import Kind

__all__ = ["Checkpoints", "Identities", "IdentityError", "Recorded", "Recording"]

_BACKWARDS = (Kind.B, Kind.I)


class IdentityError(PipeproofError):
    """A training reads something else than what was made for it."""


class Recorded(NamedTuple):
    """An operation that was run: its step and row, and a digest of what it made."""

    step: int
    row: int
    digest: str | None


class Recording:
    """Keeps every operation, in order, with a digest of what it made."""

    def __init__(self) -> None:
        self.recorded: list[Recorded] = []

    def before(self, training: Training, row: int) -> None:
        """Look at nothing."""

    def after(self, training: Training, row: int, made: Tensor | None) -> None:
        """Keep an operation."""
        seen = None if made is None else digest(made)
        self.recorded.append(Recorded(training.step, row, seen))

    def stepped(self, training: Training, step: int) -> None:
        """Look at nothing."""


class Identities:
    """Checks that every value that is read is the one that was made, and every weight current.

    Values are known by a digest of their numbers from when they were made, weights by one from
    when they were updated.
    """

    def __init__(self) -> None:
        self.checked = 0
        self._made: dict[tuple[str, int, int], str] = {}
        self._weights: dict[int, list[str]] = {}
        self._forward: dict[tuple[int, int], list[str]] = {}

    def before(self, training: Training, row: int) -> None:
        """Check what an operation is about to read.

        Raises:
            IdentityError: it is something else.
        """
        kind, stage = Kind(int(training.ops.kind[row])), int(training.ops.stage[row])
        microbatch = int(training.ops.microbatch[row])
        if kind is Kind.F and stage:
            self._check(training, ("F", stage - 1, microbatch))
        if kind in _BACKWARDS and stage < training.model.stages - 1:
            self._check(training, ("B", stage + 1, microbatch))
        if kind in (Kind.F, *_BACKWARDS, Kind.W):
            self._check_weights(training, row, stage, microbatch)

    def _check_weights(self, training: Training, row: int, stage: int, microbatch: int) -> None:
        now = [digest(each) for each in training.weights[stage]]
        self.checked += len(now)
        said = f"{training.ops.text(row)}: the weights of stage {stage}"
        if self._weights.setdefault(stage, now) != now:
            message = f"{said} have changed"
            raise IdentityError(message)
        if self._forward.setdefault((stage, microbatch), now) != now:
            message = f"{said} are not those of its forward"
            raise IdentityError(message)

    def _check(self, training: Training, key: tuple[str, int, int]) -> None:
        self.checked += 1
        value = training.values.get(key)
        if value is None or digest(value) != self._made.get(key):
            found = "is not there" if value is None else "holds other numbers"
            message = f"{key[1]}{key[0]}{key[2]} {found} where it is read"
            raise IdentityError(message)

    def after(self, training: Training, row: int, made: Tensor | None) -> None:
        """Note what an operation has made."""
        kind, stage = Kind(int(training.ops.kind[row])), int(training.ops.stage[row])
        if kind is Kind.STEP:
            self._weights.pop(stage, None)
        if made is not None:
            name = "F" if kind is Kind.F else "B"
            self._made[name, stage, int(training.ops.microbatch[row])] = digest(made)

    def stepped(self, training: Training, step: int) -> None:
        """Forget what is behind."""
        self._made.clear()
        self._weights.clear()
        self._forward.clear()


class Checkpoints:
    """Writes weights, what optimizers keep and the position in the data after every step.

    A file is there as a whole or as it was before.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "step.pt"
        self.written = 0

    def before(self, training: Training, row: int) -> None:
        """Look at nothing."""

    def after(self, training: Training, row: int, made: Tensor | None) -> None:
        """Look at nothing."""

    def stepped(self, training: Training, step: int) -> None:
        """Write what a restart needs."""
        held = {
            "step": step + 1,
            "weights": [[each.detach() for each in stage] for stage in training.weights],
            "optimizers": [each and each.state_dict() for each in training.optimizers],
            "random": torch.get_rng_state(),
        }
        data = io.BytesIO()
        torch.save(held, data)
        write(self.path, data.getvalue())
        self.written += 1

    def restore(self, training: Training) -> None:
        """Take a training that has not begun to where the last checkpoint was written."""
        held = torch.load(self.path, weights_only=True)
        training.step = held["step"]
        with torch.no_grad():
            for own, saved in zip(training.weights, held["weights"], strict=True):
                for weight, data in zip(own, saved, strict=True):
                    weight.copy_(data)
        for optimizer, saved in zip(training.optimizers, held["optimizers"], strict=True):
            if optimizer is not None:
                optimizer.load_state_dict(saved)
        torch.set_rng_state(held["random"])
