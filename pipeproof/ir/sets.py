"""Sets of integers as arrays: distinct, numbered, counted, one among others.

What numpy's set routines do, with one sort each and without what they import when first used.
"""

import numpy as np
import numpy.typing as npt

__all__ = [
    "among",
    "both",
    "counted",
    "distinct",
    "either",
    "first_of",
    "numbered",
    "ordinal_in_group",
    "without",
]

_Ints = npt.NDArray[np.int64]


def _fresh(ordered: _Ints) -> npt.NDArray[np.bool_]:
    """Return where a sorted array has a value that it did not have before."""
    fresh = np.empty(len(ordered), np.bool_)
    fresh[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return fresh


def distinct(values: npt.ArrayLike) -> _Ints:
    """Return the different values in ascending order."""
    ordered = np.sort(np.asarray(values, np.int64).reshape(-1))
    return ordered[_fresh(ordered)]


def counted(values: _Ints) -> tuple[_Ints, _Ints]:
    """Return the different values in ascending order, and how often each occurs."""
    ordered = np.sort(values)
    first = np.flatnonzero(_fresh(ordered))
    return ordered[first], np.diff(np.append(first, len(ordered)))


def numbered(values: _Ints) -> tuple[_Ints, _Ints]:
    """Return the different values in ascending order, and for each element the index of its own."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    fresh = _fresh(ordered)
    number = np.empty(len(values), np.int64)
    number[order] = np.cumsum(fresh) - 1
    return ordered[fresh], number


def first_of(values: _Ints) -> tuple[_Ints, _Ints]:
    """Return the different values in ascending order, and where each stands first."""
    order = np.argsort(values, kind="stable")
    fresh = _fresh(values[order])
    return values[order][fresh], order[fresh]


def among(values: npt.ArrayLike, others: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which of `values` are among `others`, shape as `values`."""
    own = np.asarray(values, np.int64)
    known = np.sort(np.asarray(others, np.int64).reshape(-1))
    if not len(known):
        return np.zeros(own.shape, np.bool_)
    at = np.minimum(np.searchsorted(known, own), len(known) - 1)
    return np.asarray(known[at] == own)


def without(values: npt.ArrayLike, others: npt.ArrayLike) -> _Ints:
    """Return the different values that are not among `others`, in ascending order."""
    own = distinct(values)
    return own[~among(own, others)]


def both(left: npt.ArrayLike, right: npt.ArrayLike) -> _Ints:
    """Return the different values that both have, in ascending order."""
    own = distinct(left)
    return own[among(own, right)]


def either(left: _Ints, right: _Ints) -> _Ints:
    """Return the different values that one of them has, in ascending order."""
    return distinct(np.concatenate((left, right)))


def ordinal_in_group(keys: _Ints) -> _Ints:
    """Return for each element how many equal ones stand before it, shape `(n,)`."""
    if not len(keys):
        return keys
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    first = np.flatnonzero(np.diff(ranked, prepend=ranked[0] - 1) != 0)
    ordinal = np.empty(len(keys), np.int64)
    ordinal[order] = np.arange(len(keys)) - np.repeat(first, np.diff(np.append(first, len(keys))))
    return ordinal
