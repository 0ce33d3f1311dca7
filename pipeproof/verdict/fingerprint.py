"""A name for each finding that stays the same while unrelated lines come and go."""

import json
import posixpath
import re
from hashlib import sha256
from pathlib import PurePath

from pipeproof.verdict.verdict import Place, Violation

__all__ = ["fingerprint", "named_below", "skeleton"]

_DIGITS = 32
_OUTCOME = re.compile(r" \(where .*", re.DOTALL)
_NUMBER = re.compile(
    r"(?<![\w.:=,])(?P<of>(?:ranks?|stages?|microbatch(?:es)?) )?\d+(?:, \d+)*"
    r"(?![\w:=]|\.\d| more\b)"
)


def fingerprint(path: str, violation: Violation) -> str:
    """Return 32 hexadecimal digits that stand for one finding in one file.

    They come from the rule, the operations that are named, and the cause in words; not from
    lines, positions, or the transport. Equal operations of one rank are told apart by how many
    stand before.

    Args:
        path: the file, relative to where paths are counted from (`named_below`).
        violation: what is broken in it.
    """
    parts = [
        posixpath.normpath(path.replace("\\", "/")),
        violation.rule,
        [_place(place) for place in violation.at],
        skeleton(violation.message),
    ]
    return sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]


def _place(place: Place) -> list[str | int | None]:
    return [
        place.rank,
        place.operation,
        place.stage,
        place.microbatch,
        place.step,
        place.ordinal,
    ]


def skeleton(message: str) -> str:
    """Return a message without counts, versions, and the outcome in which it is so.

    The numbers of ranks, stages and microbatches stay, those within operations, and how many more
    there are than a list names.
    """
    return _NUMBER.sub(_kept, _OUTCOME.sub("", message))


def _kept(number: re.Match[str]) -> str:
    return number[0] if number["of"] else "#"


def named_below(path: str, folder: str) -> str:
    """Return how a file is named in `folder`: by its path from there, else by its last name.

    Args:
        path: the file as it was named, absolute or from `folder`.
        folder: an absolute path.
    """
    plain, base = PurePath(path).as_posix(), PurePath(folder).as_posix()
    from_there = posixpath.relpath(posixpath.join(base, plain), base)
    inside = from_there != ".." and not from_there.startswith("../")
    return from_there if inside else posixpath.basename(from_there)
