"""Certificates changed on purpose in nine ways, each digest in them made anew."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pipeproof.errors import InputError, ReplayMismatchError
from pipeproof.ir.canonical import digest
from tests.oracle import programs
from tests.oracle.instructions import (
    NAMED,
    Await,
    Bracket,
    Collective,
    Compute,
    Instruction,
    Message,
    Programs,
    Signal,
    Transport,
    Wait,
)
from tests.oracle.stored import stored_text
from tests.properties.certifying import Certified, certified_text, sealed
from tests.properties.confirming import Given, Json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["KINDS", "Drawn", "Tampered", "drawn", "parsed", "tampered"]

Statement = dict[str, "Json"]
FAMILIES = 4
BLOCKING = (
    *("rendezvous", "rendezvous-edge", "rendezvous-serial", "rendezvous-rank"),
    *("rendezvous-atomic", "buffered", "buffered-1"),
)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A schedule with its certificate: the lines above its programs, and these."""

    head: str
    rows: tuple[tuple[str, ...], ...]
    transports: Mapping[str, Transport]
    made: Certified
    is_stored: bool

    @cache  # noqa: B019  as many as there are schedules, and these are kept
    def given(self, name: str) -> Given:
        """The schedule under one of its transports."""
        stored = ""
        if self.is_stored:
            kept = [line for line in self.head.splitlines() if not line.startswith("transport")]
            stored = _text("\n".join(kept), self.rows)
        return Given(parsed(self.rows), self.transports[name], stored)


@dataclass(frozen=True, slots=True)
class Tampered:
    """What a statement said, what it says now, and the whole certificate."""

    before: Statement
    after: Statement
    text: str


# schedules


@cache
def drawn(seed: int) -> Drawn | None:
    """A random schedule with a certificate that says something, None for one without."""
    rng = random.Random(f"tampered {seed}")
    family = seed % FAMILIES
    if family == 2:
        return _certified(*_stored(rng), is_stored=True)
    if family == 3:
        return _certified(*_counted(rng), is_stored=True)
    made = programs.random_programs(rng, ranks=(2, 3), messages=(1, 4))
    transport: Transport | list[str]
    transport = programs.random_transport(rng, weak=False)
    if family == 1:
        transport = rng.sample(sorted(NAMED), 3)
    head = programs.render(made, transport).partition("ranks:")[0]
    rows = tuple(tuple(map(programs.text, row)) for row in made)
    known: Mapping[str, Transport] = {each: each for each in NAMED}
    if not isinstance(transport, str | list):
        known = {"custom": transport}
    return _certified(head, rows, known, is_stored=False)


def _stored(rng: random.Random) -> tuple[str, tuple[tuple[str, ...], ...], Mapping[str, Transport]]:
    """Values in named storage and pools, under one or two transports."""
    *keys, ranks = stored_text(rng).splitlines()
    rows: list[list[str]] = json.loads(ranks.removeprefix("ranks: "))
    left = ("transport", "sizes", "bounds")
    kept = [key for key in keys if key.partition(":")[0] not in left and "guard" not in key]
    names = rng.sample(BLOCKING, rng.randint(1, 2))
    kept += [f"stages: {len(rows)}", f"transport: {json.dumps(names)}"]
    return "\n".join(kept), tuple(map(tuple, rows)), {name: name for name in names}


def _counted(
    rng: random.Random,
) -> tuple[str, tuple[tuple[str, ...], ...], Mapping[str, Transport]]:
    """Sends whose source is written again once later ones have found a credit."""
    capacity, number = rng.randint(1, 2), rng.randint(3, 4)
    transport: Mapping[str, object] = {
        "completion": "buffered",
        "capacity": capacity,
        "queue": rng.choice(["none", "edge"]),
        "groups": "independent",
        "wait": "blocking",
        "match": rng.choice(["order", "tag"]),
    }
    first = [f"SEND v{n} to=1 buf=s{n}" for n in range(number)]
    for n in range(number):
        if rng.random() < 0.7:
            first[n] += f" h=h{n}"
    for n in range(number - capacity):
        first.append(f"WRITE s{n} w{n}")
    second = [f"RECV v{n} from=0 buf=r{n}" for n in range(number)]
    second += [f"USE r{n} v{n}" for n in range(number)]
    if rng.random() < 0.3:
        at = rng.randrange(len(first) - 1)
        first[at : at + 2] = reversed(first[at : at + 2])
    keys = "pipeproof: 1\nfragment: true\nstages: 2\nmicrobatches: 1"
    head = f"{keys}\ntransport: {json.dumps(transport)}"
    return head, (tuple(first), tuple(second)), {"custom": transport}


