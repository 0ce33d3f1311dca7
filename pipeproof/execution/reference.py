"""The model unsplit: microbatch by microbatch, with the versions of its weights that are asked for.

It runs nothing of a schedule. From the schedule it takes what the file asks: which microbatches a
step takes, in which shares, and which version each stage uses for each of them. Where a schedule
sums gradients in another order, it goes on from the weights that this order makes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution._asked import Asked
from pipeproof.execution._segments import Segment, segmented
from pipeproof.execution.witness import Circumstances, Witness
from pipeproof.ir.actions import Kind
from pipeproof.ir.values import ValueKind, kind_of, microbatch_of, stage_of

__all__ = ["OWN", "TWIN", "Passed", "Reference", "scaled"]

OWN, TWIN = "", "twin "
_Share = Mapping[int, Fraction]
_FACTOR = 4  # roundings in making a factor of a norm and in multiplying by it


class Passed(NamedTuple):
    """One microbatch, forwards and backwards, by stage, each computed once it is asked for."""

    inputs: Mapping[int, Tensor]
    outputs: Mapping[int, Tensor]
    input_gradients: Mapping[int, Tensor]
    gradients: Mapping[int, tuple[Tensor, ...]]


_T = TypeVar("_T")


class _Lazy(Mapping[int, _T]):
    """What a stage has, computed when it is asked for.

    A stage that the microbatch does not run through has nothing: no witness can show it.
    """

    def __init__(self, stages: Sequence[int], computed: Callable[[int], _T]) -> None:
        self.stages, self.computed = stages, computed

    def __getitem__(self, stage: int) -> _T:
        if stage not in self.stages:
            through = ", ".join(map(str, self.stages))
            message = f"no unsplit model has stage {stage} of a microbatch of stages {through}"
            raise UnsupportedFeatureError(message)
        return self.computed(stage)

    def __iter__(self) -> Iterator[int]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)


class _Way:
    """A microbatch's way through the stages: forwards one after the other, then one backward.

    A stage runs with the versions of its weights that there are by then, so that it need not be
    known what later updates make.
    """

    def __init__(self, reference: "Reference", microbatch: int, replica: str) -> None:
        self.reference, self.microbatch, self.replica = reference, microbatch, replica
        self.stages = reference.asked.line(microbatch).stages
        self._entered: dict[int, Tensor] = {}
        self._made: dict[int, Tensor] = {}
        self._weights: dict[int, list[Tensor]] = {}
        self._found: tuple[Tensor, ...] | None = None

    def passed(self) -> Passed:
        """Return what it computes."""
        return Passed(
            _Lazy(self.stages, lambda stage: self._enter(stage).detach()),
            _Lazy(self.stages, lambda stage: self._make(stage).detach()),
            _Lazy(self.stages, lambda stage: self._backward()[self.stages.index(stage)]),
            _Lazy(self.stages, self._gradients),
        )

    def _enter(self, stage: int) -> Tensor:
        if stage not in self._entered:
            place = self.stages.index(stage)
            if place == 0:
                first = self.reference.witness.given(f"{self.replica}X", self.microbatch)
                self._entered[stage] = first.detach().requires_grad_()
            else:
                self._entered[stage] = self._make(self.stages[place - 1])
        return self._entered[stage]

    def _make(self, stage: int) -> Tensor:
        if stage not in self._made:
            reference, microbatch = self.reference, self.microbatch
            value = self._enter(stage)
            self._weights[stage] = reference.leaves(stage, microbatch)
            entered = reference.input_of(stage, microbatch, value, self.replica)
            at = reference.at(stage, microbatch)
            self._made[stage] = reference.witness.run(self._weights[stage], entered, at)
            reference.witness.assert_exact(self._made[stage])
        return self._made[stage]

    def _backward(self) -> tuple[Tensor, ...]:
        if self._found is None:
            witness, label = self.reference.witness, f"{self.replica}Y"
            made = self._make(self.stages[-1])
            loss = witness.loss(made, witness.given(label, self.microbatch))
            leaves = [self._enter(s) for s in self.stages]
            leaves += [each for s in self.stages for each in self._weights[s]]
            self._found = torch.autograd.grad(loss, leaves)
            witness.assert_exact(loss, *self._found)
        return self._found

    def _gradients(self, stage: int) -> tuple[Tensor, ...]:
        count = len(self.reference.witness.shapes)
        begins = len(self.stages) + self.stages.index(stage) * count
        return self._backward()[begins : begins + count]


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
            if self.asked.segments > 1:
                for segment, each in segmented(self, microbatch, replica):
                    self._passed[replica, segment] = _whole(each)
            else:
                self._passed[key] = _Way(self, microbatch, replica).passed()
        return self._passed[key]

    def leaves(self, stage: int, microbatch: int) -> list[Tensor]:
        """Return the weights that a stage is to use for a microbatch, to be derived by."""
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

    def ledger(self, stage: int, k: int, end: int | None) -> Sequence[Tensor]:
        """Return what is summed up in a gradient that an end takes, each by itself, in float64."""
        return [
            scaled(self.passed(m, replica).gradients[copy][k].double(), share)
            for copy in self.asked.tied(stage, k)
            for m, share in self.asked.due(copy, k, end).items()
            for replica in ((OWN, TWIN) if self.asked.reduced(copy) else (OWN,))
        ]

    def rounded(self, stage: int, k: int, end: int | None) -> tuple[Tensor, Tensor]:
        """Return by what a STEP changes a weight, in float64, and how far rounding may be off.

        That is n · u · Σ|gᵢ| in any order of sums, and more where shares are rounded or a norm is.
        """
        unit = torch.finfo(self.witness.dtype).eps / 2
        taken, bound = self._sum(stage, k, end, unit)
        if not self.asked.normed:
            return taken, bound
        norm, off = self.norm_rounded(end)
        by = factor(self.witness, norm)
        return taken * by, by * (bound + taken.abs() * (off / (1 + norm) + _FACTOR * unit))

    def norm_rounded(self, end: int | None) -> tuple[Tensor, Tensor]:
        """Return the norm of all gradients, in float64, and how far rounding may be off."""
        unit = torch.finfo(self.witness.dtype).eps / 2
        stages = range(self.witness.stages)
        sums = [self._sum(s, k, end, unit) for s in stages for k in self.asked.weights]
        norm = torch.stack([own.abs().sum() for own, _ in sums]).sum()
        off = torch.stack([own.sum() for _, own in sums]).sum()
        return norm, off + sum(own.numel() for own, _ in sums) * unit * norm

    def _sum(self, stage: int, k: int, end: int | None, unit: float) -> tuple[Tensor, Tensor]:
        parts = self.ledger(stage, k, end)
        nothing = torch.zeros(self.witness.shapes[k], dtype=torch.float64)
        if not parts:
            return nothing, nothing
        number = max(len(parts), len(parts) - 1 + self._scalings(stage, k, end))
        summed = torch.stack(list(parts))
        return summed.sum(0), number * unit * summed.abs().sum(0)

    def _scalings(self, stage: int, k: int, end: int | None) -> int:
        """Return how often a part of a gradient is rounded when it is scaled, at most."""
        asked, most = self.asked, 0
        for copy in asked.tied(stage, k):
            shares = asked.due(copy, k, end).values()
            own = max((sum(n != 1 for n in each.as_integer_ratio()) for each in shares), default=0)
            rows = [row for row in asked.home[copy] if asked.ops.kind[row] == Kind.SCALE]
            steps = max(len(asked.ends[copy, k]), 1)
            most = max(most, own + 2 * -(-len(rows) // steps))
        return most

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

    def adopt(self, stage: int, k: int, number: int, made: Tensor) -> None:
        """Go on from a version as it was made, where its gradient was summed in another order.

        What rounding may do to it has been compared with its bound by then; what comes after it
        is compared bit by bit again.
        """
        self._weights[stage, k, number] = made


def _whole(found: Segment) -> Passed:
    """Return what a segment computes, for the stages that it runs through only."""
    return Passed(
        _Lazy(tuple(found.inputs), found.inputs.__getitem__),
        _Lazy(tuple(found.outputs), found.outputs.__getitem__),
        _Lazy(tuple(found.input_gradients), found.input_gradients.__getitem__),
        _Lazy(tuple(found.gradients), found.gradients.__getitem__),
    )


def factor(witness: Witness, norm: Tensor) -> Tensor:
    """Return by what a gradient is multiplied for its norm, whole where numbers are whole."""
    if witness.exact:
        return 2 + torch.remainder(norm, 7)
    return 1 / (1 + norm)
