"""What may stand behind an instruction: attributes and what each of them takes."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from pipeproof.ir.actions import whole_number

__all__ = ["ATTRIBUTES", "NAME", "expected_of"]

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_TEXT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:+*/@-]*")
_FRACTION = re.compile(r"(?:0|[1-9][0-9]{0,17})(?:/[1-9][0-9]{0,17})?")
_CONDITION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*")
_IN_FLIGHT = ("versions", "pending", "order", "rng", "data")

Check = Callable[[str], bool]


def _is_number(text: str) -> bool:
    return whole_number(text) is not None


def _one_of(*words: str) -> tuple[Check, str]:
    return lambda text: text in words, f"one of {', '.join(words)}" if len(words) > 1 else words[0]


def _shaped(pattern: re.Pattern[str], expected: str) -> tuple[Check, str]:
    return lambda text: pattern.fullmatch(text) is not None, expected


def _listed(check: Check) -> Check:
    def holds(text: str) -> bool:
        parts = text.split(",")
        return len(set(parts)) == len(parts) and all(map(check, parts))

    return holds


_NUMBER = (_is_number, "a whole number")
_NAMED = _shaped(NAME, "a name: letters, digits and _")
_WORDS = _shaped(_TEXT, "a word")
_FRACTIONS = _shaped(_FRACTION, "an exact fraction, as 1/4")
_WEIGHTS = ("latest", "stash", "cache", "none")

ATTRIBUTES: Mapping[str, tuple[Check, str]] = MappingProxyType(
    {
        **dict.fromkeys(("in", "out", "aux", "keep", "gin", "gout", "label", "buf"), _NAMED),
        **dict.fromkeys(("h", "comm", "bucket", "param", "state"), _NAMED),
        **dict.fromkeys(("shape", "dtype", "layout", "rng", "ctx", "have", "want"), _WORDS),
        **dict.fromkeys(("wv", "sample", "shard", "to", "at"), _NUMBER),
        **dict.fromkeys(("c", "by"), _FRACTIONS),
        "w": (
            lambda text: text in _WEIGHTS or _is_number(text),
            "latest, stash, cache, none or the number of a version",
        ),
        "fill": _one_of("1"),
        "mode": _one_of("add", "assign"),
        "last": _one_of("yes", "no"),
        "kind": _one_of("all", "broadcast", "reduce", "gather"),
        "from": (lambda text: text == "any" or _is_number(text), "the number of a rank, or any"),
        "ranks": (_listed(_is_number), "ranks that differ, as 0,1"),
        "async": (
            _listed(_IN_FLIGHT.__contains__),
            f"some of {','.join(_IN_FLIGHT)}, separated by commas",
        ),
        "v": _one_of("any"),
        "if": _shaped(_CONDITION, "a choice and its outcome, as name:a"),
    }
)


def expected_of(key: str, text: str) -> str | None:
    """Return what the attribute `key` takes where `text` is not that, else None."""
    holds, expected = ATTRIBUTES[key]
    return None if holds(text) else f"{key}= takes {expected}"
