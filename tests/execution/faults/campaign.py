"""Faults drawn by a seed, put into one of several replicas of a schedule."""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from pipeproof.execution.faults.ledgers import Bit, Flip, recorded
from pipeproof.execution.faults.localise import Says, first_fault
from pipeproof.execution.witness import WITNESSES, InexactError
from tests.execution.played import document, models, order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeproof.execution.faults.localise import Entry, Found
    from pipeproof.execution.faults.states import Operation
    from pipeproof.semantics.model import Model

STAGES, MICROBATCHES = 3, 2
WHOLE = """
pipeproof: 1
stages: {stages}
microbatches: {microbatches}
transport: buffered
ranks:
{ranks}
"""


def text(stages: int = STAGES, microbatches: int = MICROBATCHES, *, split: bool = False) -> str:
    """All forwards, all backwards, split in two or not, and a step; a stage on each rank."""
    ranks = []
    for s in range(stages):
        lines = []
        for m in range(microbatches):
            lines += [f"{s}RECV_F{m}"] * (s > 0) + [f"{s}F{m}"]
            lines += [f"{s}SEND_F{m}"] * (s < stages - 1)
        for m in range(microbatches):
            lines += [f"{s}RECV_B{m}"] * (s < stages - 1) + [f"{s}{'I' if split else 'B'}{m}"]
            lines += [f"{s}SEND_B{m}"] * (s > 0)
        lines += [f"{s}W{m}" for m in range(microbatches)] * split + [f"{s}STEP"]
        ranks.append("  - |\n" + "".join(f"    {line}\n" for line in lines))
    return WHOLE.format(stages=stages, microbatches=microbatches, ranks="".join(ranks))


class Drawn(NamedTuple):
    """One run of the campaign: on which model, what is turned and in which replica."""

    witness: str
    split: bool
    seed: int
    replica: int
    flip: Flip | None

    def ledgers(self, replicas: int) -> dict[int, Sequence[Entry]]:
        """What each replica ran, by itself."""
        hit = self.replica % replicas
        own = iter(range(replicas))  # every healthy replica has run by itself
        return {
            number: self._marred() if number == hit and self.flip else self._clean(next(own))
            for number in range(replicas)
        }

    def _marred(self) -> Sequence[Entry]:
        return _broken(self.witness, self.seed, self.flip, self.split)

    def _clean(self, number: int) -> Sequence[Entry]:
        return _clean(self.witness, self.seed, self.split, number)

    def found(self, replicas: int) -> Found | None:
        return first_fault(self.ledgers(replicas))


@lru_cache
def model(split: bool) -> Model:  # noqa: FBT001  cached
    return next(models(document(text(split=split))))


@lru_cache(maxsize=256)
def _clean(witness: str, seed: int, split: bool, _: int) -> Sequence[Entry]:  # noqa: FBT001
    return _run(witness, seed, None, split=split)


@lru_cache(maxsize=2)
def _broken(
    witness: str,
    seed: int,
    flip: Flip | None,
    split: bool,  # noqa: FBT001  cached
) -> Sequence[Entry]:
    return _run(witness, seed, flip, split=split)


def _run(witness: str, seed: int, flip: Flip | None, *, split: bool) -> Sequence[Entry]:
    made = model(split)
    replay = recorded(made.frame.run, made.frame.transport.match, witness, seed, flip=flip)
    try:
        replay.play(order(made))
    except InexactError:  # a number is none any more, behind the fault
        assert flip is not None
    return replay.ledger


def operations(*, split: bool) -> list[Operation]:
    return [each.operation for each in _clean("linear", 0, split, 0)]


def drawn(number: int) -> Drawn:
    """The campaign's n-th fault: kinds, bits and witnesses in turn, places by the seed."""
    rng = Random(number)
    split = rng.random() < 0.3
    at = rng.choice(operations(split=split))
    weights = number % 2 == 1 and at.microbatch >= 0
    bit, element = list(Bit)[number // 2 % 3], rng.randrange(10_000)
    flip = Flip(at.stage, at.microbatch, at.direction, bit, weights, element)
    name = list(WITNESSES)[number // 6 % len(WITNESSES)]
    return Drawn(name, split, rng.randrange(2), rng.randrange(6), flip)


def healthy(number: int) -> Drawn:
    """The campaign's n-th control."""
    rng = Random(number)
    name = list(WITNESSES)[number % len(WITNESSES)]
    return Drawn(name, number % 3 == 0, rng.randrange(2), 0, None)


def is_named(fault: Drawn) -> bool:
    """Whether three peers name what was turned, and two only say that they differ."""
    assert fault.flip is not None
    flip, named, two = fault.flip, fault.found(3), fault.found(2)
    assert named is not None, fault
    assert two is not None, fault
    place = (flip.stage, flip.stage, flip.microbatch, flip.direction)
    what = "weights" if flip.weights else "outputs"
    right = (named.culprit, named.what) == (fault.replica % 3, what)
    exact = tuple(named.operation) == place and len(named.confirmations) == 2
    apart = two.says is Says.DISAGREEMENT and two.culprit is None and two.what == what
    return right and exact and apart and tuple(two.operation) == place
