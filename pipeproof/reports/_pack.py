"""Columns of whole numbers and lists of texts as they stand in the data of a page."""

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence

import numpy as np

from pipeproof.ir.operations import IntArray

__all__ = ["FEW", "Json", "Packed", "packed", "packed_texts"]

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
Packed = Sequence[int] | Mapping[str, int | str]

FEW = 64
"""Up to how many entries a column or list stands there as it is."""
_LEVEL = 6


def packed(column: IntArray, *, differences: bool = False) -> Packed:
    """Return a column of numbers that fit into 32 bits: little-endian, deflated, in base 64.

    Args:
        column: the numbers.
        differences: whether neighbours are close, so that their differences take less room.
    """
    if len(column) <= FEW:
        return [int(each) for each in column.tolist()]
    values = np.diff(column, prepend=0) if differences else column
    said: dict[str, int | str] = {"n": len(column), "z": _deflated(values.astype("<i4").tobytes())}
    return {**said, "d": 1} if differences else said


def packed_texts(texts: Sequence[str | Sequence[str]]) -> Json:
    """Return a list of texts, or of texts side by side, deflated where it is long."""
    if len(texts) <= FEW:
        return list(texts)
    return {"n": len(texts), "t": _deflated(json.dumps(list(texts)).encode())}


def _deflated(data: bytes) -> str:
    return b64encode(zlib.compress(data, _LEVEL)).decode("ascii")
