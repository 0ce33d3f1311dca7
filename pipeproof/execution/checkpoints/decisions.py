"""What all ranks decide of a checkpoint together, as data: candidate, verified or rejected.

Every rank decides by the same votes and so comes to the same. A rank that says nothing is no
consent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from pipeproof.execution.checkpoints._trees import CheckpointError

__all__ = [
    "Decision",
    "Recovery",
    "Status",
    "Vote",
    "chosen",
    "decided",
    "read",
    "told",
    "verified",
]

_KEYS = ("step", "status", "reason", "excluded")


class Status(Enum):
    """What a checkpoint is."""

    CANDIDATE = "candidate"
    VERIFIED = "verified"
    REJECTED = "rejected"


class Vote(NamedTuple):
    """What one rank says of a step.

    `fault` is what was found at one of its operations, or what is still under way on it. `taken` is
    a digest of what it holds, `kept` one of what was read back from where it was written, `copied`
    of its peer's copy, `restored` of what an execution holds that was made of it; all are empty
    before that has been done.
    """

    rank: int
    step: int
    fault: str = ""
    taken: str = ""
    kept: str = ""
    copied: str = ""
    restored: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided of the checkpoint behind a step; `excluded` says what it does not rest on."""

    step: int
    status: Status
    reason: str
    excluded: tuple[str, ...] = ()


class Recovery(NamedTuple):
    """From which step to go on, why, and which later ones are excluded, each with its reason."""

    step: int
    reason: str
    excluded: tuple[str, ...]


def decided(step: int, ranks: int, votes: Iterable[Vote]) -> Decision:
    """Return whether a step is a candidate: all ranks ended it, and nothing was found in it."""
    given = list(votes)
    absent = [f"rank {rank}" for rank in range(ranks) if rank not in {v.rank for v in given}]
    if absent:
        return Decision(step, Status.REJECTED, "not all ranks have voted", tuple(absent))
    other = [f"rank {v.rank}: step {v.step}" for v in given if v.step != step]
    if other or len(given) != ranks:
        return Decision(step, Status.REJECTED, "the ranks are not at one step", tuple(other))
    faults = [v.fault for v in given if v.fault]
    if faults:
        return Decision(step, Status.REJECTED, "a fault was found in it", tuple(faults))
    return Decision(step, Status.CANDIDATE, f"{ranks} ranks have ended it, nothing was found")


def verified(candidate: Decision, ranks: int, votes: Iterable[Vote]) -> Decision:
    """Return whether a candidate is verified: every rank's part is bitwise what was taken."""
    given = list(votes)
    again = decided(candidate.step, ranks, given)
    if candidate.status is not Status.CANDIDATE or again.status is not Status.CANDIDATE:
        return candidate if candidate.status is Status.REJECTED else again
    odd = tuple(said for vote in given for said in _odd(vote))
    if odd:
        return Decision(candidate.step, Status.REJECTED, "it does not come back bitwise", odd)
    said = f"restored on {ranks} ranks, bitwise equal to what was taken"
    return Decision(candidate.step, Status.VERIFIED, said)


def _odd(vote: Vote) -> Iterable[str]:
    places = (("disk", vote.kept), ("peer", vote.copied), ("restored state", vote.restored))
    for place, found in places:
        if not vote.taken or found != vote.taken:
            yield f"rank {vote.rank}: {place}"


def chosen(
    decisions: Sequence[Decision], unreadable: Callable[[int], str] = lambda step: ""
) -> Recovery:
    """Return the last verified step that can be read; what came later is excluded.

    Args:
        decisions: all of them, in the order in which they were made; the last of a step counts.
        unreadable: why a step cannot be read, empty where it can.

    Raises:
        CheckpointError: there is none.
    """
    last = {each.step: each for each in decisions}
    excluded: list[str] = []
    for step, each in sorted(last.items(), reverse=True):
        why = unreadable(step) if each.status is Status.VERIFIED else f"{_said(each)}"
        if not why:
            return Recovery(step, "the last verified step", tuple(excluded))
        excluded.append(f"step {step}: {why}")
    message = f"no verified step: {'; '.join(excluded) or 'nothing was decided'}"
    raise CheckpointError(message)


def _said(decision: Decision) -> str:
    if decision.status is Status.CANDIDATE:
        return "a candidate, not verified"
    return f"{decision.status.value}: {'; '.join((decision.reason, *decision.excluded))}"


def told(decision: Decision) -> dict[str, object]:
    """Return a decision as plain data."""
    said = decision.step, decision.status.value, decision.reason, list(decision.excluded)
    return dict(zip(_KEYS, said, strict=True))


def read(said: Mapping[str, object]) -> Decision:
    """Return the decision that plain data tells.

    Raises:
        CheckpointError: it tells none.
    """
    match [said.get(key) for key in _KEYS]:
        case [int(step), str(status), str(reason), list(excluded)] if status in {
            each.value for each in Status
        }:
            return Decision(step, Status(status), reason, tuple(map(str, excluded)))
        case _:
            message = f"no decision: {said}"
            raise CheckpointError(message)
