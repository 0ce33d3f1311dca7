"""The model unsplit: microbatch by microbatch, with the versions of its weights that are asked for.

It runs nothing of a schedule. From the schedule it takes what the file asks: which microbatches a
step takes, in which shares, and which version each stage uses for each of them.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution._asked import Asked
from pipeproof.execution.witness import Circumstances, Witness
from pipeproof.ir.values import ValueKind, kind_of, microbatch_of, stage_of

__all__ = ["OWN", "TWIN", "Passed", "Reference", "scaled"]

OWN, TWIN = "", "twin "
_Share = Mapping[int, Fraction]


class Passed(NamedTuple):
    """One microbatch, forwards and backwards: by stage, and the loss with its own gradient."""

    inputs: Mapping[int, Tensor]
    outputs: Mapping[int, Tensor]
    input_gradients: Mapping[int, Tensor]
    gradients: Mapping[int, tuple[Tensor, ...]]
    loss: Tensor


def scaled(gradient: Tensor, share: Fraction) -> Tensor:
    """Return a share of a gradient."""
    if share == 1:
        return gradient
    return gradient * share.numerator / share.denominator


class Reference:
    """What every value, gradient and weight is, by identity; computed when it is asked for."""

    def __init__(self, witness: Witness, asked: Asked) -> None:
        self.witness, self.asked = witness, asked
        self._passed: dict[tuple[str, int], Passed] = {}
        self._weights: dict[tuple[int, int, int], Tensor] = {}
        self._taken: dict[tuple[int, int, int | None], Tensor] = {}
        self._open: set[tuple[int, int, int]] = set()

    def input_of(self, stage: int, microbatch: int, value: Tensor, replica: str = OWN) -> Tensor:
        """Return what a forward reads, its extra input included."""
        if not self.asked.takes_extra(stage, microbatch):
            return value
        return value + self.witness.given(f"{replica}A", microbatch)

    def at(self, stage: int, microbatch: int) -> Circumstances:
        """Return the random state and context of a forward; each has a state of its own."""
        at = self.asked.circumstances(stage, microbatch)
        if at.rng is None and self.witness.random:
            return at._replace(rng=f"{stage} {microbatch}")
        return at

    def passed(self, microbatch: int, replica: str = OWN) -> Passed:
        """Return a microbatch's way through the model."""
        key = replica, microbatch
        if key not in self._passed:
            self._passed[key] = self._pass(microbatch, replica)
        return self._passed[key]

    def _pass(self, microbatch: int, replica: str) -> Passed:
        witness, asked = self.witness, self.asked
        stages = asked.line(microbatch).stages
        weights = {s: self._leaves(s, microbatch) for s in stages}
        value = witness.given(f"{replica}X", microbatch)
        inputs, outputs = {}, {}
        for stage in stages:
            inputs[stage] = value.detach().requires_grad_() if stage == stages[0] else value
            entered = self.input_of(stage, microbatch, inputs[stage], replica)
            value = witness.run(weights[stage], entered, self.at(stage, microbatch))
            outputs[stage] = value
        loss = witness.loss(value, witness.given(f"{replica}Y", microbatch))
        leaves = [inputs[s] for s in stages] + [w for s in stages for w in weights[s]]
        found = torch.autograd.grad(loss, leaves)
        witness.assert_exact(loss, *outputs.values(), *found)
        count = len(witness.shapes)
        rest = found[len(stages) :]
        return Passed(
            {s: each.detach() for s, each in inputs.items()},
            {s: each.detach() for s, each in outputs.items()},
            dict(zip(stages, found, strict=False)),
            {s: rest[n * count : (n + 1) * count] for n, s in enumerate(stages)},
            loss.detach(),
        )

    def _leaves(self, stage: int, microbatch: int) -> list[Tensor]:
        numbers = (self.asked.version(stage, k, microbatch) for k in self.asked.weights)
        return [self.weight(stage, k, n).clone().requires_grad_() for k, n in enumerate(numbers)]

    def value(self, code: int, replica: str = OWN) -> Tensor:
        """Return a value by its code; a word is a constant of its own."""
        stage, microbatch = stage_of(code), microbatch_of(code)
        match kind_of(code):
            case ValueKind.F:
                return self.passed(microbatch, replica).outputs[stage]
            case ValueKind.B:
                return self.passed(microbatch, replica).input_gradients[stage]
            case ValueKind.L:
                last = self.asked.line(microbatch).stages[-1]
                made = self.passed(microbatch, replica).outputs[last]
                return made - self.witness.given(f"{replica}Y", microbatch)
            case kind:
                return self.witness.given(f"{replica}{kind.name}", microbatch)

    def gradient(self, stage: int, k: int, shares: _Share, *, both: bool) -> Tensor:
        """Return the sum of shares of one weight's gradient, over both replicas if asked."""
        total = torch.zeros(self.witness.shapes[k], dtype=self.witness.dtype)
        for microbatch, share in sorted(shares.items()):
            for replica in (OWN, TWIN) if both else (OWN,):
                own = self.passed(microbatch, replica).gradients[stage][k]
                total = total + scaled(own, share)
        self.witness.assert_exact(total)
        return total

    def ledger(self, stage: int, k: int, shares: _Share, *, both: bool) -> Sequence[Tensor]:
        """Return the magnitudes that are summed up in a gradient, each by itself."""
        return [
            scaled(self.passed(m, replica).gradients[stage][k], share).abs()
            for m, share in shares.items()
            for replica in ((OWN, TWIN) if both else (OWN,))
        ]

    def taken(self, stage: int, k: int, end: int | None) -> Tensor:
        """Return the gradient of a weight that an end of a stage takes, tied copies included."""
        key = stage, k, end
        if key not in self._taken:
            parts = (
                self.gradient(s, k, self.asked.due(s, k, end), both=self.asked.reduced(s))
                for s in self.asked.tied(stage, k)
            )
            self._taken[key] = torch.stack(list(parts)).sum(0)
        return self._taken[key]

    def norm(self, stages: Sequence[int], end: int | None) -> Tensor:
        """Return the norm of the gradients of some stages: the sum of all magnitudes."""
        parts = [self.taken(s, k, end).abs().sum() for s in stages for k in self.asked.weights]
        return torch.stack(parts).sum()

    def update(self, stage: int, k: int, end: int | None) -> Tensor:
        """Return by what a STEP changes a weight."""
        taken = self.taken(stage, k, end)
        if not self.asked.normed:
            return taken
        return taken * factor(self.witness, self.norm(range(self.witness.stages), end))

    def weight(self, stage: int, k: int, number: int) -> Tensor:
        """Return a version of a weight.

        Raises:
            UnsupportedFeatureError: it depends on itself.
        """
        if number <= 0:
            return self.witness.first(stage)[k]
        key = stage, k, number
        if key in self._open:
            message = "an update depends on itself: no unsplit model does this"
            raise UnsupportedFeatureError(message)
        if key not in self._weights:
            self._open.add(key)
            end = self.asked.made_by(stage, k, number)
            before = self.weight(stage, k, number - 1)
            self._weights[key] = self.witness.updated(before, self.update(stage, k, end))
            self._open.discard(key)
        return self._weights[key]


def factor(witness: Witness, norm: Tensor) -> Tensor:
    """Return by what a gradient is multiplied for its norm, whole where numbers are whole."""
    if witness.exact:
        return 2 + torch.remainder(norm, 7)
    return 1 / (1 + norm)
