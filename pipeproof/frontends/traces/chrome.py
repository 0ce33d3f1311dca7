"""Chrome's trace events, as torch's profiler, torch's schedule dump and `run --trace` write them.

| in a trace | here |
|---|---|
| `ph: X` with `ts` and `dur`; `B` and `E` of one `pid` and `tid` | a span, in microseconds |
| `PP:0F0`, which torch's runtime writes; `0F0`, which its dump does | the operation `0F0` |
| `Forward 3`, `Backward 3` of torch's GPipe | F and B of the rank's one stage |
| `cat: gpu_user_annotation` | a span of an accelerator |
| `distributedInfo.rank`, else `args.rank`, else a process named `rank 3`, else `pid` | the rank |

Everything else in a trace is left out. Source: *Trace Event Format*, Google 2016; torch 2.13.0,
`torch/distributed/pipelining/schedules.py`, `_get_profiler_function_name`, `_dump_chrometrace`.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from pipeproof.errors import LimitError, ParseError, Problem, printable
from pipeproof.ir.actions import read_action, read_overlap
from pipeproof.ir.reading import MOST_MISTAKES, Mistakes, ReadOptions, decode, place_of
from pipeproof.ir.recorded import MICROSECOND, Recorded, Span

__all__ = ["Traced", "is_operation", "read", "together"]

_GZIP = b"\x1f\x8b"
_MOST_RATIO = 100
_FREE = 1 << 20  # bytes that may be unpacked whatever the ratio
_CHUNK = 1 << 16
_LARGEST = Decimal(10) ** 18
_LONGEST = 20  # digits of a time in nanoseconds
_RANK = re.compile(r"\brank[ _:#-]*(\d{1,9})\b", re.IGNORECASE)
_IN_NAME = re.compile(r"rank[ _-]?(\d{1,9})(?!\d)", re.IGNORECASE)
_LOOP = re.compile(r"(?:Forward|Backward) (0|[1-9]\d{0,8})")
_SPACE = re.compile(r"[ \t\r\n]*")
_DUMPED = frozenset({"computation", "communication"})
_OWN = "pipeproof"
_SHAPE = "write an object with a list 'traceEvents', or that list"


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


_Event = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Traced:
    """One file of a trace: what was recorded in it, and where its events stand."""

    name: str
    text: str = field(repr=False)
    recorded: Recorded

    def place(self, event: int) -> tuple[int, int]:
        """Return line and column of the event with this number."""
        return place_of(self.text, _offsets(self.text, {event})[event])


def is_operation(name: str) -> bool:
    """Whether a span of that name is an operation of a schedule: torch's name of one."""
    if _LOOP.fullmatch(name):
        return True
    found = read_overlap(name) if name.startswith("(") else read_action(name)
    return not isinstance(found, str)


def read(data: bytes, name: str, options: ReadOptions) -> Traced:
    """Read one file of a trace, which may be gzipped.

    Raises:
        ParseError: it is no trace, or an operation in it has no time or no rank.
        LimitError: it is longer than `trace-bytes`, packed more than 100 to 1, or holds more
            operations than `instructions`.
    """
    text = decode(_unpacked(data, name, options), name)
    top = _parsed(text, name)
    events = top.get("traceEvents") if isinstance(top, dict) else top
    if not isinstance(events, list):
        raise ParseError([Problem(name, 1, 1, "no list of trace events stands here", _SHAPE)])
    facts: _Event = top if isinstance(top, dict) else {}
    reading = _Reading(text, name, facts, options)
    return Traced(name, text, reading.read(events))


def together(files: tuple[Traced, ...]) -> Recorded:
    """Return the trace that several files make up.

    Raises:
        ParseError: a rank stands in two of them.
    """
    home: dict[int, str] = {}
    for file in files:
        for rank in sorted({span.rank for span in file.recorded.spans}):
            if rank in home:
                found = f"rank {rank} stands in {home[rank]} too"
                expected = "name one file a rank, or one that holds all"
                raise ParseError([Problem(file.name, 1, 1, found, expected)])
            home[rank] = file.name
    all_ = [file.recorded for file in files]
    words = sorted({each.runs_on for each in all_ if each.runs_on})
    return Recorded(
        tuple(span for each in all_ for span in each.spans),
        tuple(file.name for file in files),
        together=len(all_) == 1 and all_[0].together,
        counted=any(each.counted for each in all_),
        asynchronous=any(each.asynchronous for each in all_),
        runs_on=", ".join(words),
    )


