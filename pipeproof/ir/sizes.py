"""Sizes in bytes, exactly."""

import re

__all__ = ["UNIT", "read_size", "size_text"]

UNIT = 10**9
"""Sizes are counted in so many parts of a byte: the language writes nine decimals."""

_SIZE = re.compile(r"(\d+)(?:\.(\d{1,9}))?(?:([kKMGT])B|([KMGTP])iB|B)?")
_POWERS = " KMGTP"
_NAMES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def read_size(text: str) -> int:
    """Return the size that `text` writes, as `64MiB` or `1.5GB`, in parts of a byte (`UNIT`).

    Raises:
        ValueError: `text` is no size.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        message = f"{text!r} is no size"
        raise ValueError(message)
    whole = int(found[1]) * UNIT + int((found[2] or "").ljust(9, "0"))
    if found[3]:
        return whole * int(1000 ** _POWERS.index(found[3].upper()))
    return whole * int(1024 ** _POWERS.index(found[4])) if found[4] else whole


def size_text(size: int) -> str:
    """Return a size in parts of a byte as people write it: `1.50 GiB`."""
    power = 0
    while power + 1 < len(_NAMES) and size >= UNIT * 1024 ** (power + 1):
        power += 1
    number = size / (UNIT * 1024**power)
    return (
        f"{number:.0f} {_NAMES[power]}"
        if number == int(number)
        else f"{number:.2f} {_NAMES[power]}"
    )
