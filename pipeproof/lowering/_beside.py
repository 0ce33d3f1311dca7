"""For each access of storage: who put its content there, and which writes are next to it."""

import numpy as np
import numpy.typing as npt

from pipeproof.ir.operations import IntArray
from pipeproof.ir.sets import numbered
from pipeproof.ir.storage import Touch

__all__ = ["beside", "put_before"]


def beside(storage: IntArray, touch: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each access the write or free before and after it in its storage, or -1.

    Accesses stand in order of storage, then of time.
    """
    own = touch != Touch.READ
    return _nearest(storage, own), _mirror(_nearest(storage[::-1], own[::-1]))


def put_before(
    storage: IntArray, values: IntArray, touch: IntArray
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return for each read the access that last put its content into its storage, or -1.

    And whether it is put there only later.
    """
    _, value = numbered(values)
    key = storage * (int(value.max(initial=0)) + 1) + value
    order = np.argsort(key, kind="stable")
    written = (touch == Touch.WRITE)[order]
    source = np.full(len(order), -1, np.int64)
    later = np.full(len(order), -1, np.int64)
    at = _nearest(key[order], written)
    source[order] = np.where(at >= 0, order[at], -1)
    at = _mirror(_nearest(key[order][::-1], written[::-1]))
    later[order] = np.where(at >= 0, order[at], -1)
    source[touch != Touch.READ] = -1
    return source, (touch == Touch.READ) & (source < 0) & (later >= 0)


def _nearest(group: IntArray, chosen: npt.NDArray[np.bool_]) -> IntArray:
    """Return the index of the nearest chosen element before each one in its group, or -1."""
    if not len(group):
        return group
    index = np.arange(len(group))
    last = np.maximum.accumulate(np.where(chosen, index, -1))
    before = np.concatenate(([-1], last[:-1]))
    first = np.maximum.accumulate(np.where(np.diff(group, prepend=group[0] - 1) != 0, index, 0))
    return np.where(before >= first, before, -1)


def _mirror(found: IntArray) -> IntArray:
    """Turn indices of a reversed array around."""
    return np.where(found >= 0, len(found) - 1 - found, -1)[::-1]
