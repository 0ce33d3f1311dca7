"""What a statement of a certificate says, confirmed by trying every interleaving.

Nothing here asks pipeproof or the second checker: what a run, a path and a pair must be is section
10 of the language, what may happen is the state machine, what storage is touched the interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.interpreter.accesses import RankStorage, Touch
from tests.interpreter.spec import read_spec
from tests.oracle.instructions import Compute, Programs, Transport, reads
from tests.oracle.machine import _unsignalled, deadlocks
from tests.properties.moments import Moments, Reached, reached

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.oracle.model import State

__all__ = ["Given", "Json", "confirmed"]

Json = dict[str, "Json"] | list["Json"] | str | int
Pair = tuple[int, int]
LIMIT = 30_000
SUPPLIED = {"F": "PP401", "L": "PP401", "B": "PP403", "I": "PP403"}


@dataclass
class Given:
    """A schedule under one transport; `stored` is its text where storage is named in it."""

    programs: Programs
    transport: Transport
    stored: str = ""
    asked: dict[str, set[Pair]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    places: dict[str, set[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model = Moments(self.programs, self.transport)
        self._ask_readers()
        if self.stored:
            self._ask_storage()

    @cached_property
    def states(self) -> Reached:
        """Every state."""
        return reached(self.model, LIMIT)

    def _ask(self, rule: str, before: int, after: int) -> None:
        self.asked.setdefault(rule, set()).add((before, after))

    def _ask_readers(self) -> None:
        """Who reads by value what a receive before it on its rank brings."""
        for rank, program in enumerate(self.programs):
            brought: dict[str, int] = {}
            for position, instruction in enumerate(program):
                begins = self.model.begins(rank, position)
                for value in sorted(reads(instruction) & brought.keys()):
                    rule = SUPPLIED.get(_letter(instruction), "PP405")
                    self._ask(rule, brought[value], begins)
                    self._ask("PP501", brought[value], begins)
                for end in self.model.at.get((rank, position), []):
                    message = self.model.ends[end].message
                    if not message.send:
                        brought[message.value] = _complete(self.model, end)
                for value in _made(instruction):
                    brought.pop(value, None)

    def is_late(self, rule: str, before: int, after: int) -> bool:
        """Whether what an instruction needs is put there by an event that comes behind it."""
        rank = self.model.rank_of(after)
        at, program = after // 2 - self.model.offsets[rank], self.programs[rank]
        needed = _forward(program[at]) if rule in ("PP402", "PP404") else reads(program[at])
        makers = (set(_made(each)) for each in program[:at])
        there = {value for made in makers for value in made}
        return any(before in [-1, *self._putting(rank, value)] for value in needed - there)

    def _putting(self, rank: int, value: str) -> list[int]:
        """The events after which a value is there."""
        found = []
        for position, instruction in enumerate(self.programs[rank]):
            if value in _made(instruction):
                found.append(self.model.begins(rank, position) + 1)
            for end in self.model.at.get((rank, position), []):
                message = self.model.ends[end].message
                if message.value == value and not message.send:
                    found.append(_complete(self.model, end))
        return found

    def _ask_storage(self) -> None:
        found = read_spec(self.stored)
        for rank in range(len(self.programs)):
            _Walk(self, rank, RankStorage(found, rank)).walk()

    # statements

    def replay(self, run: list[int]) -> list[State] | None:
        """The states of an execution, None where one of its events cannot happen."""
        found = [self.model.initial()]
        for event in run:
            if not 0 <= event < self.model.events:
                return None
            after = self.model.after(found[-1], event)
            if after is None:
                return None
            found.append(after)
        return found

    def is_ordered(self, before: int, after: int) -> bool:
        """Whether one event comes before another one in every interleaving."""
        known = range(self.model.events)
        return before in known and after in known and self.states.ordered(before, after)


def _complete(model: Moments, end: int) -> int:
    """The event at which an end is complete, -1 where it never is."""
    return model.completes(end) if model.partner[end] >= 0 else -1


def _forward(instruction: object) -> frozenset[str]:
    """What the forward of an operation's stage and microbatch makes."""
    if not isinstance(instruction, Compute):
        return frozenset()
    return frozenset({f"F{_made(Compute(instruction.op.split()[0].replace('B', 'F')))[0][1:]}"})


