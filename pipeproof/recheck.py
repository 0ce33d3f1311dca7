"""Accept or reject a certificate, from docs/spec.md and the schedule as run alone.

One file, the standard library and nothing of pipeproof: it is written from the document that a
certificate speaks by, so that a fault of the program that made the certificate is no fault here.
Where the document leaves something open, the certificate is rejected.

    python pipeproof/recheck.py CERTIFICATE.json AS_RUN.json
"""

import gc
import hashlib
import json
import re
import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import NoReturn

SCHEMA = "pipeproof.certificate/1"
USAGE = (
    "usage: python -m pipeproof.recheck CERTIFICATE.json AS_RUN.json\n"
    "AS_RUN.json is the schedule as run: pipeproof convert FILE --to as-run -o AS_RUN.json\n"
)
UNCERTIFIED = "no certificate speaks of it"
NEVER = -1  # the event of an end without a partner
ROUNDS = 64  # in which choices that hang on choices are settled

BY_RUN = {"PP301", "PP205"}
BY_PARTNERS = {"PP201", "PP105", "PP204", "PP303"}
BY_PAIRS = {"PP401", "PP402", "PP403", "PP404", "PP405", "PP501", "PP502", "PP504"}
BY_CONTENTS = {"PP503", "PP505"}
BY_STORAGE = {"PP501", "PP502", "PP503", "PP504", "PP505"}
PROVABLE = BY_RUN | BY_PARTNERS | BY_PAIRS | BY_CONTENTS | {"PP202"}
BY_PLACES = BY_RUN | BY_CONTENTS | {"PP201", "PP202"}


class Unreadable(ValueError):  # noqa: N818  # reads as what it says
    """What was given is no certificate and no schedule as run at all."""


class Rejected(ValueError):  # noqa: N818  # reads as what it says
    """The certificate does not show what it states."""


def refuse(message: str) -> NoReturn:
    """Reject the certificate with this reason."""
    raise Rejected(message)


# ---- the files -----------------------------------------------------------------------------------


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "a key stands twice in one object"
        raise Unreadable(message)
    return found


def _no_number(text: str) -> NoReturn:
    message = f"{text} is no whole number"
    raise Unreadable(message)


def load(text: str, what: str) -> dict[str, object]:
    """Read one JSON object of texts, switches and whole numbers, without duplicate keys.

    Raises:
        Unreadable: It is none.
    """
    try:
        found: object = json.loads(
            text, object_pairs_hook=_unique, parse_float=_no_number, parse_constant=_no_number
        )
    except Unreadable as error:
        message = f"{what}: {error}"
        raise Unreadable(message) from error
    except (ValueError, RecursionError) as error:
        message = f"{what} is no JSON: {error}"
        raise Unreadable(message) from error
    if not isinstance(found, dict):
        message = f"{what} is no JSON object"
        raise Unreadable(message)
    return found


def canonical(value: object) -> str:
    """Write JSON with sorted keys, without spaces, in ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(text: str) -> str:
    """Hash a text with SHA-256, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        refuse(f"{what} is no text")
    return value


def _number(value: object, what: str) -> int:
    if type(value) is not int:
        refuse(f"{what} is no whole number")
    return value


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        refuse(f"{what} is no list")
    return value


def _object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        refuse(f"{what} is no object")
    return value


def _keys(given: dict[str, object], wanted: set[str], what: str) -> None:
    for key in sorted(wanted - set(given)):
        refuse(f"{what} lacks '{key}'")
    for key in sorted(set(given) - wanted):
        refuse(f"{what} has '{key}', which is no key of it")


def _one_of(value: object, words: str, what: str) -> str:
    text = _text(value, what)
    if text not in words.split():
        refuse(f"{what} is '{text}', which this checker does not know")
    return text


# ---- instructions (section 2) --------------------------------------------------------------------

Value = tuple[str, int, int]  # letter, stage or -1, microbatch or -1; a word is ("=word", -1, -1)

_N = r"(0|[1-9][0-9]{0,8})"
_COMPUTE = re.compile(rf"{_N}([FBIWLR]){_N}")
_OF_STAGE = re.compile(
    rf"{_N}(UNSHARD|RESHARD|REDUCE|ZERO|SCALE|NORM|TIE|STALE|STEP|SKIP|COMMIT|ROLLBACK|GATHER)"
)
_VALUE = re.compile(rf"([XYAL])\.{_N}|([FB]){_N}\.{_N}|([A-Za-z_][A-Za-z0-9_]*)")
_NUMBER = re.compile(_N)
_OVERLAP = re.compile(r"\((.*)\)OVERLAP_F_B(?: if=(\S+))?")
_BRACKET = re.compile(r"\[(.*)\](?: h=(\S+))?(?: if=(\S+))?")

_B_TAKES = "gin gout w wv c param mode last"
_MESSAGE_TAKES = "buf comm shape dtype layout h"
_TAKES = {
    "F": "in out aux keep w wv rng ctx fill bucket state",
    "L": "in out label",
    "B": _B_TAKES,
    "I": _B_TAKES,
    "W": _B_TAKES,
    "R": "w wv rng ctx state",
    "LOAD": "buf sample",
    "SEND": f"to {_MESSAGE_TAKES}",
    "RECV": f"from {_MESSAGE_TAKES}",
    "COLL": "ranks h comm kind from to",
    "SIGNAL": "to",
    "AWAIT": "from",
    "SCALE": "by param",
    "REDUCE": "param h shard",
    "NORM": "ranks param h",
    "TIE": "ranks param h",
    "ZERO": "param",
    "STALE": "param",
    "STEP": "param",
    "SKIP": "param",
    "COMMIT": "param",
    "ROLLBACK": "param",
    "GATHER": "bucket",
    "SAVE": "async",
    "RESUME": "at",
    "RESTORE": "have want",
}
_NEEDS = {
    "SEND": "to",
    "RECV": "from",
    "SIGNAL": "to",
    "AWAIT": "from",
    "COLL": "ranks",
    "TIE": "ranks",
}
_OPERANDS = {
    "LOAD": 1,
    "SEND": 1,
    "RECV": 1,
    "WAIT": 1,
    "COLL": 1,
    "SIGNAL": 0,
    "AWAIT": 0,
    "FREE": 1,
    "WRITE": 2,
    "USE": 2,
    "HOLD": 1,
    "DROP": 1,
    "SAVE": 0,
    "CONSUME": 1,
    "RESUME": 0,
    "RESTORE": 1,
    "CHOOSE": 2,
}
_VALUE_AT = {"LOAD": 0, "SEND": 0, "RECV": 0, "WRITE": 1, "USE": 1}


@dataclass(frozen=True, slots=True)
class Op:
    """One operation, or one message; `value` is the one that it names, if it names one."""

    kind: str
    stage: int
    microbatch: int
    words: tuple[str, ...]
    attributes: dict[str, str]
    value: Value


@dataclass(frozen=True, slots=True)
class Instruction:
    """What stands at one position: one operation, a bracket of messages, or an overlap."""

    ops: tuple[Op, ...]
    handle: str
    bracket: bool
    condition: str = ""  # the choice and the alternative under which it is not passed over


_NOTHING: Value = ("", -1, -1)


@cache
def _value(text: str) -> Value:
    found = _VALUE.fullmatch(text)
    if found is None:
        refuse(f"'{text}' is no value")
    letter, microbatch, moved, stage, other, word = found.groups()
    if letter:
        return letter, -1, int(microbatch)
    if moved:
        return moved, int(stage), int(other)
    return f"={word}", -1, -1


def _shifted(value: Value, shift: int) -> Value:
    return (value[0], value[1], value[2] + shift) if value[2] >= 0 else value


def whole(text: str, what: str) -> int:
    """Read a whole number that stands as text."""
    if not _NUMBER.fullmatch(text):
        refuse(f"{what} is '{text}', which is no whole number")
    return int(text)


def _head(text: str) -> tuple[str, int, int, int]:
    """Read kind, stage, microbatch and number of operands."""
    if found := _COMPUTE.fullmatch(text):
        return found[2], int(found[1]), int(found[3]), 0
    if found := _OF_STAGE.fullmatch(text):
        return found[2], int(found[1]), -1, 0
    if text not in _OPERANDS:
        refuse(f"'{text}' is no operation that this checker knows")
    return text, -1, -1, _OPERANDS[text]


def _op(text: str, shift: int) -> Op:
    first, *rest = text.split(" ")
    kind, stage, microbatch, operands = _head(first)
    words, given = tuple(rest[:operands]), rest[operands:]
    if len(words) < operands or not all(words) or any("=" in word for word in words):
        refuse(f"'{text}' lacks an operand")
    attributes: dict[str, str] = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        taken = ("if", *_TAKES.get(kind, "").split())
        if not (equals and value) or key in attributes or key not in taken:
            refuse(f"'{text}': this checker does not know '{pair}' there")
        attributes[key] = value
    if kind in _NEEDS and _NEEDS[kind] not in attributes:
        refuse(f"'{text}' lacks {_NEEDS[kind]}=")
    named = _shifted(_value(words[_VALUE_AT[kind]]), shift) if kind in _VALUE_AT else _NOTHING
    if microbatch >= 0:
        microbatch += shift
    return Op(kind, stage, microbatch, words, attributes, named)


def instruction(text: str, shift: int) -> Instruction:
    """Read one instruction as the schedule as run writes it, its ids raised by `shift`."""
    if found := _BRACKET.fullmatch(text):
        ops = tuple(_op(part, shift) for part in found[1].split(" | "))
        if any(op.kind not in {"SEND", "RECV"} or {"h", "if"} & {*op.attributes} for op in ops):
            refuse(f"'{text}' is no bracket of messages")
        return Instruction(ops, found[2] or "", bracket=True, condition=found[3] or "")
    if found := _OVERLAP.fullmatch(text):
        ops = tuple(_op(part, shift) for part in found[1].split(";"))
        if any(op.kind not in {"F", "B", "I", "W"} or "if" in op.attributes for op in ops):
            refuse(f"'{text}' is no overlap of F, B, I and W")
        return Instruction(ops, "", bracket=False, condition=found[2] or "")
    op = _op(text, shift)
    given = op.attributes
    return Instruction((op,), given.get("h", ""), bracket=False, condition=given.get("if", ""))


# ---- the schedule as run -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transport:
    """When messages move (section 3)."""

    name: str
    completion: str
    capacity: int  # 0: unbounded
    queue: str
    atomic: bool
    wait: str
    match: str
    lazy: bool
    weak: frozenset[str]

    @property
    def meets(self) -> bool:
        """Whether both ends must be posted before a message is drained."""
        return self.atomic or self.completion == "rendezvous"

    @property
    def credits(self) -> int:
        """How many messages of a channel may be unreceived; 0 without a bound."""
        return 0 if self.meets else self.capacity


@dataclass(frozen=True, slots=True)
class Pool:
    """Storage that a rule names (section 4)."""

    slots: int
    by_use: bool
    guarded: bool
    per_rank: bool


@dataclass(slots=True)
class Schedule:
    """The schedule as run, and what of its keys decides the rules that are certified."""

    programs: list[list[str]]
    stages: int
    ids: int  # in one copy of the programs
    segments: int
    one_step: bool
    fragment: bool
    profile: str
    placement: list[int]
    transports: dict[str, Transport]
    pools: dict[str, Pool]
    registers: frozenset[str]
    tied: dict[int, object]
    before: dict[int, int] = field(default_factory=dict)  # stage → the one before it, or -1
    after: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)  # stage → last one of its pipeline


_AS_RUN = {
    *("described", "fragment", "gradients", "lowering", "microbatches", "pipelines", "placement"),
    *("profile", "programs", "ranks", "segments", "stages", "steps", "transports", "waits"),
}
_TRANSPORT = {
    *("capacity", "communicators", "completion", "groups", "match", "name", "queue", "wait"),
    "weak",
}
_PROFILES = "none torch-runtime torch-multi torch-single"