def _unpacked(data: bytes, name: str, options: ReadOptions) -> bytes:
    """Return the bytes of a file, unpacked where it is gzipped, as far as limits go."""
    most = options.limit("trace-bytes")
    if not data.startswith(_GZIP):
        if len(data) > most:
            found = f"the file has {len(data)} bytes"
            raise options.exceeded(Problem(name, 1, 1, found, ""), "trace-bytes")
        return data
    allowed = max(_FREE, _MOST_RATIO * len(data))
    parts, size, rest = [], 0, data
    while rest:
        unpacking = zlib.decompressobj(wbits=31)
        while rest and not unpacking.eof:
            try:
                part = unpacking.decompress(rest, _CHUNK)
            except zlib.error as error:
                found = "the gzip stream is damaged"
                raise ParseError([Problem(name, 1, 1, found, "pack the trace anew")]) from error
            rest, size = unpacking.unconsumed_tail, size + len(part)
            parts.append(part)
            if size > most:
                found = f"it unpacks to more than {most} bytes"
                raise options.exceeded(Problem(name, 1, 1, found, ""), "trace-bytes")
            if size > allowed:
                found = f"it unpacks to more than {_MOST_RATIO} times its size"
                raise LimitError([Problem(name, 1, 1, found, "unpack it, and give that file")])
            if not part and not rest:
                break
        if not unpacking.eof:
            found = "the gzip stream ends too early"
            raise ParseError([Problem(name, 1, 1, found, "pack the trace anew")])
        rest = unpacking.unused_data
    return b"".join(parts)


def _parsed(text: str, name: str) -> object:
    try:
        return json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    except json.JSONDecodeError as error:
        said = f"{error.msg[:1].lower()}{error.msg[1:]}"
        problem = Problem(name, *place_of(text, error.pos), "this is no JSON", said)
        raise ParseError([problem]) from error
    except RecursionError as error:
        problem = Problem(name, 1, 1, "lists within lists, too deep", _SHAPE)
        raise ParseError([problem]) from error


def _offsets(text: str, events: set[int]) -> dict[int, int]:
    """Return where events begin: all up to the last of them are read once more."""
    scan, found = json.JSONDecoder(parse_float=_Number, parse_int=_Number), {}
    at = _list_at(text, scan)
    for number in range(max(events, default=-1) + 1):
        at = _behind(text, at + 1)
        if number in events:
            found[number] = at
        _, at = scan.raw_decode(text, at)
        at = _behind(text, at)
    return found


def _list_at(text: str, scan: json.JSONDecoder) -> int:
    """Return where the list of events opens; of equal keys the last one counts."""
    at, found = _behind(text, 0), 0
    if text[at] == "[":
        return at
    while text[at] != "}":
        at = _behind(text, at + 1)
        if text[at] == "}":
            break
        key, at = scan.raw_decode(text, at)
        value = _behind(text, _behind(text, at) + 1)
        found = value if key == "traceEvents" else found
        _, at = scan.raw_decode(text, value)
        at = _behind(text, at)
    return found


