"""What a schedule does, as far as anybody can see: reads, versions, updates, broken demands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tests.interpreter import facts, machine
from tests.interpreter.accumulators import Gradients
from tests.interpreter.spec import read_spec
from tests.interpreter.updates import Demands
from tests.interpreter.versions import Policy
from tests.interpreter.weights import StageWeights, observed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.interpreter.layout import ReadKey
    from tests.interpreter.versions import Fault


@dataclass(frozen=True, slots=True)
class Observation:
    """What a schedule does.

    Attributes:
        reads: What each read of storage may see, over all interleavings.
        versions: What each operation reads of the weights.
        updates: What each update finds in the gradients.
        faults: Demands of the language that are broken, and where.
        stuck: Some interleaving never ends.
    """

    reads: Mapping[ReadKey, frozenset[str]]
    versions: Mapping[str, str]
    updates: Mapping[str, str]
    faults: frozenset[Fault]
    stuck: bool

    @property
    def wrong_reads(self) -> tuple[ReadKey, ...]:
        """The reads that may see something else than what they name."""
        return tuple(key for key, seen in self.reads.items() if seen != {key[2]})

    @property
    def legal(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.wrong_reads or self.faults or self.stuck)

    @property
    def codes(self) -> frozenset[str]:
        """The rules whose demands are broken; those of storage all go by one name."""
        storage = {"PP50x"} if self.wrong_reads else set()
        return frozenset({rule for rule, _ in self.faults} | storage)


@lru_cache(maxsize=4096)
def observe(text: str) -> Observation:
    """What the schedule of a file does.

    Raises:
        UnsupportedTextError: The file uses something that the interpreter does not run.
        TooManyStatesError: The schedule is too large.
    """
    spec = read_spec(text)
    storages = machine.run(spec)
    weights = [StageWeights(spec, stage) for stage in range(spec.stages)]
    gradients = Gradients(spec, weights)
    gradients.run()
    found = facts.facts(spec) | Policy(spec, weights).faults() | Demands(gradients).faults()
    found |= {("clash", clash) for clash in storages.clashes}
    found |= {("PP202", crossed) for crossed in storages.crossed}
    return Observation(
        storages.reads, observed(weights), gradients.observed(), frozenset(found), storages.stuck
    )


def equivalent(one: Observation, other: Observation) -> bool:
    """Whether two schedules do the same, and break the same demands."""
    return one == other
