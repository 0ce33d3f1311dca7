"""Checkpoints: what is saved of a rank, and what stands there once it has been restored."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from pipeproof.execution._events import Events
from pipeproof.execution._illegal import Fault, Illegal, Place
from pipeproof.execution._memory import Message, flat, same
from pipeproof.execution._weights import Weights
from pipeproof.execution.witness import Witness
from pipeproof.ir.actions import Kind

__all__ = ["RESTARTING", "Restart"]

RESTARTING = (Kind.CONSUME, Kind.SAVE, Kind.RESUME, Kind.RESTORE)
_IN_FLIGHT = ("versions", "pending", "order", "rng", "data")


class Restart:
    """The last checkpoint of each rank: the numbers of its state, by what they are."""

    def __init__(self, events: Events, weights: Weights, witness: Witness) -> None:
        self.events, self.weights, self.witness = events, weights, witness
        self.run, self.ops = events.run, events.run.operations
        self._taken: dict[int, int] = defaultdict(int)
        self._saved: dict[int, dict[str, Tensor]] = {}
        self._kept: dict[int, tuple[str, ...] | None] = {}

    def happens(self, row: int, messages: Mapping[int, Message]) -> Iterator[Illegal]:
        """Take from the data, save or restore; yield what comes back otherwise than it was saved.

        Args:
            row: the operation, in the order of its program.
            messages: what is on its way, by message.
        """
        rank, said = int(self.ops.rank[row]), self.ops.attributes.get(row, {})
        if self.run.copy[row]:
            return
        match Kind(int(self.ops.kind[row])):
            case Kind.CONSUME:
                self._taken[rank] += int(said["count"])
            case Kind.SAVE:
                self._saved[rank] = self._state(rank, messages)
                self._kept[rank] = tuple(said["async"].split(",")) if "async" in said else None
            case Kind.RESUME:
                yield from self._resumes(row, int(said["at"]))
            case _:
                have, want = (self._named(row, said[key]) for key in ("have", "want"))
                if said["have"] != said["want"]:
                    yield _wrong(row, said["want"], said["have"], (have, want))

    def _state(self, rank: int, messages: Mapping[int, Message]) -> dict[str, Tensor]:
        stages = [s for s, home in enumerate(self.run.placement) if home == rank]
        current = [self.weights.current(s, k) for s in stages for k in self.weights.asked.weights]
        pending = [m.data for n, m in sorted(messages.items()) if self._is_for(rank, n)]
        made = [n for s in stages for n in self.weights.numbers[s].current]
        taken = self._taken[rank]
        return {
            "versions": _joined(current),
            "pending": _joined(pending),
            "order": torch.tensor(made, dtype=torch.float64),
            "rng": self.witness.numbers(f"random state of {rank} after {taken}", (4,), 9),
            "data": self._next(taken),
        }

    def _is_for(self, rank: int, number: int) -> bool:
        transfer = self.events.transfers[number]
        return transfer.send >= 0 and int(self.ops.peer[transfer.send]) == rank

    def _next(self, taken: int) -> Tensor:
        """Return the microbatch that comes next."""
        return flat(self.witness.given("X", taken))

    def _named(self, row: int, name: str) -> Tensor:
        return self.witness.numbers(f"{self.ops.attributes[row].get('what', '')} {name}", (8,), 9)

    def _resumes(self, row: int, at: int) -> Iterator[Illegal]:
        rank = int(self.ops.rank[row])
        saved, kept = self._saved.get(rank), self._kept.get(rank)
        if saved is None:
            return
        there = self._next(at)
        if not same(there, saved["data"]) or at != self._taken[rank]:
            expected, found = f"microbatch {self._taken[rank]} of the data", f"microbatch {at}"
            yield _wrong(row, expected, found, (there, saved["data"]))
        for name in _IN_FLIGHT:
            if kept is not None and name not in kept:
                lost = torch.full_like(saved[name], torch.nan)
                expected = f"{name} as it was saved"
                yield _wrong(row, expected, "nothing", (lost, saved[name]))


def _joined(parts: list[Tensor]) -> Tensor:
    return torch.cat([flat(each) for each in parts]) if parts else torch.zeros(0)


def _wrong(row: int, expected: str, found: str, numbers: tuple[Tensor, Tensor]) -> Illegal:
    visible = not same(*numbers)
    return Illegal(Fault.RESTORED, (Place(row),), expected, found, visible)
