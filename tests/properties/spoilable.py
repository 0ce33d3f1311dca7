"""Random programs whose order hangs on one kind of edge, and what the state machine says."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from tests.oracle import programs
from tests.oracle.instructions import (
    Await,
    Bracket,
    Collective,
    Compute,
    Instruction,
    Programs,
    Signal,
    Transport,
    Wait,
    recv,
    send,
)
from tests.oracle.machine import TooManyStatesError, deadlocks, explore
from tests.oracle.stored import stored_text
from tests.properties.moments import Kinds, Moments, reached, readers

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAMILIES", "WRITTEN", "Case", "Places", "case"]

LIMIT = 12_000
Places = set[tuple[str, frozenset[str]]]


@dataclass(frozen=True, slots=True)
class Case:
    """A program, and what the state machine says of it.

    `blamed` are its deadlocks, None for one that the machine does not know; `early` says of who
    reads or overwrites what a message brings or takes whether that may be too early, where nothing
    is stuck.
    """

    name: str
    text: str
    stuck: bool = False
    blamed: Places | None = None
    crossed: Places = field(default_factory=set)
    lone: frozenset[str] = frozenset()
    early: Mapping[str, bool] = field(default_factory=dict)


FAMILIES = {
    "queued": "queues",
    "credited": "credits",
    "grouped": "atomic",
    "entered": "lazy",
    "signalled": "signals",
    "collective": "collectives",
    "collective_order": "kinds",
    "guarded": "guarded",
    "weak": "weak",
    "readiness": "ready",
    "struck": "faults",
}
"""The family of programs that has most edges of a relation; `messages` for the others."""

_KEYS: dict[str, dict[str, tuple[object, ...]]] = {
    "queues": {
        "completion": ("rendezvous", "rendezvous", "buffered"),
        "queue": ("edge", "direction", "pair", "rank"),
        "groups": ("independent",),
        "wait": ("blocking", "at-use", "explicit"),
        "match": ("order", "tag"),
    },
    "credits": {
        "completion": ("buffered",),
        "capacity": (1, 2, 2),
        "queue": ("none", "edge", "edge", "rank"),
        "groups": ("independent",),
        "wait": ("blocking", "at-use", "explicit"),
        "match": ("order", "tag"),
    },
    "atomic": {
        "completion": ("rendezvous", "rendezvous", "buffered"),
        "queue": ("none", "edge", "direction", "pair", "rank"),
        "groups": ("atomic",),
        "wait": ("blocking", "at-use", "explicit"),
    },
    "weak": {
        "completion": ("rendezvous",),
        "queue": ("none",),
        "groups": ("independent",),
        "wait": ("blocking",),
        "weak": (["c", "d"],),
    },
    "lazy": {
        "completion": ("rendezvous", "buffered"),
        "queue": ("none", "pair"),
        "groups": ("independent",),
        "wait": ("blocking", "at-use", "explicit"),
        "communicators": ("lazy",),
    },
}
_MAKERS = {"credits": (4, 0, 0), "signals": (1, 3, 0), "collectives": (1, 0, 2)}


WRITTEN: Mapping[str, tuple[Programs, Transport]] = {
    "atomic": (
        (
            (Bracket((send("a", 1), send("z", 1))),),
            (recv("a", 0), send("c", 2), recv("d", 2)),
            (send("d", 1), recv("c", 1)),
        ),
        {
            "completion": "rendezvous",
            "queue": "none",
            "groups": "atomic",
            "wait": "blocking",
            "match": "tag",
        },
    )
}
"""Programs that chance hardly makes, as those of seed -1: a set with an end without partner."""


@cache
def case(family: str, seed: int) -> Case | None:
    """A random program of a family; None where it has too many states."""
    rng = random.Random(f"{family} {seed}")
    name = f"{family} {seed}"
    if family == "guarded":
        return Case(name, _guarded(rng))
    kinds: Kinds = {}
    transport: Transport
    if family == "kinds":
        drawn, kinds = _collectives(rng)
        transport = rng.choice(["rendezvous", "buffered", "rendezvous-edge"])
    elif seed < 0:
        drawn, transport = WRITTEN[family]
    else:
        drawn, transport = _drawn(rng, family), _transport(rng, family)
    text = programs.render(drawn, transport)
    text = _with_kinds(text, kinds) if kinds else text
    try:
        return _told(Case(name, text), drawn, transport, kinds)
    except TooManyStatesError:
        return None


def _transport(rng: random.Random, family: str) -> Transport:
    if family not in _KEYS:
        return programs.random_transport(rng, weak=False)
    return {key: rng.choice(values) for key, values in _KEYS[family].items()}


def _drawn(rng: random.Random, family: str) -> Programs:
    """Programs as the oracle draws them, with more of what a family is about."""
    messages, signals, collectives = _MAKERS.get(family, (0, 0, 0))
    if not messages:
        return programs.random_programs(rng, ranks=(2, 3), messages=(2, 6))
    count = 2 if family == "credits" else rng.randint(2, 3)
    rows: list[list[Instruction]] = [[] for _ in range(count)]
    makers = [programs._add_message] * rng.randint(messages, 2 * messages)
    makers += [programs._add_signal] * rng.randint(signals // 2, signals)
    makers += [programs._add_collective] * rng.randint(collectives // 2, collectives)
    rng.shuffle(makers)
    for make in makers:
        make(rng, rows)
    programs._disturb(rng, rows)
    done: set[str] = set()
    for rank, row in enumerate(rows):
        programs._reorder(rng, row)
        programs._bracket(rng, row)
        programs._give_handles(rng, row)
        programs._add_operations(rng, row, rank, count, done)
    return tuple(map(_tidy, rows))


def _tidy(row: list[Instruction]) -> tuple[Instruction, ...]:
    """The instructions without each WAIT for a handle under which nothing was started."""
    kept: list[Instruction] = []
    started: set[str] = set()
    for instruction in row:
        if isinstance(instruction, Wait):
            if instruction.handle in started:
                kept.append(instruction)
            started.discard(instruction.handle)
            continue
        started.add(getattr(instruction, "handle", ""))
        kept.append(instruction)
    return tuple(kept)


def _collectives(rng: random.Random) -> tuple[Programs, Kinds]:
    """Sends that are not waited for, and collectives of all kinds before their source is written.

    The source of v0 is the storage sv0 (`_with_kinds`).
    """
    count = rng.randint(2, 3)
    rows: list[list[Instruction]] = [[] for _ in range(count)]
    kinds: dict[str, tuple[str, int]] = {}
    source, target = rng.sample(range(count), 2)
    rows[source].append(send("v0", target, h="x"))
    rows[target].append(recv("v0", source))
    for number in range(rng.randint(1, 3)):
        members = tuple(sorted(rng.sample(range(count), rng.randint(2, count))))
        kinds[f"k{number}"] = rng.choice(["all", "from", "to"]), rng.choice(members)
        for rank in members:
            rows[rank].append(Collective(f"k{number}", members))
    if rng.random() < 0.3:
        one, other = rng.sample(range(count), 2)
        rows[one].insert(rng.randint(0, len(rows[one])), Signal(other))
        rows[other].append(Await(one))
    rows[source].append(Compute("WRITE sv0 v1"))
    return tuple(map(tuple, rows)), kinds


def _with_kinds(text: str, kinds: Kinds) -> str:
    def written(found: re.Match[str]) -> str:
        kind, root = kinds[found[1]]
        return found[0] if kind == "all" else f"{found[0]} {kind}={root}"

    text = re.sub(r"COLL (\w+) ranks=[\d,]+", written, text)
    return re.sub(r"SEND (v\d) to=\d+", r"\g<0> buf=s\1", text)


def _guarded(rng: random.Random) -> str:
    """A pipeline whose values lie in a pool of which each writer waits for its slot."""
    *keys, ranks = stored_text(rng).splitlines()
    lines = [line for line in keys if line.partition(":")[0] not in ("storage", "sizes", "bounds")]
    pool = {rng.choice(["stash", "receive", "send"]): {"slots": rng.randint(1, 3), "guard": "wait"}}
    lines.append(f"storage: {json.dumps(pool)}")
    named = re.compile(r" (?:in|out|gin|gout|buf|keep)=\w+")
    rows: list[list[str]] = json.loads(ranks.removeprefix("ranks: "))
    share = rng.choice([0.0, 0.3, 0.6])
    plain = [
        [
            named.sub("", line)
            for line in row
            if line.split()[0] not in ("FREE", "WRITE", "USE")
            and not (line[:1].isdigit() and rng.random() < share)
        ]
        for row in rows
    ]
    lines += ["fragment: true", f"stages: {len(rows)}"]
    return "\n".join([*lines, f"ranks: {json.dumps(plain)}", ""])


def _told(made: Case, drawn: Programs, transport: Transport, kinds: Kinds) -> Case:
    result = explore(drawn, transport, LIMIT)
    lone = frozenset({*result.unmatched, *result.unsignalled})
    early = {}
    known = isinstance(transport, str) or "weak" not in transport
    if known and not result.stuck and not lone:
        early = _early(Moments(drawn, transport, kinds))
    crossed: Places = {("PP202", frozenset(pair)) for pair in result.mispaired}
    blamed = set(deadlocks(drawn, transport))
    return Case(made.name, made.text, result.stuck, blamed, crossed, lone, early)


def _early(model: Moments) -> dict[str, bool]:
    states = reached(model, LIMIT)
    found: dict[str, bool] = {}
    for each in readers(model):
        begins = model.begins(each.rank, each.position)
        wrong = not states.ordered(model.completes(each.end), begins)
        spot = f"r{each.rank}.{each.position}"
        found[spot] = found.get(spot, False) or wrong
    for rank, program in enumerate(model.programs):
        for position, instruction in enumerate(program):
            if instruction == Compute("WRITE sv0 v1"):
                (sent,) = model.messages
                begins = model.begins(rank, position)
                found[f"r{rank}.{position}"] = not states.ordered(model.completes(sent), begins)
    return found
