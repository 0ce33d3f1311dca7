"""A verdict as plain lists and texts, and the same verdict back."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import repeat
from types import MappingProxyType, NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from pipeproof.verdict.verdict import FileVerdict

__all__ = ["Plain", "decoded", "encoded"]

Plain = str | int | bool | None | Sequence["Plain"]


def encoded(verdict: FileVerdict) -> Plain:
    """Return a verdict as JSON can hold it: the fields of everything, in order, without names.

    Raises:
        TypeError: it holds what has no such form.
    """
    return _encoded(verdict)


def decoded(plain: object) -> FileVerdict:
    """Return the verdict that `encoded` made `plain` of: equal to it in every field.

    Raises:
        ValueError: it is none; the types that the fields are declared with do not hold.
    """
    found = _decoded(FileVerdict, plain)
    if not isinstance(found, FileVerdict):
        raise _wrong(FileVerdict, plain)
    return found


def _encoded(value: object) -> Plain:
    match value:
        case Enum():
            return str(value.value)
        case None | bool() | str():
            return value
        case int() | np.integer():
            return int(value)
        case np.bool_():
            return bool(value)
        case _:
            return [*map(_encoded, _parts(value))]


def _parts(value: object) -> Iterable[object]:
    """Return what something with parts consists of: its elements, pairs or fields, in order."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, Mapping):
        return value.items()
    if is_dataclass(value):
        return (getattr(value, each.name) for each in fields(value))
    message = f"a {type(value).__name__} has no plain form"
    raise TypeError(message)


def _decoded(hint: object, value: object) -> object:
    """Return `value` as what is declared as `hint`."""
    origin = get_origin(hint)
    if origin in {Union, UnionType}:
        return _one_of(get_args(hint), value)
    if origin is Literal:
        same = (each for each in get_args(hint) if type(each) is type(value) and each == value)
        for each in same:
            return each
        raise _wrong(hint, value)
    if origin is tuple:
        return _tuple(get_args(hint), value)
    if origin is not None and issubclass(origin, Mapping):
        pairs = [_tuple(get_args(hint), each) for each in _many(value)]
        return MappingProxyType({pair[0]: pair[1] for pair in pairs})
    if isinstance(hint, type):
        return _of_class(hint, value)
    raise _wrong(hint, value)


def _one_of(hints: Sequence[object], value: object) -> object:
    for hint in hints:
        try:
            return _decoded(hint, value)
        except ValueError:
            continue
    raise _wrong(hints, value)


def _tuple(hints: Sequence[object], value: object) -> tuple[object, ...]:
    items = _many(value)
    if len(hints) > 1 and hints[1] is Ellipsis:
        return tuple(map(_decoded, repeat(hints[0]), items))
    if len(items) != len(hints):
        raise _wrong(hints, value)
    return tuple(map(_decoded, hints, items))


def _of_class(hint: type, value: object) -> object:
    if hint in {str, int, bool, NoneType}:
        if type(value) is hint:
            return value
        raise _wrong(hint, value)
    if issubclass(hint, Enum):
        return hint(value)
    known: object = hint
    declared = _declared(known)
    if not declared:
        raise _wrong(hint, value)
    made: object = hint(*_tuple(declared, value))
    return made


@cache
def _declared(hint: Hashable) -> tuple[object, ...]:
    """Return the types of the fields of a dataclass or named tuple, in order; none of others."""
    hints = get_type_hints(hint)
    if is_dataclass(hint):
        return tuple(hints[each.name] for each in fields(hint))
    named: tuple[str, ...] = getattr(hint, "_fields", ())
    return tuple(hints[name] for name in named)


def _many(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise _wrong(list, value)
    return value


def _wrong(hint: object, value: object) -> ValueError:
    return ValueError(f"{type(value).__name__} where {hint} is declared")
