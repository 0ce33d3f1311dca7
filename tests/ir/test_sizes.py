"""Sizes in bytes, read exactly and written for people."""

import pytest

from pipeproof.ir.sizes import UNIT, read_size, size_text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("7", 7 * UNIT),
        ("7B", 7 * UNIT),
        ("64MiB", 64 * 2**20 * UNIT),
        ("1KiB", 1024 * UNIT),
        ("1kB", 1000 * UNIT),
        ("1KB", 1000 * UNIT),
        ("3MB", 3 * 10**6 * UNIT),
        ("1.5GB", 1_500_000_000 * UNIT),
        ("1.5GiB", 3 * 2**29 * UNIT),
        ("2TB", 2 * 10**12 * UNIT),
        ("2TiB", 2 * 2**40 * UNIT),
        ("1PiB", 2**50 * UNIT),
        ("0.000000001B", 1),
        ("0.1kB", 100 * UNIT),
    ],
)
def test_a_size_is_exact(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "-1", "1.0000000001B", "1 MiB", "1Mib", ".5B", "1.B"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        read_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023 * UNIT, "1023 B"),
        (1024 * UNIT, "1 KiB"),
        (3 * 2**29 * UNIT, "1.50 GiB"),
        (2**50 * UNIT, "1 PiB"),
        (2**60 * UNIT, "1024 PiB"),
        (UNIT // 2, "0.50 B"),
    ],
)
def test_a_size_is_told_in_its_largest_unit(size: int, text: str) -> None:
    assert size_text(size) == text
