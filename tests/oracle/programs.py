"""Message-passing programs as plain data: written out, drawn at random, repeated."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.oracle.instructions import (
    NAMED,
    OPERATION,
    VALUE,
    Await,
    Bracket,
    Collective,
    Compute,
    Instruction,
    Message,
    Program,
    Programs,
    Signal,
    Transport,
    Wait,
    messages,
    recv,
    send,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = [
    "NAMED",
    "Await",
    "Bracket",
    "Collective",
    "Compute",
    "Instruction",
    "Message",
    "Program",
    "Programs",
    "Signal",
    "Transport",
    "Wait",
    "random_programs",
    "random_transport",
    "recv",
    "render",
    "renumbered",
    "send",
    "text",
    "tidy",
]


def _attribute(name: str, value: str) -> str:
    return f" {name}={value}" if value else ""


def _message_text(message: Message) -> str:
    head = f"SEND {message.value} to=" if message.send else f"RECV {message.value} from="
    said = _attribute("comm", message.comm) + _attribute("buf", message.buf)
    return f"{head}{message.peer}{said}"


def _call_text(call: Message | Bracket | Collective) -> str:
    if isinstance(call, Message):
        return _message_text(call)
    if isinstance(call, Bracket):
        return f"[{' | '.join(map(_message_text, call.members))}]"
    ranks = ",".join(map(str, call.ranks))
    return f"COLL {call.name} ranks={ranks}{_attribute('comm', call.comm)}"


def text(instruction: Instruction) -> str:
    """The instruction as it stands in a file."""
    match instruction:
        case Compute():
            return "".join([instruction.op, *(_attribute(*each) for each in instruction.said)])
        case Wait():
            return f"WAIT {instruction.handle}"
        case Signal():
            return f"SIGNAL to={instruction.to}"
        case Await():
            return f"AWAIT from={instruction.source}"
        case Message() | Bracket() | Collective():
            return _call_text(instruction) + _attribute("h", instruction.handle)


def _highest(programs: Programs) -> tuple[int, int]:
    """The highest stage and the highest microbatch that are named."""
    stage = microbatch = 0
    for program in programs:
        for instruction in program:
            names = [m.value for m in messages(instruction)]
            found = [VALUE.fullmatch(name) for name in names]
            pairs = [(f[2], f[3]) for f in found if f]
            if isinstance(instruction, Compute) and (op := OPERATION.fullmatch(instruction.op)):
                pairs.append((op[1], op[3]))
            for first, second in pairs:
                stage = max(stage, int(first or 0))
                microbatch = max(microbatch, int(second or 0))
    return stage, microbatch


def _flow(value: object) -> str:
    """A value as YAML in flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, str):
        return value if re.fullmatch(r"[A-Za-z][\w-]*", value) else json.dumps(value)
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return json.dumps(value)


