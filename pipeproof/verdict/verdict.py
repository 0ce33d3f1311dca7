"""What is said of a schedule: outcome, violations, and the execution that shows each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple

__all__ = [
    "Accepted",
    "Explained",
    "FileVerdict",
    "Hop",
    "Live",
    "Outcome",
    "Place",
    "Seen",
    "TraceStep",
    "TransportVerdict",
    "Undecided",
    "Violation",
    "Warned",
    "worst",
]


class Outcome(StrEnum):
    """What is known of a rule, a transport or a file."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


def worst(outcomes: tuple[Outcome, ...]) -> Outcome:
    """Return refuted if one is, else unknown if one is, else proved."""
    for outcome in (Outcome.REFUTED, Outcome.UNKNOWN):
        if outcome in outcomes:
            return outcome
    return Outcome.PROVED


class Place(NamedTuple):
    """An operation that a violation names; `position` may be the number of instructions.

    `row` is its row in the table as written, -1 at the end of a program; `step` is 1 in the
    second of two copies of the programs, else None; `lowered` says that it stands in no file.
    `ordinal` counts the equal operations that its rank's program, as written, has before it.
    """

    rank: int
    position: int
    operation: str
    row: int
    stage: int | None = None
    microbatch: int | None = None
    version: int | None = None
    step: int | None = None
    lowered: bool = False
    ordinal: int = 0


class TraceStep(NamedTuple):
    """One event of an execution: `phase` is start, done, drained or arrived."""

    event: str
    phase: str
    rank: int
    position: int


class Seen(NamedTuple):
    """What became of a counterexample on tensors.

    `answer` is *confirmed*, *not observable with this witness* or *not reproduced*; `why` says what
    was seen, or why nothing could be.
    """

    answer: str
    why: str
    witness: str


class Accepted(NamedTuple):
    """That somebody has accepted a finding: why, and when (an ISO date)."""

    reason: str
    date: str


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule broken at `at`, in program order; nothing stands there for what is missing.

    `cost` counts the events that happen before its places in every execution. `trace` is an
    execution that ends at the first illegal event, empty where no event shows it; `reached` is
    False where a deadlock keeps the places from being reached. `seen` is None where nobody asked
    for it to be run, `accepted` where no baseline accepts it.
    """

    rule: str
    name: str
    message: str
    at: tuple[Place, ...]
    cost: int
    trace: tuple[TraceStep, ...] = ()
    reached: bool = True
    first: bool = False
    seen: Seen | None = None
    accepted: Accepted | None = None


class Undecided(NamedTuple):
    """A rule that was not decided, and why."""

    rule: str
    why: str


class Live(NamedTuple):
    """The most of one kind that is live on a rank at once, in any interleaving.

    `size` is in parts of a byte (`ir.sizes.UNIT`), None where the file gives no sizes. Where the
    number is not `exact` it is an upper bound.
    """

    rank: int
    kind: str
    number: int
    size: int | None
    exact: bool


class Warned(NamedTuple):
    """A rule that warns and never refutes."""

    rule: str
    message: str


class Hop(NamedTuple):
    """One event that comes before another because the second waits for it.

    `crosses` says that they are not of one program. `needed` says that without this wait the pair
    that is explained would not be ordered, None where that was not asked.
    """

    before: TraceStep
    after: TraceStep
    crosses: bool
    needed: bool | None = None


class Explained(NamedTuple):
    """Why what an operation needs comes first in every execution.

    `hops` and the credits of `sends` suffice, and none can be left out of them; where `known` is
    False nothing so small is known. Without `rules` no rule asks for anything there that holds.
    `where` says what was chosen, where it is not so in every outcome.
    """

    rules: tuple[str, ...]
    at: Place
    needs: str = ""
    hops: tuple[Hop, ...] = ()
    sends: tuple[TraceStep, ...] = ()
    known: bool = True
    where: str = ""


@dataclass(frozen=True, slots=True)
class TransportVerdict:
    """What holds of one schedule under one transport.

    `instances` counts, for each selected rule by its code, what it applied to. `steps` is the
    number of optimizer steps covered. `assumes` are ids of the register in `docs/trust.md`.
    `live` is the most that is live at once, where it is asked for or the file gives sizes.
    `outcomes` is the number of outcomes of the runtime's choices that were judged.
    `explanations` say why what is proved holds, where it is asked for. `counts` says how much there
    was to judge, `waits` and `transfers`, and what engines took for it, `states` and `steps`.
    """

    name: str
    outcome: Outcome
    engine: str
    events: int
    steps: int | Literal["any"]
    assumes: tuple[str, ...]
    instances: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    unknown: tuple[Undecided, ...] = ()
    warnings: tuple[Warned, ...] = ()
    violations: tuple[Violation, ...] = ()
    live: tuple[Live, ...] = ()
    outcomes: int = 1
    explanations: tuple[Explained, ...] = ()
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}), compare=False)


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """What holds of one schedule under every transport that was asked for.

    `undescribed` names what the schedule does not describe, so that it was not judged; `notes`
    are sentences about how it was read or lowered.
    """

    path: str
    outcome: Outcome
    stages: int
    ranks: int
    microbatches: int
    operations: int
    lowering: str
    profile: str
    fragment: bool
    transports: tuple[TransportVerdict, ...]
    undescribed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    forward_only: bool = False

    @property
    def verdict(self) -> str:
        """The outcome as a word."""
        return self.outcome.value

    @property
    def first(self) -> Violation | None:
        """The first violation, of the first transport that refutes."""
        found = (v for each in self.transports for v in each.violations if v.first)
        return next(found, None)

    @property
    def first_rule(self) -> str | None:
        """The code of the first violation."""
        return None if self.first is None else self.first.rule
