"""Gradients and updates on a device: what adds to them, changes them, reduces and uses them."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import torch
from torch import Tensor

from pipeproof.execution._events import Events
from pipeproof.execution.reference import TWIN, scaled
from pipeproof.execution.streams._reads import Rows
from pipeproof.execution.streams._state import Seen, State
from pipeproof.execution.streams._unsplit import Unsplit
from pipeproof.execution.streams.device import Kernel
from pipeproof.ir.actions import Kind

__all__ = ["GRADIENT", "Training"]

GRADIENT = -1


class Training:
    """The accumulators and weights of all stages; `own` is this replica's, `twin` another one's.

    Reductions under a handle are events of their own: `reductions` holds their rows.
    """

    def __init__(
        self, events: Events, unsplit: Unsplit, rows: Rows, state: State, seen: list[Seen]
    ) -> None:
        self.events, self.rows, self.state, self.seen = events, rows, state, seen
        self.unsplit, self.asked, self.ops = unsplit, unsplit.asked, unsplit.asked.ops
        self.reductions = tuple(
            row
            for row in self.ops.is_kind(Kind.REDUCE).nonzero()[0].tolist()
            if int(self.ops.handle[row]) >= 0 and self.asked.replicated
        )

    def place(self, adding: set[tuple[int, int]]) -> None:
        """Put weights and gradients on the device; `adding` are the backwards that stand there."""
        for stage, slots in self.rows.slots.items():
            firsts = self.unsplit.firsts[stage]
            for slot in slots:
                first = firsts[slot.k]
                empty = torch.full_like(first, torch.nan)
                self.state.hold(("weight", *slot), empty if slot.number else first)
            for k, first in enumerate(firsts):
                for name in ("own", "twin"):
                    self.state.hold((name, stage, k), torch.zeros_like(first))
        if self.asked.replicated:
            for stage, microbatch in sorted(adding):
                twins = self.unsplit.reference.passed(microbatch, TWIN).gradients[stage]
                for k, twin in enumerate(twins):
                    self.state.hold(("replica", stage, microbatch, k), twin)

    def _about(self, row: int) -> list[tuple[int, int]]:
        stage = int(self.ops.stage[row])
        return [(stage, k) for k in self.asked.names[stage].of_parameter(self.asked.said(row))]

    def _kernel(self, row: int, run: Callable[[], None]) -> Kernel:
        names = [(name, *key) for key in self._about(row) for name in ("own", "twin")]
        memory = tuple(self.state.numbers[name] for name in names)
        return Kernel(f"{self.events.text(row)} of rank {int(self.ops.rank[row])}", run, (), memory)

    def adds(self, row: int) -> Kernel:
        """Return what a backward does to the gradient of its stage."""
        return self._kernel(row, partial(self._add, row))

    def _add(self, row: int) -> None:
        said, numbers = self.asked.said(row), self.state.numbers
        share = Fraction(said.get("c", "1"))
        found = {k: self.state.made.pop((row, -1 - k)) for k in self.asked.weights}
        for stage, k in self._about(row):
            own, twin = numbers["own", stage, k], numbers["twin", stage, k]
            if said.get("mode") == "assign":
                own.zero_()
                twin.zero_()
            own.add_(scaled(found[k], share))
            if self.asked.replicated:
                replica = numbers["replica", stage, int(self.ops.microbatch[row]), k]
                twin.add_(scaled(replica, share))
        if said.get("last") == "yes" and self.asked.is_reduced_by_mark and self.asked.replicated:
            stage = int(self.ops.stage[row])
            for k in self.asked.weights:
                numbers["own", stage, k].add_(numbers["twin", stage, k])
                numbers["twin", stage, k].copy_(numbers["own", stage, k])

    def start(self, event: int, row: int) -> Iterator[Kernel]:
        """Yield what a row does to the gradient of its stage when it starts."""
        match Kind(int(self.ops.kind[row])):
            case Kind.ZERO:
                yield self._kernel(row, partial(self._clear, row))
            case Kind.SCALE:
                yield self._kernel(row, partial(self._scale, row))
            case Kind.STALE:
                yield self._kernel(row, partial(self._leave, self._over(row)))
            case Kind.STEP | Kind.SKIP:
                yield self._kernel(row, partial(self._take, event, row))
            case Kind.REDUCE if row not in self.reductions and self.asked.replicated:
                yield from self.reduces(row)
            case _:
                return

    def _clear(self, row: int) -> None:
        for key in self._about(row):
            self.state.numbers["own", *key].zero_()
            self.state.numbers["twin", *key].zero_()

    def _scale(self, row: int) -> None:
        by = Fraction(self.asked.said(row)["by"])
        for key in self._about(row):
            for name in ("own", "twin"):
                each = self.state.numbers[name, *key]
                each.copy_(scaled(each, by))

    def _over(self, row: int) -> list[tuple[tuple[int, int], Tensor]]:
        """Return what a STALE leaves over, on the device."""
        witness, left = self.unsplit.witness, []
        for stage, k in self._about(row):
            numbers = witness.numbers(f"left {row} {k}", witness.shapes[k], 9) + 1
            left.append(((stage, k), self.state.place(numbers * witness.scale)))
        return left

    def _leave(self, left: list[tuple[tuple[int, int], Tensor]]) -> None:
        for key, numbers in left:
            self.state.numbers["own", *key].add_(numbers)

    def _take(self, event: int, row: int) -> None:
        """Take the gradient of a STEP or SKIP, and leave nothing of it."""
        for stage, k in self._about(row):
            taken = self.state.numbers["own", stage, k].clone()
            self.seen.append(Seen(event, row, (stage, k), GRADIENT, taken))
            if row in self.rows.made:
                self.state.made[row, -1 - k] = taken
        self._clear(row)

    def step(self, row: int) -> Kernel:
        """Return what an update does to the weights of its stage when it ends."""
        return Kernel(self.events.text(row), partial(self._step, row))

    def _step(self, row: int) -> None:
        for k, slot in self.rows.made[row].items():
            taken = self.state.made.pop((row, -1 - k))
            before = self.state.numbers["weight", *self.rows.current[row][k]].clone()
            after = self.unsplit.witness.updated(before, taken)
            self.state.numbers["weight", *slot].copy_(after)

    def reduces(self, row: int) -> Iterator[Kernel]:
        """Yield a reduction over replicas: it takes a gradient, and later puts the sum there."""
        yield self._kernel(row, partial(self._begin, row))
        yield self._kernel(row, partial(self._finish, row))

    def _begin(self, row: int) -> None:
        for stage, k in self._about(row):
            own, twin = self.state.numbers["own", stage, k], self.state.numbers["twin", stage, k]
            self.state.made[row, -1 - k] = own + twin
            own.fill_(torch.nan)
            twin.fill_(torch.nan)

    def _finish(self, row: int) -> None:
        for stage, k in self._about(row):
            total = self.state.made.pop((row, -1 - k))
            for name in ("own", "twin"):
                self.state.numbers[name, stage, k].copy_(total)

    def end(self, event: int, rank: int) -> Iterator[Kernel]:
        """Yield that gradients are used, at the end of a program, which no update takes."""
        run = self.asked.run
        if run.schedule.forward_only or run.copies > 1:
            return
        for stage, home in enumerate(run.placement):
            weights = self.asked.weights if self.asked.home[stage] and home == rank else ()
            open_ = [k for k in weights if not self.asked.ends[stage, k]]
            if any(self.asked.due(stage, k, None) for k in open_):
                memory = tuple(self.state.numbers["own", stage, k] for k in open_)
                left = partial(self._left, event, stage, open_)
                yield Kernel(f"end of stage {stage}", left, memory)

    def _left(self, event: int, stage: int, weights: list[int]) -> None:
        for k in weights:
            taken = self.state.numbers["own", stage, k].clone()
            self.seen.append(Seen(event, -1, (stage, k), GRADIENT, taken))
