"""Legal schedules, and what a change to one of them makes of it, for real ranks to run."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from pipeproof import api
from pipeproof.ir.source import Document, OnePlace
from pipeproof.schedules import generate
from tests.execution.moved import MOVES, _fits
from tests.execution.played import document
from tests.interpreter.mutations import mutants
from tests.semantics import made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Programs = list[list[str]]

SHAPES = [
    ("1f1b", 2, 3, 1),
    ("1f1b", 3, 4, 1),
    ("gpipe", 2, 3, 1),
    ("gpipe", 3, 2, 1),
    ("interleaved_zero_bubble", 2, 4, 2),
    ("zbv", 2, 3, 2),
]

STORED = ("PP501", "PP502", "PP503", "PP504", "PP505")
"""Rules whose pairs are mutants of legal schedules with storage."""


class Pair(NamedTuple):
    """A legal schedule and one that breaks a rule."""

    legal: str
    illegal: str


class _Base(NamedTuple):
    programs: Programs
    placement: list[int]
    microbatches: int
    fragment: bool = False


def pairs(rule: str) -> Iterator[Pair]:
    """Pairs for a rule, as many as are taken; each breaks the rule, and its original none."""
    seen: set[str] = set()
    for pair in _made(rule):
        if pair.illegal not in seen and _proved(pair.legal) and rule in _broken(pair.illegal):
            seen.add(pair.illegal)
            yield pair


def _proved(text: str) -> bool:
    return api.judge(document(text)).verdict == "proved"


def _broken(text: str) -> set[str]:
    read = api.judge(document(text))
    return {v.rule for each in read.transports for v in each.violations}


def _made(rule: str) -> Iterator[Pair]:
    if rule in STORED:
        untied = (each for each in mutants(rule, 400) if "TIE" not in each.text)
        yield from (Pair(each.original, each.text) for each in untied)
        return
    change, transport = CHANGES[rule]
    for seed in range(400):
        rng = Random(f"{rule} {seed}")
        based = _calls(rng) if rule == "PP205" else _known(rng)
        changed = change(rng, [list(program) for program in based.programs])
        if changed is not None:
            legal = _text(based, based.programs, transport)
            yield Pair(legal, _text(based, changed, transport))


def _text(based: _Base, programs: Programs, transport: str) -> str:
    return made.text(
        *("; ".join(each) for each in programs),
        microbatches=based.microbatches,
        placement=based.placement,
        transport=transport,
        fragment=based.fragment,
    )


def _known(rng: Random) -> _Base:
    name, ranks, microbatches, stages = rng.choice(SHAPES)
    order = generate(name, ranks=ranks, microbatches=microbatches, stages_per_rank=stages)
    run = api.lowered(Document(name, order, OnePlace()))
    operations = run.schedule.operations
    programs = [list(operations.program(rank)) for rank in range(ranks)]
    return _Base(programs, list(run.schedule.placement), microbatches)


def _calls(rng: Random) -> _Base:
    """Three ranks that enter the same collectives in one order, with operations in between."""
    names = rng.sample(["grads", "norm", "loss", "sync"], 3)
    members = {name: rng.choice(["0,1", "0,1,2", "1,2"]) for name in names}
    programs: Programs = [[], [], []]
    for name in names:
        for rank in range(3):
            if str(rank) in members[name]:
                programs[rank].append(f"COLL {name} ranks={members[name]}")
    return _Base(
        [[f"{rank}F0", *calls] for rank, calls in enumerate(programs)], [0, 1, 2], 1, fragment=True
    )


def _indices(program: list[str], *words: str) -> list[int]:
    return [n for n, each in enumerate(program) if any(word in each for word in words)]


def _moved(rng: Random, programs: Programs, fits: Callable[[str, str], bool]) -> Programs | None:
    """Bring an instruction behind a later one of the same rank."""
    program = rng.choice(programs)
    places = [
        (n, m)
        for n, one in enumerate(program)
        for m in range(n + 1, len(program))
        if fits(one, program[m])
    ]
    if not places:
        return None
    first, second = rng.choice(places)
    program.insert(second, program.pop(first))
    return programs


def _out_of_place(rule: str) -> Callable[[Random, Programs], Programs | None]:
    def fits(one: str, other: str) -> bool:
        return _fits(one, other, *MOVES[rule])

    return lambda rng, programs: _moved(rng, programs, fits)


def _turned(rng: Random, programs: Programs) -> Programs | None:
    """Let a rank receive what it needs before it sends what the other one needs."""
    return _moved(rng, programs, lambda one, other: "SEND_" in one and "RECV_" in other)


def _left_out(rng: Random, programs: Programs) -> Programs | None:
    program = rng.choice(programs)
    places = _indices(program, "RECV_", "SEND_")
    if not places:
        return None
    program.pop(rng.choice(places))
    return programs


def _attribute(rng: Random, programs: Programs, one: str, other: str) -> Programs | None:
    """Write an attribute to both ends of a message."""
    sends = [
        (rank, n) for rank, program in enumerate(programs) for n in _indices(program, "SEND_F")
    ]
    if not sends:
        return None
    rank, place = rng.choice(sends)
    stage, _, microbatch = programs[rank][place].partition("SEND_F")
    wanted = f"{int(stage) + 1}RECV_F{microbatch}"
    for program in programs:
        if wanted in program:
            program[program.index(wanted)] += f" {other}"
            programs[rank][place] += f" {one}"
            return programs
    return None


def _misshapen(rng: Random, programs: Programs) -> Programs | None:
    forms = ("dtype=f16", "dtype=f32"), ("shape=2x4", "shape=3x4"), ("shape=3x4", "shape=2x4")
    return _attribute(rng, programs, *rng.choice(forms))


def _split(rng: Random, programs: Programs) -> Programs | None:
    return _attribute(rng, programs, "comm=a", "comm=b")


def _sent_again(rng: Random, programs: Programs) -> Programs | None:
    """Send something once more behind everything."""
    program = rng.choice(programs)
    places = _indices(program, "SEND_F")
    if not places:
        return None
    program.append(program[rng.choice(places)])
    return programs


def _order_changed(rng: Random, programs: Programs) -> Programs | None:
    program = rng.choice(programs)
    places = _indices(program, "COLL")
    if len(places) < 2:
        return None
    one, other = rng.sample(places, 2)
    program[one], program[other] = program[other], program[one]
    return programs


OUT_OF_PLACE = ("PP202", "PP401", "PP402", "PP403", "PP404", "PP405")
CHANGES: dict[str, tuple[Callable[[Random, Programs], Programs | None], str]] = {
    "PP201": (_left_out, "rendezvous"),
    "PP203": (_misshapen, "buffered"),
    "PP204": (_split, "buffered"),
    "PP205": (_order_changed, "rendezvous"),
    "PP301": (_turned, "rendezvous"),
    "PP303": (_sent_again, "buffered"),
    **{rule: (_out_of_place(rule), "buffered") for rule in OUT_OF_PLACE},
}
"""What is changed so that a rule finds it, and the transport under which it does."""
