"""A task of a campaign: what is to be done, as data with a key."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeproof import __version__

__all__ = ["Json", "Task", "canonical"]

Json = str | int | Sequence["Json"] | Mapping[str, "Json"]
"""Whole numbers, texts, lists and mappings: nothing that two machines write differently."""


class Task(NamedTuple):
    """One piece of work of a campaign, whole in itself.

    `kind` is a key of `campaign.work.WORK`; `body` is all that the work needs.
    """

    kind: str
    body: Mapping[str, Json]

    @property
    def key(self) -> str:
        """SHA-256 of kind, body and the version of the tool, in hexadecimal digits.

        Raises:
            TypeError: the body holds something else than `Json`.
        """
        text = canonical([self.kind, self.body, __version__])
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(value: Json) -> str:
    """Return canonical JSON: keys sorted, no spaces, ASCII; same content, same bytes.

    Raises:
        TypeError: something in it is no text, whole number, list or mapping.
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


_Plain = str | int | list["_Plain"] | dict[str, "_Plain"]


def _plain(value: object) -> _Plain:
    match value:
        case str() | int():
            return value
        case Mapping():
            return {_name(key): _plain(each) for key, each in value.items()}
        case Sequence():
            return [_plain(each) for each in value]
        case _:
            message = f"{type(value).__name__} cannot stand in a task"
            raise TypeError(message)


def _name(key: object) -> str:
    if not isinstance(key, str):
        message = f"a key of a mapping is {type(key).__name__}, not text"
        raise TypeError(message)
    return key
