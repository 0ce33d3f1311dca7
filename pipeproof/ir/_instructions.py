"""One operation of a program, from its words to its row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pipeproof.errors import did_you_mean, printable
from pipeproof.ir._attributes import NAME, expected_of
from pipeproof.ir.actions import LARGEST, TORCH_MESSAGES, Kind, read_action, whole_number
from pipeproof.ir.operations import ANY, NONE, Row
from pipeproof.ir.values import MAX_STAGE, NO_VALUE, ValueKind, encode, read_value

__all__ = ["MESSAGES", "STAGED", "Mistake", "Tables", "read_attributes", "read_operation"]

MESSAGES = (Kind.SEND, Kind.RECV, *TORCH_MESSAGES)
_MESSAGE = ("buf", "comm", "shape", "dtype", "layout", "h")
_BACKWARD = ("gin", "gout", "w", "wv", "c", "param", "mode", "last")
_STAGED = re.compile(r"(0|[1-9][0-9]*)([A-Z_]+)(0|[1-9][0-9]*)?")
_ALTERNATIVES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\|[A-Za-z0-9_][A-Za-z0-9_.-]*)+")


class Mistake(Exception):  # noqa: N818  never leaves the reader of programs
    """A word of an instruction is wrong: which, what it is, and what was expected."""

    def __init__(self, word: int, found: str, expected: str) -> None:
        super().__init__(found)
        self.word, self.found, self.expected = word, found, expected


@dataclass(frozen=True, slots=True)
class Form:
    """How an instruction is written: operands in order, attributes taken and demanded."""

    kind: Kind
    takes: tuple[str, ...] = ()
    demands: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    microbatch: bool = False


def _of_microbatch(kind: Kind, *takes: str) -> Form:
    return Form(kind, takes, microbatch=True)


STAGED: Mapping[str, Form] = MappingProxyType(
    {
        "F": _of_microbatch(
            Kind.F, *("in", "out", "aux", "keep", "w", "rng", "ctx", "fill", "bucket", "state")
        ),
        "L": _of_microbatch(Kind.L, "in", "out", "label"),
        "B": _of_microbatch(Kind.B, *_BACKWARD),
        "I": _of_microbatch(Kind.I, *_BACKWARD),
        "W": _of_microbatch(Kind.W, *_BACKWARD),
        "R": _of_microbatch(Kind.R, "w", "rng", "ctx", "state"),
        **{kind.name: _of_microbatch(kind, *_MESSAGE) for kind in TORCH_MESSAGES},
        "UNSHARD": Form(Kind.UNSHARD),
        "RESHARD": Form(Kind.RESHARD),
        "ZERO": Form(Kind.ZERO, ("param",)),
        "SCALE": Form(Kind.SCALE, ("param",), ("by",)),
        "REDUCE": Form(Kind.REDUCE, ("param", "h", "shard")),
        "REDUCE_GRAD": Form(Kind.REDUCE, ("param", "h", "shard")),
        "NORM": Form(Kind.NORM, ("param", "h"), ("ranks",)),
        "TIE": Form(Kind.TIE, ("param", "h"), ("ranks",)),
        "GATHER": Form(Kind.GATHER, ("bucket",)),
        **{
            kind.name: Form(kind, ("param",))
            for kind in (Kind.STALE, Kind.STEP, Kind.SKIP, Kind.COMMIT, Kind.ROLLBACK)
        },
    }
)
WORDS: Mapping[str, Form] = MappingProxyType(
    {
        "LOAD": Form(Kind.LOAD, ("buf", "sample"), operands=("value",)),
        "SEND": Form(Kind.SEND, _MESSAGE, ("to",), ("value",)),
        "RECV": Form(Kind.RECV, (*_MESSAGE, "v"), ("from",), ("value",)),
        "WAIT": Form(Kind.WAIT, operands=("handle",)),
        "COLL": Form(Kind.COLL, ("h", "comm", "kind", "from", "to"), ("ranks",), ("name",)),
        "SIGNAL": Form(Kind.SIGNAL, demands=("to",)),
        "AWAIT": Form(Kind.AWAIT, demands=("from",)),
        "FREE": Form(Kind.FREE, operands=("storage",)),
        "WRITE": Form(Kind.WRITE, operands=("storage", "written")),
        "USE": Form(Kind.USE, operands=("storage", "written")),
        "HOLD": Form(Kind.HOLD, operands=("count",)),
        "DROP": Form(Kind.DROP, operands=("count",)),
        "SAVE": Form(Kind.SAVE, ("async",)),
        "CONSUME": Form(Kind.CONSUME, operands=("count",)),
        "RESUME": Form(Kind.RESUME, demands=("at",)),
        "RESTORE": Form(Kind.RESTORE, demands=("have", "want"), operands=("what",)),
        "CHOOSE": Form(Kind.CHOOSE, operands=("name", "alternatives")),
    }
)
_EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "value": "a value, as F0.1",
        "handle": "a handle",
        "name": "a name",
        "storage": "the name of a storage",
        "written": "a value, as F0.1",
        "count": "a whole number",
        "what": "a name",
        "alternatives": "its outcomes, as a|b",
    }
)


@dataclass(slots=True)
class Tables:
    """Names by the order in which they are first used; communicator 0 is the default one."""

    comms: dict[str, int] = field(default_factory=lambda: {"": 0})
    handles: dict[str, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)


def index(table: dict[str, int], name: str) -> int:
    """Return the index of `name` in `table`, entering it where it is new."""
    return table.setdefault(name, len(table))


def read_attributes(words: list[str], takes: tuple[str, ...], what: str) -> dict[str, str]:
    """Read `key=value` words of an instruction that `takes` these and is called `what`.

    Raises:
        Mistake: a word is no attribute, stands twice, is not taken, or has no such value.
    """
    attributes: dict[str, str] = {}
    for word, text in enumerate(words):
        key, equals, value = text.partition("=")
        if text == "|":
            said = "a group call is one bracket, [a | b]; quote it where YAML would read a list"
            raise Mistake(word, "'|' stands outside of a bracket", said)
        if not equals:
            raise Mistake(word, f"{printable(text)} is no attribute", "write key=value")
        if key in attributes:
            raise Mistake(word, f"{printable(key)} stands twice", "write an attribute once")
        if key not in takes:
            allowed = f"write {' '.join(takes)}{did_you_mean(key[:40], takes)}"
            raise Mistake(word, f"{what} takes no {printable(key)}", allowed)
        expected = expected_of(key, value)
        if expected is not None:
            raise Mistake(word, f"{printable(text)} is no such attribute", expected)
        attributes[key] = value
    return attributes


def read_operation(text: str, tables: Tables, *, alone: bool = True) -> Row:
    """Read one operation; its rank, position and member are for the caller to set.

    `alone` is False inside a bracket, which has its own `h=` and `if=`.

    Raises:
        Mistake: it is none, or lacks something, or has something that it does not take.
    """
    words = text.split()
    if not text.isascii() or not words:
        raise Mistake(0, f"{printable(text)} is no operation", "programs are written in ASCII")
    staged = _STAGED.fullmatch(words[0])
    if staged is not None and staged[2] in STAGED:
        form = STAGED[staged[2]]
        row, used = _staged_row(text, staged, form), 1
    elif words[0] in WORDS:
        form = WORDS[words[0]]
        row, used = Row(0, 0, 0, form.kind), 1 + len(form.operands)
        _set_operands(row, form, words, tables)
    else:
        raise Mistake(0, f"{printable(text)} is no operation", _no_operation(text, words[0]))
    if len(words) == used and not form.demands:
        return row
    takes = (*form.demands, *form.takes)
    takes = (*takes, "if") if alone else tuple(key for key in takes if key != "h")
    try:
        attributes = read_attributes(words[used:], takes, form.kind.name)
    except Mistake as mistake:
        mistake.word += used
        if not alone and words[mistake.word].startswith(("h=", "if=")):
            mistake.expected = "write it behind the bracket, for all of its members"
        if mistake.word == 1 and mistake.expected == "write key=value":
            mistake.expected += _torch_reads(text)
        raise
    for key in form.demands:
        if key not in attributes:
            raise Mistake(0, f"{printable(text)} has no {key}=", f"write {key}= behind it")
    _set_attributes(row, attributes, tables)
    return row


def _staged_row(text: str, staged: re.Match[str], form: Form) -> Row:
    stage, digits = whole_number(staged[1]), staged[3]
    microbatch = NONE if digits is None else whole_number(digits)
    if stage is None or microbatch is None or stage > MAX_STAGE:
        limits = f"stages are numbers up to {MAX_STAGE}, microbatches up to {LARGEST}"
        raise Mistake(0, f"{printable(text)} is no operation", limits)
    if (digits is None) == form.microbatch:
        said = f"write 0{staged[2]}{'0' if form.microbatch else ''}"
        said = f"{said}: {staged[2]} is of a stage{' and a microbatch' * form.microbatch}"
        raise Mistake(0, f"{printable(text)} is no operation", said + _torch_reads(text))
    return Row(0, 0, 0, form.kind, stage, microbatch)


def _no_operation(text: str, word: str) -> str:
    bare = word.lstrip("0123456789").rstrip("0123456789") if word[:1].isdigit() else word
    known = [*STAGED] if word[:1].isdigit() else [*WORDS, *STAGED]
    if not word[:1].isdigit() and bare.upper() in STAGED:
        return f"{bare.upper()} is of a stage: write 0{bare.upper()}"
    said = "write 2F0, 1SEND_F3, 0UNSHARD or SEND F0.1 to=1"
    close = "" if bare in STAGED else did_you_mean(bare[:40].upper(), known)
    return said + _torch_reads(text) + close


def _torch_reads(text: str) -> str:
    """What torch's parser would make of it, where that is something else."""
    if not text[:1].isdigit():
        return ""
    action = read_action(text)
    at = action.find(" (torch would") if isinstance(action, str) else -1
    return action[at:] if isinstance(action, str) and at >= 0 else ""