def _letter(instruction: object) -> str:
    return instruction.op.lstrip("0123456789")[:1] if isinstance(instruction, Compute) else ""


def _made(instruction: object) -> list[str]:
    """The value that an operation makes."""
    if not isinstance(instruction, Compute) or _letter(instruction) not in ("F", "B"):
        return []
    stage, letter, microbatch = instruction.op.partition(_letter(instruction))
    return [f"{letter}{stage}.{microbatch.split()[0]}"]


class _Walk:
    """The accesses of one rank in program order, and what each must come after."""

    def __init__(self, given: Given, rank: int, storage: RankStorage) -> None:
        self.given, self.rank, self.storage = given, rank, storage
        self.holds: dict[str, frozenset[str] | None] = {}
        self.moving: dict[str, list[int]] = {}
        self.put: dict[str, int] = {}
        self.gone: dict[tuple[str, str], int] = {}

    def walk(self) -> None:
        for position, touches in enumerate(self.storage.touches):
            begins = self.given.model.begins(self.rank, position)
            ends = self.given.model.at.get((self.rank, position), [])
            complete = [_complete(self.given.model, end) for end in ends]
            events = complete or [-1] * len(touches)
            for touch in touches:
                self._read(touch, begins, position)
            for touch in touches:
                self._take(touch, begins)
            for touch, event in zip(touches, events, strict=True):
                self._note(touch, event, position)

    def _there(self, name: str) -> frozenset[str] | None:
        """What a storage holds, None where it is free."""
        return self.holds.get(name, frozenset(self.storage.given.get(name, set())))

    def _blame(self, rule: str, position: int) -> None:
        self.given.places.setdefault(rule, set()).add((self.rank, position))

    def _read(self, touch: Touch, begins: int, position: int) -> None:
        for value, name in touch.reads:
            there = self._there(name)
            if there is None or value not in there:
                self.given.broken |= {"PP501", "PP503", "PP504", "PP505"}
                if there is not None:
                    self._blame("PP505", position)
                if (name, value) in self.gone:
                    self._blame("PP503", self.gone[name, value])
            if name in self.put:
                self.given._ask("PP501", self.put[name], begins)

    def _take(self, touch: Touch, begins: int) -> None:
        for rule, names in (("PP502", touch.writes), ("PP504", touch.frees)):
            for name in names:
                for event in self.moving.get(f"{rule} {name}", []):
                    self.given._ask(rule, event, begins)
                self.moving[f"{rule} {name}"] = []

    def _note(self, touch: Touch, event: int, position: int) -> None:
        for name, values in touch.writes.items():
            for value in (self._there(name) or frozenset()) - values:
                self.gone[name, value] = position
            self.holds[name] = values
            self.put.pop(name, None)
            if event >= 0:
                self.put[name] = event
        for name, tag in touch.tags:
            self.holds[name] = (self.holds.get(name) or frozenset()) | {tag}
        for name in touch.frees:
            self.holds[name] = None
        used = [*(name for _, name in touch.reads), *touch.writes]
        for name in used if event >= 0 else ():
            for rule in ("PP502", "PP504"):
                self.moving.setdefault(f"{rule} {name}", []).append(event)


def _numbers(value: Json) -> list[int]:
    assert isinstance(value, list)
    return [each for each in value if isinstance(each, int)]


def _mappings(value: Json) -> list[dict[str, Json]]:
    assert isinstance(value, list)
    return [each for each in value if isinstance(each, dict)]


def _whole(value: Json) -> int:
    assert isinstance(value, int)
    return value


def confirmed(given: Given, statement: Mapping[str, Json], known: Mapping[str, Json]) -> str:
    """Why a statement does not hold; nothing where it does.

    Args:
        given: the schedule under the transport of the statement.
        statement: what is said, and what is to show it.
        known: a statement that was written about the same schedule and transport. What it says to
            be broken, and where, is taken as asked for.
    """
    if statement["verdict"] == "proved":
        return _proved(given, statement)
    return _refuted(given, statement, known)


