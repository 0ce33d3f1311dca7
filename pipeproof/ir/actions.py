"""The kinds of operation, and torch's way of writing them."""

import re
from enum import IntEnum
from typing import NamedTuple

__all__ = [
    "BACKWARDS",
    "COMPUTE",
    "TORCH_COMMS",
    "TORCH_MESSAGES",
    "Action",
    "Kind",
    "read_action",
    "read_overlap",
    "whole_number",
]

LARGEST = 2**31 - 1
_MOST_DIGITS = 18


class Kind(IntEnum):
    """What an operation does; the names are the words of the spec language."""

    F = 1
    B = 2
    I = 3  # noqa: E741  torch's letter for the input gradient
    W = 4
    R = 5
    L = 6
    LOAD = 7
    SEND = 8
    RECV = 9
    WAIT = 10
    COLL = 11
    SIGNAL = 12
    AWAIT = 13
    FREE = 14
    WRITE = 15
    USE = 16
    HOLD = 17
    DROP = 18
    ZERO = 19
    SCALE = 20
    REDUCE = 21
    NORM = 22
    TIE = 23
    STALE = 24
    STEP = 25
    SKIP = 26
    COMMIT = 27
    ROLLBACK = 28
    GATHER = 29
    SAVE = 30
    CONSUME = 31
    RESUME = 32
    RESTORE = 33
    CHOOSE = 34
    UNSHARD = 35
    RESHARD = 36
    SEND_F = 37
    RECV_F = 38
    SEND_B = 39
    RECV_B = 40


COMPUTE = (Kind.F, Kind.B, Kind.I, Kind.W, Kind.R, Kind.L)
BACKWARDS = (Kind.B, Kind.I, Kind.W)
TORCH_MESSAGES = (Kind.SEND_F, Kind.RECV_F, Kind.SEND_B, Kind.RECV_B)
TORCH_COMMS = (*TORCH_MESSAGES, Kind.UNSHARD, Kind.RESHARD, Kind.REDUCE)

_TORCH = {
    **{word: Kind[word] for word in ("F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B")},
    "UNSHARD": Kind.UNSHARD,
    "RESHARD": Kind.RESHARD,
    "REDUCE_GRAD": Kind.REDUCE,
}
_WITHOUT_MICROBATCH = (Kind.UNSHARD, Kind.RESHARD, Kind.REDUCE)
_ACTION = re.compile(r"(0|[1-9][0-9]*)([A-Z_]+)(0|[1-9][0-9]*)?")
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_OVERLAP = re.compile(r"\(([^()]*)\)OVERLAP_F_B")
# What torch's own parser accepts: a prefix (torch 2.13.0, schedules.py, _action_regex).
_TORCH_PREFIX = re.compile(
    r"(\d+)(F|I|B|W|UNSHARD|RESHARD|REDUCE_GRAD|SEND_F|RECV_F|SEND_B|RECV_B)(\d*)"
)


class Action(NamedTuple):
    """One of torch's actions: stage, kind, and microbatch (-1 where there is none)."""

    stage: int
    kind: Kind
    microbatch: int


def whole_number(text: str) -> int | None:
    """Return the whole number that `text` is: `0` or digits without a leading zero, else None."""
    if not _NUMBER.fullmatch(text) or len(text) > 10:  # noqa: PLR2004  digits of LARGEST
        return None
    value = int(text)
    return value if value <= LARGEST else None


def read_action(text: str) -> Action | str:
    """Read one of torch's actions strictly, as `2F0` or `3SEND_F1`.

    Returns:
        The action, or what was expected; where torch would read something else, that is said.
    """
    found = _ACTION.fullmatch(text)
    kind = _TORCH.get(found[2]) if found else None
    if found is None or kind is None:
        return _expected(text)
    stage, digits = whole_number(found[1]), found[3]
    microbatch = -1 if digits is None else whole_number(digits)
    if stage is None or microbatch is None:
        return f"stages and microbatches are whole numbers up to {LARGEST}"
    if (digits is None) != (kind in _WITHOUT_MICROBATCH):
        return _expected(text)
    return Action(stage, kind, microbatch)


def read_overlap(text: str) -> tuple[Action, ...] | str:
    """Read `(0F7;7B3)OVERLAP_F_B` strictly; members are F, B, I or W.

    Returns:
        The members in their written order, or what was expected.
    """
    found = _OVERLAP.fullmatch(text)
    if found is None:
        return "write (0F7;7B3)OVERLAP_F_B"
    actions: list[Action] = []
    for part in found[1].split(";"):
        action = read_action(part.strip())
        if isinstance(action, str):
            return f"in the overlap, '{part.strip()[:40]}' is no operation; {action}"
        if action.kind not in (Kind.F, Kind.B, Kind.I, Kind.W):
            return "an overlap holds F, B, I and W only"
        actions.append(action)
    return tuple(actions)


def _expected(text: str) -> str:
    prefix = _TORCH_PREFIX.match(text)
    said = "write 2F0, 1SEND_F3 or 0UNSHARD"
    if prefix is None:
        return said
    microbatch = _without_zeros(prefix[3]) if prefix[3] else ""
    return f"{said} (torch would read it as {_without_zeros(prefix[1])}{prefix[2]}{microbatch})"


def _without_zeros(digits: str) -> str:
    """Write digits as torch reads them; too many of them are no number to torch either."""
    return str(int(digits)) if len(digits) <= _MOST_DIGITS else f"{digits[:_MOST_DIGITS]}…"