def _text(head: str, rows: tuple[tuple[str, ...], ...]) -> str:
    return f"{head.rstrip()}\nranks: {json.dumps([*map(list, rows)])}\n"


def _certified(
    head: str,
    rows: tuple[tuple[str, ...], ...],
    transports: Mapping[str, Transport],
    *,
    is_stored: bool,
) -> Drawn | None:
    try:
        made = certified_text(_text(head, rows))
    except InputError:
        return None
    return Drawn(head, rows, transports, made, is_stored) if made.certificate.statements else None


def _sibling(rng: random.Random, one: Drawn) -> Drawn | None:
    """The schedule with two neighbours changed over."""
    rows = [list(row) for row in one.rows]
    row = rng.choice([row for row in rows if len(row) > 1] or [["", ""]])
    at = rng.randrange(len(row) - 1)
    row[at : at + 2] = reversed(row[at : at + 2])
    try:
        other = _certified(
            one.head, tuple(map(tuple, rows)), one.transports, is_stored=one.is_stored
        )
    except ReplayMismatchError:
        return None
    return other


# programs, read from their text


def parsed(rows: tuple[tuple[str, ...], ...]) -> Programs:
    """The programs as the state machine knows them."""
    return tuple(tuple(map(_instruction, row)) for row in rows)


