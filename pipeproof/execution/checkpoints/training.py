"""Steps with a checkpoint behind each: replayed by peers, decided by all, recovered where wrong."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pipeproof.execution.checkpoints import files
from pipeproof.execution.checkpoints._trees import CheckpointError
from pipeproof.execution.checkpoints.boundaries import undrained
from pipeproof.execution.checkpoints.caller import untouched
from pipeproof.execution.checkpoints.copies import Copies
from pipeproof.execution.checkpoints.decisions import (
    Decision,
    Recovery,
    Status,
    Vote,
    chosen,
    decided,
    verified,
)
from pipeproof.execution.checkpoints.restart import taken_up
from pipeproof.execution.checkpoints.state import DRAINED, Part, Setting, parts_of
from pipeproof.execution.faults.ledgers import Flip, Recorded, prepared
from pipeproof.execution.faults.localise import Entry, Found, first_fault
from pipeproof.execution.replayer import Replayer
from pipeproof.execution.witness import InexactError

__all__ = ["Attempt", "Training"]

_PEERS = 2  # replicas that replay a step beside the one that ran it: three in all


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a step: what was found in it, and what was decided by each rank.

    `recovery` says from where the next attempt goes on, if this one was rejected.
    """

    step: int
    found: Found | None
    decisions: tuple[Decision, ...]
    recovery: Recovery | None = None

    @property
    def decision(self) -> Decision:
        """What all ranks have decided."""
        return self.decisions[0]


class Training:
    """Runs a schedule step by step; behind each step all ranks decide of a checkpoint.

    `attempts` holds every run of a step, `decisions` what was decided, in their order.
    """

    def __init__(
        self,
        setting: Setting,
        order: Sequence[tuple[int, ...]],
        copies: Copies,
        *,
        trained: Mapping[int, Flip] | None = None,
        replayed: Mapping[tuple[int, int], Flip] | None = None,
    ) -> None:
        """Set up a training that has not begun.

        Args:
            setting: what is run.
            order: the events of each step, in which every step drains.
            copies: where checkpoints are kept.
            trained: a bit that is turned once, by the step in which that happens.
            replayed: a bit that is turned once while a step is replayed, by that step and the
                number of the replica that replays it, from 1 on.
        """
        self.setting, self.order, self.copies = setting, order, copies
        self._trained, self._replayed = dict(trained or {}), dict(replayed or {})
        self.ranks = setting.run.schedule.ranks
        self.attempts: list[Attempt] = []
        self.decisions: list[Decision] = []
        self._known: dict[str, object] = {}
        self._model = prepared(setting.run, setting.witness, setting.seed)
        self.live = self._begin()

    def _begin(self, flip: Flip | None = None) -> Recorded:
        run, match, late = self.setting.run, self.setting.match, self.setting.late
        made = Recorded(run, match, self._model, flip=flip, late=late)
        unsplit: dict[str, object] = vars(made.reference)
        unsplit.update(self._known)  # the unsplit model is the same for all of them
        self._known = unsplit
        return made

    def run(self, most: int = 1000) -> None:
        """Run all steps, each again from the last verified one where it was rejected.

        Args:
            most: how many attempts there may be.

        Raises:
            CheckpointError: there were as many, or nothing to recover from.
        """
        with untouched():
            self._decide(0, None)
            step = 1
            while step <= len(self.order):
                if len(self.attempts) == most:
                    message = f"step {step} is not over after {most} attempts"
                    raise CheckpointError(message)
                step = self._attempt(step) + 1

    def _attempt(self, step: int) -> int:
        """Run a step; return the one behind which the next attempt goes on."""
        before, begun = self.copies.parts(step - 1), len(self.live.ledger)
        self.live.noting.flip = self._trained.pop(step, None)
        self._play(self.live, step)
        ledgers = {0: self.live.ledger[begun:]}
        for peer in range(1, _PEERS + 1):
            ledgers[peer] = self._replay(step, peer, before)
        found = first_fault(ledgers)
        decisions = self._decide(step, found)
        recovery = None
        if decisions[0].status is not Status.VERIFIED:
            recovery = chosen(self.decisions, self.copies.unreadable)
            self.live = self._taken_up(self.copies.parts(recovery.step))
        self.attempts.append(Attempt(step, found, decisions, recovery))
        return step if recovery is None else recovery.step

    def _taken_up(self, parts: Sequence[Part], flip: Flip | None = None) -> Recorded:
        into = self._begin(flip)
        taken_up(self.setting, parts, into)
        return into

    def _replay(self, step: int, peer: int, before: Sequence[Part]) -> Sequence[Entry]:
        """Run a step again from the checkpoint before it."""
        again = self._taken_up(before, self._replayed.pop((step, peer), None))
        self._play(again, step)
        return again.ledger

    def _play(self, execution: Recorded, step: int) -> None:
        """Play a step, as far as it goes: behind a wrong bit numbers may no longer be whole."""
        with suppress(InexactError):
            execution.play(self.order[step - 1])

    def _decide(self, step: int, found: Found | None) -> tuple[Decision, ...]:
        """Let every rank decide of a step, and note it."""
        ranks = range(self.ranks)
        left = next(undrained(self.live), "")
        votes = [Vote(rank, step, fault=_fault(rank, found) or left) for rank in ranks]
        decisions = [decided(step, self.ranks, votes) for _ in ranks]
        if all(each.status is Status.CANDIDATE for each in decisions):
            votes = self._kept(step)
            decisions = [verified(each, self.ranks, votes) for each in decisions]
        self.decisions.append(decisions[0])
        for rank in ranks:
            self.copies.note(rank, [*self.decisions[:-1], decisions[rank]])
        return tuple(decisions)

    def _kept(self, step: int) -> list[Vote]:
        """Keep what every rank holds, restore it from disk, and compare."""
        packed = self._packed(self.live, step)
        for rank, data in enumerate(packed):
            self.copies.keep(rank, step, data)
        ranks = range(self.ranks)
        try:
            disk = [files.unpack(self.copies.on_disk(r, step), f"disk of rank {r}") for r in ranks]
            again = self._packed(self._taken_up(disk), step)
        except CheckpointError as error:
            return [Vote(rank, step, fault=str(error)) for rank in ranks]
        return [
            Vote(
                rank,
                step,
                taken=files.seal(packed[rank], "what was taken"),
                kept=files.seal(self.copies.on_disk(rank, step), "disk"),
                copied=files.seal(self.copies.on_peer(rank, step), "peer"),
                restored=files.seal(again[rank], "what was restored"),
            )
            for rank in ranks
        ]

    def _packed(self, execution: Replayer, step: int) -> list[bytes]:
        parts = parts_of(execution, self.setting, step=step, moment=DRAINED)
        return [files.pack(part) for part in parts]


def _fault(rank: int, found: Found | None) -> str:
    return str(found) if found is not None and found.operation.rank == rank else ""
