"""The instructions of message-passing programs, and the transports that have a name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Transport = str | Mapping[str, object]

OPERATION = re.compile(r"(\d+)([A-Z]+)(\d*)")
VALUE = re.compile(r"([A-Z])(\d*)\.(\d+)")


def _named(
    completion: str, queue: str, groups: str, wait: str, **more: object
) -> dict[str, object]:
    """One row of the table of named transports."""
    return {
        "completion": completion,
        "queue": queue,
        "groups": groups,
        "wait": wait,
        **more,
    }


NAMED: dict[str, dict[str, object]] = {
    "rendezvous": _named("rendezvous", "none", "independent", "blocking"),
    "rendezvous-edge": _named("rendezvous", "edge", "independent", "blocking"),
    "rendezvous-serial": _named("rendezvous", "pair", "independent", "blocking"),
    "rendezvous-rank": _named("rendezvous", "rank", "independent", "blocking"),
    "rendezvous-atomic": _named("rendezvous", "none", "atomic", "blocking"),
    "buffered": _named("buffered", "none", "independent", "blocking"),
    "buffered-1": _named("buffered", "none", "independent", "blocking", capacity=1),
    "nccl-lazy": _named("rendezvous", "pair", "independent", "at-use"),
    "nccl-eager": _named("rendezvous", "rank", "independent", "at-use"),
    "nccl-direction": _named("rendezvous", "direction", "independent", "at-use"),
    "nccl-edge": _named("rendezvous", "edge", "independent", "at-use"),
    "gloo": _named("buffered", "edge", "independent", "at-use"),
    "nccl-first": _named("rendezvous", "pair", "independent", "at-use", communicators="lazy"),
    "nccl-small": _named("buffered", "pair", "independent", "at-use"),
}


@dataclass(frozen=True)
class Compute:
    """An operation such as `0F0`, `1B2` or `0STEP`; it may wait for what it reads.

    `said` are its attributes, `more` the values that it reads beside those of its kind.
    """

    op: str
    said: tuple[tuple[str, str], ...] = ()
    more: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Message:
    """One end of a message: a send to `peer` or a receive from it."""

    send: bool
    value: str
    peer: int
    comm: str = ""
    handle: str = ""
    buf: str = ""


@dataclass(frozen=True)
class Bracket:
    """A group call over messages."""

    members: tuple[Message, ...]
    handle: str = ""


@dataclass(frozen=True)
class Wait:
    """Waits for all that was started under the handle since the last such wait."""

    handle: str


@dataclass(frozen=True)
class Collective:
    """A collective that nobody leaves before all have entered."""

    name: str
    ranks: tuple[int, ...]
    comm: str = ""
    handle: str = ""


@dataclass(frozen=True)
class Signal:
    """A control message to a rank; it never waits."""

    to: int


@dataclass(frozen=True)
class Await:
    """Waits for the next signal of a rank."""

    source: int


Instruction = Compute | Message | Bracket | Wait | Collective | Signal | Await
Program = tuple[Instruction, ...]
Programs = tuple[Program, ...]


def send(value: str, to: int, comm: str = "", h: str = "") -> Message:
    """A send."""
    return Message(send=True, value=value, peer=to, comm=comm, handle=h)


def recv(value: str, source: int, comm: str = "", h: str = "") -> Message:
    """A receive."""
    return Message(send=False, value=value, peer=source, comm=comm, handle=h)


def messages(instruction: Instruction) -> tuple[Message, ...]:
    """The message ends that an instruction posts."""
    if isinstance(instruction, Message):
        return (instruction,)
    return instruction.members if isinstance(instruction, Bracket) else ()


def reads(instruction: Instruction) -> frozenset[str]:
    """The values that an instruction reads."""
    if not isinstance(instruction, Compute):
        return frozenset(m.value for m in messages(instruction) if m.send)
    match = OPERATION.fullmatch(instruction.op)
    if match is None or not match[3]:
        return instruction.more
    stage, microbatch = int(match[1]), match[3]
    if match[2] == "F":
        value = f"F{stage - 1}.{microbatch}" if stage else f"X.{microbatch}"
        return instruction.more | {value}
    own = frozenset({f"B{stage + 1}.{microbatch}"} if match[2] in "BI" else ())
    return own | instruction.more


def ends_step(instruction: Instruction) -> bool:
    """Whether the instruction is an optimizer step, taken or left out."""
    return isinstance(instruction, Compute) and instruction.op.endswith(("STEP", "SKIP"))