def _transport(value: object) -> Transport:
    given = _object(value, "a transport")
    _keys(given, _TRANSPORT, "a transport")
    capacity = given["capacity"]
    if capacity == "unbounded":
        capacity = 0
    elif _number(capacity, "capacity") < 1:
        refuse("a capacity below 1 is none that this checker knows")
    weak = frozenset(_text(name, "a weak communicator") for name in _list(given["weak"], "weak"))
    return Transport(
        name=_text(given["name"], "the name of a transport"),
        completion=_one_of(given["completion"], "rendezvous buffered", "completion"),
        capacity=_number(capacity, "capacity"),
        queue=_one_of(given["queue"], "none edge direction pair rank", "queue"),
        atomic=_one_of(given["groups"], "independent atomic", "groups") == "atomic",
        wait=_one_of(given["wait"], "blocking at-use explicit", "wait"),
        match=_one_of(given["match"], "order tag", "match"),
        lazy=_one_of(given["communicators"], "eager lazy", "communicators") == "lazy",
        weak=weak,
    )


def _pool(value: object) -> Pool:
    given = _object(value, "a pool")
    for key in sorted(set(given) - {"slots", "slot", "guard", "per"}):
        refuse(f"storage: this checker does not know '{key}' of a pool")
    slots = whole(_text(given.get("slots", "0"), "slots"), "slots")
    if slots < 1:
        refuse("a pool without slots is none that this checker knows")
    slot = _text(given.get("slot", "microbatch mod slots"), "slot")
    if slot not in {"microbatch mod slots", "use mod slots"}:
        refuse(f"slot: '{slot}' is none that this checker knows")
    guard = _one_of(given.get("guard", "none"), "none wait", "guard")
    per = _one_of(given.get("per", "stage"), "stage rank", "per")
    return Pool(slots, slot.startswith("use"), guard == "wait", per == "rank")


def _storage(value: object) -> tuple[dict[str, Pool], frozenset[str]]:
    given = _object(value, "storage")
    known: tuple[str, ...] = ("receive", "send", "stash")
    pools = {key: _pool(given[key]) for key in known if key in given}
    registers = frozenset(
        _one_of(name, "loss grad", "a register")
        for name in _list(given.get("registers", []), "registers")
    )
    for key in sorted(set(given) - {"receive", "send", "stash", "weights", "registers"}):
        refuse(f"storage: this checker does not know '{key}'")
    if "grad" in registers and "receive" in pools:
        refuse(
            "gradients that are received have a register and a pool: no certificate speaks of it"
        )
    return pools, registers


def _numbers(value: object, what: str) -> list[int]:
    return [_number(item, what) for item in _list(value, what)]


def _tied(value: object) -> dict[int, object]:
    """Find the list that a stage is tied in."""
    found: dict[int, object] = {}
    for place, stages in enumerate(_list(value, "tied")):
        for text in _list(stages, "tied"):
            stage = whole(_text(text, "a tied stage"), "a tied stage")
            if stage in found:
                refuse(f"stage {stage} is tied twice: no certificate speaks of it")
            found[stage] = place
    return found


def schedule_of(text: str) -> Schedule:
    """Read the schedule as run.

    Raises:
        Unreadable: The text is no canonical JSON.
        Rejected: Something stands there that this checker does not know.
    """
    given = load(text, "the schedule as run")
    if canonical(given) != text:
        message = "the schedule as run is no canonical JSON (sorted keys, no spaces, ASCII)"
        raise Unreadable(message)
    _keys(given, _AS_RUN, "the schedule as run")
    described = _object(given["described"], "described")
    for key in sorted(set(described) - {"storage", "weights", "bounds", "sizes", "costs"}):
        refuse(f"described: this checker does not know '{key}'")
    transports = [_transport(item) for item in _list(given["transports"], "transports")]
    named = {transport.name: transport for transport in transports}
    if len(named) != len(transports):
        refuse("two transports have one name")
    pools, registers = _storage(described.get("storage", {}))
    programs = [
        [_text(item, "an instruction") for item in _list(program, "a program")]
        for program in _list(given["programs"], "programs")
    ]
    schedule = Schedule(
        programs=programs,
        stages=_number(given["stages"], "stages"),
        ids=_number(given["microbatches"], "microbatches") * _number(given["segments"], "segments"),
        segments=_number(given["segments"], "segments"),
        one_step=given["steps"] in (1, "any"),
        fragment=_one_of(given["fragment"], "true false", "fragment") == "true",
        profile=_one_of(given["profile"], _PROFILES, "profile"),
        placement=_numbers(given["placement"], "placement"),
        transports=named,
        pools=pools,
        registers=registers,
        tied=_tied(_object(given["gradients"], "gradients").get("tied", [])),
    )
    if given["ranks"] != len(programs) or len(schedule.placement) != schedule.stages:
        refuse("ranks and stages of the schedule as run do not agree with what stands there")
    _lay_pipelines(schedule, _list(given["pipelines"], "pipelines"))
    return schedule


def _lay_pipelines(schedule: Schedule, pipelines: list[object]) -> None:
    laid = [_numbers(item, "a pipeline") for item in pipelines] or [[*range(schedule.stages)]]
    if sorted(stage for pipeline in laid for stage in pipeline) != [*range(schedule.stages)]:
        refuse("pipelines do not hold each stage once")
    for pipeline in laid:
        for stage, before, after in zip(
            pipeline, [-1, *pipeline], [*pipeline[1:], -1], strict=False
        ):
            schedule.before[stage] = before
            schedule.after[stage] = after
            schedule.last[stage] = pipeline[-1]
        if len(laid) > 1:
            for place, stage in enumerate(pipeline):
                schedule.tied.setdefault(stage, ("place", place))


# ---- choices (section 7a) ------------------------------------------------------------------------

Choice = tuple[int, str, int]  # copy, name, how many of that name its rank makes before it
Laid = list[list[tuple[int, Instruction]]]  # for each rank its instructions, each with its copy


def lay(schedule: Schedule, copies: int) -> Laid:
    """Write the programs once or twice, the ids of the second copy raised."""
    return [
        [
            (copy, instruction(text, copy * schedule.ids))
            for copy in range(copies)
            for text in program
        ]
        for program in schedule.programs
    ]


def said(choice: Choice) -> str:
    """Name a choice as a certificate does."""
    copy, name, turn = choice
    return name + (f"#{turn + 1}" if turn else "") + (f"@{copy + 1}" if copy else "")


class Choices:
    """The choices of a schedule, and what is passed over when they are settled.

    Attributes:
        alternatives: The outcomes of each choice.
    """

    def __init__(self, laid: Laid) -> None:
        self.laid = laid
        self.alternatives: dict[str, set[str]] = {}
        self._makes: list[dict[int, Choice]] = []  # for each rank, by place
        self._own: dict[tuple[int, int, str], list[int]] = defaultdict(list)
        self._hang: list[tuple[int, int, str, str]] = []  # rank, place, name, alternative
        for rank, program in enumerate(laid):
            self._makes.append({})
            for place, (copy, item) in enumerate(program):
                self._note(rank, place, copy, item)
        self._demand_clear()

    def _note(self, rank: int, place: int, copy: int, item: Instruction) -> None:
        if item.ops[0].kind == "CHOOSE":
            name, several = item.ops[0].words
            own = self._own[rank, copy, name]
            choice = copy, name, len(own)
            own.append(place)
            self._makes[rank][place] = choice
            self.alternatives.setdefault(said(choice), set()).update(several.split("|"))
        if item.condition:
            name, colon, wanted = item.condition.partition(":")
            if not (name and colon and wanted):
                refuse(f"if={item.condition} names no choice and alternative")
            self._hang.append((rank, place, name, wanted))

    def _demand_clear(self) -> None:
        """Demand that each condition goes by a choice that it can be told from others of a name."""
        names: dict[str, set[str]] = defaultdict(set)
        again: set[str] = set()
        for rank_makes in self._makes:
            for choice in rank_makes.values():
                names[choice[1]] |= self.alternatives[said(choice)]
                again |= {choice[1]} if choice[2] else set()
        for rank, place, name, wanted in self._hang:
            if wanted not in names.get(name, ()):
                refuse(f"if={name}:{wanted} names what nothing chooses")
            copy = self.laid[rank][place][0]
            if name in again and (rank, copy, name) not in self._own:
                refuse(f"if={name}:{wanted} goes by a choice that others make several times")

    @property
    def number(self) -> int:
        """Count the outcomes."""
        return prod(len(each) for each in self.alternatives.values())

    def demand(self, outcome: dict[str, object]) -> None:
        """Demand that an outcome settles each choice, and nothing else."""
        _keys(outcome, set(self.alternatives), "outcome")
        for key, came in outcome.items():
            if _text(came, f"outcome: what came of {key}") not in self.alternatives[key]:
                refuse(f"outcome: {came!r} is no alternative of {key}")

    def settled(self, outcome: dict[str, object]) -> list[list[Instruction]]:
        """Leave out what is passed over under an outcome."""
        kept = [[True] * len(program) for program in self.laid]
        for _ in range(ROUNDS):
            last = self._last_made(kept)
            known = {
                choice
                for rank, made in enumerate(self._makes)
                for place, choice in made.items()
                if kept[rank][place]
            }
            changed = []
            for rank, place, name, wanted in self._hang:
                came = self._goes_by(rank, place, name, last, known)
                keeps = came is not None and outcome[said(came)] == wanted
                if keeps != kept[rank][place]:
                    changed.append((rank, place))
            for rank, place in changed:
                kept[rank][place] = not kept[rank][place]
            if not changed:
                return [
                    [item for (_, item), keeps in zip(program, flags, strict=True) if keeps]
                    for program, flags in zip(self.laid, kept, strict=True)
                ]
        refuse(f"choices hang on each other: {UNCERTIFIED}")

    def _last_made(self, kept: list[list[bool]]) -> dict[tuple[int, int, str], list[int]]:
        """Find, for each CHOOSE of a rank and name, the last one up to it that is made, or -1."""
        found: dict[tuple[int, int, str], list[int]] = {}
        for key, places in self._own.items():
            last, line = -1, list[int]()
            for place in places:
                last = place if kept[key[0]][place] else last
                line.append(last)
            found[key] = line
        return found

    def _goes_by(
        self,
        rank: int,
        place: int,
        name: str,
        last: dict[tuple[int, int, str], list[int]],
        known: set[Choice],
    ) -> Choice | None:
        """Find the last choice of a name before a place on its rank, else that of the others."""
        copy = self.laid[rank][place][0]
        own = self._own.get((rank, copy, name))
        if own is None:
            return (copy, name, 0) if (copy, name, 0) in known else None
        at = bisect_left(own, place) - 1
        made = last[rank, copy, name][at] if at >= 0 else -1
        return self._makes[rank][made] if made >= 0 else None


# ---- who meets whom (section 3) ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class End:
    """One end of a message, posted by the start of its instruction."""

    number: int
    instruction: int
    rank: int
    peer: int
    communicator: str
    is_send: bool
    value: Value

    @property
    def channel(self) -> tuple[int, int, str]:
        """Name the directed pair of ranks and the communicator."""
        if self.is_send:
            return self.rank, self.peer, self.communicator
        return self.peer, self.rank, self.communicator


@dataclass(slots=True)
class Collective:
    """The entries that meet; `entries` lacks the ranks that never enter."""

    ranks: tuple[int, ...]
    kind: str  # "all", "from" or "to"
    root: int
    entries: dict[int, int]  # rank → instruction


