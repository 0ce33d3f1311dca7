"""Random orders of operations that are legal, with the messages that they need."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.interpreter.drafts import Draft, Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

Op = tuple[str, int, int]  # kind, stage, microbatch
Ready = "Callable[[Op, set[Op]], bool]"

AT_USE = "{completion: rendezvous, queue: none, groups: independent, wait: at-use}"
AT_USE_BUFFERED = "{completion: buffered, queue: none, groups: independent, wait: at-use}"


@dataclass(slots=True)
class Plan:
    """What a random order is made of.

    Attributes:
        ids: The number of microbatches in all steps.
        split: Stages whose backward is I and W.
        mode: How messages are waited for: `blocking`, `handles` or `at-use`.
        early: Messages move when they are made, else when they are needed.
        loads: Inputs are loaded; `losses`: losses are operations of their own.
        lead: How willing forwards are to run ahead, from 0 to 1.
        together: The stages whose tails stand at one moment, by the first of them.
    """

    stages: int
    ids: int
    placement: list[int]
    split: bool = False
    mode: str = "blocking"
    early: bool = False
    loads: bool = False
    losses: bool = False
    lead: float = 0.5
    extra: list[Op] = field(default_factory=list)
    together: dict[int, list[int]] = field(default_factory=dict)

    @property
    def closing(self) -> str:
        """The operation that contributes to the gradient."""
        return "W" if self.split else "B"


def plan(rng: Random, *, ranks: int = 3, stages: int = 3, ids: int = 4, least: int = 1) -> Plan:
    """A random plan."""
    number = rng.randint(1, stages)
    used = rng.randint(1, min(ranks, number))
    placement = [stage % used for stage in range(number)]
    if used == 2 and number == 3 and rng.random() < 0.3:
        placement = [0, 1, 1]
    elif rng.random() < 0.2:
        placement = [used - 1 - rank for rank in placement]
    return Plan(
        number,
        rng.randint(least, ids),
        placement,
        split=rng.random() < 0.4,
        mode=rng.choice(["blocking", "handles", "handles", "at-use"]),
        early=rng.random() < 0.5,
        loads=rng.random() < 0.3,
        losses=rng.random() < 0.3,
        lead=rng.choice([0.1, 0.5, 0.9]),
    )


def operations(made: Plan) -> list[Op]:
    """The operations of a plan."""
    kinds = ["F", "I", "W"] if made.split else ["F", "B"]
    found = [(k, s, m) for m in range(made.ids) for s in range(made.stages) for k in kinds]
    losses = [("L", made.stages - 1, m) for m in range(made.ids)] if made.losses else []
    return [*found, *losses, *made.extra]


def needs(made: Plan, op: Op) -> Iterator[Op]:
    """What must be done before an operation."""
    kind, stage, microbatch = op
    last = stage == made.stages - 1
    if kind in "FBIW" and microbatch:
        yield kind, stage, microbatch - 1
    if kind == "F" and stage:
        yield "F", stage - 1, microbatch
    elif kind in ("B", "I", "L", "R"):
        yield "F", stage, microbatch
        if kind in ("B", "I"):
            if ("R", stage, microbatch) in made.extra:
                yield "R", stage, microbatch
            if last and made.losses:
                yield "L", stage, microbatch
            if not last:
                yield ("I" if made.split else "B"), stage + 1, microbatch
    elif kind == "W":
        yield "I", stage, microbatch


def order(
    rng: Random, made: Plan, ready: Callable[[Op, set[Op]], bool] = lambda _op, _done: True
) -> list[Op]:
    """A random order; `ready` says what else must be done before an operation."""
    todo, done, listed = operations(made), set[Op](), list[Op]()
    every = set(todo)
    while todo:
        free = [
            op
            for op in todo
            if all(n in done for n in needs(made, op) if n in every) and ready(op, done)
        ]
        weights = [made.lead if op[0] == "F" else 1 - made.lead for op in free]
        chosen = rng.choices(free, weights)[0]
        todo.remove(chosen)
        done.add(chosen)
        listed.append(chosen)
    return listed


class Writer:
    """Writes an order down as the programs of ranks, messages included."""

    def __init__(self, rng: Random, made: Plan, microbatches: int) -> None:
        self.rng = rng
        self.made = made
        programs: list[list[Line]] = [[] for _ in range(max(made.placement) + 1)]
        self.draft = Draft(made.stages, microbatches, list(made.placement), programs)
        self.draft.keys["transport"] = self._transport()
        self.moved: set[str] = set()
        self.waits: dict[str, str] = {}
        self.sends: list[list[str]] = [[] for _ in programs]
        self.handles = 0

    def _transport(self) -> str:
        if self.made.mode == "at-use":
            return self.rng.choice([AT_USE, AT_USE_BUFFERED])
        return self.rng.choice(["rendezvous", "buffered"])

    def write(self, listed: list[Op]) -> Draft:
        """The draft of an order."""
        for op in listed:
            self._before(op)
            kind, stage, microbatch = op
            turn = "" if kind in ("STEP", "COMMIT") else str(microbatch)
            for each in self.made.together.get(stage, [stage]) if kind == "TAIL" else [stage]:
                self.add(each, Line(f"{each}{kind}{turn}"))
            self._after(op)
        for rank, handles in enumerate(self.sends):
            self.draft.programs[rank] += [Line(f"WAIT {handle}") for handle in handles]
        return self.draft

    def add(self, stage: int, *lines: Line) -> None:
        """Adds lines to the program of a stage's rank."""
        self.draft.programs[self.made.placement[stage]] += lines

    def _before(self, op: Op) -> None:
        kind, stage, microbatch = op
        rank = self.made.placement[stage]
        for handle in list(self.sends[rank]):
            if self.rng.random() < 0.35:
                self.sends[rank].remove(handle)
                self.add(stage, Line(f"WAIT {handle}"))
        if self.made.loads and kind == "F" and not stage:
            self.add(stage, Line(f"LOAD X.{microbatch}"))
        if self.made.loads and kind == "L":
            self.add(stage, Line(f"LOAD Y.{microbatch}"))
        if kind == "F" and stage:
            self._take(f"F{stage - 1}.{microbatch}", stage - 1, stage)
        if kind in ("B", "I") and stage < self.made.stages - 1:
            self._take(f"B{stage + 1}.{microbatch}", stage + 1, stage)

    def _after(self, op: Op) -> None:
        kind, stage, microbatch = op
        if not self.made.early:
            return
        if kind == "F" and stage < self.made.stages - 1:
            self._move(f"F{stage}.{microbatch}", stage, stage + 1)
        if kind in ("B", "I") and stage:
            self._move(f"B{stage}.{microbatch}", stage, stage - 1)

    def _take(self, value: str, source: int, reader: int) -> None:
        self._move(value, source, reader)
        if handle := self.waits.pop(value, ""):
            self.add(reader, Line(f"WAIT {handle}"))

    def _move(self, value: str, source: int, reader: int) -> None:
        """Moves a value between ranks, once."""
        ends = self.made.placement[source], self.made.placement[reader]
        if ends[0] == ends[1] or value in self.moved:
            return
        self.moved.add(value)
        send = Line(f"SEND {value}", {"to": str(ends[1])})
        receive = Line(f"RECV {value}", {"from": str(ends[0])})
        if self.made.mode == "handles":
            self.handles += 1
            if self.rng.random() < 0.7:
                send.attributes["h"] = f"s{self.handles}"
                self.sends[ends[0]].append(f"s{self.handles}")
            if self.rng.random() < 0.7:
                receive.attributes["h"] = self.waits[value] = f"r{self.handles}"
        self.add(source, send)
        self.add(reader, receive)
