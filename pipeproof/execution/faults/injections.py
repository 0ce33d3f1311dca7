"""What is to go wrong on purpose, and where: read from a text, or from the faults of a file."""

import difflib
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from pipeproof.execution._events import Events
from pipeproof.execution.faults.findings import Answer, Place, place_of
from pipeproof.ir.actions import COMPUTE, Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.schedule import Plain

__all__ = ["Injection", "What", "injected", "injections_of"]


class What(Enum):
    """What goes wrong."""

    MISSING = "missing"
    STOPS = "stops"
    DELAYED = "delayed"
    DROPPED = "dropped"
    DUPLICATED = "duplicated"
    CORRUPTED = "corrupted"
    MISSHAPEN = "misshapen"
    TURNED = "turned"


_OF_RANK = (What.MISSING, What.STOPS)
_OF_MESSAGE = (What.DROPPED, What.DUPLICATED, What.CORRUPTED, What.MISSHAPEN)
_BITS = ("sign", "exponent", "mantissa")
_WRITTEN = re.compile(
    r"(?P<what>[a-z]+)(=(?P<amount>[^@]+))?@r(?P<rank>\d{1,9})(:(?P<at>.+))?", re.ASCII
)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_LENGTH = re.compile(r"\d{1,6}(\.\d{1,6})?", re.ASCII)
_OP = re.compile(r"(\d+)([A-Z]+)(\d+)")
_SAID: Mapping[What, Answer] = {
    What.MISSING: Answer.MISSING,
    What.STOPS: Answer.STOPPED,
    What.DROPPED: Answer.LOST,
    What.DUPLICATED: Answer.DOUBLED,
    What.CORRUPTED: Answer.IDENTITY,
    What.MISSHAPEN: Answer.SHAPE,
    What.TURNED: Answer.WRONG_VALUE,
}


class Injection(NamedTuple):
    """One fault: of a rank before its instruction `position`, or of what stands in a row as run.

    `windows` is how long something is delayed, in observation windows; `bit` is what is turned.
    """

    what: What
    rank: int
    position: int = -1
    row: int = -1
    windows: float = 3.0
    bit: str = "mantissa"
    text: str = ""

    def place(self, run: AsRun) -> Place:
        """Return where it is to be found: for a rank that stops, the last thing that it began."""
        if self.row >= 0:
            return place_of(run.operations, self.row)
        began = [row for row in _rows(self.rank, run) if self._is_before(row, run)]
        return place_of(run.operations, began[-1]) if began else Place(self.rank)

    def _is_before(self, row: int, run: AsRun) -> bool:
        told = int(run.operations.kind[row]) in (*COMPUTE, Kind.SEND, Kind.STEP)
        written = int(run.written[row])
        at = int(run.schedule.operations.position[written]) if written >= 0 else -1
        return told and at < self.position

    def answer(self, run: AsRun) -> Answer:
        """Return as what it is to be found."""
        if self.what is not What.DELAYED:
            return _SAID[self.what]
        return Answer.LATE_MESSAGE if self.place(run).message else Answer.LATE_OPERATION


def injected(text: str, run: AsRun, events: Events) -> Injection:
    """Read a fault as written: `dropped@r1:1SEND_F0`, `delayed=4@r0:0F1`, `stops@r1:5`.

    Raises:
        ValueError: it cannot be read; the message says what stands there and what was expected.
    """
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        message = f"{text!r}: write KIND@PLACE, as dropped@r1:1SEND_F0, stops@r0:5 or missing@r2"
        raise ValueError(message)
    what, rank = _what(found["what"]), int(found["rank"])
    if rank >= run.schedule.ranks:
        message = f"{text!r}: there is no rank {rank}, the schedule has {run.schedule.ranks}"
        raise ValueError(message)
    made = _with_amount(Injection(what, rank, text=text.strip()), found["amount"])
    if what is What.MISSING:
        if found["at"] is not None:
            message = f"{text!r}: a missing rank has no place in its program; write missing@r{rank}"
            raise ValueError(message)
        return made
    if found["at"] is None:
        message = f"{text!r}: say at which instruction of rank {rank}, as {what.value}@r{rank}:0"
        raise ValueError(message)
    return _placed(made, found["at"], run, events)


