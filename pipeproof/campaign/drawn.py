"""Schedules drawn from seeds: legal ones, small ones in disorder, and ones that hold everything."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pipeproof.campaign._every import Maker
from pipeproof.campaign._legal import broken_text, legal_text
from pipeproof.campaign._small import small_text
from pipeproof.errors import InputError, UnsupportedFeatureError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions

__all__ = ["KINDS", "Maker", "broken_rule", "drawn", "legal_text", "small_text"]

_TRIES = 100


def drawn(kind: str, seed: int) -> str:
    """Return the text of the schedule of a kind and a seed; each can be read.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in KINDS:
        message = f"nothing is drawn of kind {kind!r}; write one of {', '.join(KINDS)}"
        raise ValueError(message)
    for attempt in range(_TRIES):
        text = KINDS[kind](seed, attempt)
        if _readable(text):
            return text
    message = f"no schedule of kind {kind} can be drawn from {seed}"
    raise ValueError(message)


def _every(seed: int, attempt: int) -> str:
    number = seed + attempt * 1_000_003
    maker = Maker(number)
    maker.choices = seed % 5 < 2  # noqa: PLR2004  two in five leave something to the runtime
    return maker.text()


def _legal(seed: int, attempt: int) -> str:
    return legal_text(seed + attempt * 1_000_003)


def _broken(seed: int, attempt: int) -> str:
    return broken_text(seed + attempt * 1_000_003)[0]


def broken_rule(seed: int) -> str:
    """Return a rule that the schedule of kind `broken` breaks, by how it was made."""
    text = drawn("broken", seed)
    numbers = (seed + attempt * 1_000_003 for attempt in range(_TRIES))
    return next(rule for made, rule in map(broken_text, numbers) if made == text)


KINDS: Mapping[str, Callable[[int, int], str]] = MappingProxyType(
    {"broken": _broken, "every": _every, "legal": _legal, "small": small_text}
)
"""From a seed, and how often it was tried before, to a text that may not be readable."""


def _readable(text: str) -> bool:
    try:
        spec.read(text, "drawn", ReadOptions())
    except (InputError, UnsupportedFeatureError):
        return False
    return True
