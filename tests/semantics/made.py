"""Models of programs that a test writes out, and their events in words."""

import json
from collections.abc import Iterable

from pipeproof.frontends import spec
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import IntArray
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.transport import NAMED, Transport
from pipeproof.lowering.lower import lower
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.found import Edges, Finding, Findings, Needs
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.semantics.rules import all_rules

RENDEZVOUS, BUFFERED = NAMED["rendezvous"], NAMED["buffered"]

PASSED_ON = ("0F0; SEND F0.0 to=1", "RECV F0.0 from=0; 1F0")
"""One activation from rank 0 to rank 1."""

CROSSED = ("SEND F0.0 to=1; RECV B1.0 from=1", "SEND B1.0 to=0; RECV F0.0 from=0")
"""Two sends that face each other: stuck where nothing is buffered."""


def text(*programs: str, **keys: object) -> str:
    """The spec with one program a rank; `microbatches` is 1 unless it is among `keys`."""
    lines = ["pipeproof: 1"]
    lines += [f"{key}: {json.dumps(value)}" for key, value in {"microbatches": 1, **keys}.items()]
    ranks = ", ".join(json.dumps(program) if program else "[]" for program in programs)
    return "\n".join([*lines, f"ranks: [{ranks}]", ""])


def schedule(*programs: str, **keys: object) -> Schedule:
    return spec.read(text(*programs, **keys), "made", ReadOptions())[0].schedule


def run(*programs: str, **keys: object) -> AsRun:
    """The schedule as run, `copies` of it (1)."""
    copies = keys.pop("copies", 1)
    assert isinstance(copies, int)
    return lower(schedule(*programs, **keys), repeated=copies)


def model(*programs: str, **keys: object) -> Model:
    """The model `under` a transport or its name (rendezvous), of `copies` of the programs (1)."""
    under = keys.pop("under", RENDEZVOUS)
    transport = NAMED[under] if isinstance(under, str) else under
    assert isinstance(transport, Transport)
    made = run(*programs, **keys)
    return Model(made, transport, write_in(made, transport.wait))


def frame(*programs: str, **keys: object) -> Frame:
    return model(*programs, **keys).frame


def rules(*codes: str) -> tuple[Rule, ...]:
    """The rules with these codes, in their order; all that refute where none is given."""
    return tuple(rule for rule in all_rules() if rule.code in codes or not (codes or rule.warns))


def event(made: Frame, number: int) -> str:
    """An event in words: `start r0.1`, `done r0.1`, `end r0`, `drained F0.0`, `gate 0`."""
    kind, owner = made.owner(number)
    if kind == "end":
        return f"end r{owner}"
    if kind == "gate":
        return f"gate {owner}"
    if kind == "instruction":
        rank = int(made.instruction_rank[owner])
        moment = "done" if number % 2 else "start"
        return f"{moment} r{rank}.{owner - int(made.run.rank_start[rank])}"
    row = max(int(made.pairing.send[owner]), -1)
    row = row if row >= 0 else int(made.pairing.receive[owner])
    moment = "arrived" if (number - made.first_transfer) % 2 else "drained"
    return f"{moment} {made.ops.value_text(int(made.ops.value[row]))}"


def events(made: Frame, numbers: Iterable[int] | IntArray) -> list[str]:
    return [event(made, int(number)) for number in numbers]


def pairs(made: Frame, edges: Edges) -> set[str]:
    """The pairs of a relation as `before -> after`."""
    return {f"{event(made, a)} -> {event(made, b)}" for a, b in edges.pairs.tolist()}


def needs(made: Frame, found: Needs) -> list[str]:
    """What must be ordered, as `before -> after`; `nothing` stands for what stands nowhere."""
    both = zip(found.before.tolist(), found.after.tolist(), strict=True)
    return [f"{event(made, a) if a >= 0 else 'nothing'} -> {event(made, b)}" for a, b in both]


def places(made: Frame, found: Findings | Finding) -> list[str]:
    """The places of each finding, as `r0.1 r1.0`; empty for one without a place."""
    listed = [found] if isinstance(found, Finding) else found.found
    return [
        " ".join("r{}.{}".format(*made.place(spot)) for spot in finding.spots) for finding in listed
    ]
