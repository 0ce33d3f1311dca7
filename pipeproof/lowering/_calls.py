"""Programs written call by call: computations, groups of messages under a handle, and waits."""

from dataclasses import dataclass, field

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import NONE, Bracket, Operations, Row, build, read_only
from pipeproof.lowering._lowered import Lowered

__all__ = ["GROUP", "Calls", "Message"]

GROUP = 1  # the communicator of a call that both sends and receives
_SENDS = (Kind.SEND_F, Kind.SEND_B)

Message = tuple[Kind, int, int]
"""Kind, stage and microbatch of one of torch's messages."""


@dataclass(slots=True)
class Calls:
    """The rows of lowered programs, written rank after rank.

    `ops` is the computation order; the place of what is new is that of the computation before
    it, or of the next one for receives.
    """

    ops: Operations
    rows: list[Row] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)
    _position: int = 0
    _rank: int = -1

    def begin(self, rank: int) -> None:
        """Go on with the program of `rank`."""
        self._rank, self._position = rank, 0

    def compute(self, row: int) -> None:
        """Add the computation of a row, or the next member of its overlap."""
        ops = self.ops
        if ops.member[row] and self.rows:
            self._position -= 1
        self._add(
            Row(
                self._rank,
                self._position,
                int(ops.member[row]),
                Kind(int(ops.kind[row])),
                int(ops.stage[row]),
                int(ops.microbatch[row]),
                bracket=Bracket(int(ops.bracket[row])),
            ),
            row,
        )
        self._position += 1

    def post(self, messages: list[Message]) -> str | None:
        """Start messages in one call; return the handle to wait for, None if there are none.

        A call that both sends and receives stands on the communicator `group`.
        """
        if not messages:
            return None
        handle = f"c{len(self.handles)}"
        self.handles.append(handle)
        mixed = len({kind in _SENDS for kind, _, _ in messages}) > 1
        bracket = Bracket.GROUP if len(messages) > 1 else Bracket.NONE
        for member, (kind, stage, microbatch) in enumerate(messages):
            self._add(
                Row(
                    self._rank,
                    self._position,
                    member,
                    kind,
                    stage,
                    microbatch,
                    comm=GROUP if mixed else 0,
                    handle=len(self.handles) - 1,
                    bracket=bracket,
                ),
                NONE,
            )
        self._position += 1
        return handle

    def wait(self, handle: str | None) -> None:
        """Wait for a call, if there was one."""
        if handle is None:
            return
        number = int(handle.removeprefix("c"))
        self._add(Row(self._rank, self._position, 0, Kind.WAIT, handle=number), NONE)
        self._position += 1

    def reduce(self, stage: int) -> None:
        """Add the reduction of a stage."""
        self._add(Row(self._rank, self._position, 0, Kind.REDUCE, stage), NONE)
        self._position += 1

    def _add(self, row: Row, source: int) -> None:
        self.rows.append(row)
        self.sources.append(source)

    def lowered(self) -> Lowered:
        """Return the programs as a table."""
        made = build(
            self.rows,
            comms=("", "group"),
            handles=tuple(self.handles),
            torch_words=True,
        )
        source = np.asarray(self.sources, np.int64)
        return Lowered(made, read_only(self._places(made, source)), source == NONE, None)

    def _places(
        self, made: Operations, source: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    ) -> list[int]:
        places = source.tolist()
        following: dict[int, int] = {}
        for row in range(len(places) - 1, -1, -1):
            rank = int(made.rank[row])
            if source[row] != NONE:
                following[rank] = int(source[row])
            elif made.kind[row] in (Kind.RECV_F, Kind.RECV_B):
                places[row] = following.get(rank, NONE)
        before: dict[int, int] = {}
        for row, rank in enumerate(made.rank.tolist()):
            if source[row] != NONE:
                before[rank] = int(source[row])
            elif places[row] == NONE:
                places[row] = before.get(rank, following.get(rank, NONE))
        return places
