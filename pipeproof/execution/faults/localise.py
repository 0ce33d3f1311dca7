"""Which rank made a wrong value: peers run the same operation on the same state, and are compared.

Inputs, random state, weight version and precision must agree on all peers before outputs are
compared. Two peers that differ show that they differ, and no more. From three on the one that
stands against a majority is named, after a second round in which everybody runs the operation
anew, on the state of the others too.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from torch import Tensor

from pipeproof.execution.faults.states import Operation, Run, State, carried_out, digest

__all__ = ["Entry", "Found", "Peer", "Says", "against", "first_fault", "localise", "replaying"]

_ENOUGH = 3  # peers from which on one of them can be named


class Says(Enum):
    """What a comparison of peers says."""

    AGREED = "all agree"
    CULPRIT = "wrong value"
    DISAGREEMENT = "disagreement"
    PRECONDITIONS = "preconditions differ"
    CANNOT = "cannot be localised"


class Peer(NamedTuple):
    """A rank that has run an operation, or that runs it again.

    `run` is how this rank carries the operation out. `outputs` is what it made when it ran; a rank
    that only replays has none. `source` is the rank whose state it works on, if not its own: such
    a copy says nothing about whether the state itself is right.
    """

    rank: int
    state: State
    run: Run
    outputs: tuple[Tensor, ...] | None = None
    source: int | None = None

    @property
    def owner(self) -> int:
        """The rank whose state it works on."""
        return self.rank if self.source is None else self.source


class Found(NamedTuple):
    """What a comparison says of an operation.

    `culprit` is the rank that is named, with `what` (outputs or weights) it is wrong about, and
    `confirmations` what shows it, two at least. `why` says the rest in words.
    """

    says: Says
    operation: Operation
    culprit: int | None = None
    what: str = ""
    confirmations: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        """Return what was found, in words."""
        what = f" in its {self.what}" if self.what else ""
        why = f": {self.why}" if self.why else ""
        return f"{self.says.value}{what}: {self.operation}{why}"


def replaying(
    operation: Operation, state: State, outputs: tuple[Tensor, ...], run: Run, others: Iterable[int]
) -> tuple[Peer, ...]:
    """Return the rank that ran an operation, and others that replay it on copies of its state."""
    own = Peer(operation.rank, state, run, outputs)
    beside = (Peer(rank, state.copied(), run, None, operation.rank) for rank in others)
    return (own, *beside)


def localise(operation: Operation, peers: Sequence[Peer]) -> Found:
    """Compare what peers make of one operation, and name the one that is wrong if one can be.

    Args:
        operation: which one it is; its rank is that of the peer that it is about.
        peers: each rank once.
    """
    if len({each.rank for each in peers}) < 2:  # noqa: PLR2004  nothing to compare with
        why = f"no other rank has a copy of what rank {operation.rank} works on"
        return Found(Says.CANNOT, operation, why=why)
    shared = _sharing(peers)
    if shared:
        return Found(Says.CANNOT, operation, why=shared)
    differing = _preconditions(peers)
    if differing:
        return Found(Says.PRECONDITIONS, operation, why=differing)
    wrong = _weights(operation, peers)
    return wrong or _outputs(operation, peers)


def _sharing(peers: Sequence[Peer]) -> str:
    """Return which ranks work on the same memory, so that neither has a copy of its own."""
    owners: dict[int, int] = {}
    for each in peers:
        for tensor in (*each.state.inputs, *each.state.weights):
            place = tensor.untyped_storage().data_ptr()
            owner = owners.setdefault(place, each.rank) if tensor.numel() else each.rank
            if owner != each.rank:
                return f"ranks {owner} and {each.rank} work on the same memory"
    return ""


def _preconditions(peers: Sequence[Peer]) -> str:
    """Return what differs between peers before they begin, and on which rank if one can say."""
    told = {each.rank: each.state.preconditions() for each in peers}
    for name in next(iter(told.values())):
        said = {rank: each[name] for rank, each in told.items()}
        if len(set(said.values())) > 1:
            odd = against(said)
            where = f" on rank {odd[0]}" if len(odd) == 1 else ""
            return f"{name}{where}"
    return ""


def against(said: Mapping[int, str]) -> list[int]:
    """Return who says something else than a majority of at least two; nobody without one."""
    (most, count), *_ = Counter(said.values()).most_common(1)
    if len(said) < _ENOUGH or 2 * count <= len(said):
        return []
    return [rank for rank, each in said.items() if each != most]


def _weights(operation: Operation, peers: Sequence[Peer]) -> Found | None:
    """Compare weights of one version bit by bit, of ranks that each have their own."""
    own = [each for each in peers if each.owner == each.rank]
    said = {each.rank: digest(each.state.weights) for each in own}
    if len(set(said.values())) < 2:  # noqa: PLR2004  all are equal
        return None
    odd = against(said)
    again = against({each.rank: digest(each.state.copied().weights) for each in own})
    if len(odd) != 1 or again != odd:
        return Found(Says.DISAGREEMENT, operation, what="weights", why=_ranks(said))
    others = [each for each in own if each.rank != odd[0]]
    confirmations = (
        f"its weights of version {others[0].state.version} are not those of {len(others)} peers",
        "read once more, they still are not",
    )
    at = operation._replace(rank=odd[0])
    return Found(Says.CULPRIT, at, odd[0], "weights", confirmations)


def _outputs(operation: Operation, peers: Sequence[Peer]) -> Found:
    made = {each.rank: _made(each) for each in peers}
    if len(set(made.values())) == 1:
        return Found(Says.AGREED, operation)
    odd = against(made)
    if len(odd) != 1:
        return Found(Says.DISAGREEMENT, operation, what="outputs", why=_ranks(made))
    suspect = next(each for each in peers if each.rank == odd[0])
    others = [each for each in peers if each is not suspect]
    wanted = made[others[0].rank]
    states = [each.state for each in others]
    again = [
        digest(carried_out(each.run, on)) for each in others for on in (*states, suspect.state)
    ]
    if any(each != wanted for each in again):
        why = "the others do not make the same twice"
        return Found(Says.CANNOT, operation, what="outputs", why=why)
    own = {digest(carried_out(suspect.run, on)) == wanted for on in (suspect.state, *states)}
    lasting = "it makes the right value now: transient" if own == {True} else "it does so again"
    confirmations = (
        f"what it made is not what {len(others)} peers make",
        f"they make the same again, on its state too, which it did not; {lasting}",
    )
    return Found(Says.CULPRIT, operation._replace(rank=odd[0]), odd[0], "outputs", confirmations)


def _made(peer: Peer) -> str:
    outputs = carried_out(peer.run, peer.state) if peer.outputs is None else peer.outputs
    return digest(outputs)


def _ranks(said: Mapping[int, str]) -> str:
    """Return which ranks say the same, in words."""
    alike: dict[str, list[int]] = {}
    for rank, each in said.items():
        alike.setdefault(each, []).append(rank)
    groups = [" and ".join(map(str, ranks)) for ranks in alike.values()]
    return "rank " + " against ".join(groups)


class Entry(NamedTuple):
    """An operation that has run: on what, what it made, and how to run it again."""

    operation: Operation
    state: State
    outputs: tuple[Tensor, ...]
    run: Run


def first_fault(ledgers: Mapping[int, Sequence[Entry]]) -> Found | None:
    """Compare replicas of a whole model, operation by operation, and return what is found first.

    Args:
        ledgers: what each replica ran, by a number for the replica, in the same order. One that
            broke off earlier is compared as far as it came.

    Returns:
        The first operation of which not all is equal; None where all is.
    """
    numbers = list(ledgers)
    for entries in zip(*ledgers.values(), strict=False):
        peers = [
            Peer(number, each.state, each.run, each.outputs)
            for number, each in zip(numbers, entries, strict=True)
        ]
        found = localise(entries[0].operation, peers)
        if found.says is not Says.AGREED:
            return found._replace(operation=entries[0].operation)
    return None