def _set_operands(row: Row, form: Form, words: list[str], tables: Tables) -> None:
    for place, operand in enumerate(form.operands, start=1):
        expected = f"{words[0]} takes {_EXAMPLES[operand]}"
        if place >= len(words):
            raise Mistake(0, f"{printable(' '.join(words))} is not complete", expected)
        text = words[place]
        match operand:
            case "value":
                _set_value(row, text, place, tables)
            case "handle":
                _must(NAME.fullmatch(text) is not None, place, text, expected)
                row.handle = index(tables.handles, text)
            case "count":
                _must(whole_number(text) is not None, place, text, expected)
                row.attributes["count"] = text
            case "written":
                _read_value(text, place, tables)
                row.attributes["written"] = text
            case "alternatives":
                several = _ALTERNATIVES.fullmatch(text) is not None
                parts = text.split("|")
                _must(several and len(set(parts)) == len(parts), place, text, expected)
                row.attributes["written"] = text
            case _:
                _must(NAME.fullmatch(text) is not None, place, text, expected)
                row.attributes[operand] = text


def _must(holds: bool, word: int, text: str, expected: str) -> None:  # noqa: FBT001  a claim
    if not holds:
        raise Mistake(word, f"{printable(text)} stands here", expected)


def _read_value(text: str, word: int, tables: Tables) -> tuple[ValueKind, int, int]:
    value = read_value(text)
    if isinstance(value, str):
        raise Mistake(word, f"{printable(text)} is no value", value)
    if text == "any":
        raise Mistake(word, "'any' is no value here", "only RECV takes whichever comes")
    kind, stage, microbatch = value
    if kind is ValueKind.NAME:
        microbatch = index(tables.names, text)
    return kind, stage, microbatch


