"""Pipelines that take storage again: legal ones, and the same with one wait or one slot less."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["CASES", "Case", "pipeline"]

Program = list[str]
Change = Callable[[list[Program]], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A schedule that breaks a rule of storage, and its legal neighbour.

    `storage` is where, on `rank`. `races` says that two streams use it at once; without, one
    program takes it in a wrong order.
    """

    name: str
    rule: str
    rank: int
    storage: str
    broken: str
    fixed: str
    races: bool = True


def pipeline(ranks: int, microbatches: int, slots: int) -> list[Program]:
    """Return programs, all forwards first: messages under handles, storage taken again in turn."""
    return [_program(rank, ranks, microbatches, slots) for rank in range(ranks)]


def _program(rank: int, ranks: int, microbatches: int, slots: int) -> Program:
    made: Program = []
    if rank == 0:
        made += [f"LOAD X.{m} buf=x{m}" for m in range(microbatches)]
    for m in range(microbatches):
        made += _part("F", rank, ranks, m, slots)
    made += _ended("F", rank, ranks, microbatches, slots)
    for m in range(microbatches):
        made += _part("B", rank, ranks, m, slots)
    made += _ended("B", rank, ranks, microbatches, slots)
    return [*made, f"{rank}STEP"]


def _part(kind: str, rank: int, ranks: int, m: int, slots: int) -> Iterator[str]:
    """Yield what a rank does for one microbatch: receive, compute, send."""
    back = kind == "B"
    source, target = (rank + 1, rank - 1) if back else (rank - 1, rank + 1)
    into, out = f"{kind}in{m % slots}", f"{kind}out{m % slots}"
    keys = ("gin", "gout") if back else ("in", "out")
    reads = f" {keys[0]}=x{m}" if not back and rank == 0 else ""
    if 0 <= source < ranks:
        yield f"RECV {kind}{source}.{m} from={source} buf={into} h={kind}r{m}"
        yield f"WAIT {kind}r{m}"
        reads = f" {keys[0]}={into}"
    sends = 0 <= target < ranks
    if sends and m >= slots:
        yield f"WAIT {kind}s{m - slots}"
    yield f"{rank}{kind}{m}{reads}" + (f" {keys[1]}={out}" if sends else "")
    if sends:
        yield f"SEND {kind}{rank}.{m} to={target} buf={out} h={kind}s{m}"


def _ended(kind: str, rank: int, ranks: int, microbatches: int, slots: int) -> Iterator[str]:
    """Yield the waits for the last sends, and that their storage is given back."""
    if not 0 <= rank + (-1 if kind == "B" else 1) < ranks:
        return
    for m in range(max(microbatches - slots, 0), microbatches):
        yield f"WAIT {kind}s{m}"
        yield f"FREE {kind}out{m % slots}"


def written(programs: list[Program], microbatches: int) -> str:
    """Return the file."""
    lines = ["pipeproof: 1", f"stages: {len(programs)}", f"microbatches: {microbatches}"]
    lines += ["transport: buffered", f"placement: {json.dumps([*range(len(programs))])}", "ranks:"]
    lines += [f"  - {json.dumps('; '.join(program))}" for program in programs]
    return "\n".join(lines) + "\n"


def _at(program: Program, begins: str) -> int:
    found = (n for n, each in enumerate(program) if f"{each} ".startswith(f"{begins} "))
    return next(found)


def _behind(rank: int, what: str, reader: str) -> Change:
    """Move an instruction behind another one."""

    def change(programs: list[Program]) -> None:
        program = programs[rank]
        moved = program.pop(_at(program, what))
        program.insert(_at(program, reader) + 1, moved)

    return change


def _before(rank: int, what: str, other: str) -> Change:
    """Move an instruction before another one."""

    def change(programs: list[Program]) -> None:
        program = programs[rank]
        moved = program.pop(_at(program, what))
        program.insert(_at(program, other), moved)

    return change


def _without(rank: int, what: str) -> Change:
    """Leave an instruction out."""

    def change(programs: list[Program]) -> None:
        program = programs[rank]
        del program[_at(program, what)]

    return change


def _added(rank: int, what: str, before: str) -> Change:
    """Write an instruction in before another one."""

    def change(programs: list[Program]) -> None:
        program = programs[rank]
        program.insert(_at(program, before), what)

    return change