class Program:
    """All instructions in one sequence, and what meets: messages, collectives, signals.

    Attributes:
        first: The number of the first instruction of each rank, and of all.
        sends: The sending end of each message.
        receives: The receiving end of each message.
        message: The message of each end, or -1.
        entry: The collective that an instruction enters.
        signal: The SIGNAL that an AWAIT is paired with, or -1.
    """

    def __init__(
        self, schedule: Schedule, laid: list[list[Instruction]], copies: int, match: str
    ) -> None:
        self.schedule = schedule
        self.ranks = len(schedule.programs)
        self.instructions: list[Instruction] = []
        self.rank: list[int] = []
        self.first: list[int] = []
        for rank, program in enumerate(laid):
            self.first.append(len(self.instructions))
            self.instructions += program
            self.rank += [rank] * len(program)
        self.first.append(len(self.instructions))
        self._check_names(copies)
        self.ends: list[End] = []
        self.ends_of: dict[int, list[End]] = defaultdict(list)
        self.message: list[int] = []
        self.sends: list[End] = []
        self.receives: list[End] = []
        self._pair_messages(by_tag=match == "tag")
        self.collectives: list[Collective] = []
        self.entry: dict[int, int] = {}
        self._pair_collectives()
        self.signal: dict[int, int] = {}
        self._pair_signals()

    @property
    def program_events(self) -> int:
        """Count the events of instructions and of the ends of programs."""
        return 2 * len(self.instructions) + self.ranks

    @property
    def events(self) -> int:
        """Count all events."""
        return self.program_events + 2 * len(self.sends)

    def position(self, number: int) -> str:
        """Say where an instruction stands."""
        rank = self.rank[number]
        return f"r{rank}.{number - self.first[rank]}"

    def say(self, event: int) -> str:
        """Say in words which event this is."""
        if event < 0:
            return "what never happens"
        if event < 2 * len(self.instructions):
            return f"{'done' if event % 2 else 'start'} of {self.position(event // 2)} ({event})"
        if event < self.program_events:
            return f"end of rank {event - 2 * len(self.instructions)} ({event})"
        message, which = divmod(event - self.program_events, 2)
        sent = self.position(self.sends[message].instruction)
        return f"{'arrived' if which else 'drained'} of the message sent at {sent} ({event})"

    def rank_of(self, event: int) -> int:
        """Find the rank whose program an event stands in, or -1 of a message's."""
        if event >= self.program_events:
            return -1
        number = event // 2
        if number < len(self.instructions):
            return self.rank[number]
        return event - 2 * len(self.instructions)

    def drained(self, message: int) -> int:
        """Name the event at which the source has been read."""
        return self.program_events + 2 * message

    def completion(self, end: End) -> int:
        """Name the event that completes an end, NEVER without a partner."""
        message = self.message[end.number]
        if message < 0:
            return NEVER
        return self.drained(message) + (not end.is_send)

    def numbers(self, rank: int) -> range:
        """List the instructions of a rank."""
        return range(self.first[rank], self.first[rank + 1])

    def _check_names(self, copies: int) -> None:
        schedule = self.schedule
        if copies > 1 and not schedule.one_step:
            refuse("two copies of programs of several steps: no certificate speaks of it")
        for item in self.instructions:
            for op in item.ops:
                if max(op.stage, op.value[1]) >= schedule.stages:
                    refuse("a stage is named that does not exist: no certificate speaks of it")
                if copies > 1 and max(op.microbatch, op.value[2]) >= copies * schedule.ids:
                    refuse("an id beyond one step, in two copies: no certificate speaks of it")

    def _pair_messages(self, *, by_tag: bool) -> None:
        waiting: dict[tuple[object, ...], tuple[list[End], list[End]]] = {}
        for number, item in enumerate(self.instructions):
            for op in item.ops:
                if op.kind not in {"SEND", "RECV"}:
                    continue
                is_send = op.kind == "SEND"
                peer = whole(op.attributes["to" if is_send else "from"], "the rank of a message")
                communicator = op.attributes.get("comm", "")
                here = len(self.ends), number, self.rank[number], peer
                end = End(*here, communicator, is_send, op.value)
                self.ends.append(end)
                self.ends_of[number].append(end)
                key = (*end.channel, op.value) if by_tag else end.channel
                waiting.setdefault(key, ([], []))[not is_send].append(end)
        partner: dict[int, End] = {}
        for sends, receives in waiting.values():
            for sender, receiver in zip(sends, receives, strict=False):
                partner[sender.number] = receiver
        self.message = [-1] * len(self.ends)
        for end in self.ends:
            if end.number in partner:
                receiver = partner[end.number]
                self.message[end.number] = self.message[receiver.number] = len(self.sends)
                self.sends.append(end)
                self.receives.append(receiver)

    def _collective_of(self, number: int) -> tuple[tuple[object, ...], Collective] | None:
        """Find what an instruction enters: the key by which entries meet, and how."""
        op = self.instructions[number].ops[0]
        if op.kind not in {"COLL", "TIE"}:
            return None
        ranks = tuple(sorted(whole(text, "ranks") for text in op.attributes["ranks"].split(",")))
        if len(set(ranks)) < len(ranks) or self.rank[number] not in ranks:
            refuse(f"{self.position(number)}: ranks= repeats a rank or lacks its own")
        if op.kind == "TIE":
            tied = self.schedule.tied.get(op.stage, "all")
            return ("TIE", tied, op.attributes.get("param", ""), ranks), Collective(
                ranks, "all", -1, {}
            )
        kind = next((key for key in ("from", "to") if key in op.attributes), "all")
        if "from" in op.attributes and "to" in op.attributes:
            refuse(f"{self.position(number)}: a collective with from= and to=")
        root = whole(op.attributes[kind], "the root of a collective") if kind != "all" else -1
        if kind != "all" and root not in ranks:
            refuse(f"{self.position(number)}: the root of a collective is none of its ranks")
        key = ("COLL", op.words[0], op.attributes.get("comm", ""), ranks)
        return key, Collective(ranks, kind, root, {})

    def _pair_collectives(self) -> None:
        met: dict[tuple[object, ...], int] = {}
        times: dict[tuple[object, ...], int] = defaultdict(int)
        stages: dict[tuple[object, ...], int] = {}
        for number in range(len(self.instructions)):
            found = self._collective_of(number)
            if found is None:
                continue
            key, made = found
            rank, op = self.rank[number], self.instructions[number].ops[0]
            if len(made.ranks) > 1 and stages.setdefault((*key, rank), op.stage) != op.stage:
                refuse(f"{self.position(number)}: two tied stages of one rank: {UNCERTIFIED}")
            turn = times[*key, rank]
            times[*key, rank] += 1
            known = met.setdefault((*key, turn), len(self.collectives))
            if known == len(self.collectives):
                self.collectives.append(made)
            collective = self.collectives[known]
            if (collective.kind, collective.root) != (made.kind, made.root):
                refuse(f"{self.position(number)}: the entries of a collective differ in kind")
            collective.entries[rank] = number
            self.entry[number] = known

    def _pair_signals(self) -> None:
        given: dict[tuple[int, int], list[int]] = defaultdict(list)
        awaited: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, item in enumerate(self.instructions):
            op, rank = item.ops[0], self.rank[number]
            if op.kind == "SIGNAL":
                given[rank, whole(op.attributes["to"], "to")].append(number)
            elif op.kind == "AWAIT":
                awaited[whole(op.attributes["from"], "from"), rank].append(number)
        for pair, numbers in awaited.items():
            for turn, number in enumerate(numbers):
                self.signal[number] = given[pair][turn] if turn < len(given[pair]) else -1


# ---- who reads what, and where (sections 2 and 4) ------------------------------------------------

