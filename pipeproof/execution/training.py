"""Training by a schedule as one would write it: nothing is checked but what is asked to watch.

It runs the operations of one step in a given order, step after step, on plain tensors: weights
are updated in place, gradients are added up as they come. Beside it stands the unsplit model,
trained microbatch by microbatch. There is one process and one replica: a message moves nothing,
a reduction has nothing to add. What watches a training is called between operations, and its
time is not that of the training.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import add, sub
from time import perf_counter, process_time
from types import MappingProxyType
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution._asked import Asked
from pipeproof.execution.provenance import settled
from pipeproof.execution.reference import scaled
from pipeproof.execution.versions import digest
from pipeproof.execution.witness import Circumstances, Witness
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun

__all__ = ["OPTIMIZERS", "Spent", "Trained", "Training", "Watcher", "unsplit"]

_PASSING = (Kind.SEND, Kind.RECV, Kind.WAIT, Kind.REDUCE, Kind.UNSHARD, Kind.RESHARD)
_RUN = (*_PASSING, Kind.F, Kind.L, Kind.B, Kind.I, Kind.W, Kind.STEP)
_Optimizer = Callable[[list[Tensor]], torch.optim.Optimizer]
OPTIMIZERS: Mapping[str, _Optimizer] = MappingProxyType(
    {
        "sgd": lambda weights: torch.optim.SGD(weights, lr=0.01, momentum=0.9),
        "adamw": lambda weights: torch.optim.AdamW(weights, lr=0.01),
    }
)
"""Optimizers of floating-point witnesses by name; `descent` is that of every witness."""


class Spent(NamedTuple):
    """Seconds: how long it took, and of the processor."""

    wall: float
    processor: float


class _Stopwatch:
    """Adds up what is spent within it."""

    def __init__(self) -> None:
        self.spent = Spent(0.0, 0.0)
        self._begun = Spent(0.0, 0.0)

    def __enter__(self) -> "_Stopwatch":
        self._begun = Spent(perf_counter(), process_time())
        return self

    def __exit__(self, *_: object) -> None:
        ended = perf_counter(), process_time()
        since = map(sub, ended, self._begun)
        self.spent = Spent(*map(add, self.spent, since))


class Trained(NamedTuple):
    """What a training made, and how long each step took, with what watched it apart.

    `losses` holds those of all microbatches, in order of their ids; `digests` one of all weights
    after each step.
    """

    losses: tuple[float, ...]
    digests: tuple[str, ...]
    weights: tuple[tuple[Tensor, ...], ...]
    state: tuple[Tensor, ...]
    training: tuple[Spent, ...]
    watching: tuple[Spent, ...]


class Watcher(Protocol):
    """What watches a training."""

    def before(self, training: "Training", row: int) -> None:
        """Look at what an operation is about to read."""

    def after(self, training: "Training", row: int, made: Tensor | None) -> None:
        """Look at what an operation has made."""

    def stepped(self, training: "Training", step: int) -> None:
        """Look at what stands at the end of a step."""


class _Held(NamedTuple):
    """What a forward keeps for its backward, as autograd keeps it."""

    leaf: Tensor
    made: Tensor


class Training:
    """A model in training by a schedule.

    `values` holds what stages have handed on, by kind, stage and microbatch.
    """

    def __init__(
        self,
        run: AsRun,
        model: Witness,
        order: Sequence[int],
        optimizer: str = "descent",
        watchers: Sequence[Watcher] = (),
    ) -> None:
        """Set up a training that has not begun.

        Args:
            run: one step of the schedule, as run.
            model: what is trained.
            order: the rows of its operations in an order in which they may happen.
            optimizer: `descent`, or one of `OPTIMIZERS`.
            watchers: what watches it.

        Raises:
            UnsupportedFeatureError: the schedule does more than to train stage by stage.
        """
        kinds = {Kind(int(each)) for each in run.operations.kind[list(order)]}
        for kind in sorted(kinds.difference(_RUN)):
            message = f"{kind.name} is not trained by"
            raise UnsupportedFeatureError(message)
        self.run, self.ops, self.model, self.order = run, run.operations, model, tuple(order)
        self.asked, self.watchers = Asked(run, len(model.shapes)), tuple(watchers)
        self.weights = _weights(model)
        self.optimizers = [_optimizer(model, optimizer, each) for each in self.weights]
        self.step = 0
        self.values: dict[tuple[str, int, int], Tensor] = {}
        self.losses: list[Tensor] = []
        self._held: dict[tuple[int, int], _Held] = {}
        self._left: dict[tuple[int, int], Tensor] = {}
        self._sums: list[list[Tensor] | None] = [None for _ in self.weights]
        self._stepping = {int(self.ops.stage[r]) for r in order if self.ops.kind[r] == Kind.STEP}

    def train(self, steps: int) -> Trained:
        """Run a number of steps."""
        digests, training, watching = [], [], []
        for _ in range(steps):
            whole, watched = _Stopwatch(), _Stopwatch()
            with settled(), whole:
                self._step(watched)
            training.append(Spent(*map(sub, whole.spent, watched.spent)))
            watching.append(watched.spent)
            digests.append(_digest(self.weights))
        state = tuple(tensor for each in self.optimizers for tensor in _state(each))
        losses = tuple(float(each) for each in self.losses)
        weights = tuple(tuple(w.detach() for w in stage) for stage in self.weights)
        return Trained(losses, tuple(digests), weights, state, tuple(training), tuple(watching))

    def _step(self, watched: _Stopwatch) -> None:
        lost: dict[int, Tensor] = {}
        for row in self.order:
            for each in self.watchers:
                with watched:
                    each.before(self, row)
            made = self._run(row, lost)
            for each in self.watchers:
                with watched:
                    each.after(self, row, made)
        for stage in range(self.model.stages):
            if stage not in self._stepping:
                self._update(stage)
        self.losses += [lost[m] for m in sorted(lost)]
        for each in self.watchers:
            with watched:
                each.stepped(self, self.step)
        self.step += 1
        self.values.clear()

    def _run(self, row: int, lost: dict[int, Tensor]) -> Tensor | None:
        kind, stage = Kind(int(self.ops.kind[row])), int(self.ops.stage[row])
        microbatch = int(self.ops.microbatch[row])
        match kind:
            case Kind.F:
                return self._forward(stage, microbatch, lost)
            case Kind.B | Kind.I | Kind.W:
                return self._backward(kind, row, stage, microbatch)
            case Kind.STEP:
                self._update(stage)
                return None
            case _:
                return None

    def identity(self, microbatch: int) -> int:
        """Return which microbatch of the whole training one of this step is."""
        return self.step * self.model.microbatches + microbatch

    def at(self, stage: int, microbatch: int) -> Circumstances:
        """Return the random state of a forward: each has one of its own."""
        return _at(self.model, stage, self.identity(microbatch))

    def _forward(self, stage: int, microbatch: int, lost: dict[int, Tensor]) -> Tensor:
        if stage:
            value = self.values["F", stage - 1, microbatch]
        else:
            value = self.model.given("X", self.identity(microbatch))
        leaf = value.detach().requires_grad_()
        made = self.model.run(self.weights[stage], leaf, self.at(stage, microbatch))
        if stage == self.model.stages - 1:
            made = self.model.loss(made, self.model.given("Y", self.identity(microbatch)))
            lost[microbatch] = made.detach()
        self._held[stage, microbatch] = _Held(leaf, made)
        self.values["F", stage, microbatch] = made.detach()
        return self.values["F", stage, microbatch]

    def _backward(self, kind: Kind, row: int, stage: int, microbatch: int) -> Tensor | None:
        held, key = self._held[stage, microbatch], (stage, microbatch)
        gradient = self._left.pop(key) if kind is Kind.W else self._gradient(stage, microbatch)
        weights = [] if kind is Kind.I else self.weights[stage]
        leaves = weights if kind is Kind.W else [held.leaf, *weights]
        found = torch.autograd.grad(held.made, leaves, gradient, retain_graph=kind is Kind.I)
        if kind is Kind.I:
            self._left[key] = gradient
        else:
            self._add(row, stage, found[len(found) - len(weights) :])
            del self._held[key]
        if kind is Kind.W:
            return None
        self.values["B", stage, microbatch] = found[0]
        return found[0]

    def _gradient(self, stage: int, microbatch: int) -> Tensor:
        if stage == self.model.stages - 1:
            return torch.ones((), dtype=self.model.dtype)
        return self.values["B", stage + 1, microbatch]

    def _add(self, row: int, stage: int, found: Sequence[Tensor]) -> None:
        share = Fraction(self.asked.said(row).get("c", "1"))
        parts, sums = [scaled(each, share) for each in found], self._sums[stage]
        if sums is None:
            self._sums[stage] = parts
        else:
            self._sums[stage] = [a + b for a, b in zip(sums, parts, strict=True)]

    def _update(self, stage: int) -> None:
        sums, self._sums[stage] = self._sums[stage], None
        _updated(self.model, self.weights[stage], self.optimizers[stage], sums or [])


def unsplit(
    model: Witness, steps: int, optimizer: str = "descent", share: Fraction = Fraction(1)
) -> Trained:
    """Train the model as a whole, on the same data, with the same objective and optimizer."""
    weights = _weights(model)
    optimizers = [_optimizer(model, optimizer, each) for each in weights]
    losses: list[float] = []
    digests, training = [], []
    for step in range(steps):
        microbatches = range(step * model.microbatches, (step + 1) * model.microbatches)
        whole = _Stopwatch()
        with settled(), whole:
            sums = _whole_step(model, weights, microbatches, share, losses)
            for own, each in zip(weights, optimizers, strict=True):
                _updated(model, own, each, [sums.pop(0) for _ in own])
        training.append(whole.spent)
        digests.append(_digest(weights))
    state = tuple(tensor for each in optimizers for tensor in _state(each))
    ended = tuple(tuple(w.detach() for w in stage) for stage in weights)
    return Trained(tuple(losses), tuple(digests), ended, state, tuple(training), ())


def _whole_step(
    model: Witness,
    weights: Sequence[Sequence[Tensor]],
    microbatches: Sequence[int],
    share: Fraction,
    losses: list[float],
) -> list[Tensor]:
    """Return the gradients of all weights, summed over some microbatches; add their losses."""
    flat = [each for stage in weights for each in stage]
    sums: list[Tensor] = []
    for microbatch in microbatches:
        loss = _lost(model, weights, microbatch)
        losses.append(float(loss.detach()))
        parts = [scaled(each, share) for each in torch.autograd.grad(loss, flat)]
        sums = [a + b for a, b in zip(sums, parts, strict=True)] if sums else parts
    return sums


def _lost(model: Witness, weights: Sequence[Sequence[Tensor]], microbatch: int) -> Tensor:
    value = model.given("X", microbatch)
    for stage, own in enumerate(weights):
        value = model.run(own, value, _at(model, stage, microbatch))
    return model.loss(value, model.given("Y", microbatch))


def _at(model: Witness, stage: int, microbatch: int) -> Circumstances:
    return Circumstances(f"{stage} {microbatch}" if model.random else None)


def _weights(model: Witness) -> list[list[Tensor]]:
    stages = range(model.stages)
    return [[w.clone().requires_grad_() for w in model.first(stage)] for stage in stages]


def _optimizer(model: Witness, name: str, weights: list[Tensor]) -> torch.optim.Optimizer | None:
    if name == "descent":
        return None
    if model.exact:
        message = f"{name} leaves no whole numbers: take descent, or another witness"
        raise UnsupportedFeatureError(message)
    return OPTIMIZERS[name](weights)


def _updated(
    model: Witness,
    weights: Sequence[Tensor],
    optimizer: torch.optim.Optimizer | None,
    sums: Sequence[Tensor],
) -> None:
    """Update weights in place."""
    if not sums:
        return
    if optimizer is None:
        with torch.no_grad():
            for weight, total in zip(weights, sums, strict=True):
                model.assert_exact(total)
                weight.copy_(model.updated(weight, total))
        return
    for weight, total in zip(weights, sums, strict=True):
        weight.grad = total
    optimizer.step()
    optimizer.zero_grad()


def _state(optimizer: torch.optim.Optimizer | None) -> list[Tensor]:
    """Return what an optimizer keeps, in the order of its weights."""
    if optimizer is None:
        return []
    held = [optimizer.state[w] for group in optimizer.param_groups for w in group["params"]]
    return [each[name].clone() for each in held for name in sorted(each)]


def _digest(weights: Sequence[Sequence[Tensor]]) -> str:
    return digest(torch.cat([each.detach().reshape(-1) for stage in weights for each in stage]))
