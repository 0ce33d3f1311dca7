"""Times of traces in microseconds."""

import pytest

from pipeproof.ir.recorded import MICROSECOND, micros_text


@pytest.mark.parametrize(
    ("ticks", "text"),
    [
        (0, "0"),
        (1, "0.000000001"),
        (MICROSECOND, "1"),
        (3 * MICROSECOND // 2, "1.5"),
        (-MICROSECOND // 4, "-0.25"),
        (10**33 + 10, "1000000000000000000000000.00000001"),
    ],
)
def test_a_time_is_written_exactly(ticks: int, text: str) -> None:
    assert micros_text(ticks) == text
