"""A schedule as torch's CSV, where torch has a word for everything in it."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pipeproof.errors import ParseError, Problem
from pipeproof.ir.actions import TORCH_COMMS, Kind
from pipeproof.ir.operations import NONE, Bracket, Operations
from pipeproof.ir.source import Document

__all__ = ["write_csv"]

_COMPUTE = (Kind.F, Kind.B, Kind.I, Kind.W)


def write_csv(document: Document) -> str:
    """Return the programs as torch reads them: a row a rank, a cell an instruction.

    Raises:
        ParseError: torch has no word for an operation; it names the first one.
    """
    schedule = document.schedule
    _require_order(document)
    ops = replace(schedule.operations, torch_words=True)
    foreign = _foreign(ops)
    if foreign is not None:
        line, column = document.places.place(foreign)
        found = f"torch has no word for '{schedule.operations.text(foreign)}'"
        expected = "a torch CSV holds F, B, I, W, overlaps, and torch's own messages"
        raise ParseError([Problem(document.name, line, column, found, expected)])
    return "".join(f"{','.join(ops.program(rank))}\n" for rank in range(schedule.ranks))


def _require_order(document: Document) -> None:
    """Refuse a rank that runs what is ready: torch runs a row in its order."""
    ready = document.schedule.described.get("ready", {})
    for rank in ready if isinstance(ready, Mapping) else ():
        rows = np.flatnonzero(document.schedule.operations.rank == int(rank))
        line, column = document.places.place(int(rows[0])) if len(rows) else (1, 1)
        expected = "a row of a torch CSV is run in its order"
        raise ParseError(
            [Problem(document.name, line, column, f"rank {rank} runs what is ready", expected)]
        )


def _foreign(ops: Operations) -> int | None:
    """Return the first row for which torch has no word."""
    foreign = ~ops.is_kind(*_COMPUTE, *TORCH_COMMS)
    foreign |= (ops.bracket == Bracket.GROUP) | (ops.handle != NONE) | (ops.comm > 0)
    foreign[list(ops.attributes)] = True
    rows = np.flatnonzero(foreign)
    return int(rows[0]) if len(rows) else None