def _what(word: str) -> What:
    words = [each.value for each in What]
    if word in words:
        return What(word)
    near = difflib.get_close_matches(word, words, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    message = f"{word!r} is no fault; write one of {', '.join(words)}{hint}"
    raise ValueError(message)


def _with_amount(made: Injection, amount: str | None) -> Injection:
    if amount is None:
        return made
    if made.what is What.TURNED:
        if amount in _BITS:
            return made._replace(bit=amount)
        message = f"turned={amount}: write one of {', '.join(_BITS)}"
        raise ValueError(message)
    if made.what is What.DELAYED and _LENGTH.fullmatch(amount):
        return made._replace(windows=float(amount))
    expected = "a number of observation windows" if made.what is What.DELAYED else "no amount"
    message = f"{made.what.value}={amount}: {made.what.value} takes {expected}"
    raise ValueError(message)


def _placed(made: Injection, at: str, run: AsRun, events: Events) -> Injection:
    rows = _rows(made.rank, run)
    if _NUMBER.fullmatch(at):
        if made.what is What.STOPS and int(at) <= events.length(made.rank):
            return made._replace(position=int(at))
        own = [row for row in rows if events.position(row) == int(at)]
    else:
        name, several_of, turn = at.partition("#")
        own = [row for row in rows if events.text(row) == name.strip()]
        if several_of:
            own = own[int(turn) : int(turn) + 1] if _NUMBER.fullmatch(turn) else []
    own = [row for row in own if made.what is What.STOPS or _suits(made.what, row, run)]
    if len(own) == 1:
        at_row = made._replace(row=own[0], position=events.position(own[0]))
        return at_row._replace(row=-1) if made.what is What.STOPS else at_row
    can = [
        events.text(row) for row in rows if made.what is What.STOPS or _suits(made.what, row, run)
    ]
    several = f" stands {len(own)} times; add #0 to #{len(own) - 1}" if own else " does not stand"
    can_be = f"; {made.what.value} can be any of {', '.join(dict.fromkeys(can))}" if can else ""
    message = f"{made.text!r}: {at}{several} on rank {made.rank}{'' if own else can_be}"
    raise ValueError(message)


def _rows(rank: int, run: AsRun) -> list[int]:
    return [int(row) for row in (run.operations.rank == rank).nonzero()[0]]


def _suits(what: What, row: int, run: AsRun) -> bool:
    kind = Kind(int(run.operations.kind[row]))
    if kind is Kind.SEND:
        return bool(run.is_message[row])
    computes = kind in COMPUTE or kind is Kind.STEP
    if what is What.TURNED:
        return kind in (Kind.F, Kind.B, Kind.I, Kind.W, Kind.STEP)
    return what is What.DELAYED and computes


def injections_of(run: AsRun, events: Events) -> Iterator[Injection]:
    """Yield the faults that a file names, each once for every operation that it can strike."""
    said = run.schedule.described.get("faults", {})
    among = said.get("among", ()) if isinstance(said, Mapping) else ()
    for one in among:
        if isinstance(one, Mapping):
            yield from _of_file(one, run, events)


def _of_file(one: Mapping[str, Plain], run: AsRun, events: Events) -> Iterator[Injection]:
    what = What(str(one["fault"]))
    if "rank" in one:
        rank, at = int(str(one["rank"])), int(str(one.get("at", "-1")))
        where = f":{at}" if at >= 0 else ""
        yield Injection(what, rank, at, text=f"{what.value}@r{rank}{where}")
        return
    name = str(one.get("message", one.get("op")))
    for row in range(len(run.operations)):
        if _is_meant(run, row, name, message="message" in one):
            rank = int(run.operations.rank[row])
            text = f"{what.value}@r{rank}:{events.text(row)}"
            yield Injection(what, rank, events.position(row), row, text=text)


def _is_meant(run: AsRun, row: int, name: str, *, message: bool) -> bool:
    ops = run.operations
    if message:
        sends = ops.kind[row] == Kind.SEND and run.is_message[row]
        return bool(sends) and ops.value_text(int(ops.value[row])) == name
    found = _OP.fullmatch(name)
    if found is None or found[2] not in Kind.__members__:
        return False
    said = (int(found[1]), int(Kind[found[2]]), int(found[3]))
    return said == (int(ops.stage[row]), int(ops.kind[row]), int(ops.microbatch[row]))
