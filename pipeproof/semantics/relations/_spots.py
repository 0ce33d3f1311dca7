"""How findings name places and operations."""

import numpy as np

from pipeproof.ir.sets import ordinal_in_group
from pipeproof.semantics.found import Finding, Spot
from pipeproof.semantics.frame import Frame

__all__ = ["at", "finding", "ordinal_in_group", "program_end"]


def at(frame: Frame, row: int) -> Spot:
    """Return the place of an operation: the start of its instruction."""
    return Spot(int(frame.start(np.asarray(row))), row)


def program_end(frame: Frame, rank: int) -> Spot:
    """Return the place behind the last instruction of a rank."""
    return Spot(frame.ends + rank, -1)


def finding(frame: Frame, *rows: int, **facts: str) -> Finding:
    """Return a finding at `rows`; the fact `op` is the first of them as written."""
    named = {"op": frame.text(rows[0])} if rows else {}
    return Finding(tuple(at(frame, row) for row in sorted(rows)), named | facts)
