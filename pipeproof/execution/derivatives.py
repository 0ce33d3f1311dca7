"""Derivatives without autograd: by differences of losses, and by hand for two scalar stages.

Both are independent of what they are compared with: differences call nothing but forwards, and
the scalar model is a page of arithmetic in fractions.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import torch
from torch import Tensor

from pipeproof.execution.provenance import settled
from pipeproof.execution.reference import Reference

__all__ = ["Differences", "Scalars", "Versions", "differences", "disagreement", "of_microbatch"]

_EXACT_STEP = 2.0**-6
_STEP = 1e-4
_WITHIN = 1e-3

Loss = Callable[[Sequence[Tensor]], float]


class Differences(NamedTuple):
    """Derivatives of a loss for some weights, and where it has a kink so that it has none."""

    gradients: tuple[Tensor, ...]
    kinks: tuple[Tensor, ...]


def differences(loss: Loss, weights: Sequence[Tensor], step: float, within: float) -> Differences:
    """Return derivatives by central differences of fourth order, one number after the other.

    From both sides parabolas are laid through three losses; where their slopes differ by more
    than `within`, in parts of the larger one or of 1, the loss has a kink there.

    Args:
        loss: the loss for weights.
        weights: where the derivatives are taken.
        step: how far a number is moved. Of a loss of second degree, whose numbers have so few
            digits that nothing is rounded, derivatives are exact.
        within: by how much slopes from both sides may differ.
    """
    found = [torch.zeros_like(each, dtype=torch.float64) for each in weights]
    kinks = [torch.zeros_like(each, dtype=torch.bool) for each in weights]
    here = loss(weights)
    for k, weight in enumerate(weights):
        for place in range(weight.numel()):
            at = [_moved(loss, weights, k, place, n * step) for n in (-2, -1, 1, 2)]
            central = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * step)
            behind = (3 * here - 4 * at[1] + at[0]) / (2 * step)
            ahead = (-3 * here + 4 * at[2] - at[3]) / (2 * step)
            most = max(abs(behind), abs(ahead), 1.0)
            found[k].view(-1)[place] = central
            kinks[k].view(-1)[place] = abs(ahead - behind) > within * most
    return Differences(tuple(found), tuple(kinks))


def _moved(loss: Loss, weights: Sequence[Tensor], k: int, place: int, by: float) -> float:
    moved = [each.clone() for each in weights]
    moved[k].view(-1)[place] += by
    return loss(moved)


def of_microbatch(reference: Reference, microbatch: int) -> Mapping[int, Differences]:
    """Return derivatives of a microbatch's loss for the weights of each of its stages.

    The forwards are those of the witness, in float64, with the versions that are asked for.
    """
    stages, model = reference.asked.line(microbatch).stages, reference.witness
    asked = reference.asked
    weights = [
        reference.weight(s, k, asked.version(s, k, microbatch)).double()
        for s in stages
        for k in asked.weights
    ]
    step = _EXACT_STEP if model.exact else _STEP
    within = 0.0 if model.exact else _WITHIN

    def loss(moved: Sequence[Tensor]) -> float:
        return float(_loss(reference, microbatch, moved))

    found, count = differences(loss, weights, step, within), len(model.shapes)
    return {
        stage: Differences(
            found.gradients[n * count : (n + 1) * count], found.kinks[n * count : (n + 1) * count]
        )
        for n, stage in enumerate(stages)
    }


def _loss(reference: Reference, microbatch: int, weights: Sequence[Tensor]) -> Tensor:
    model = reference.witness
    count = len(model.shapes)
    value = model.given("X", microbatch).double()
    for n, stage in enumerate(reference.asked.line(microbatch).stages):
        entered = reference.input_of(stage, microbatch, value).double()
        own = weights[n * count : (n + 1) * count]
        value = model.run(own, entered, reference.at(stage, microbatch))
    return model.loss(value, model.given("Y", microbatch).double())


def disagreement(reference: Reference, microbatch: int) -> tuple[float, int, int]:
    """Compare the unsplit model's gradients of a microbatch with differences of losses.

    Returns:
        The largest difference, in parts of the largest derivative; 0 is equal bit by bit. Then
        how many derivatives were compared, and how many left out because of a kink.
    """
    worst, compared, left = 0.0, 0, 0
    with settled():
        own, others = reference.passed(microbatch).gradients, of_microbatch(reference, microbatch)
    for stage, found in others.items():
        for mine, theirs, kinks in zip(own[stage], found.gradients, found.kinks, strict=True):
            off = (mine.double() - theirs).abs()[~kinks]
            scale = max(float(theirs.abs().max()), 1.0)
            worst = max([worst, *(off / scale).tolist()])
            compared, left = compared + off.numel(), left + int(kinks.sum())
    return worst, compared, left


class Versions(NamedTuple):
    """Which weights two scalar stages read: both in the forward, the second in the backward.

    `again` is the first stage's weight in a recomputation, `mask` what a recomputation draws in
    place of the 1 that the forward drew.
    """

    a: Fraction
    b: Fraction
    back: Fraction | None = None
    again: Fraction | None = None
    mask: Fraction = Fraction(1)


class Scalars(NamedTuple):
    """Two scalar stages h = a x and y = b h with the loss (y - t)² / 2, in fractions."""

    x: Fraction = Fraction(1)
    t: Fraction = Fraction(10)

    def loss(self, a: Fraction, b: Fraction) -> Fraction:
        """Return the loss."""
        return (b * a * self.x - self.t) ** 2 / 2

    def gradients(self, read: Versions) -> tuple[Fraction, Fraction]:
        """Return what a backward computes for a and b with the versions that it reads."""
        off = read.b * read.a * self.x - self.t
        back = read.b if read.back is None else read.back
        again = read.a if read.again is None else read.again
        return off * back * self.x * read.mask, off * again * self.x * read.mask

    def step(
        self, at: tuple[Fraction, Fraction], gradients: tuple[Fraction, Fraction], size: Fraction
    ) -> tuple[Fraction, Fraction]:
        """Return the weights after a step of gradient descent."""
        return at[0] - size * gradients[0], at[1] - size * gradients[1]