def _behind(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Reading:
    """Goes through the events of one file."""

    def __init__(self, text: str, name: str, facts: _Event, options: ReadOptions) -> None:
        self.text, self.name, self.facts, self.options = text, name, facts, options
        self.wrong: list[tuple[int, str, str]] = []
        self.open: dict[tuple[str, str], list[tuple[int, str, _Event, int | None]]] = {}
        self.said: dict[str, int] = {}

    def read(self, events: list[object]) -> Recorded:
        found: list[tuple[int, str, _Event, int, int]] = []
        asynchronous = False
        for number, event in enumerate(events):
            if not isinstance(event, dict):
                continue
            asynchronous = asynchronous or event.get("cat") == "kernel"
            each = self._event(number, event)
            if each is not None:
                found.append(each)
                if len(found) > self.options.limit("instructions"):
                    problem = Problem(self.name, 1, 1, "more operations than that", "")
                    raise self.options.exceeded(problem, "instructions")
        for left in self.open.values():
            for number, name, _, _ in left:
                if name:
                    self._wrong(number, f"{printable(name)} begins and never ends", "write its 'E'")
        spans = sorted(self._ranked(found), key=lambda span: span.event)
        self._settle()
        own = self._own()
        return Recorded(
            tuple(spans),
            (self.name,),
            together=own.get("clock") == "shared",
            counted=_is_dump([event for _, _, event, _, _ in found]),
            asynchronous=asynchronous,
            runs_on=_word(own.get("runs_on")),
        )

    def _own(self) -> _Event:
        said = self.facts.get("otherData")
        own = said.get(_OWN) if isinstance(said, dict) else None
        return own if isinstance(own, dict) else {}

    def _event(self, number: int, event: _Event) -> tuple[int, str, _Event, int, int] | None:
        """Return an operation that this event ends; begins and ranks of processes are noted."""
        match event.get("ph"):
            case "X":
                name = _name(event)
                return None if name is None else self._whole(number, name, event)
            case "B":
                named = _name(event)
                start = None if named is None else self._time(number, event, "ts")
                self.open.setdefault(_thread(event), []).append((number, named or "", event, start))
            case "E":
                return self._end(number, event)
            case "M":
                self._process(event)
            case _:
                pass
        return None

    def _whole(
        self, number: int, name: str, event: _Event
    ) -> tuple[int, str, _Event, int, int] | None:
        start, lasts = self._time(number, event, "ts"), self._time(number, event, "dur")
        if start is None or lasts is None:
            return None
        if lasts < 0:
            self._wrong(number, f"{printable(name)} ends before it begins", "write 'dur' from 0")
            return None
        return number, name, event, start, start + lasts

    def _end(self, number: int, event: _Event) -> tuple[int, str, _Event, int, int] | None:
        stack = self.open.get(_thread(event))
        if not stack:
            return None
        begun, name, beginning, start = stack.pop()
        if not name or start is None:
            return None
        end = self._time(number, event, "ts")
        if end is None:
            return None
        if end < start:
            self._wrong(number, f"{printable(name)} ends before it begins", "write a later 'ts'")
            return None
        return begun, name, beginning, start, end

    def _time(self, number: int, event: _Event, key: str) -> int | None:
        """Return a time in ticks; one that is none is a mistake."""
        said = event.get(key)
        try:
            time = Decimal(said) if isinstance(said, _Number) else None
        except InvalidOperation:
            time = None
        if time is not None and time.is_finite() and time.copy_abs() < _LARGEST:
            return int((time * MICROSECOND).to_integral_value())
        found = f"the '{key}' of {printable(_word(event.get('name')) or 'an event')} is no time"
        self._wrong(number, found, "write a number of microseconds")
        return None

    def _process(self, event: _Event) -> None:
        """Note the rank that a process is said to be."""
        if event.get("name") not in {"process_name", "process_labels"}:
            return
        args = event.get("args")
        said = [_word(each) for each in args.values()] if isinstance(args, dict) else []
        for found in filter(None, map(_RANK.search, said)):
            self.said.setdefault(_word(event.get("pid")), int(found[1]))

    def _ranked(self, found: list[tuple[int, str, _Event, int, int]]) -> Iterator[Span]:
        """Yield what was found, on the rank that it is of."""
        whole = self._whole_rank({_word(event.get("pid")) for _, _, event, _, _ in found})
        most, base = self.options.limit("ranks"), self._base()
        for number, name, event, start, end in found:
            rank = self._rank(event) if whole is None else whole
            if rank is None or rank >= most:
                told = "no rank can be told" if rank is None else f"rank {rank} is too large"
                expected = "write distributedInfo.rank, or the rank as pid, or call the file rank_0"
                self._wrong(number, f"{told} of {printable(name)}", expected)
                continue
            device = event.get("cat") == "gpu_user_annotation"
            yield Span(rank, name, base + start, base + end, device, self.name, number)

    def _base(self) -> int:
        """Return what torch's profiler takes off all times of a file, in ticks."""
        said = self.facts.get("baseTimeNanoseconds")
        is_one = isinstance(said, _Number) and said.isascii() and said.isdecimal()
        return int(str(said)) * MICROSECOND // 1000 if is_one and len(str(said)) < _LONGEST else 0

    def _whole_rank(self, pids: set[str]) -> int | None:
        """Return the rank of a whole file, None where each event says it."""
        info = self.facts.get("distributedInfo")
        if isinstance(info, dict) and (rank := _whole(info.get("rank"))) is not None:
            return rank
        if pids & self.said.keys() or len(pids) != 1:
            return None
        named = _IN_NAME.search(self.name.rsplit("/", 1)[-1])
        return int(named[1]) if named else None

    def _rank(self, event: _Event) -> int | None:
        args = event.get("args")
        rank = _whole(args.get("rank")) if isinstance(args, dict) else None
        if rank is None:
            rank = self.said.get(_word(event.get("pid")))
        return _whole(event.get("pid")) if rank is None else rank

    def _wrong(self, number: int, found: str, expected: str) -> None:
        self.wrong.append((number, found, expected))
        if len(self.wrong) >= MOST_MISTAKES:
            self._settle()

    def _settle(self) -> None:
        """Raise what was found to be wrong."""
        mistakes = Mistakes(self.name)
        offsets = _offsets(self.text, {number for number, _, _ in self.wrong})
        for number, found, expected in self.wrong:
            mistakes.add(*place_of(self.text, offsets[number]), found, expected)
        mistakes.settle()


def _name(event: _Event) -> str | None:
    """Return the operation that an event is of, None where it is of none."""
    name = event.get("name")
    if not isinstance(name, str) or isinstance(name, _Number):
        return None
    name = name.removeprefix("PP:")
    return name if event.get("cat") == _OWN or is_operation(name) else None


def _word(said: object) -> str:
    return said if isinstance(said, str) else ""


def _whole(said: object) -> int | None:
    """Return the whole number that is written, None where it is none."""
    is_one = isinstance(said, _Number) and said.isascii() and said.isdecimal()
    return int(str(said)) if is_one and len(str(said)) < 10 else None  # noqa: PLR2004


def _thread(event: _Event) -> tuple[str, str]:
    return _word(event.get("pid")), _word(event.get("tid"))


def _is_dump(events: list[_Event]) -> bool:
    """Whether torch's schedule dump wrote this: its times are numbers of steps."""
    return bool(events) and all(
        event.get("cat") in _DUMPED
        and event.get("dur") == "1"
        and event.get("pid") == event.get("tid")
        for event in events
    )