def _set_value(row: Row, text: str, word: int, tables: Tables) -> None:
    if row.kind is Kind.RECV and text == "any":
        row.value = ANY
        return
    kind, stage, microbatch = _read_value(text, word, tables)
    if row.kind is Kind.LOAD and kind not in (ValueKind.X, ValueKind.Y, ValueKind.A):
        raise Mistake(word, f"LOAD puts no {printable(text)}", "write X.0, Y.0 or A.0")
    row.value = encode(kind, stage, microbatch)
    if kind is not ValueKind.NAME:
        row.microbatch = microbatch
    if kind in (ValueKind.F, ValueKind.B):
        row.stage = stage


def _set_attributes(row: Row, attributes: dict[str, str], tables: Tables) -> None:
    if row.kind is Kind.COLL:
        _check_collective(attributes)
    else:
        for side in ("to", "from"):
            if side in attributes:
                text = attributes.pop(side)
                _must(text != "any" or row.kind is Kind.RECV, 0, "from=any", "name a rank")
                row.peer = ANY if text == "any" else int(text)
    if "comm" in attributes:
        row.comm = index(tables.comms, attributes.pop("comm"))
    if "h" in attributes:
        row.handle = index(tables.handles, attributes.pop("h"))
    row.attributes.update(attributes)


_KINDS = {"broadcast": ("from",), "reduce": ("to",), "gather": ("to",), "all": ()}


def _check_collective(attributes: dict[str, str]) -> None:
    sides = tuple(side for side in ("from", "to") if side in attributes)
    ranks = attributes["ranks"].split(",")
    allowed = _KINDS.get(attributes.get("kind", ""), sides[:1])
    if sides != allowed:
        said = "kind=all has neither from= nor to=, broadcast has from=, reduce and gather have to="
        raise Mistake(0, f"this COLL has {' and '.join(sides) or 'neither from= nor to='}", said)
    for side in sides:
        if attributes[side] not in ranks:
            said = f"name one of its ranks, {attributes['ranks']}"
            raise Mistake(0, f"{side}={attributes[side]} is no rank of this COLL", said)


assert NO_VALUE == NONE  # noqa: S101  a row's columns start alike
