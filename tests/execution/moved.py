"""Known schedules in which one instruction stands where it must not."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from pipeproof import api
from pipeproof.ir.source import Document, OnePlace
from pipeproof.schedules import generate
from tests.semantics import made

if TYPE_CHECKING:
    from collections.abc import Iterator


SHAPES = [
    (name, ranks, microbatches, stages)
    for name, stages in (("1f1b", 1), ("gpipe", 1), ("interleaved_zero_bubble", 2), ("zbv", 2))
    for ranks in (2, 3)
    for microbatches in (2, 3, 4, 5, 6)
    if microbatches % ranks == 0
]
MOVES = {  # what is moved (a SEND: repeated), and behind or before what: kinds of instructions
    "PP401": ("RECV F", "F"),
    "PP403": ("RECV B", "BI"),
    "PP402": ("F", "BI"),
    "PP404": ("I", "W"),
    "PP405": ("F", "SEND F"),
    "PP406": ("UNSHARD", "F"),
    "PP202": ("RECV", "RECV"),
    "PP303": ("SEND", "SEND"),
}


def moved(rule: str, count: int) -> Iterator[str]:
    """As many different schedules in which something is moved, for a rule to find."""
    seen: set[str] = set()
    for seed in range(50 * count):
        rng = Random(f"{rule} {seed}")
        text = _moved(rng, rule)
        if text is not None and text not in seen:
            seen.add(text)
            yield text
        if len(seen) == count:
            return


def _moved(rng: Random, rule: str) -> str | None:
    name, ranks, microbatches, stages = rng.choice(SHAPES)
    order = generate(name, ranks=ranks, microbatches=microbatches, stages_per_rank=stages)
    schedule = api.lowered(Document(name, order, OnePlace())).schedule
    programs = [list(schedule.operations.program(rank)) for rank in range(ranks)]
    rank = rng.randrange(ranks)
    program = programs[rank]
    what, behind = MOVES[rule]
    pairs = [
        (n, m)
        for n, one in enumerate(program)
        for m in range(n + 1, len(program))
        if _fits(one, program[m], what, behind)
    ]
    if not pairs:
        return None
    first, second = rng.choice(pairs)
    program.insert(second, program[first] if rule == "PP303" else program.pop(first))
    return made.text(
        *("; ".join(each) for each in programs),
        microbatches=microbatches,
        placement=list(schedule.placement),
        transport="buffered",
    )


def _fits(one: str, other: str, what: str, behind: str) -> bool:
    if what == "SEND":
        return "SEND" in one
    if what == "RECV":
        same = "RECV_F" if "RECV_F" in one else "RECV_B"
        return same in one and same in other and _stage(one) == _stage(other)
    mine, theirs = _read(one), _read(other)
    if mine is None or theirs is None:
        return False
    wanted = what.replace(" ", "_")
    if what == "UNSHARD":
        return mine[1] == wanted and theirs[1] == behind and mine[0] == theirs[0]
    kinds = [behind.replace(" ", "_")] if " " in behind else list(behind)
    return mine[1] == wanted and theirs[1] in kinds and (mine[0], mine[2]) == (theirs[0], theirs[2])


def _read(text: str) -> tuple[str, str, str] | None:
    """Return stage, kind and microbatch of one of torch's actions."""
    stage = _stage(text)
    microbatch = text[len(text.rstrip("0123456789")) :]
    kind = text[len(stage) : len(text) - len(microbatch)]
    return (stage, kind, microbatch) if stage and kind.replace("_", "").isalpha() else None


def _stage(text: str) -> str:
    return text[: len(text) - len(text.lstrip("0123456789"))]
