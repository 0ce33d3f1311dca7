"""Schedules on streams without a device."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from pipeproof.execution.orders import Events, Style, extended
from pipeproof.execution.streams.queues import Queues, seeded
from pipeproof.execution.streams.running import Modelled, Pace, Running
from tests.execution.played import document, models
from tests.semantics import made

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pipeproof.execution.streams._unsplit import Unsplit
    from pipeproof.execution.streams.device import Device
    from pipeproof.semantics.model import Model

HELD = {"fragment": True, "stages": 2, "microbatches": 2, "transport": "buffered"}
SENT = ("SEND F0.0 to=1", "RECV F0.0 from=0 h=a buf=s; {}")

# rule, keys of the file, programs that break it, programs that do not
STORAGE: Mapping[str, tuple[str, Mapping[str, object], tuple[str, ...], tuple[str, ...]]] = {
    "read before the receive is complete": (
        "PP501",
        HELD,
        (SENT[0], SENT[1].format("1F0 in=s; WAIT a")),
        (SENT[0], SENT[1].format("WAIT a; 1F0 in=s")),
    ),
    "written while it is sent": (
        "PP502",
        HELD,
        ("0F0 out=s; SEND F0.0 to=1 h=a buf=s; 0F1 out=s; WAIT a", "RECV F0.0 from=0"),
        ("0F0 out=s; SEND F0.0 to=1 h=a buf=s; WAIT a; 0F1 out=s", "RECV F0.0 from=0"),
    ),
    "overwritten unread": (
        "PP503",
        {"fragment": True, "microbatches": 2},
        ("LOAD X.0 buf=s; LOAD X.1 buf=s; 0F0 in=s",),
        ("LOAD X.0 buf=s; 0F0 in=s; LOAD X.1 buf=s",),
    ),
    "freed while it is sent": (
        "PP504",
        HELD,
        ("0F0 out=s; SEND F0.0 to=1 h=a buf=s; FREE s; WAIT a", "RECV F0.0 from=0"),
        ("0F0 out=s; SEND F0.0 to=1 h=a buf=s; WAIT a; FREE s", "RECV F0.0 from=0"),
    ),
    "read from another storage": (
        "PP505",
        {"fragment": True, "microbatches": 2},
        ("LOAD X.0 buf=s; LOAD X.1 buf=t; 0F0 in=t; 0F1 in=t",),
        ("LOAD X.0 buf=s; LOAD X.1 buf=t; 0F0 in=s; 0F1 in=t",),
    ),
    "added while it is reduced": (
        "PP502",
        {"microbatches": 2, "gradients": {"reduce": "required"}},
        ("0F0; 0F1; 0B0; 0REDUCE h=r; 0B1; WAIT r; 0STEP",),
        ("0F0; 0F1; 0B0; 0B1; 0REDUCE h=r; WAIT r; 0STEP",),
    ),
    "used while it is reduced": (
        "PP501",
        {"gradients": {"reduce": "required"}},
        ("0F0; 0B0; 0REDUCE h=r; 0STEP; WAIT r",),
        ("0F0; 0B0; 0REDUCE h=r; WAIT r; 0STEP",),
    ),
}
RACES = (
    "read before the receive is complete",
    "written while it is sent",
    "freed while it is sent",
)


def text(name: str, *, legal: bool) -> str:
    """One of the schedules above, or its legal neighbour."""
    _, keys, broken, kept = STORAGE[name]
    return made.text(*(kept if legal else broken), **keys)


def queues(seed: int) -> Queues:
    return Queues(seeded(seed))


def order(model: Model, seed: int = 0) -> tuple[int, ...]:
    events = Events(model.events, model.frame.first_transfer)
    style = list(Style)[seed % len(Style)]
    return extended(model.happens_before, events, style=style, seed=seed)


def modelled(model: Model) -> Modelled:
    """What is run of a model."""
    return Modelled(model.frame.run, model.frame.transport.match, model.happens_before)


def only(written: str) -> Model:
    """The schedule under its first transport."""
    return next(models(document(written)))


def running(model: Model, device: Device, unsplit: Unsplit | None = None) -> Running:
    return Running(model.frame.run, model.frame.transport.match, device, unsplit)


def flowed(  # noqa: PLR0913  all but the first two are named
    model: Model,
    device: Device,
    *,
    unsplit: Unsplit | None = None,
    seed: int = 0,
    forced: bool = False,
    pace: Pace = Pace.FREE,
) -> Running:
    """A whole execution on streams."""
    made_ = running(model, device, unsplit)
    launches = made_.plan(model.happens_before, order(model, seed), forced=forced)
    made_.play(launches, pace, seed)
    return made_


def every(device: Callable[[Callable[[Sequence[int]], int]], list[str]]) -> set[tuple[str, ...]]:
    """What comes about, choice by choice, in every way in which choices can be made."""
    found: set[tuple[str, ...]] = set()
    open_: list[list[int]] = [[]]
    while open_:
        begun = open_.pop()
        taken: list[int] = []

        def choose(able: Sequence[int], begun: list[int] = begun, taken: list[int] = taken) -> int:
            turn = len(taken)
            taken.append(begun[turn] if turn < len(begun) else 0)
            if turn >= len(begun):
                open_.extend([*taken[:-1], other] for other in range(1, len(able)))
            return able[taken[-1]]

        found.add(tuple(device(choose)))
    return found


def interleaved(*programs: str) -> set[tuple[str, ...]]:
    """Every order of letters that keeps the order of each program."""
    letters = "".join(programs)
    return {
        each
        for each in permutations(letters)
        if all(
            [letter for letter in each if letter in program] == list(program)
            for program in programs
        )
    }
