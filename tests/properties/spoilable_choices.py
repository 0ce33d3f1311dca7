"""Random programs whose order hangs on a choice: ranks that run what is ready, and faults."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pipeproof import api
from pipeproof.engines import graph
from pipeproof.errors import ReplayMismatchError
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.proofs.ready import TooManyError, orders
from pipeproof.semantics.model import Model
from tests.oracle import programs as drawing
from tests.oracle.faulty import outcome
from tests.oracle.instructions import Await, Compute, Programs, Signal, Wait, recv, send
from tests.oracle.machine import TooManyStatesError
from tests.proofs import ready_programs
from tests.proofs.ready_machine import Late, Machine, Rank
from tests.properties import test_faults as faults
from tests.properties.moments import Moments, reached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pipeproof.semantics.frame import Frame

__all__ = ["CHOOSING", "SEEDS", "Chosen"]

LIMIT = 12_000
INSTRUCTIONS = 6
ORDERS = 200


@dataclass(frozen=True, slots=True)
class Chosen:
    """A program, its outcomes, and whether they are judged otherwise than the machine says."""

    name: str
    frames: Callable[[], Iterator[Frame]]
    differs: Callable[[], bool]

    def seen(self) -> tuple[str, ...]:
        """Who sees that the program is judged wrongly: `machine`, or replay `itself`."""
        try:
            return ("machine",) if self.differs() else ()
        except ReplayMismatchError:
            return ("itself",)


# ready ranks


@cache
def ready(seed: int) -> Chosen | None:
    """Two ranks that mostly run what is ready, in half of them with messages only started."""
    name = f"ready {seed}"
    if seed == -1:
        return Chosen(name, lambda: _orders(POSTED), _writes_early)
    made = {-2: LIMITED, -3: READING}.get(seed) or ready_programs.drawn(seed)
    if sum(len(each.program) for each in made.ranks) > INSTRUCTIONS:
        return None
    machine, text = made.machine, made.text
    if seed % 2:
        made = made._replace(ranks=[each._replace(ready=True, prefer="") for each in made.ranks])
        machine = Late(made.ranks, together=made.together, tag=made.tag, bound=made.bound)
        text = _started(made.text)
    alone = all(each.ready for each in made.ranks)
    return Chosen(name, lambda: _orders(text), lambda: _is_otherwise(text, machine, alone=alone))


def _started(text: str) -> str:
    """The file with every message under a handle that the end of its rank waits for."""
    said = json.loads(text)
    for rank in said["ranks"]:
        lines = rank["program"].splitlines() if rank["program"] else []
        moving = [k for k, line in enumerate(lines) if line[:4] in ("SEND", "RECV")]
        for k in moving:
            lines[k] += f" h=h{k}"
        rank["program"] = "\n".join([*lines, *(f"WAIT h{k}" for k in moving)]) or []
    return json.dumps(said)


def _orders(text: str) -> Iterator[Frame]:
    document = spec.read(text, "made", ReadOptions())[0]
    (transport,) = document.schedule.transports
    with suppress(TooManyError):
        for each in orders(lower(document.schedule), transport, graph.furthest, ORDERS):
            yield Model(each.run, transport, write_in(each.run, transport.wait)).frame


def _is_otherwise(text: str, machine: Machine, *, alone: bool) -> bool:
    ends = machine.ends(ordered=False)
    stuck = any(not machine.is_complete(end) for end in ends)
    crossed = any(one != other for end in ends for one, other in machine.pairs(end))
    over = any(end.over for end in ends)
    verdict = api.judge_text(text, "made")
    rules = {each.rule for each in verdict.transports[0].violations}
    refuted = verdict.verdict == "refuted"
    return (
        bool(rules & {"PP301", "PP205"}) != stuck
        or ("PP506" in rules) != over
        or (crossed and not refuted)
        or (alone and refuted != (stuck or crossed or over))
    )


LIMITED = ready_programs.Case(
    [Rank((("F", "0"), ("F", "1"), ("B", "1")), ready=True, limit=1), Rank(())],
    *(False, True, None),
)
"""The second forward never gets its turn: the first has no backward."""
READING = ready_programs.Case(
    [
        Rank((("F", "0"), ("SEND", "F0.0", "1")), ready=True),
        Rank((("RECV", "F0.0", "0"), ("F", "0")), ready=True),
    ],
    *(True, True, None),
)
"""An activation that is read without a WAIT before it."""
POSTED = """pipeproof: 1
fragment: true
stages: 2
microbatches: 1
placement: [0, 1]
transport: {completion: rendezvous, queue: none, groups: independent, wait: blocking}
ranks:
  - order: ready
    program: |
      SEND v0 to=1 buf=sv0 h=x
      RECV w from=1 h=y
      WRITE sv0 v1
      WAIT x
      WAIT y
  - "RECV v0 from=0; SEND w to=0"
"""
ANSWERED: Programs = (
    (
        *(send("v0", 1, h="x"), Await(1), recv("w", 1, h="y"), Compute("WRITE sv0 v1")),
        *(Wait("x"), Wait("y")),
    ),
    (recv("v0", 0), Signal(0), send("w", 0)),
)
"""The same in order: a signal says that the answer is being posted."""


def _writes_early() -> bool:
    """Whether it is told otherwise than by the machine whether the source is written too early."""
    model = Moments(ANSWERED, "rendezvous")
    early = not reached(model, LIMIT).ordered(
        model.completes(model.messages[0]), model.begins(0, 3)
    )
    told = api.judge_text(POSTED, "made").transports[0].violations
    return any(each.rule == "PP502" for each in told) != early


# faults


@cache
def faulty(seed: int) -> Chosen | None:
    """Programs with optimizer steps in which something goes wrong, under every policy."""
    rng = random.Random(f"faults {seed}")
    drawn = faults.with_steps(rng, drawing.random_programs(rng, ranks=(2, 3), messages=(1, 5)))
    transport = drawing.random_transport(rng, weak=False)
    struck = tuple(rng.sample(list(faults.every_fault(drawn)), 1))
    if struck[0].kind in ("delayed", "corrupted"):
        return None
    try:
        broken = outcome(drawn, transport, struck, LIMIT)
    except TooManyStatesError:
        return None
    run, named = faults.as_run(drawn, transport)
    models = {policy: faults.model(run, named, policy, struck) for policy in faults.POLICIES}

    def differs() -> bool:
        for policy, made in models.items():
            broken_run = made.frame.run
            fresh = Model(broken_run, named, write_in(broken_run, named.wait))
            found = faults.told(fresh, graph.decide(fresh, faults.RULES))
            if found != faults.expected(policy, broken):
                return True
        return False

    return Chosen(f"faults {seed}", lambda: iter([models["raise"].frame]), differs)


CHOOSING: Mapping[str, Callable[[int], Chosen | None]] = {"ready": ready, "faults": faulty}
"""The program of a seed, for each family; None for one with too many states."""
SEEDS: Mapping[str, range] = {"ready": range(-3, 40), "faults": range(120)}
"""The seeds of each family that are looked through; those below zero are written."""