Place = tuple[object, ...]  # a storage: ("name", rank, b), a slot of a pool, a register


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a storage, in the program order of its rank."""

    what: str  # "read", "put" or "free"
    instruction: int
    value: Value
    event: int  # that ends it: done, drained, arrived, or NEVER
    transfers: bool
    given: bool = False  # a read of what is there from the start


@dataclass(slots=True)
class _Read:
    number: int
    value: Value
    place: Place | None
    rule: str
    event: int
    transfers: bool


class Reading:
    """What the rules ask of values and storage.

    Attributes:
        pairs: For each rule the pairs of events to be ordered that no program orders;
            *before* is NEVER where nothing puts the value there.
        broken: For each rule what the program alone breaks.
        uncertified: The rules that no certificate of this schedule speaks of, and why.
        faults: For PP503 and PP505 the instructions at which they stand.
        doubts: Why rules of storage cannot be certified.
        readers: The instructions of a rank that read a value, in order.
        slot_waits: What the writers of guarded slots wait for, by their start.
        slot_stuck: The starts of writers that wait for a later instruction of their rank.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.schedule = program.schedule
        self.pairs: dict[str, set[tuple[int, int]]] = defaultdict(set)
        self.broken: dict[str, str] = {}
        self.uncertified: dict[str, str] = {}
        self.faults: dict[str, set[int]] = defaultdict(set)
        self.doubts: list[str] = []
        self.readers: dict[tuple[int, Value], list[int]] = defaultdict(list)
        self.slot_waits: dict[int, list[int]] = defaultdict(list)
        self.slot_stuck: set[int] = set()
        self._parts: dict[str, dict[tuple[int, int], list[tuple[int, int]]]] = {
            "F": defaultdict(list),
            "I": defaultdict(list),
            "B": defaultdict(list),
        }
        self._losses: set[int] = set()
        self._loaded: set[Value] = set()
        self._open: dict[tuple[int, str, int, int], list[str]] = defaultdict(list)
        self._last_part: dict[tuple[int, str, int, int], tuple[int, int]] = {}
        self.early: set[tuple[int, int]] = set()  # parts but the last, as (instruction, member)
        for number, item in enumerate(program.instructions):
            for member, op in enumerate(item.ops):
                self._note(number, member, op)
        for number, item in enumerate(program.instructions):
            for member, op in enumerate(item.ops):
                self._ask_halves(number, member, op)
        self._leave_out()
        for rank in range(program.ranks):
            _Walk(self, rank).walk()

    def _note(self, number: int, member: int, op: Op) -> None:
        if op.kind in self._parts:
            self._parts[op.kind][op.stage, op.microbatch].append((number, member))
            self._note_part(number, member, op)
        elif op.kind == "L":
            self._losses.add(op.microbatch)
        elif op.kind == "LOAD":
            self._loaded.add(op.value)

    def _note_part(self, number: int, member: int, op: Op) -> None:
        """Note an F with `bucket`, or a B or I with `param` or `c`, and that one before is early.

        What is made in parts is there with the last of them; a part that stands again begins anew.
        """
        if {"bucket", "param", "c"}.isdisjoint(op.attributes):
            return
        own = f"c {number} {member}"
        name = (
            op.attributes.get("bucket", "") if op.kind == "F" else op.attributes.get("param", own)
        )
        if not name:
            return
        key = (self.program.rank[number], op.kind, op.stage, op.microbatch)
        parts = self._open[key]
        if name in parts:
            parts.clear()
        if parts:
            self.early.add(self._last_part[key])
        parts.append(name)
        self._last_part[key] = number, member

    def _leave_out(self) -> None:
        """Note the rules that no certificate of this schedule speaks of."""
        if self.schedule.segments > 1:
            self._uncertify("segments", "PP401", "PP402", "PP403")
        if self.schedule.profile != "none":
            self._uncertify("a profile of torch", "PP504", "PP505")
        for item in self.program.instructions:
            op = item.ops[0]
            if item.handle and op.kind in {"REDUCE", "NORM", "TIE"}:
                self._uncertify(f"{op.kind} with a handle", "PP501", "PP502")
            elif op.kind == "ROLLBACK":
                self._uncertify("a ROLLBACK", "PP402", "PP404")

    def _uncertify(self, why: str, *rules: str) -> None:
        for rule in rules:
            self.uncertified.setdefault(rule, f"{rule} with {why}: {UNCERTIFIED}")

    def _ask_halves(self, number: int, member: int, op: Op) -> None:
        """Ask for PP402 and PP404: every part of F, or of I, before what needs it."""
        if op.kind not in {"B", "I", "R", "W"}:
            return
        rule, wanted = "PP402", self._parts_here("F", number, op)
        halves = self._parts_here("I", number, op) if op.kind == "W" else []
        if halves:
            rule, wanted = "PP404", halves
        elif op.kind == "W" and not (self.schedule.fragment or self._is_part_of_b(number, op)):
            self.ask("PP404", NEVER, number)
        for made, part in wanted:
            if made != number or part > member:
                self.ask(rule, 2 * made + 1, number)
        if not wanted and not self.schedule.fragment:
            self.ask(rule, NEVER, number)

    def _parts_here(self, kind: str, number: int, op: Op) -> list[tuple[int, int]]:
        """List the parts of an F, I or B of this stage and microbatch on the same rank."""
        rank = self.program.rank
        parts = self._parts[kind].get((op.stage, op.microbatch), ())
        return [(made, part) for made, part in parts if rank[made] == rank[number]]

    def _is_part_of_b(self, number: int, op: Op) -> bool:
        """Say whether a W is, with a B beside it, a part of one backward (section 2)."""
        return not {"param", "c"}.isdisjoint(op.attributes) and bool(
            self._parts_here("B", number, op)
        )

    def ask(self, rule: str, before: int, number: int) -> None:
        """Ask for an event before the start of an instruction, unless its program gives it."""
        after, program = 2 * number, self.program
        same = 0 <= before < 2 * len(program.instructions) and (
            program.rank[before // 2] == program.rank[number]
        )
        if not (same and before < after):
            self.pairs[rule].add((before, after))

    def breaks(self, rules: Iterable[str], number: int, why: str) -> None:
        """Note what the program alone breaks."""
        for rule in rules:
            self.broken.setdefault(rule, f"{self.program.position(number)}: {why}")

    def gradient(self, op: Op) -> Value:
        """Name what a backward of this stage reads."""
        after = self.schedule.after[op.stage]
        return ("L", -1, op.microbatch) if after < 0 else ("B", after, op.microbatch)

    def makes_loss(self, op: Op) -> bool:
        """Say whether this forward computes the loss."""
        last = self.schedule.last[op.stage] == op.stage
        return op.kind == "F" and last and op.microbatch not in self._losses

    def is_computed(self, loss: Value) -> bool:
        """Say whether no L stands for a loss."""
        return loss[2] not in self._losses

    def given(self, value: Value) -> bool:
        """Say whether a value that nothing on the rank puts anywhere is there from the start."""
        if value[0].startswith("=") or self.schedule.fragment:
            return True
        return value[0] in {"X", "Y", "A"} and value not in self._loaded

    def is_kept_from_start(self, identity: tuple[int, int]) -> bool:
        """Say whether no forward in the file keeps what is read."""
        return self.schedule.fragment and identity not in self._parts["F"]

    def gin_of(self, op: Op) -> str | None:
        """Name the storage that a W reads its gradient in, which its I read."""
        for number, member in self._parts["I"].get((op.stage, op.microbatch), []):
            found = self.program.instructions[number].ops[member].attributes.get("gin")
            if found is not None:
                return found
        return None


class _Walk:
    """One walk through a rank's program, which finds its accesses and supplies its reads."""

    def __init__(self, reading: Reading, rank: int) -> None:
        self.reading, self.rank = reading, rank
        self.program, self.schedule = reading.program, reading.schedule
        self.sent: set[Value] = set()
        self.put_at: dict[Value, tuple[int, int, Place | None]] = {}  # last: event, instruction
        self.first_put: dict[Value, int] = {}
        self.kept: dict[tuple[int, int], tuple[Place | None, Value]] = {}
        self.uses: dict[Place, int] = defaultdict(int)
        self.pooled: dict[Place, bool] = {}
        self.accesses: dict[Place, list[Access]] = defaultdict(list)
        self.late: list[tuple[_Read, int]] = []
        self.is_early = False  # of the operation that is walked over: a part, and not the last

    def walk(self) -> None:
        numbers = self.program.numbers(self.rank)
        for number in numbers:
            self.sent |= {end.value for end in self.program.ends_of.get(number, ()) if end.is_send}
        for number in numbers:
            item = self.program.instructions[number]
            if item.bracket:
                self._bracket(number)
            else:
                for member, op in enumerate(item.ops):
                    self.is_early = (number, member) in self.reading.early
                    self._op(number, op)
        for read, at in self.late:
            self._supply_late(read, at)
        for place, accesses in self.accesses.items():
            Contents(self.reading, place, guarded=self.pooled.get(place, False)).judge(accesses)

    # -- what an instruction does

    def _bracket(self, number: int) -> None:
        ends = self.program.ends_of[number]
        ops = self.program.instructions[number].ops
        for end, op in zip(ends, ops, strict=True):
            if end.is_send:
                self._send(end, op)
        for end, op in zip(ends, ops, strict=True):
            if not end.is_send:
                self._receive(end, op)

    def _op(self, number: int, op: Op) -> None:
        match op.kind:
            case "SEND":
                self._send(self.program.ends_of[number][0], op)
            case "RECV":
                self._receive(self.program.ends_of[number][0], op)
            case "F" | "L":
                self._forward(number, op)
            case "B" | "I" | "W" | "R":
                self._backward(number, op)
            case "LOAD":
                self._put(number, op.value, self._named(op, "buf"))
            case "WRITE":
                self._put(number, op.value, self._name(op.words[0]))
            case "USE":
                self._read(number, op.value, self._name(op.words[0]), "")
            case "FREE":
                free = Access("free", number, _NOTHING, NEVER, transfers=False)
                self._access(self._name(op.words[0]), free)
            case _:
                pass

    def _name(self, name: str) -> Place:
        return "name", self.rank, name

    def _named(self, op: Op, key: str) -> Place | None:
        return self._name(op.attributes[key]) if key in op.attributes else None

    def _send(self, end: End, op: Op) -> None:
        event = self.program.completion(end)
        place = self._named(op, "buf")
        self._take(_Read(end.instruction, op.value, place, "PP405", event, transfers=True))

    def _receive(self, end: End, op: Op) -> None:
        place = self._named(op, "buf") or self._receive_place(op.value)
        self._put(end.instruction, op.value, place, self.program.completion(end), transfers=True)

    def _forward(self, number: int, op: Op) -> None:
        m, schedule = op.microbatch, self.schedule
        before = schedule.before[op.stage]
        entered = ("X", -1, m) if before < 0 else ("F", before, m)
        if op.kind == "L":
            entered = ("F", schedule.last[op.stage], m)
        self._read(number, entered, self._named(op, "in"), "PP401")
        makes_loss = self.reading.makes_loss(op)
        if makes_loss or op.kind == "L":
            self._read(number, ("Y", -1, m), self._named(op, "label"), "PP401")
        if "aux" in op.attributes:
            self._read(number, ("A", -1, m), self._named(op, "aux"), "PP401")
        loss = ("L", -1, m)
        register = ("register", self.rank, "loss") if "loss" in schedule.registers else None
        if op.kind == "L":
            self._put(number, loss, self._named(op, "out") or register)
            return
        if self._makes_nothing_yet():
            return
        left: Value = ("F", op.stage, m)
        self._put(number, left, self._named(op, "out") or self._send_place(left))
        if makes_loss:
            self._put(number, loss, register)
        self._keep(number, op, entered)

    def _makes_nothing_yet(self) -> bool:
        """Say whether the operation is a part, and not the last."""
        if self.is_early and any(rule.by_use for rule in self.schedule.pools.values()):
            self.reading.doubts.append("parts of one operation use slots in turn")
        return self.is_early

    def _keep(self, number: int, op: Op, entered: Value) -> None:
        attributes, identity = op.attributes, (op.stage, op.microbatch)
        kept: Value = ("kept", *identity)
        name = attributes.get("keep")
        if name is None:
            place = self._slot("stash", op.stage, kept) if "stash" in self.schedule.pools else None
        else:
            place = self._name(name)
            if name == attributes.get("out"):
                self.kept[identity] = place, ("F", *identity)
                return
            if place == self._place_of(entered, self._named(op, "in")):
                self.kept[identity] = place, entered
                return
        self._put(number, kept, place)
        self.kept[identity] = place, kept

    def _place_of(self, value: Value, named: Place | None) -> Place | None:
        """Find where a value is read: where it is said, else where it was last put."""
        return named or self.put_at.get(value, (0, 0, None))[2]

    def _backward(self, number: int, op: Op) -> None:
        if op.kind in {"B", "I"}:
            gradient = self.reading.gradient(op)
            if gradient[0] == "L" and "gin" in op.attributes and self.reading.is_computed(gradient):
                self.reading.doubts.append("gin= names where a loss is read that an F computes")
            self._read(number, gradient, self._named(op, "gin"), "PP403")
        elif op.kind == "W":
            self._weight(number, op)
        identity = (op.stage, op.microbatch)
        if identity in self.kept:
            place, value = self.kept[identity]
            if place is not None:
                self._read_kept(_Read(number, value, place, "", 2 * number + 1, transfers=False))
        elif "stash" in self.schedule.pools and self.reading.is_kept_from_start(identity):
            self.reading.doubts.append("a stash is read that no forward filled")
        if op.kind in {"B", "I"} and not self._makes_nothing_yet():
            left: Value = ("B", *identity)
            self._put(number, left, self._named(op, "gout") or self._send_place(left))

    def _read_kept(self, read: _Read) -> None:
        assert read.place is not None  # noqa: S101  # only what stands in storage is judged
        if read.value not in self.put_at:  # an input that may be there from the start
            self.late.append((read, len(self.accesses[read.place])))
        self._access(read.place, self._as_access(read, given=False))

    def _weight(self, number: int, op: Op) -> None:
        torch = self.schedule.profile != "none" and self.schedule.before[op.stage] < 0
        if "gout" in op.attributes or ("gin" in op.attributes and not torch):
            self.reading.doubts.append("W names storage of gradients")
        if torch:
            name = op.attributes.get("gin") or self.reading.gin_of(op)
            place = self._name(name) if name is not None else None
            self._read(number, self.reading.gradient(op), place, "")

    # -- where values stand

    def _slot(self, pool: str, stage: int, value: Value) -> Place:
        rule = self.schedule.pools[pool]
        letter = "" if rule.per_rank else value[0]
        name: Place = ("pool", self.rank, pool, -1 if rule.per_rank else stage, letter)
        if rule.by_use and pool != "receive" and value in self.put_at:
            self.reading.doubts.append("parts of one operation use slots in turn")
        slot = self.uses[name] if rule.by_use else value[2]
        self.uses[name] += 1
        place = (*name, slot % rule.slots)
        self.pooled[place] = rule.guarded
        return place

    def _reader_of(self, value: Value) -> int:
        """Find the stage of this rank that reads an activation or gradient, or -1."""
        if value[0] not in {"F", "B"}:
            return -1
        links = self.schedule.after if value[0] == "F" else self.schedule.before
        stage = links[value[1]]
        return stage if stage >= 0 and self.schedule.placement[stage] == self.rank else -1

    def _receive_place(self, value: Value) -> Place | None:
        if value[0] == "B" and "grad" in self.schedule.registers:
            return "register", self.rank, "grad"
        stage = self._reader_of(value)
        if stage < 0 or "receive" not in self.schedule.pools:
            return None
        return self._slot("receive", stage, value)

    def _send_place(self, value: Value) -> Place | None:
        if "send" not in self.schedule.pools or value not in self.sent:
            return None
        return self._slot("send", value[1], value)

    # -- reads and puts

    def _access(self, place: Place, access: Access) -> None:
        self.accesses[place].append(access)

    def _put(
        self,
        number: int,
        value: Value,
        place: Place | None,
        event: int | None = None,
        *,
        transfers: bool = False,
    ) -> None:
        ends = 2 * number + 1 if event is None else event
        self.put_at[value] = ends, number, place
        self.first_put.setdefault(value, ends)
        if place is not None:
            self._access(place, Access("put", number, value, ends, transfers))

    def _read(self, number: int, value: Value, place: Place | None, rule: str) -> None:
        self._take(_Read(number, value, place, rule, 2 * number + 1, transfers=False))

    def _take(self, read: _Read) -> None:
        held = self.put_at.get(read.value)
        if held is None or held[1] != read.number:
            self.reading.readers[self.rank, read.value].append(read.number)
        if held is None:
            at = len(self.accesses[read.place]) if read.place is not None else -1
            if read.place is not None:  # stands here until it is known whether it is given
                self._access(read.place, self._as_access(read, given=False))
            self.late.append((read, at))
            return
        event, number, _ = held
        if number != read.number:
            self._ask_supplied(read, event)
        where = self._place_of(read.value, read.place)
        if where is not None:
            self._access(where, self._as_access(read, given=False))

    @staticmethod
    def _as_access(read: _Read, *, given: bool) -> Access:
        return Access("read", read.number, read.value, read.event, read.transfers, given)

    def _ask_supplied(self, read: _Read, event: int) -> None:
        """Ask that what stands before the reader is complete when it starts."""
        if 0 <= event < self.program.program_events:
            return  # its own program orders it
        self.reading.ask("PP501", event, read.number)
        if read.rule:
            self.reading.ask(f"{read.rule} of a receive before", event, read.number)

    def _supply_late(self, read: _Read, at: int) -> None:
        """Judge a read without a supplier before it."""
        reading, value, place = self.reading, read.value, read.place
        if value in self.first_put:
            if read.rule:
                reading.ask(read.rule, self.first_put[value], read.number)
            return
        if not reading.given(value):
            if read.rule:
                reading.ask(read.rule, NEVER, read.number)
            return
        if place is not None:
            self.accesses[place][at] = self._as_access(read, given=True)
        elif "receive" in self.schedule.pools and self._comes(value):
            reading.doubts.append("a value of a pool is there from the start")

    def _comes(self, value: Value) -> bool:
        return value[0] in {"F", "B"} and self._reader_of(value) >= 0


class Contents:
    """What one storage holds, from its first access to its last."""

    def __init__(self, reading: Reading, place: Place, *, guarded: bool) -> None:
        self.reading, self.place, self.guarded = reading, place, guarded
        self.holds: Value = _NOTHING
        self.free = False
        self.filled = Access("put", -1, _NOTHING, 0, transfers=False)
        self.to_write: list[int] = []  # ends of transfers since the last write
        self.to_free: list[int] = []
        self.lost: dict[Value, tuple[bool, int]] = {}  # value → was it a FREE, and where
        self.first: tuple[bool, int] | None = None  # the first write, or FREE, of all
        self.missed: dict[Value, list[int]] = defaultdict(list)

    def judge(self, accesses: list[Access]) -> None:
        for access in accesses:
            match access.what:
                case "put":
                    self._put(access)
                case "free":
                    self._free(access)
                case _:
                    self._read(access)
        for numbers in self.missed.values():
            self.reading.faults["PP505"].update(numbers)

    def _put(self, access: Access) -> None:
        reading, number = self.reading, access.instruction
        for event in self.to_write:
            if self.guarded:
                reading.slot_waits[2 * number].append(event)
            else:
                reading.ask("PP502", event, number)
        if not self.free and self.holds not in {_NOTHING, access.value}:
            self.lost[self.holds] = False, number
        if self.first is None:
            self.first = False, number
        self.lost.pop(access.value, None)
        for early in self.missed.pop(access.value, ()):
            reading.ask("PP501", access.event, early)
        self.holds, self.free, self.filled = access.value, False, access
        self.to_write = [access.event] if access.transfers else []
        if access.transfers:
            self.to_free.append(access.event)

    def _free(self, access: Access) -> None:
        for event in self.to_free:
            self.reading.ask("PP504", event, access.instruction)
        self.to_free = []
        if self.holds != _NOTHING and not self.free:
            self.lost[self.holds] = True, access.instruction
        if self.first is None:
            self.first = True, access.instruction
        self.free = True

    def _read(self, access: Access) -> None:
        if access.transfers:
            self.to_write.append(access.event)
            self.to_free.append(access.event)
        if self.holds == access.value and not self.free:
            if self.filled.transfers:
                self.reading.ask("PP501", self.filled.event, access.instruction)
            return
        lost = self.first if access.given else self.lost.get(access.value)
        if lost is None and access.given:
            return
        self._missing(access, lost)

    def _missing(self, access: Access, lost: tuple[bool, int] | None) -> None:
        """Judge a read of what the storage does not hold."""
        reading, number = self.reading, access.instruction
        if lost is not None and not lost[0] and self.guarded:
            reading.slot_stuck.add(2 * lost[1])
            return
        reading.breaks(BY_STORAGE - {"PP502"}, number, "the storage does not hold what is read")
        if lost is not None and lost[0]:
            reading.pairs["PP504"].add((access.event, 2 * lost[1]))
            return
        if lost is not None:
            reading.faults["PP503"].add(lost[1])
        if self.free:
            reading.ask("PP504", NEVER, number)
        elif self.holds == _NOTHING:
            self.missed[access.value].append(number)
        else:
            reading.faults["PP505"].add(number)


# ---- what an event waits for (section 3) ---------------------------------------------------------


class Waits:
    """What each event waits for under one transport.

    Attributes:
        needs: Events that an event waits for, beside its program and what messages wait for.
        never: Events that wait for what never happens.
        joins: The collectives that an event waits for, and the rank that waits.
        queue: The queue that each end stands in, or -1.
        turn: How many ends must have left that queue before the end is at its turn.
        moves: The atomic set of each instruction with messages.
        sizes: How many instructions each set has; `dead` holds those that never move.
        set_turns: For each set, how many ends must have left each of its queues.
    """

    def __init__(self, program: Program, reading: Reading, transport: Transport) -> None:
        self.program, self.reading, self.transport = program, reading, transport
        self.needs: dict[int, set[int]] = defaultdict(set)
        self.never: set[int] = set()
        self.joins: dict[int, dict[int, int]] = defaultdict(dict)
        self.queue = [-1] * len(program.ends)
        self.turn = [0] * len(program.ends)
        self.lines: list[list[End]] = []
        self.moves: dict[int, int] = {}
        self.sizes: dict[int, int] = defaultdict(int)
        self.dead: set[int] = set()
        self.set_turns: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.last_of: dict[tuple[int, int], int] = {}
        self.channel = [-1] * len(program.ends)
        self.place = [0] * len(program.ends)
        self.channels: list[list[End]] = []
        for rank in range(program.ranks):
            self._wait_on(rank)
        for number, signal in program.signal.items():
            self._need(2 * number + 1, NEVER if signal < 0 else 2 * signal)
        if transport.lazy:
            self._meet_first()
        for event, before in reading.slot_waits.items():
            for one in before:
                self._need(event, one)
        self.never |= reading.slot_stuck
        if transport.atomic:
            self._join_sets()
        self._line_up()
        self._count_channels()

    def _need(self, event: int, before: int) -> None:
        if before < 0:
            self.never.add(event)
        else:
            self.needs[event].add(before)

    # -- waits of ranks

    def _wait_on(self, rank: int) -> None:
        program = self.program
        steps = [
            number
            for number in program.numbers(rank)
            if program.instructions[number].ops[0].kind in {"STEP", "SKIP"}
        ]
        started: dict[str, list[int]] = defaultdict(list)
        for number in program.numbers(rank):
            item, done = program.instructions[number], 2 * number + 1
            if item.ops[0].kind == "WAIT":
                for other in started.pop(item.ops[0].words[0], ()):
                    self._complete(other, done)
            elif item.handle:
                started[item.handle].append(number)
            elif number in program.entry:
                self._complete(number, done)
            else:
                for end in program.ends_of.get(number, ()):
                    self._wait_for(end, rank, steps)

    def _complete(self, number: int, event: int) -> None:
        """Let an event wait for all that an instruction started."""
        program = self.program
        for end in program.ends_of.get(number, ()):
            self._need(event, program.completion(end))
        if number in program.entry:
            self.joins[event][program.entry[number]] = program.rank[number]

    def _wait_for(self, end: End, rank: int, steps: list[int]) -> None:
        program, mode = self.program, self.transport.wait
        completion = program.completion(end)
        if mode == "blocking":
            self._need(2 * end.instruction + 1, completion)
        elif mode == "at-use":
            events = [2 * len(program.instructions) + rank]
            readers = [] if end.is_send else self.reading.readers.get((rank, end.value), [])
            for numbers in (steps, readers):
                at = bisect_right(numbers, end.instruction)
                events += [2 * number for number in numbers[at : at + 1]]
            self._need(min(events), completion)

    def _meet_first(self) -> None:
        """Let each first call with another rank wait for that rank's first call (section 7a)."""
        first: dict[tuple[int, int, str], int] = {}
        for end in self.program.ends:
            if end.rank != end.peer:
                first.setdefault((end.rank, end.peer, end.communicator), end.instruction)
        for (rank, peer, communicator), number in first.items():
            other = first.get((peer, rank, communicator))
            self._need(2 * number + 1, NEVER if other is None else 2 * other)

    # -- messages

    def _join_sets(self) -> None:
        program = self.program
        parent = {number: number for number in program.ends_of}

        def root(number: int) -> int:
            while parent[number] != number:
                parent[number] = parent[parent[number]]
                number = parent[number]
            return number

        for sender, receiver in zip(program.sends, program.receives, strict=True):
            parent[root(sender.instruction)] = root(receiver.instruction)
        for number in program.ends_of:
            self.moves[number] = root(number)
            self.sizes[root(number)] += 1
        for end in program.ends:
            if program.message[end.number] < 0:
                self.dead.add(self.moves[end.instruction])

    def _queue_of(self, end: End) -> tuple[object, ...] | None:
        match self.transport.queue:
            case "edge":
                return end.rank, end.peer, end.communicator, end.is_send
            case "pair":
                return end.rank, end.peer, end.communicator
            case "direction":
                return end.rank, end.value[0] == "B", end.communicator
            case "rank":
                return (end.rank,)
            case _:
                return None

    def _line_up(self) -> None:
        known: dict[tuple[object, ...], int] = {}
        for end in self.program.ends:
            key = self._queue_of(end)
            if key is None:
                continue
            queue = known.setdefault(key, len(self.lines))
            if queue == len(self.lines):
                self.lines.append([])
            self.queue[end.number] = queue
            self.lines[queue].append(end)
        for queue, line in enumerate(self.lines):
            if self.transport.atomic:
                self._turns_of_sets(queue, line)
            else:
                self._turns(line)

    def _turns(self, line: list[End]) -> None:
        message, posted, here, at = self.program.message, set[int](), list[int](), -1
        before = 0
        for end in line:
            if end.instruction != at:
                before += len(here)
                posted.update(here)
                here, at = [], end.instruction
            mine = message[end.number]
            # its own other end keeps it back in no case, and has left already where it was drained
            own = mine >= 0 and mine in posted and (self.transport.meets or end.is_send)
            self.turn[end.number] = before - own
            here.append(mine)

    def _turns_of_sets(self, queue: int, line: list[End]) -> None:
        of_set: dict[int, tuple[int, int]] = {}  # ends before its last instruction: all, its own
        count: dict[int, int] = defaultdict(int)
        for index, end in enumerate(line):
            number = self.moves[end.instruction]
            if self.last_of.get((number, queue), end.instruction) != end.instruction:
                self.dead.add(number)  # the later call waits for the earlier one, and that for it
            if self.last_of.get((number, queue)) != end.instruction:
                of_set[number] = index, count[number]
                self.last_of[number, queue] = end.instruction
            count[number] += 1
        starts = self._starts(line)
        for number, (index, own) in of_set.items():
            self.set_turns[number].append((queue, starts[index] - own))

    @staticmethod
    def _starts(line: list[End]) -> list[int]:
        """Find for each end the place of the first one of its instruction."""
        found: list[int] = []
        for index, end in enumerate(line):
            same = index > 0 and line[index - 1].instruction == end.instruction
            found.append(found[-1] if same else index)
        return found

    def _count_channels(self) -> None:
        known: dict[tuple[int, int, str], int] = {}
        for end in self.program.ends:
            if end.is_send:
                channel = known.setdefault(end.channel, len(self.channels))
                if channel == len(self.channels):
                    self.channels.append([])
                self.channel[end.number] = channel
                self.place[end.number] = len(self.channels[channel])
                self.channels[channel].append(end)

    # -- edges

    def comes_before(self, first: int, second: int) -> bool:
        """Say whether the second waits for the first, or one program orders them so."""
        program = self.program
        rank = program.rank_of(first)
        if rank >= 0 and rank == program.rank_of(second):
            return first < second
        if first in self.needs.get(second, ()):
            return True
        if second >= program.program_events:
            return self._moves_after(first, second)
        return self._joins_after(first, second)

    def _joins_after(self, first: int, second: int) -> bool:
        """Say whether an entry is ordered before the completion, as the kind gives."""
        joined = self.joins.get(second)
        number = first // 2
        if not joined or first % 2 or number not in self.program.entry:
            return False
        known = self.program.entry[number]
        if known not in joined:
            return False
        collective = self.program.collectives[known]
        enters, waits = self.program.rank[number], joined[known]
        return collective.kind == "all" or collective.root == (
            enters if collective.kind == "from" else waits
        )

    def _moves_after(self, first: int, second: int) -> bool:
        program = self.program
        message, arrives = divmod(second - program.program_events, 2)
        sender, receiver = program.sends[message], program.receives[message]
        if first < program.program_events:
            return self._posted_before(first, message, arrives=bool(arrives))
        if arrives and first == second - 1:
            return True
        left = self.leaves(first)
        if self.transport.atomic:
            return not arrives and any(
                self.last_of.get((self.moves[sender.instruction], self.queue[end.number]), -1)
                > end.instruction
                and self.moves[end.instruction] != self.moves[sender.instruction]
                for end in left
                if self.queue[end.number] >= 0
            )
        mine = [receiver] if arrives else [sender, receiver] if self.transport.meets else [sender]
        if arrives and self.transport.meets:
            mine = []
        behind = any(
            self.queue[end.number] >= 0
            and self.queue[end.number] == self.queue[other.number]
            and end.instruction < other.instruction
            and program.message[end.number] != message
            for end in left
            for other in mine
        )
        return behind or (not arrives and self._credit_before(first, sender))

    def _posted_before(self, first: int, message: int, *, arrives: bool) -> bool:
        program = self.program
        sender, receiver = program.sends[message], program.receives[message]
        if arrives:
            return first == 2 * receiver.instruction
        if first == 2 * sender.instruction:
            return True
        if self.transport.atomic and not first % 2:
            return self.moves.get(first // 2, -1) == self.moves[sender.instruction]
        return self.transport.meets and first == 2 * receiver.instruction

    def leaves(self, event: int) -> list[End]:
        """List the ends that leave their queues by an event of a message."""
        message, arrived = divmod(event - self.program.program_events, 2)
        sender, receiver = self.program.sends[message], self.program.receives[message]
        if self.transport.completion == "rendezvous":
            return [sender, receiver] if arrived else []
        return [receiver] if arrived else [sender]

    def _credit_before(self, first: int, sender: End) -> bool:
        """Say whether a credit is an edge: with capacity 1 all before must have arrived."""
        message, arrived = divmod(first - self.program.program_events, 2)
        other = self.program.sends[message]
        return (
            self.transport.credits == 1
            and bool(arrived)
            and self.channel[other.number] == self.channel[sender.number]
            and self.place[other.number] < self.place[sender.number]
        )


class Arrivals:
    """How many of the first messages of a channel have arrived."""

    def __init__(self, size: int) -> None:
        self.tree = [0] * (size + 1)

    def add(self, place: int) -> None:
        place += 1
        while place < len(self.tree):
            self.tree[place] += 1
            place += place & -place

    def before(self, place: int) -> int:
        found = 0
        while place > 0:
            found += self.tree[place]
            place &= place - 1
        return found


class Replay:
    """One execution, event by event.

    With `all_enter` a collective completes when all have entered; else an event waits only for
    the entries that the kind of the collective orders.
    """

    def __init__(self, waits: Waits, *, all_enter: bool) -> None:
        self.waits, self.all_enter = waits, all_enter
        program = self.program = waits.program
        self.happened = bytearray(program.events)
        self.missing = [len(collective.ranks) for collective in program.collectives]
        self.unposted = dict(waits.sizes)
        self.left = [0] * len(waits.lines)
        self.arrived: dict[int, Arrivals] = {}
        self.next = [2 * first for first in program.first[:-1]]
        self.starts = set(self.next)
        for rank in range(program.ranks):
            self._pass_end(rank)

    def _pass_end(self, rank: int) -> None:
        if self.next[rank] == 2 * self.program.first[rank + 1]:
            self.next[rank] = 2 * len(self.program.instructions) + rank

    def blocked(self, event: int) -> bool:
        """Say whether an event waits for something that has not happened."""
        if event in self.waits.never:
            return True
        program = self.program
        if event >= program.program_events:
            return self._message_blocked(event)
        if self.next[program.rank_of(event)] != event:
            return True
        needs = self.waits.needs.get(event)
        if needs is not None and not all(self.happened[before] for before in needs):
            return True
        joined = self.waits.joins.get(event)
        return joined is not None and any(self.open(known, joined[known]) for known in joined)

    def open(self, known: int, rank: int) -> bool:
        """Say whether a collective is not complete at one of its ranks."""
        collective = self.program.collectives[known]
        if self.all_enter or collective.kind == "all":
            return self.missing[known] > 0
        if collective.kind == "to":
            return rank == collective.root and self.missing[known] > 0
        if rank == collective.root:
            return False
        entered = collective.entries.get(collective.root)
        return entered is None or not self.happened[2 * entered]

    def _message_blocked(self, event: int) -> bool:
        program, waits, happened = self.program, self.waits, self.happened
        message, arrives = divmod(event - program.program_events, 2)
        sender, receiver = program.sends[message], program.receives[message]
        if not happened[2 * (receiver if arrives else sender).instruction]:
            return True
        if arrives:
            return not happened[event - 1] or (not waits.transport.meets and self.behind(receiver))
        if waits.transport.atomic:
            return self._set_blocked(waits.moves[sender.instruction])
        if waits.transport.meets and not happened[2 * receiver.instruction]:
            return True
        others = self.behind(receiver) if waits.transport.meets else self.short_of_credit(sender)
        return self.behind(sender) or others

    def _set_blocked(self, number: int) -> bool:
        if number in self.waits.dead or self.unposted[number]:
            return True
        return any(self.left[queue] < count for queue, count in self.waits.set_turns[number])

    def behind(self, end: End) -> bool:
        """Say whether an end is not yet at its turn."""
        queue = self.waits.queue[end.number]
        return queue >= 0 and self.left[queue] < self.waits.turn[end.number]

    def short_of_credit(self, sender: End) -> bool:
        """Say whether too many messages before this one have not arrived."""
        bound = self.waits.transport.credits
        place = self.waits.place[sender.number]
        if not bound or place < bound:
            return False
        found = self.arrived.get(self.waits.channel[sender.number])
        return place - (found.before(place) if found else 0) >= bound

    def take(self, event: int) -> None:
        """Let an event happen.

        Raises:
            Rejected: It has happened, or waits for something that has not.
        """
        program = self.program
        if not 0 <= event < program.events:
            refuse(f"run: {event} is no event")
        if self.happened[event]:
            refuse(f"run: {program.say(event)} stands twice")
        if self.blocked(event):
            refuse(f"run: {program.say(event)} happens before all that it waits for")
        self.happened[event] = 1
        if event >= program.program_events:
            self._move(event)
        elif event < 2 * len(program.instructions):
            rank = program.rank[event // 2]
            self.next[rank] = event + 1
            if event % 2:
                self._pass_end(rank)
            else:
                self._start(event // 2)
        else:
            self.next[program.rank_of(event)] = -1

    def _start(self, number: int) -> None:
        known = self.program.entry.get(number)
        if known is not None:
            self.missing[known] -= 1
        moved = self.waits.moves.get(number)
        if moved is not None:
            self.unposted[moved] -= 1

    def _move(self, event: int) -> None:
        for end in self.waits.leaves(event):
            queue = self.waits.queue[end.number]
            if queue >= 0:
                self.left[queue] += 1
        message, arrived = divmod(event - self.program.program_events, 2)
        if arrived and self.waits.transport.credits:
            sender = self.program.sends[message]
            channel = self.waits.channel[sender.number]
            if channel not in self.arrived:
                self.arrived[channel] = Arrivals(len(self.waits.channels[channel]))
            self.arrived[channel].add(self.waits.place[sender.number])

    def frontier(self, run: Iterable[int]) -> Iterator[int]:
        """List the events that could be next, given the run so far."""
        yield from (event for event in self.next if event >= 0)
        program = self.program
        for event in run:
            if event < 2 * len(program.instructions) and not event % 2:
                for end in program.ends_of.get(event // 2, ()):
                    message = program.message[end.number]
                    if message >= 0:
                        yield from (program.drained(message), program.drained(message) + 1)

    def demand_rest(self, run: Iterable[int], forbidden: int) -> None:
        """Reject a run after which something more can happen, but for one event."""
        for event in self.frontier(run):
            if event != forbidden and not self.happened[event] and not self.blocked(event):
                refuse(f"run: {self.program.say(event)} can still happen after it")


# ---- what waits for what in a deadlock (section 8) -----------------------------------------------

# ("rank", r), ("message", event), ("set", number), ("line", place), ("entry", instruction)
Node = tuple[str, int]


class Deadlock:
    """The wait-for graph of a state in which nothing more can happen.

    Its nodes are the ranks that have not ended, at the event that each is at, the messages with
    a posted end, the messages of an atomic set as one, and entries of collectives. Only what bears
    one of the given places takes part, and the ranks whose next event is a start or an end.
    """

    def __init__(self, replay: Replay, places: set[int]) -> None:
        self.replay, self.places = replay, places
        self.waits, self.program = replay.waits, replay.program
        self.edges: dict[Node, list[tuple[Node, bool]]] = {}
        self.line_places: dict[int, int] = {}
        self.members: dict[int, list[int]] = defaultdict(list)
        for number, moved in self.waits.moves.items():
            self.members[moved].append(number)
        self._demand_no_own_partner()
        todo = [self._rank_node(rank) for rank in range(self.program.ranks)]
        todo += [self._message_node(event) for event in self._stuck_messages()]
        todo += [("entry", number) for number in places if number in self.program.entry]
        for line, blockers in self._blocks_of_lines():
            self.edges.setdefault(line, []).extend(blockers)
        for node in todo:
            if node is not None and node not in self.edges:
                self.edges[node] = [
                    (other, message) for other, message in self._blockers(node) if other is not None
                ]

    def _demand_no_own_partner(self) -> None:
        for sender, receiver in zip(self.program.sends, self.program.receives, strict=True):
            queue = self.waits.queue[sender.number]
            if queue >= 0 and queue == self.waits.queue[receiver.number]:
                refuse(
                    "a message of a rank to itself in one queue: its deadlock is not certifiable"
                )

    def _stuck_messages(self) -> Iterator[int]:
        happened = self.replay.happened
        for message in range(len(self.program.sends)):
            for event in (self.program.drained(message), self.program.drained(message) + 1):
                if not happened[event]:
                    yield event

    # -- nodes

    def instruction_at(self, rank: int) -> int:
        """Find the instruction at which a rank waits, or -1 at its end."""
        event = self.replay.next[rank]
        return event // 2 if 0 <= event < 2 * len(self.program.instructions) else -1

    def _rank_node(self, rank: int) -> Node | None:
        event = self.replay.next[rank] if rank < self.program.ranks else -1
        if event < 0:
            return None
        unplaced = event >= 2 * len(self.program.instructions) or event % 2 == 0
        taken = unplaced or event // 2 in self.places
        return ("rank", rank) if taken else None

    def _posted(self, event: int) -> list[int]:
        """List the posted instructions of the ends that an event of a message stands for."""
        message, arrives = divmod(event - self.program.program_events, 2)
        sender, receiver = self.program.sends[message], self.program.receives[message]
        if self.waits.transport.meets:
            numbers = [sender.instruction, receiver.instruction]
        else:
            numbers = [receiver.instruction if arrives else sender.instruction]
        return [number for number in numbers if self.replay.happened[2 * number]]

    def _message_node(self, event: int) -> Node | None:
        if self.replay.happened[event]:
            return None
        number = self.program.sends[(event - self.program.program_events) // 2].instruction
        if self.waits.transport.meets:
            event -= (event - self.program.program_events) % 2  # arrived follows at once
            if self.replay.happened[event]:
                return None
        if self.waits.transport.atomic:
            moved = self.waits.moves[number]
            posted = [each for each in self.members[moved] if self.replay.happened[2 * each]]
            taken = not posted or not self.places.isdisjoint(posted)
            return ("set", moved) if taken else None
        posted = self._posted(event)
        taken = not posted or not self.places.isdisjoint(posted)
        return ("message", event) if taken else None

    def bears(self, node: Node) -> Iterator[int]:
        """List the places that a node bears."""
        match node:
            case "rank", rank:
                event, number = self.replay.next[rank], self.instruction_at(rank)
                if number >= 0 and (event % 2 or self._waits_for_slot(event)):
                    yield number
            case "message", event:
                yield from self._posted(event)
            case "set", number:
                for member in self.members[number]:
                    if self.replay.happened[2 * member]:
                        yield member
            case "entry", number:
                yield number
            case _:
                pass

    def _waits_for_slot(self, event: int) -> bool:
        reading, happened = self.waits.reading, self.replay.happened
        return event in reading.slot_stuck or any(
            before < 0 or not happened[before] for before in reading.slot_waits.get(event, ())
        )

    # -- edges: the node that is waited for, and whether a message or signal stands on the edge

    def _blockers(self, node: Node) -> Iterator[tuple[Node | None, bool]]:
        match node:
            case "rank", rank:
                yield from self._blocks_rank(self.replay.next[rank], rank)
            case "message", event:
                yield from self._blocks_message(event)
            case "set", number:
                for member in self.members[number]:
                    yield from self._blocks_call(member)
            case "entry", number:
                yield from self._blocks_entry(number)
            case _:
                pass

    def _blocks_call(self, number: int) -> Iterator[tuple[Node | None, bool]]:
        """Let a call of an atomic set wait to be posted, and for what its ends stand behind."""
        if not self.replay.happened[2 * number]:
            yield self._rank_node(self.program.rank[number]), True
            return
        for end in self.program.ends_of.get(number, ()):
            before = self.line_places.get(end.number, -1)
            if before >= 0 and self.program.message[end.number] >= 0 and not self._has_left(end):
                yield ("line", before), True

    def _blocks_rank(self, event: int, rank: int) -> Iterator[tuple[Node | None, bool]]:
        if event in self.waits.reading.slot_stuck:
            yield self._rank_node(rank), True
        for before in self.waits.needs.get(event, ()):
            if self.replay.happened[before]:
                continue
            if before >= self.program.program_events:
                yield self._message_node(before), True
            else:
                yield self._rank_node(self.program.rank_of(before)), True
        for known in self.waits.joins.get(event, ()):
            number = self.program.collectives[known].entries[rank]
            if not self.replay.open(known, rank):
                continue
            if number == event // 2:
                yield from self._blocks_entry(number)
            elif number in self.places:
                yield ("entry", number), False

    def _blocks_entry(self, number: int) -> Iterator[tuple[Node | None, bool]]:
        """Let an entry wait for the ranks that have not entered."""
        collective = self.program.collectives[self.program.entry[number]]
        for other in collective.ranks:
            entered = collective.entries.get(other)
            if entered is None or not self.replay.happened[2 * entered]:
                yield self._rank_node(other), False

    def _blocks_message(self, event: int) -> Iterator[tuple[Node | None, bool]]:
        program, happened = self.program, self.replay.happened
        message, arrives = divmod(event - program.program_events, 2)
        sender, receiver = program.sends[message], program.receives[message]
        if arrives and not happened[event - 1]:
            yield self._message_node(event - 1), True
            yield from self._blocks_message(event - 1)  # the other end need not be a place
        mine = (
            [sender, receiver] if self.waits.transport.meets else [receiver if arrives else sender]
        )
        for end in mine:
            if not happened[2 * end.instruction]:
                yield self._rank_node(end.rank), True
            elif self.replay.behind(end):
                before = self.line_places.get(end.number, -1)
                if before >= 0:
                    yield ("line", before), True
        if not arrives and self.replay.short_of_credit(sender):
            for other in self.waits.channels[self.waits.channel[sender.number]]:
                if self.waits.place[other.number] < self.waits.place[sender.number]:
                    yield from self._blocks_credit(other)

    def _blocks_credit(self, other: End) -> Iterator[tuple[Node | None, bool]]:
        message = self.program.message[other.number]
        if message >= 0 and not self.replay.happened[self.program.drained(message) + 1]:
            receiver = self.program.receives[message]
            if self.replay.happened[2 * receiver.instruction]:
                yield self._message_node(self.program.drained(message) + 1), True
            else:
                yield self._rank_node(receiver.rank), True

    def _blocks_of_lines(self) -> Iterator[tuple[Node, list[tuple[Node, bool]]]]:
        """Chain the ends that have not left a queue, instruction by instruction."""
        count = 0
        for line in self.waits.lines:
            before, here, at = -1, -1, -1
            for end in line:
                if end.instruction != at:
                    before, here, at = here, count, end.instruction
                    count += 1
                    yield ("line", here), [(("line", before), True)] if before >= 0 else []
                self.line_places[end.number] = before
                message = self.program.message[end.number]
                if message < 0 or not self.replay.happened[2 * end.instruction]:
                    continue
                node = self._message_node(self.program.completion(end))
                if node is not None and not self._has_left(end):
                    yield ("line", here), [(node, True)]

    def _has_left(self, end: End) -> bool:
        completion = self.program.completion(end)
        if self.waits.transport.completion == "rendezvous":
            completion = self.program.drained(self.program.message[end.number]) + 1
        return bool(self.replay.happened[completion])

    # -- circles

    def judge(self, rule: str) -> None:
        """Demand that the places lie on one circle of the kind that the rule names."""
        if rule == "PP205" and all(self._lacks_an_entry(number) for number in self.places):
            return
        for group in components(self.edges):
            inner = [
                message
                for node in group
                for other, message in self.edges.get(node, ())
                if other in group
            ]
            borne = {number for node in group for number in self.bears(node)}
            if inner and self.places <= borne and any(inner) == (rule == "PP301"):
                return
        refuse("places: they do not wait for each other in a circle of this rule")

    def _lacks_an_entry(self, number: int) -> bool:
        """Say whether this entry is waited for and lacks a rank that never enters."""
        known = self.program.entry.get(number)
        if known is None or not self.replay.happened[2 * number]:
            return False
        collective = self.program.collectives[known]
        event = self.replay.next[self.program.rank[number]]
        return known in self.waits.joins.get(event, ()) and len(collective.entries) < len(
            collective.ranks
        )


def components(edges: dict[Node, list[tuple[Node, bool]]]) -> Iterator[set[Node]]:
    """Find the strongly connected components of a graph, without recursion."""
    backward: dict[Node, list[Node]] = defaultdict(list)
    for node, others in edges.items():
        for other, _ in others:
            backward[other].append(node)
    forward = {node: [other for other, _ in others] for node, others in edges.items()}
    taken: set[Node] = set()
    ended = [node for root in edges for node in _ended(root, forward, taken)]
    taken = set()
    for root in reversed(ended):
        group = set(_ended(root, backward, taken))
        if group:
            yield group


def _ended(root: Node, links: dict[Node, list[Node]], taken: set[Node]) -> Iterator[Node]:
    """List what is reached for the first time, each after all that it reaches."""
    if root in taken:
        return
    taken.add(root)
    work = [(root, iter(links.get(root, ())))]
    while work:
        node, rest = work[-1]
        other = next((one for one in rest if one not in taken), None)
        if other is None:
            work.pop()
            yield node
        else:
            taken.add(other)
            work.append((other, iter(links.get(other, ()))))


# ---- statements (section 10) ---------------------------------------------------------------------


def _events(value: object, what: str, count: int) -> list[int]:
    found = _list(value, what)
    for event in found:
        if type(event) is not int or not 0 <= event < count:
            refuse(f"{what}: {event!r} is no event")
    return found  # type: ignore[return-value]  # each has just been looked at


class Statement:
    """One statement, against the schedule as run."""

    def __init__(self, given: dict[str, object], waits: Waits) -> None:
        self.given, self.waits = given, waits
        self.program, self.reading = waits.program, waits.reading
        self.run = _events(given["run"], "run", self.program.events)

    def _replay(self, *, all_enter: bool) -> Replay:
        replay = Replay(self.waits, all_enter=all_enter)
        for event in self.run:
            replay.take(event)
        return replay

    def _demand_certain(self, rules: set[str]) -> None:
        for rule in sorted(rules & set(self.reading.uncertified)):
            refuse(self.reading.uncertified[rule])
        if rules & BY_STORAGE and self.reading.doubts:
            refuse(f"storage: {self.reading.doubts[0]}: no certificate speaks of it")

    def _demand_certifiable(self) -> None:
        transport, profile = self.waits.transport, self.program.schedule.profile
        apart = len({end.communicator for end in self.program.ends}) > 1
        if apart and profile in {"torch-multi", "torch-single"} and transport.queue != "pair":
            refuse(f"a call of {profile} stands apart under a queue of pairs only")
        if transport.weak:
            refuse(f"weak communicators: {UNCERTIFIED}")

    # -- proved

    def demand_proved(self) -> None:
        """Demand that the rules hold in every execution."""
        rules = [_text(rule, "a rule") for rule in _list(self.given["rules"], "rules")]
        if not rules or len(set(rules)) < len(rules):
            refuse("rules: none, or one twice")
        for rule in rules:
            if rule not in PROVABLE:
                refuse(f"rules: {rule} is none that a certificate can show")
        self._demand_certifiable()
        self._demand_certain(set(rules))
        replay = self._replay(all_enter=True)
        for event, happened in enumerate(replay.happened):
            if not happened:
                refuse(f"run: {self.program.say(event)} is missing")
        self._demand_program(set(rules))
        reached = self._paths()
        for rule in rules:
            for key in (rule, f"{rule} of a receive before"):
                for before, after in sorted(self.reading.pairs.get(key, ())):
                    self._demand_ordered(rule, before, after, reached)

    def _demand_program(self, rules: set[str]) -> None:
        """Demand what the program alone shows."""
        program = self.program
        if rules & BY_PARTNERS:
            for end in program.ends:
                if program.message[end.number] < 0:
                    refuse(f"{program.position(end.instruction)}: an end has no partner")
            for number, signal in program.signal.items():
                if signal < 0:
                    refuse(f"{program.position(number)}: an AWAIT has no SIGNAL")
        if "PP202" in rules:
            for sender, receiver in zip(program.sends, program.receives, strict=True):
                if sender.value != receiver.value:
                    refuse(f"{program.position(sender.instruction)}: the ends name two values")
        for rule in sorted(rules & set(self.reading.broken)):
            refuse(f"{rule}: {self.reading.broken[rule]}")

    def _demand_ordered(
        self, rule: str, before: int, after: int, reached: dict[tuple[int, int], int]
    ) -> None:
        program = self.program
        if before >= 0:
            rank = program.rank_of(after)
            if program.rank_of(before) == rank and before < after:
                return
            if reached.get((before, rank), after + 1) <= after:
                return
        refuse(
            f"{rule}: nothing shows that {program.say(before)} comes before {program.say(after)}"
        )

    def _paths(self) -> dict[tuple[int, int], int]:
        """Check every entry of `paths`; find the earliest event of a rank that one reaches."""
        reached: dict[tuple[int, int], int] = {}
        known: set[tuple[int, int]] = set()
        for item in _list(self.given["paths"], "paths"):
            entry = _object(item, "an entry of paths")
            shown = "blocked" if "blocked" in entry else "path"
            _keys(entry, {"before", "after", shown}, "an entry of paths")
            count = self.program.events
            before, after = _events([entry["before"], entry["after"]], "paths", count)
            if (before, after) in known:
                refuse(f"paths: {before} and {after} stand twice")
            known.add((before, after))
            events = _events(entry[shown], shown, count)
            if shown == "path":
                self._demand_path(events, before, after)
            else:
                self._demand_blocked(events, before, after)
            rank = self.program.rank_of(after)
            if rank >= 0:
                reached[before, rank] = min(after, reached.get((before, rank), after))
        return reached

    def _demand_path(self, events: list[int], before: int, after: int) -> None:
        if len(events) < len((before, after)) or events[0] != before or events[-1] != after:
            refuse(f"paths: the path from {before} to {after} begins or ends elsewhere")
        for first, second in pairwise(events):
            if not self.waits.comes_before(first, second):
                say = self.program.say
                refuse(f"paths: {say(second)} does not wait for {say(first)}")

    def _demand_blocked(self, events: list[int], before: int, after: int) -> None:
        replay = Replay(self.waits, all_enter=False)
        for event in events:
            if event in (before, after):
                refuse(f"blocked: {event} stands in the run without it")
            replay.take(event)
        replay.demand_rest(events, before)

    # -- refuted

    def demand_refuted(self) -> None:
        """Demand an execution, or places of the program, that break the rule."""
        rule = _text(self.given["rule"], "rule")
        self._demand_certifiable()
        self._demand_certain({rule})
        if rule in BY_RUN:
            self._demand_stuck(rule)
        elif rule in BY_PAIRS:
            self._demand_broken_pair(rule)
        else:
            self._replay(all_enter=False)
            places = self._places()
            check = {
                "PP201": self._demand_orphans,
                "PP202": self._demand_crossed,
            }.get(rule)
            if check is not None:
                check(places)
            elif not places <= self.reading.faults.get(rule, set()):
                refuse(f"places: {rule} does not stand there")

    def _places(self) -> set[int]:
        found: list[int] = []
        for item in _list(self.given["places"], "places"):
            place = _numbers(item, "a place")
            if len(place) != len(("rank", "position")) or not 0 <= place[0] < self.program.ranks:
                refuse("places: a place is [rank, position]")
            numbers = self.program.numbers(place[0])
            if not 0 <= place[1] < len(numbers):
                refuse(f"places: rank {place[0]} has no position {place[1]}")
            found.append(numbers[place[1]])
        if not found or len(set(found)) < len(found):
            refuse("places: none, or one twice")
        return set(found)

    def _demand_stuck(self, rule: str) -> None:
        replay = self._replay(all_enter=True)
        places = self._places()
        if len(self.run) == self.program.events:
            refuse("run: everything has happened")
        replay.demand_rest(self.run, NEVER)
        Deadlock(replay, places).judge(rule)

    def _demand_broken_pair(self, rule: str) -> None:
        before = _number(self.given["before"], "before")
        after = _number(self.given["after"], "after")
        if (before, after) not in self.reading.pairs.get(rule, ()):
            say = self.program.say
            refuse(f"{rule} asks nothing of {before} and {say(after) if after >= 0 else after}")
        self._replay(all_enter=False)
        if not self.run or self.run[-1] != after:
            refuse("run: its last event is not the one after")
        if before in self.run:
            refuse("run: the one before stands in it")

    def _demand_orphans(self, places: set[int]) -> None:
        program = self.program
        orphans: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for end in program.ends:
            if program.message[end.number] < 0:
                orphans[end.is_send, end.channel[:2], end.value].append(end.number)
        alone: set[int] = set()
        for (is_send, *between), ends in orphans.items():
            alone.update(ends[len(orphans.get((not is_send, *between), ())) :])
        for number in places:
            found = any(end.number in alone for end in program.ends_of.get(number, ()))
            if not found and program.signal.get(number, 0) >= 0:
                refuse(f"places: at {program.position(number)} nothing lacks its partner")

    def _demand_crossed(self, places: set[int]) -> None:
        program = self.program
        for number in places:
            if not any(
                program.sends[message].value != program.receives[message].value
                and {program.sends[message].instruction, program.receives[message].instruction}
                == places
                for message in (
                    program.message[end.number] for end in program.ends_of.get(number, ())
                )
                if message >= 0
            ):
                refuse("places: they are not the ends of a message that name two values")


class Checker:
    """The statements of one certificate, and what they share."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.choices: dict[int, Choices] = {}
        self.programs: dict[tuple[int, str, str], tuple[Program, Reading]] = {}
        self.waits: dict[tuple[str, int], Waits] = {}
        self.seen: set[str] = set()
        self.proved: dict[str, list[tuple[int, list[object]]]] = defaultdict(list)

    def _choices_of(self, copies: int) -> Choices:
        if copies not in self.choices:
            self.choices[copies] = Choices(lay(self.schedule, copies))
        return self.choices[copies]

    def _waits_of(
        self, transport: Transport, copies: int, outcome: dict[str, object] | None = None
    ) -> Waits:
        settled = outcome or {}
        if (transport.name, copies) in self.waits:
            return self.waits[transport.name, copies]
        key = copies, transport.match, canonical(settled)
        if key not in self.programs:
            laid = self._choices_of(copies).settled(settled)
            program = Program(self.schedule, laid, copies, transport.match)
            if settled:  # of many outcomes only the last one is kept
                self.programs.clear()
            self.programs[key] = program, Reading(program)
        waits = Waits(*self.programs[key], transport)
        if not settled:
            self.waits[transport.name, copies] = waits
        return waits

    def _outcome(self, given: dict[str, object], copies: int) -> dict[str, object]:
        """Read the outcome that a statement speaks of."""
        choices = self._choices_of(copies)
        if bool(choices.alternatives) != ("outcome" in given):
            refuse("outcome: it stands where, and only where, the schedule has a CHOOSE")
        outcome = _object(given.get("outcome", {}), "outcome")
        choices.demand(outcome)
        return outcome

    def demand_outcomes(self) -> None:
        """Demand that what is proved is proved of every outcome."""
        for name, stated in self.proved.items():
            copies, rules = stated[0]
            if any(each != (copies, rules) for each in stated):
                refuse(f"{name}: its outcomes are not proved of the same rules and copies")
            if len(stated) != self._choices_of(copies).number:
                refuse(f"{name}: an outcome is missing")

    def check(self, item: object) -> None:
        """Check one statement.

        Raises:
            Rejected: What stands there does not show it.
        """
        given = _object(item, "a statement")
        keys = {"transport", "copies", "verdict", "run"}
        _keys({key: given[key] for key in keys & set(given)}, keys, "a statement")
        verdict = _one_of(given["verdict"], "proved refuted", "verdict")
        name = _text(given["transport"], "transport")
        if name not in self.schedule.transports:
            refuse(f"transport: {name} is none of the schedule as run")
        copies = _number(given["copies"], "copies")
        if copies not in {1, 2}:
            refuse("copies: they are 1 or 2")
        if verdict == "proved":
            keys |= {"rules", "paths"}
        else:
            rule = _text(given.get("rule"), "rule")
            if rule not in BY_PAIRS | BY_PLACES:
                refuse(f"rule: {rule} is none that a certificate can show")
            keys |= {"rule"} | ({"before", "after"} if rule in BY_PAIRS else {"places"})
        outcome = self._outcome(given, copies)
        keys |= {"outcome"} & set(given)
        _keys(given, keys, "a statement")
        stated = canonical({key: given[key] for key in keys - {"run", "paths"}})
        if stated in self.seen:
            refuse("it is stated twice")
        self.seen.add(stated)
        transport = self.schedule.transports[name]
        statement = Statement(given, self._waits_of(transport, copies, outcome))
        if verdict == "proved":
            statement.demand_proved()
            if outcome:
                self.proved[name].append((copies, _list(given["rules"], "rules")))
        else:
            statement.demand_refuted()


def recheck(certificate: str, as_run: str) -> int:
    """Check the text of a certificate against the text of the schedule as run.

    Returns:
        How many statements stand in it, all of which hold.

    Raises:
        Unreadable: One of them is no JSON object, or the schedule is not canonical.
        Rejected: The certificate does not show what it states.
    """
    given = load(certificate, "the certificate")
    as_run = as_run.removesuffix("\n")
    schedule = schedule_of(as_run)
    _keys(given, {"schema", "schedule", "tool", "statements", "digest"}, "the certificate")
    if given["schema"] != SCHEMA:
        refuse(f"schema: it is not {SCHEMA}")
    tool = _object(given["tool"], "tool")
    _keys(tool, {"name", "version"}, "tool")
    _text(tool["name"], "the name of the tool")
    _text(tool["version"], "the version of the tool")
    if given["digest"] != digest(canonical({k: v for k, v in given.items() if k != "digest"})):
        refuse("digest: it is not that of the certificate")
    if given["schedule"] != digest(as_run):
        refuse("schedule: it is not the digest of this schedule")
    statements = _list(given["statements"], "statements")
    if not statements:
        refuse("statements: none")
    checker = Checker(schedule)
    for place, item in enumerate(statements):
        try:
            checker.check(item)
        except Rejected as error:
            refuse(f"statement {place}: {error}")
    checker.demand_outcomes()
    return len(statements)


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code: 0 accepted, 1 rejected, 2 unreadable."""
    gc.disable()  # nothing here is thrown away before the end
    if len(arguments) != len(("certificate", "schedule")):
        sys.stderr.write(USAGE)
        return 2
    try:
        texts = [Path(name).read_bytes().decode("utf-8") for name in arguments]
        count = recheck(*texts)
    except Rejected as error:
        sys.stdout.write(f"rejected: {error}\n")
        return 1
    except (Unreadable, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"accepted: {count} statement{'s' if count != 1 else ''}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