def _proved(given: Given, said: Mapping[str, Json]) -> str:
    if given.model.lone or [*_unsignalled(given.model)]:
        return "an end of a message has no partner"
    run = _numbers(said["run"])
    if sorted(run) != list(range(given.model.events)) or given.replay(run) is None:
        return "the run is no execution of every event"
    shown: set[Pair] = set()
    for entry in _mappings(said["paths"]):
        why = _followed(given, entry)
        if why:
            return why
        shown.add((_whole(entry["before"]), _whole(entry["after"])))
    rules = said["rules"]
    assert isinstance(rules, list)
    whys = (_lacking(given, str(rule), shown) for rule in rules)
    return next((why for why in whys if why), "")


def _followed(given: Given, entry: Mapping[str, Json]) -> str:
    """Why an entry does not show that its pair is ordered."""
    before, after = _whole(entry["before"]), _whole(entry["after"])
    if not given.is_ordered(before, after):
        return f"{before} comes after {after} in some interleaving"
    if "path" in entry:
        path = _numbers(entry["path"])
        if path[:1] != [before] or path[-1:] != [after]:
            return "a path leads elsewhere"
        wrong = [both for both in pairwise(path) if not given.is_ordered(*both)]
        return f"a step of a path is none: {wrong}" if wrong else ""
    run = _numbers(entry["blocked"])
    states = given.replay(run)
    if states is None or before in run or after in run:
        return "what is said to be blocked cannot happen so"
    further = {given.model.after(states[-1], e) for e in range(given.model.events) if e != before}
    return "what is said to be blocked can go on" if further != {None} else ""


def _lacking(given: Given, rule: str, shown: set[Pair]) -> str:
    """Why a rule is not shown by the pairs that are."""
    if rule == "PP202" and _crossed(given.model):
        return "two ends of a message name two values"
    if rule in given.broken:
        return f"{rule} may be broken"
    for before, after in given.asked.get(rule, set()):
        rank = given.model.rank_of(after)
        later = (pair for pair in shown if pair[0] == before and pair[1] <= after)
        if not any(given.model.rank_of(pair[1]) == rank for pair in later):
            return f"{rule}: nothing says that {before} comes before {after}"
    return ""


def _crossed(model: Moments) -> set[frozenset[tuple[int, int]]]:
    """The places of messages whose two ends name two values."""
    both = ((model.ends[n], model.ends[model.partner[n]]) for n in model.messages)
    apart = ((a, b) for a, b in both if a.message.value != b.message.value)
    return {frozenset((a.spot, b.spot)) for a, b in apart}


def _refuted(given: Given, said: Mapping[str, Json], known: Mapping[str, Json]) -> str:
    rule = str(said["rule"])
    states = given.replay(_numbers(said["run"]))
    if states is None:
        return "the run is no execution"
    if "places" in said:
        return _placed(given, said, known, states[-1])
    run, before, after = _numbers(said["run"]), _whole(said["before"]), _whole(said["after"])
    if run[-1:] != [after] or before in run:
        return "the run does not end where the rule is broken"
    same = all(said[key] == known.get(key) for key in ("verdict", "rule", "before", "after"))
    supplied = rule.startswith("PP40") and given.is_late(rule, before, after)
    if not same and not supplied and (before, after) not in given.asked.get(rule, set()):
        return f"{rule} does not ask for {before} before {after}"
    return ""


def _placed(given: Given, said: Mapping[str, Json], known: Mapping[str, Json], last: State) -> str:
    rule, model = str(said["rule"]), given.model
    listed = said["places"]
    assert isinstance(listed, list)
    spots = [_numbers(each) for each in listed]
    places = frozenset(f"r{rank}.{position}" for rank, position in spots)
    if rule in ("PP301", "PP205"):
        if model.onward(last) or not model.hangs(last):
            return "the run does not end stuck"
        found = deadlocks(given.programs, given.transport)
        return "" if any(places == at for _, at in found) else "the places are no deadlock"
    if rule == "PP202":
        crossed = frozenset((rank, position) for rank, position in spots)
        return "" if crossed in _crossed(model) else "nothing is crossed there"
    if rule == "PP201":
        alone = {model.name(n) for n in range(len(model.ends)) if model.lone >> n & 1}
        alone |= {*_unsignalled(model)}
        return "" if places <= alone else "nothing is alone there"
    same = all(said[key] == known.get(key) for key in ("verdict", "rule", "places"))
    blamed = given.places.get(rule, set())
    held = same or {(rank, position) for rank, position in spots} <= blamed
    return "" if held else f"{rule} is not known to be broken there"
