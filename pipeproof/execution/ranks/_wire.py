"""Messages and collectives of one rank over gloo, each waited for beside the rank's program."""

import threading
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, distributed

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import Operations
from pipeproof.ir.transport import Match

__all__ = ["Moving", "Wire"]

_SIGNALS = 1_000_000  # a tag that no message has


class Moving:
    """A message or collective under way, with the memory that it reads or writes."""

    def __init__(self, wait: Callable[[], object], memory: Tensor) -> None:
        self.memory = memory
        self._over = threading.Event()
        self._error: RuntimeError | None = None
        threading.Thread(target=self._wait, args=(wait,), daemon=True).start()

    def _wait(self, wait: Callable[[], object]) -> None:
        try:
            wait()
        except RuntimeError as error:
            self._error = error
        self._over.set()

    def is_over(self, within: float = 0.0) -> bool:
        """Whether it completes within some seconds."""
        return self._over.wait(within)

    def end(self) -> None:
        """Wait until it is complete.

        Raises:
            RuntimeError: torch has refused it.
        """
        self._over.wait()
        if self._error is not None:
            raise self._error


class Wire:
    """What one rank exchanges with the others: a process group for each communicator.

    A collective has a group of its own, by its name: only calls of one name meet.
    """

    def __init__(self, ops: Operations, ranks: int, match: Match) -> None:
        self.ops, self.match = ops, match
        every = list(range(ranks))
        self._comms = [None if n == 0 else _group(every) for n in range(len(ops.comms))]
        keys = {self._key(row) for row in ops.is_kind(Kind.COLL).nonzero()[0].tolist()}
        self._calls = {key: _group(key[2]) if len(key[2]) > 1 else None for key in sorted(keys)}

    def _key(self, row: int) -> tuple[str, int, tuple[int, ...]]:
        said = self.ops.attributes.get(row, {})
        members = tuple(sorted({int(part) for part in said.get("ranks", "").split(",") if part}))
        return said.get("name", ""), int(self.ops.comm[row]), members

    def _tag(self, row: int) -> int:
        return 0 if self.match is Match.ORDER else 1 + self._values[int(self.ops.value[row])]

    @property
    def _values(self) -> dict[int, int]:
        return {value: n for n, value in enumerate(sorted(set(self.ops.value.tolist())))}

    def send(self, row: int, data: Tensor) -> Moving:
        """Post a send that reads `data` while it is under way."""
        work = distributed.isend(
            data, int(self.ops.peer[row]), self._comms[int(self.ops.comm[row])], self._tag(row)
        )
        return self._moving(work, data)

    def receive(self, row: int, data: Tensor) -> Moving:
        """Post a receive that writes `data`."""
        work = distributed.irecv(
            data, int(self.ops.peer[row]), self._comms[int(self.ops.comm[row])], self._tag(row)
        )
        return self._moving(work, data)

    def find(self, row: int, data: Tensor) -> Moving:
        """Post one more receive for what a send of another rank has sent."""
        work = distributed.irecv(
            data, int(self.ops.rank[row]), self._comms[int(self.ops.comm[row])], self._tag(row)
        )
        return self._moving(work, data)

    def end(self) -> Moving:
        """Enter what is over once every rank has come through."""
        data = torch.ones(1)
        return self._moving(distributed.all_reduce(data, async_op=True), data)

    def signal(self, row: int) -> Moving:
        """Post one end of a control message."""
        data, peer = torch.zeros(1), int(self.ops.peer[row])
        own = distributed.isend if int(self.ops.kind[row]) == Kind.SIGNAL else distributed.irecv
        return self._moving(own(data, peer, None, _SIGNALS), data)

    def call(self, row: int, *, whole: bool) -> Moving | None:
        """Enter a collective; return what this rank waits for, None where it waits for nobody.

        With `whole` everybody waits for everybody, whatever kind it is of.
        """
        said, data, own = self.ops.attributes.get(row, {}), torch.ones(1), distributed.get_rank()
        group = self._calls[self._key(row)]
        if group is None:
            return None
        root = said.get("from", said.get("to"))
        if whole or root is None:
            return self._moving(distributed.all_reduce(data, group=group, async_op=True), data)
        if "from" in said:
            work = distributed.broadcast(data, int(root), group, async_op=True)
            moving = self._moving(work, data)
            return None if own == int(root) else moving
        moving = self._moving(distributed.reduce(data, int(root), group=group, async_op=True), data)
        return moving if own == int(root) else None

    def _moving(self, work: "distributed.Work | None", data: Tensor) -> Moving:
        if work is None:
            message = "this rank is no member of what it enters"
            raise RuntimeError(message)
        return Moving(work.wait, data)


def _group(members: Sequence[int]) -> "distributed.ProcessGroup | None":
    made: distributed.ProcessGroup | None = distributed.new_group(list(members))
    return made
