"""Storage that has a name or is a slot of a pool: who puts values there, and who reads them."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.operations import IntArray, Operations
from pipeproof.ir.values import MAX_STAGE

__all__ = ["KEPT", "WEIGHT_GRADIENT", "Stored", "Touch", "content_text", "kept_code"]

KEPT = 7  # what a forward keeps for its backward: a content beside the kinds of value
WEIGHT_GRADIENT = 8


class Touch(IntEnum):
    """What an access does to storage."""

    READ = 0
    WRITE = 1
    FREE = 2


class Stored(NamedTuple):
    """Accesses of named storage and of slots, in order of storage, then of time on its rank.

    All columns have shape `(accesses,)`. `rows[k]` touches `storage[k]`; a write puts the content
    `values[k]` there, a read needs it. An access of a message lasts until the message has moved
    (`moves`), any other to the end of its instruction. `source` is the access that last put its
    content into this storage before a read, `before` and `after` are the writes or frees next to
    an access, -1 for none. `given` marks reads of what is there from the start, `told` those whose
    value is not made before them on their rank, which rules of order tell, `coming` those whose
    content is put into this storage only later. In a `guarded` slot a writer waits for those
    before it. `labels` names each storage.
    """

    storage: IntArray
    rows: IntArray
    touch: IntArray
    values: IntArray
    source: IntArray
    before: IntArray
    after: IntArray
    moves: npt.NDArray[np.bool_]
    coming: npt.NDArray[np.bool_]
    given: npt.NDArray[np.bool_]
    told: npt.NDArray[np.bool_]
    guarded: npt.NDArray[np.bool_]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)


def kept_code(stages: IntArray, microbatches: IntArray) -> IntArray:
    """Return the contents that forwards keep, elementwise."""
    return np.asarray((KEPT << 56) | (stages << 32) | microbatches)


def content_text(ops: Operations, code: int) -> str:
    """Return a content in words."""
    stage, microbatch = (code >> 32) & MAX_STAGE, code & 0xFFFFFFFF
    match code >> 56:
        case 7:
            return f"what {stage}F{microbatch} kept"
        case 8:
            return f"what {stage}W{microbatch} wrote"
        case _:
            return ops.value_text(code)
