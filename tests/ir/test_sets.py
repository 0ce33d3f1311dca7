"""Sets of integers do what numpy's do."""

import numpy as np
import pytest

from pipeproof.ir import sets

RANDOM = np.random.default_rng(7)
LISTS = [
    np.asarray(each, np.int64)
    for each in ([], [3], [2, 2, 2], [5, -1, 5, 0, -1], RANDOM.integers(-9, 9, 60))
]


@pytest.mark.parametrize("values", LISTS, ids=len)
def test_distinct_counted_and_numbered(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    found, first, number, count = np.unique(
        values, return_index=True, return_inverse=True, return_counts=True
    )

    assert sets.distinct(values).tolist() == found.tolist()
    assert [each.tolist() for each in sets.counted(values)] == [found.tolist(), count.tolist()]
    assert [each.tolist() for each in sets.numbered(values)] == [found.tolist(), number.tolist()]
    assert [each.tolist() for each in sets.first_of(values)] == [found.tolist(), first.tolist()]


@pytest.mark.parametrize("others", LISTS, ids=len)
@pytest.mark.parametrize("values", LISTS, ids=len)
def test_two_sets(
    values: np.ndarray[tuple[int], np.dtype[np.int64]],
    others: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> None:
    assert sets.among(values, others).tolist() == np.isin(values, others).tolist()
    assert sets.without(values, others).tolist() == np.setdiff1d(values, others).tolist()
    assert sets.both(values, others).tolist() == np.intersect1d(values, others).tolist()
    assert sets.either(values, others).tolist() == np.union1d(values, others).tolist()


def test_among_keeps_the_shape() -> None:
    assert sets.among([[1, 2], [3, 4]], (2, 3)).tolist() == [[False, True], [True, False]]