def _said(text: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", text))


def _instruction(text: str) -> Instruction:
    head, _, rest = text.partition(" ")
    said = _said(text)
    if text.startswith("["):
        inner, _, after = text[1:].partition("]")
        members = tuple(_message(part.strip()) for part in inner.split("|"))
        return Bracket(members, _said(after).get("h", ""))
    ranks = tuple(map(int, said.get("ranks", "0").split(",")))
    found: dict[str, Instruction] = {
        "WAIT": Wait(rest),
        "SIGNAL": Signal(int(said.get("to", 0))),
        "AWAIT": Await(int(said.get("from", 0))),
        "COLL": Collective(rest.split(" ")[0], ranks, said.get("comm", ""), said.get("h", "")),
        **dict.fromkeys(("FREE", "WRITE", "USE"), Compute(text)),
    }
    return _message(text) if head in ("SEND", "RECV") else found.get(head, Compute(head))


def _message(text: str) -> Message:
    said, words = _said(text), text.split()
    peer = int(said["to"] if words[0] == "SEND" else said["from"])
    handle, comm = said.get("h", ""), said.get("comm", "")
    return Message(words[0] == "SEND", words[1], peer, comm, handle)


# what is changed


def _run(statement: Statement) -> list[Json]:
    found = statement["run"]
    assert isinstance(found, list)
    return found


def _entries(statement: Statement) -> list[Json]:
    found = statement.get("paths", [])
    assert isinstance(found, list)
    return found


def _events(statement: Statement) -> int:
    return len(_run(statement))


def _drop(rng: random.Random, _one: Drawn, statement: Statement) -> bool:
    run = _run(statement)
    if run:
        del run[rng.randrange(len(run))]
    return bool(run)


def _move(rng: random.Random, _one: Drawn, statement: Statement) -> bool:
    run = _run(statement)
    if len(run) < 2:
        return False
    if rng.random() < 0.5:
        at = rng.randrange(len(run) - 1)
        run[at : at + 2] = reversed(run[at : at + 2])
        return True
    old = list(run)
    while run == old:
        run.insert(rng.randrange(len(run)), run.pop(rng.randrange(len(run))))
    return True


def _repeat(rng: random.Random, _one: Drawn, statement: Statement) -> bool:
    run = _run(statement)
    if run:
        run.insert(rng.randint(0, len(run)), rng.choice(run))
    return bool(run)


def _way(rng: random.Random, statement: Statement) -> list[Json]:
    """The path, or else the blocked run, of one entry."""
    entries = _entries(statement)
    entry = rng.choice(entries) if entries else {}
    assert isinstance(entry, dict)
    way = entry.get("path", entry.get("blocked", []))
    assert isinstance(way, list)
    return way


def _drop_hop(rng: random.Random, _one: Drawn, statement: Statement) -> bool:
    way = _way(rng, statement)
    if way:
        del way[rng.randrange(len(way))]
        return True
    return False


def _redirect_hop(rng: random.Random, _one: Drawn, statement: Statement) -> bool:
    way = _way(rng, statement)
    if not way:
        return False
    at = rng.randrange(len(way))
    way[at] = rng.choice([each for each in range(_events(statement) + 2) if each != way[at]])
    return True


def _leave_out(rng: random.Random, _one: Drawn, statement: Statement) -> bool:
    entries = _entries(statement)
    if entries:
        del entries[rng.randrange(len(entries))]
        return True
    return False


def _claim(rng: random.Random, _one: Drawn, statement: Statement) -> bool:
    """Say that two events are one step: those of an entry, or any two."""
    if statement["verdict"] != "proved" or _events(statement) < 2:
        return False
    entries = _entries(statement)
    entry = rng.choice(entries) if entries and rng.random() < 0.5 else {}
    assert isinstance(entry, dict)
    if entry and len(_way(random.Random(0), {"paths": [entry]})) > 2:
        entry.pop("blocked", None)
        entry["path"] = [entry["before"], entry["after"]]
        return True
    before, after = rng.sample(range(_events(statement)), 2)
    known = {(each["before"], each["after"]) for each in entries if isinstance(each, dict)}
    if (before, after) in known:
        return False
    entries.append({"before": before, "after": after, "path": [before, after]})
    return True


def _from_another(rng: random.Random, one: Drawn, statement: Statement) -> bool:
    """The statement of a schedule that differs in the order of two instructions."""
    other = _sibling(rng, one)
    if other is None or other.made.as_run == one.made.as_run:
        return False
    told: list[Statement] = json.loads(other.made.certificate.text)["statements"]
    told = [each for each in told if each["transport"] == statement["transport"]]
    if not told:
        return False
    statement.clear()
    statement.update(told[0])
    return True


def _flip(rng: random.Random, one: Drawn, statement: Statement) -> bool:
    if statement["verdict"] == "refuted":
        run, rule = _run(statement), statement["rule"]
        for key in ("rule", "places", "before", "after"):
            statement.pop(key, None)
        if rng.random() < 0.7:
            statement["run"] = _furthest(one.given(str(statement["transport"])), run)
        statement.update({"verdict": "proved", "rules": [rule], "paths": []})
        return True
    rules = statement.pop("rules")
    assert isinstance(rules, list)
    entries = _entries(statement)
    del statement["paths"]
    statement.update({"verdict": "refuted", "rule": rng.choice(rules)})
    if entries and rng.random() < 0.6:
        entry = rng.choice(entries)
        assert isinstance(entry, dict)
        run = _run(statement)
        cut = [each for each in run[: run.index(entry["after"]) + 1] if each != entry["before"]]
        statement.update({"before": entry["before"], "after": entry["after"], "run": cut})
        return True
    rank = rng.randrange(len(one.rows))
    statement["places"] = [[rank, rng.randrange(max(len(one.rows[rank]), 1))]]
    if rng.random() < 0.5:
        del _run(statement)[rng.randrange(_events(statement) + 1) :]
    return True


def _furthest(given: Given, run: list[Json]) -> list[Json]:
    """A run continued for as long as anything can happen."""
    model, found = given.model, list(run)
    states = given.replay([each for each in run if isinstance(each, int)])
    assert states is not None
    state = states[-1]
    while True:
        able = ((e, after) for e in range(model.events) if (after := model.after(state, e)))
        following = next(able, None)
        if following is None:
            return found
        found.append(following[0])
        state = following[1]


KINDS: Mapping[str, Callable[[random.Random, Drawn, Statement], bool]] = {
    "event dropped": _drop,
    "event moved": _move,
    "event repeated": _repeat,
    "hop dropped": _drop_hop,
    "hop redirected": _redirect_hop,
    "pair left out": _leave_out,
    "edge claimed": _claim,
    "another schedule's": _from_another,
    "verdict flipped": _flip,
}


def tampered(kind: str, rng: random.Random, one: Drawn) -> Tampered | None:
    """The certificate changed in one of its statements, None where that has nothing to change."""
    content = json.loads(one.made.certificate.text)
    statements: list[Statement] = content["statements"]
    statement = rng.choice(statements)
    before: Statement = json.loads(json.dumps(statement))
    if not KINDS[kind](rng, one, statement) or statement == before:
        return None
    content["statements"] = [statement]
    content["schedule"] = digest(one.made.as_run)
    return Tampered(before, statement, sealed(content))
