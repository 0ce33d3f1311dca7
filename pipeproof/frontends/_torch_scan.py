"""A whole row of a torch CSV at once, in numpy; rows that are not plain are left to others."""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import COMPUTE, TORCH_COMMS, Kind
from pipeproof.ir.operations import NONE, Bracket, IntArray
from pipeproof.ir.sets import among

__all__ = ["Columns", "scan"]

Columns = npt.NDArray[np.int64]
"""Columns of one rank, shape `(6, rows)`: position, member, kind, stage, microbatch, bracket."""
_Flags = npt.NDArray[np.bool_]

_AROUND = re.compile(r"[ \t]*([,;])[ \t]*|(\()[ \t]+|[ \t]+(\))")
_CLOSED = "}"  # stands for `)OVERLAP_F_B`
_OVERLAPPED = tuple(map(int, COMPUTE[:4]))
_WITHOUT_MICROBATCH = (int(Kind.UNSHARD), int(Kind.RESHARD), int(Kind.REDUCE))
_STAGE_DIGITS = 7
_MICROBATCH_DIGITS = 9
_LETTERS = 11  # of the longest word, REDUCE_GRAD
_BASE = 28  # A to Z and _, counted from 1, so that a code is exact up to that length


def _code(word: str) -> int:
    code = 0
    for letter in word:
        code = code * _BASE + (27 if letter == "_" else ord(letter) - 64)
    return code


_WORDS = {
    **{_code(kind.name): int(kind) for kind in (*COMPUTE[:4], *TORCH_COMMS)},
    _code("REDUCE_GRAD"): int(Kind.REDUCE),
}
_WORDS.pop(_code("REDUCE"))
_CODES = np.array(sorted(_WORDS), dtype=np.int64)
_KINDS = np.array([_WORDS[code] for code in sorted(_WORDS)], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Actions between separators, before they are read: where each starts and ends."""

    start: IntArray
    end: IntArray
    opened: _Flags
    closed: _Flags
    parted: _Flags  # a `;` comes next


def scan(text: str) -> Columns | None:
    """Read a line of plain actions; None where anything in it needs a closer look.

    Stages have at most 7 digits here and microbatches at most 9.
    """
    if not text.isascii() or '"' in text or _CLOSED in text:
        return None
    if " " in text or "\t" in text:
        text = _AROUND.sub(r"\1\2\3", text).strip(" \t")
    text = text.replace(")OVERLAP_F_B", _CLOSED) + ","
    buffer = np.frombuffer(text.encode("ascii"), dtype=np.uint8).astype(np.int64)
    tokens = _tokens(buffer)
    filled = tokens.start < tokens.end
    inside, overlapped = _overlaps(tokens, filled)
    actions = _actions(buffer, tokens.start[filled], tokens.end[filled])
    if inside is None or actions is None:
        return None
    if not np.all(among(actions[0][overlapped[filled]], _OVERLAPPED)):
        return None
    starts = np.concatenate(([True], ~inside[:-1]))[filled]
    index = np.arange(len(starts))
    position = np.cumsum(starts) - 1
    member = index - index[starts][position]
    bracket = np.where(overlapped[filled], int(Bracket.OVERLAP), int(Bracket.NONE))
    return np.array((position, member, *actions, bracket), dtype=np.int64)


def _tokens(buffer: IntArray) -> _Tokens:
    separators = np.flatnonzero((buffer == ord(",")) | (buffer == ord(";")))
    start = np.concatenate(([0], separators[:-1] + 1))
    opened = buffer[start] == ord("(")
    closed = (separators > start + opened) & (buffer[separators - 1] == ord(_CLOSED))
    return _Tokens(
        start + opened, separators - closed, opened, closed, buffer[separators] == ord(";")
    )


def _overlaps(tokens: _Tokens, filled: _Flags) -> tuple[_Flags | None, _Flags]:
    """Return which tokens are not the last of their overlap (None: wrong), and which are of one."""
    depth = np.cumsum(tokens.opened.astype(np.int64) - tokens.closed)
    inside = depth > 0
    before = np.concatenate(([False], inside[:-1]))
    member = tokens.opened | before
    right = (
        np.all((depth == 0) | (depth == 1))
        and not np.any(tokens.opened & before)
        and np.array_equal(tokens.parted, inside)
        and np.all(member[tokens.closed])
        and np.all(filled[member])
    )
    return (inside if right else None), member


def _actions(
    buffer: IntArray, start: IntArray, end: IntArray
) -> tuple[IntArray, IntArray, IntArray] | None:
    """Return kind, stage and microbatch of each action; None where one is none."""
    stage, after_stage = _run(buffer, start, end, _STAGE_DIGITS, digits=True)
    code, after_word = _run(buffer, after_stage, end, _LETTERS, digits=False)
    microbatch, after = _run(buffer, after_word, end, _MICROBATCH_DIGITS, digits=True)
    found = np.minimum(np.searchsorted(_CODES, code), len(_CODES) - 1)
    kind = _KINDS[found]
    without = among(kind, _WITHOUT_MICROBATCH)
    zero = ord("0")
    right = (
        np.all(after == end)
        and np.all(after_stage > start)
        and np.all(_CODES[found] == code)
        and np.array_equal(after == after_word, without)
        and not np.any((after_stage > start + 1) & (buffer[start] == zero))
        and not np.any((after > after_word + 1) & (buffer[after_word] == zero))
    )
    return (kind, stage, np.where(without, NONE, microbatch)) if right else None


def _run(
    buffer: IntArray, start: IntArray, end: IntArray, most: int, *, digits: bool
) -> tuple[IntArray, IntArray]:
    """Read digits, or capital letters and `_`, as far as they go: what they say, where they end."""
    value = np.zeros(len(start), dtype=np.int64)
    at = start.copy()
    going = np.arange(len(start))
    for _ in range(most):
        going = going[at[going] < end[going]]
        letter = buffer[at[going]]
        if digits:
            number = letter - ord("0")
            fits = (number >= 0) & (number <= 9)  # noqa: PLR2004  the digits
        else:
            number = np.where(letter == ord("_"), 27, letter - 64)
            fits = (number >= 1) & (number < _BASE) & (letter != 91)  # noqa: PLR2004  `[`
        going, number = going[fits], number[fits]
        if not len(going):
            break
        value[going] = value[going] * (10 if digits else _BASE) + number
        at[going] += 1
    return value, at
