"""What each event of a schedule does to the memory of a device, as kernels for streams."""

from collections.abc import Iterator, Mapping
from functools import partial

import torch
from torch import Tensor

from pipeproof.execution._events import Events
from pipeproof.execution._touches import Key, Touches, what_of
from pipeproof.execution.streams._compute import Compute
from pipeproof.execution.streams._reads import Rows
from pipeproof.execution.streams._state import Seen, Snapshot, State
from pipeproof.execution.streams._training import Training
from pipeproof.execution.streams._unsplit import Unsplit
from pipeproof.execution.streams.device import Device, Kernel
from pipeproof.ir.actions import COMPUTE, Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import Bracket
from pipeproof.ir.storage import KEPT, content_text
from pipeproof.ir.transport import Match

__all__ = ["Kernels"]


class Kernels:
    """A schedule on a device. `seen` holds what events read, to be compared afterwards.

    An instruction has a kernel at its start, which reads and empties, and one at its end, which
    writes; a message has one that reads its source and one that writes its destination. Reductions
    under a handle are events of their own: -1 is the first of them, -2 the next.
    """

    def __init__(self, run: AsRun, match: Match, unsplit: Unsplit, device: Device) -> None:
        """Put everything on the device that is there from the start.

        Raises:
            UnsupportedFeatureError: something in the schedule is not run on streams.
        """
        self.run, self.ops, self.device = run, run.operations, device
        self.events, self.touches = Events(run, match), Touches(run)
        self.unsplit, self.asked = unsplit, unsplit.asked
        self.rows = Rows(self.asked, unsplit.reference)
        self.state, self.seen = State(device), list[Seen]()
        self.compute = Compute(self.touches, unsplit, self.rows, self.state, self.seen)
        self.training = Training(self.events, unsplit, self.rows, self.state, self.seen)
        self._sent = self._sends()
        self._place()

    def _sends(self) -> dict[Key, int]:
        """Return the first send of each value that has a storage of its own."""
        found: dict[Key, int] = {}
        for row in self.ops.is_kind(Kind.SEND).nonzero()[0].tolist():
            for each in self.touches.reads[row]:
                found.setdefault(each.key, row)
        return found

    # what is there from the start

    def _place(self) -> None:
        self._place_storages()
        self.training.place(self._identities(Kind.B, Kind.W))
        for number, transfer in enumerate(self.events.transfers):
            row = max(transfer.send, transfer.receive)
            size = self.unsplit.size(int(self.ops.value[row]))
            self.state.hold(("message", number), self._nothing(size))

    def _identities(self, *kinds: Kind) -> set[tuple[int, int]]:
        rows = set(self.ops.is_kind(*kinds).nonzero()[0].tolist()) & self.touches.computing
        return {self.compute.identity(row) for row in rows}

    def _place_storages(self) -> None:
        sizes: dict[Key, int] = dict.fromkeys(self.touches.frees.values(), 1)
        for accesses in (self.touches.reads, self.touches.writes):
            for each in (touched for row in accesses.values() for touched in row):
                size = self.unsplit.size(each.value)
                sizes[each.key] = max(size, sizes.get(each.key, 1))
        numbers = {key: self._nothing(size) for key, size in sizes.items()}
        for row in sorted(self.touches.reads, reverse=True):
            for each in self.touches.reads[row]:
                if each.given:
                    there = self.unsplit.wanted(each.value)
                    numbers[each.key][: there.numel()] = there
                    self._give(each.value)
        for key, each_numbers in numbers.items():
            self.state.hold(("storage", *key), each_numbers)

    def _nothing(self, size: int) -> Tensor:
        return torch.full((size,), torch.nan, dtype=self.unsplit.witness.dtype)

    def _give(self, value: int) -> None:
        """Run a forward that stands in no file, where a backward reads what it kept."""
        if what_of(value) == KEPT:
            stage, microbatch = (value >> 32) & 0xFFFFFF, value & 0xFFFFFFFF
            weights, entered = self.unsplit.entered(stage, microbatch)
            on = self.state.place
            graph = self.compute.graph([on(each) for each in weights], on(entered))
            self.state.give((stage, microbatch), graph)

    # events

    def of(self, event: int) -> Iterator[Kernel]:
        """Yield what an event does."""
        events = self.events
        if event < 0:
            yield from self.training.reduces(self.training.reductions[-1 - event])
        elif event >= events.first_transfer:
            yield from self._moves(event, (event - events.first_transfer) // 2)
        elif event >= events.ends:
            yield from self.training.end(event, event - events.ends)
        else:
            for row in events.rows[event // 2]:
                yield from self._done(row) if event % 2 else self._start(event, row)

    def _kernel(self, row: int, run: partial[None], reads: set[Key], writes: set[Key]) -> Kernel:
        memory = self.state.storage
        return Kernel(
            f"{self.events.text(row)} of rank {int(self.ops.rank[row])}",
            run,
            tuple(memory(key) for key in sorted(reads)),
            tuple(memory(key) for key in sorted(writes)),
        )

    def _read(self, row: int) -> set[Key]:
        return {each.key for each in self.touches.reads[row]}

    def _written(self, row: int) -> set[Key]:
        if int(self.ops.kind[row]) == Kind.R:
            return {t.key for t in self.touches.reads[row] if what_of(t.value) == KEPT}
        return {each.key for each in self.touches.writes[row]}

    def _start(self, event: int, row: int) -> Iterator[Kernel]:
        kind, overlapping = Kind(int(self.ops.kind[row])), self.ops.bracket[row] == Bracket.OVERLAP
        if kind in COMPUTE:
            if row in self.touches.computing and not self.compute.is_early_part(row):
                run = partial(self._computes, event, row)
                yield self._kernel(row, run, self._read(row), self._written(row))
                if overlapping:
                    yield from self._puts(row)
        elif kind in (Kind.LOAD, Kind.WRITE, Kind.RECV):
            keys = self._written(row)
            yield self._kernel(row, partial(self._empty, keys), set(), keys)
        elif kind is Kind.FREE:
            keys = {self.touches.frees[row]}
            yield self._kernel(row, partial(self._empty, keys), set(), keys)
        elif kind is Kind.USE:
            run = partial(self._uses, event, row)
            yield self._kernel(row, run, self._read(row), set())
        else:
            yield from self.training.start(event, row)

    def _done(self, row: int) -> Iterator[Kernel]:
        kind = Kind(int(self.ops.kind[row]))
        if kind in COMPUTE and self.ops.bracket[row] != Bracket.OVERLAP:
            yield from self._puts(row)
        elif kind in (Kind.LOAD, Kind.WRITE):
            placed = self._placed(row)
            yield self._kernel(row, partial(self._loads, placed), set(), self._written(row))
        elif kind is Kind.STEP:
            yield self.training.step(row)

    def _placed(self, row: int) -> Mapping[Key, Tensor]:
        writes = self.touches.writes[row]
        return {each.key: self.state.place(self.unsplit.wanted(each.value)) for each in writes}

    def _loads(self, placed: Mapping[Key, Tensor]) -> None:
        for key, data in placed.items():
            self.state.put(key, data)

    def _computes(self, event: int, row: int) -> None:
        self.compute.start(event, row)
        self._empty(self._written(row))

    def _empty(self, keys: set[Key]) -> None:
        for key in sorted(keys):
            self.state.empty(key)

    def _uses(self, event: int, row: int) -> None:
        self.compute.read(event, row)

    def _puts(self, row: int) -> Iterator[Kernel]:
        if row not in self.touches.computing or self.compute.is_early_part(row):
            return
        yield self._kernel(row, partial(self._put, row), set(), self._written(row))
        if int(self.ops.kind[row]) in (Kind.B, Kind.W):
            yield self.training.adds(row)
        yield from self._takes(row)

    def _put(self, row: int) -> None:
        again = int(self.ops.kind[row]) == Kind.R
        for each in (self.touches.reads if again else self.touches.writes)[row]:
            data = self.state.made.pop((row, each.value), None)
            if data is not None:
                self.state.put(each.key, data)

    def _takes(self, row: int) -> Iterator[Kernel]:
        """Yield that nobody finds a value any more that a row takes, but a send before it."""
        rank = self.ops.rank[row]
        keys = {
            key
            for key in self.touches.takes.get(row, ())
            if ("storage", *key) in self.state.numbers
            and not (self._sent.get(key, row) < row and self.ops.rank[self._sent[key]] == rank)
        }
        if keys:
            yield self._kernel(row, partial(self._empty, keys), set(), keys)

    # messages

    def _moves(self, event: int, number: int) -> Iterator[Kernel]:
        transfer = self.events.transfers[number]
        message = self.state.numbers["message", number]
        if (event - self.events.first_transfer) % 2 == 0:
            if transfer.send >= 0:
                run = partial(self._drains, event, number, transfer.send)
                kernel = self._kernel(transfer.send, run, self._read(transfer.send), set())
                yield kernel._replace(writes=(message,))
                yield from self._takes(transfer.send)
        elif transfer.receive >= 0 <= transfer.send:
            run = partial(self._arrives, number, transfer.receive)
            keys = self._written(transfer.receive)
            kernel = self._kernel(transfer.receive, run, set(), keys)
            yield kernel._replace(reads=(message,))

    def _drains(self, event: int, number: int, row: int) -> None:
        message = self.state.numbers["message", number]
        for data in self.compute.read(event, row).values():
            message[: data.numel()].copy_(data[: message.numel()])

    def _arrives(self, number: int, row: int) -> None:
        for each in self.touches.writes[row]:
            storage = self.state.storage(each.key)
            message = self.state.numbers["message", number]
            self.state.put(each.key, message[: storage.numel()])

    # restart

    def restore(self, snapshot: Snapshot) -> None:
        """Take everything from a snapshot."""
        self.state.restore(snapshot.numbers)
        on = self.state.place
        for identity, (value, weights) in snapshot.forwards.items():
            graph = self.compute.graph([on(each) for each in weights], on(value))
            self.state.give(identity, graph)

    def memories(self) -> dict[int, Key]:
        """Return every storage by where it begins."""
        keys = {each.key for row in self.touches.reads.values() for each in row}
        keys |= {each.key for row in self.touches.writes.values() for each in row}
        keys |= set(self.touches.frees.values())
        return {self.state.storage(key).data_ptr(): key for key in sorted(keys)}

    def label(self, memory: int) -> str:
        """Return what begins there: a storage by name and rank, or a gradient."""
        key, stored = self.memories().get(memory), self.run.storage
        if key is None:
            return "a gradient"
        if key[0] >= 0 or stored is None:
            return f"{content_text(self.ops, key[1])} of rank {key[0]}"
        number = next(
            row for row, at in zip(stored.rows, stored.storage, strict=True) if at == key[1]
        )
        return f"{stored.labels[key[1]]} of rank {int(self.ops.rank[number])}"