def render(
    programs: Programs,
    transport: Transport | Sequence[str],
    *,
    steps: int | str | None = None,
    extra: Mapping[str, object] | None = None,
) -> str:
    """The programs as a fragment under a transport; `extra` adds or overrides keys."""
    stage, microbatch = _highest(programs)
    ranks = len(programs)
    shared = steps if isinstance(steps, int) else 1
    keys: dict[str, object] = {
        "pipeproof": 1,
        "fragment": True,
        "stages": -(-(stage + 2) // ranks) * ranks,
        "microbatches": -(-(microbatch + 1) // shared),
    }
    if steps is not None:
        keys["steps"] = steps
    keys["transport"] = transport
    keys.update(extra or {})
    lines = [f"{key}: {_flow(value)}" for key, value in keys.items()] + ["ranks:"]
    for program in programs:
        if program:
            lines.append("  -")
            lines += [f"    - {json.dumps(text(instruction))}" for instruction in program]
        else:
            lines.append("  - []")
    return "\n".join(lines) + "\n"


def renumbered(programs: Programs, copies: int, microbatches: int) -> Programs:
    """The programs `copies` times in a row, each copy on the next `microbatches` ids."""

    def value(name: str, shift: int) -> str:
        return VALUE.sub(lambda m: f"{m[1]}{m[2]}.{int(m[3]) + shift}", name)

    def shifted(instruction: Instruction, shift: int) -> Instruction:
        if isinstance(instruction, Message):
            return replace(instruction, value=value(instruction.value, shift))
        if isinstance(instruction, Bracket):
            inner = (replace(m, value=value(m.value, shift)) for m in instruction.members)
            return replace(instruction, members=tuple(inner))
        match = isinstance(instruction, Compute) and OPERATION.fullmatch(instruction.op)
        if match and match[3]:
            return Compute(f"{match[1]}{match[2]}{int(match[3]) + shift}")
        return instruction

    return tuple(
        tuple(shifted(i, copy * microbatches) for copy in range(copies) for i in program)
        for program in programs
    )


def random_transport(rng: random.Random, *, weak: bool = True) -> Transport:
    """A named transport, or a mapping over all keys."""
    if rng.random() < 0.5:
        return rng.choice(sorted(NAMED))
    keys: dict[str, object] = {"completion": rng.choice(["rendezvous", "buffered"])}
    if keys["completion"] == "buffered" and rng.random() < 0.7:
        keys["capacity"] = rng.randint(1, 3)
    keys["queue"] = rng.choice(["none", "edge", "direction", "pair", "rank"])
    keys["groups"] = rng.choice(["independent", "independent", "atomic"])
    keys["wait"] = rng.choice(["blocking", "at-use", "explicit"])
    if rng.random() < 0.5:
        keys["match"] = rng.choice(["order", "tag"])
    if weak and rng.random() < 0.25:
        keys["weak"] = rng.choice([["c"], ["d"], ["c", "d"]])
    if rng.random() < 0.25:
        keys["communicators"] = "lazy"
    return keys


def random_programs(
    rng: random.Random,
    *,
    ranks: tuple[int, int] = (2, 4),
    messages: tuple[int, int] = (1, 7),
) -> Programs:
    """Programs that mostly fit together, then disturbed a little."""
    count = rng.randint(*ranks)
    rows: list[list[Instruction]] = [[] for _ in range(count)]
    makers: list[Callable[[random.Random, list[list[Instruction]]], None]]
    makers = [_add_message] * rng.randint(*messages)
    makers += [_add_signal] * rng.choice([0, 0, 0, 1, 2])
    makers += [_add_collective] * rng.choice([0, 0, 0, 1, 2])
    rng.shuffle(makers)
    for make in makers:
        make(rng, rows)
    _disturb(rng, rows)
    done: set[str] = set()
    for rank, row in enumerate(rows):
        _reorder(rng, row)
        _bracket(rng, row)
        _give_handles(rng, row)
        _add_operations(rng, row, rank, count, done)
    return tuple(map(tidy, rows))


def _add_message(rng: random.Random, rows: list[list[Instruction]]) -> None:
    """Both ends of a message; an F or B value has its reader on the receiving rank."""
    count = len(rows)
    source, target = rng.sample(range(count), 2)
    comm = rng.choice(["", "", "", "c", "d"])
    lap, microbatch = rng.randint(0, 1), rng.randint(0, 2)
    forward = target + count * lap - 1
    kind = rng.random()
    if kind < 0.3:
        value = f"v{rng.randint(0, 3)}"
    elif kind < 0.65 and forward >= 0:
        value = f"F{forward}.{microbatch}"
    else:
        value = f"B{target + count * lap + 1}.{microbatch}"
    rows[source].append(send(value, target, comm))
    rows[target].append(recv(value, source, comm))


def _add_signal(rng: random.Random, rows: list[list[Instruction]]) -> None:
    source, target = rng.sample(range(len(rows)), 2)
    rows[source].append(Signal(target))
    rows[target].append(Await(source))


def _add_collective(rng: random.Random, rows: list[list[Instruction]]) -> None:
    members = tuple(sorted(rng.sample(range(len(rows)), rng.randint(2, len(rows)))))
    name = f"k{rng.randint(0, 1)}" + "".join(map(str, members))
    for rank in members:
        rows[rank].append(Collective(name, members))


def _disturb(rng: random.Random, rows: list[list[Instruction]]) -> None:
    """Sometimes an instruction is lost, doubled, or carries another label."""
    if rng.random() < 0.6:
        return
    for _ in range(rng.choice([1, 1, 2])):
        row = rng.choice(rows)
        if not row:
            continue
        at = rng.randrange(len(row))
        kind, instruction = rng.random(), row[at]
        if kind < 0.4:
            del row[at]
        elif kind < 0.6:
            row.insert(rng.randint(0, len(row)), instruction)
        elif isinstance(instruction, Message):
            value, comm = instruction.value, instruction.comm
            value, comm = rng.choice([("v0", comm), ("B1.0", comm), (value, "c")])
            row[at] = replace(instruction, value=value, comm=comm)


def _reorder(rng: random.Random, row: list[Instruction]) -> None:
    kind = rng.random()
    if kind < 0.2:
        rng.shuffle(row)
    elif kind < 0.6:
        for _ in range(rng.randint(1, 2)):
            at = rng.randint(0, max(0, len(row) - 2))
            row[at : at + 2] = reversed(row[at : at + 2])


def _bracket(rng: random.Random, row: list[Instruction]) -> None:
    """Joins neighbouring messages into group calls."""
    size = rng.choice([0, 0, 2, 2, 3])
    at = 0
    while size and at < len(row):
        group = [i for i in row[at : at + size] if isinstance(i, Message)]
        if len(group) == len(row[at : at + size]) and rng.random() < 0.6:
            row[at : at + size] = [Bracket(tuple(group))]
        at += 1


def _give_handles(rng: random.Random, row: list[Instruction]) -> None:
    share, at = rng.choice([0.0, 0.4, 0.9]), 0
    while at < len(row):
        instruction = row[at]
        if isinstance(instruction, Message | Bracket | Collective) and rng.random() < share:
            handle = rng.choice("xyz")
            row[at] = replace(instruction, handle=handle)
            if rng.random() < 0.75:
                row.insert(rng.randint(at + 1, len(row)), Wait(handle))
        at += 1


def _add_operations(
    rng: random.Random, row: list[Instruction], rank: int, count: int, done: set[str]
) -> None:
    """Inserts readers of what is received, and some operations besides."""
    wanted: list[tuple[int, str]] = []
    for at, instruction in enumerate(row):
        for message in messages(instruction):
            match = VALUE.fullmatch(message.value)
            if match and not message.send and rng.random() < 0.6:
                stage = int(match[2]) + (1 if match[1] == "F" else -1)
                wanted.append((at, f"{stage}{match[1]}{match[3]}"))
    if rng.random() < 0.4:
        wanted.append((-1, f"{rank + count * rng.randint(0, 1)}F{rng.randint(0, 2)}"))
    if rng.random() < 0.05:
        wanted.append((-1, f"{rank}STEP"))
    for at, op in reversed(wanted):
        owner = int(op[: re.match(r"\d+", op).end()])  # type: ignore[union-attr]
        if op not in done and owner % count == rank:
            done.add(op)
            row.insert(rng.randint(at + 1, len(row)), Compute(op))


def tidy(row: list[Instruction]) -> Program:
    """Leaves out every WAIT for a handle under which nothing was started."""
    kept: list[Instruction] = []
    started: set[str] = set()
    for instruction in row:
        if isinstance(instruction, Wait):
            if instruction.handle not in started:
                continue
            started.discard(instruction.handle)
        elif isinstance(instruction, Message | Bracket | Collective) and instruction.handle:
            started.add(instruction.handle)
        kept.append(instruction)
    return tuple(kept)