def _instead(rank: int, what: str, old: str, new: str) -> Change:
    """Let an instruction name another storage."""

    def change(programs: list[Program]) -> None:
        program = programs[rank]
        place = _at(program, what)
        program[place] = program[place].replace(old, new)

    return change


def _case(  # noqa: PLR0913, PLR0917  a row of a table
    name: str,
    rule: str,
    shape: tuple[int, int, int],
    rank: int,
    storage: str,
    change: Change,
    *,
    races: bool = True,
) -> Case:
    fixed, broken = pipeline(*shape), pipeline(*shape)
    change(broken)
    texts = written(broken, shape[1]), written(fixed, shape[1])
    return Case(name, rule, rank, storage, *texts, races)


TWO, THREE, FOUR, ONE_SLOT = (2, 4, 2), (3, 4, 2), (4, 4, 2), (2, 3, 1)

CASES = (
    _case("forward before its WAIT", "PP501", TWO, 1, "Fin0", _behind(1, "WAIT Fr0", "1F0")),
    _case("forward without WAIT", "PP501", TWO, 1, "Fin1", _without(1, "WAIT Fr3")),
    _case("middle forward before WAIT", "PP501", THREE, 1, "Fin1", _behind(1, "WAIT Fr1", "1F1")),
    _case("backward before its WAIT", "PP501", TWO, 0, "Bin0", _behind(0, "WAIT Br2", "0B2")),
    _case("backward without WAIT", "PP501", FOUR, 2, "Bin1", _without(2, "WAIT Br1")),
    _case("last forward without WAIT", "PP501", FOUR, 3, "Fin0", _without(3, "WAIT Fr2")),
    _case("activation not yet sent", "PP502", TWO, 0, "Fout0", _behind(0, "WAIT Fs0", "0F2")),
    _case("last activation not yet sent", "PP502", TWO, 0, "Fout1", _behind(0, "WAIT Fs1", "0F3")),
    _case("one slot, not yet sent", "PP502", ONE_SLOT, 0, "Fout0", _behind(0, "WAIT Fs0", "0F1")),
    _case(
        "middle activation not yet sent", "PP502", THREE, 1, "Fout0", _behind(1, "WAIT Fs0", "1F2")
    ),
    _case("gradient not yet sent", "PP502", TWO, 1, "Bout1", _behind(1, "WAIT Bs1", "1B3")),
    _case("middle gradient not yet sent", "PP502", FOUR, 2, "Bout0", _behind(2, "WAIT Bs0", "2B2")),
    _case("received over unread", "PP503", ONE_SLOT, 1, "Fin0", _before(1, "RECV F0.1", "1F0")),
    _case("received over unread, later", "PP503", TWO, 1, "Fin1", _behind(1, "1F1", "RECV F0.3")),
    _case("gradient over unread", "PP503", ONE_SLOT, 0, "Bin0", _before(0, "RECV B1.1", "0B0")),
    _case("last of three, over unread", "PP503", THREE, 2, "Fin0", _behind(2, "2F0", "RECV F1.2")),
    _case("freed while sent", "PP504", TWO, 0, "Fout1", _before(0, "FREE Fout1", "WAIT Fs3")),
    _case(
        "freed while sent, one slot",
        "PP504",
        ONE_SLOT,
        0,
        "Fout0",
        _before(0, "FREE Fout0", "WAIT Fs2"),
    ),
    _case(
        "gradient freed while sent", "PP504", TWO, 1, "Bout0", _before(1, "FREE Bout0", "WAIT Bs2")
    ),
    _case(
        "middle, freed while sent", "PP504", FOUR, 2, "Fout1", _before(2, "FREE Fout1", "WAIT Fs3")
    ),
    _case(
        "other slot read", "PP505", TWO, 1, "Fin1", _instead(1, "1F2", "Fin0", "Fin1"), races=False
    ),
    _case(
        "other gradient read",
        "PP505",
        THREE,
        1,
        "Bin0",
        _instead(1, "1B3", "Bin1", "Bin0"),
        races=False,
    ),
    _case(
        "loaded over unread",
        "PP503",
        TWO,
        0,
        "x0",
        _instead(0, "LOAD X.1", "x1", "x0"),
        races=False,
    ),
    _case(
        "freed before it is read", "PP504", TWO, 0, "x3", _added(0, "FREE x3", "0F3"), races=False
    ),
)
