"""What does not count: an operation that read withdrawn weights must stand again."""

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import among
from pipeproof.semantics.frame import Frame

__all__ = ["counting"]


def counting(frame: Frame, rows: IntArray) -> IntArray:
    """Return those of `rows` that did not read withdrawn weights."""
    if not np.any(frame.ops.is_kind(Kind.ROLLBACK)):
        return rows
    return np.asarray(rows[~among(rows, frame.versions.uncounted)])
