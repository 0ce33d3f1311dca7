"""Schedules for torch's runtime: those that it ships, files, and files with one thing changed."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from torch.distributed.pipelining.schedules import get_schedule_class

from pipeproof.api import Asked, judge
from pipeproof.execution.runtime.predicted import covered
from pipeproof.execution.runtime.programs import CLASSES, Program, homes_of, of_csv
from pipeproof.execution.runtime.ran import Kind
from pipeproof.execution.torch_classes import mock_stages, orders_of
from pipeproof.frontends import torch_csv
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document
from pipeproof.verdict.verdict import TransportVerdict
from tests.conformance.test_torch_simulator import BASES, MUTATIONS, _base

DATA = Path(__file__).parents[2] / "data"
RANKS = (2, 3, 4)
MOST = 8
LOOPED = {"LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble"}


@dataclass(frozen=True, slots=True)
class Case:
    """A schedule as torch takes it, and what is said of it under gloo."""

    group: str
    name: str
    program: Program
    verdict: TransportVerdict
    expected: Kind | None = None


def of_text(group: str, name: str, text: str, stages: int, microbatches: int) -> Case:
    """A CSV in torch's runtime."""
    program = of_csv(text, stages, microbatches)
    options = ReadOptions(stages=stages, microbatches=microbatches)
    return _case(group, name, program, torch_csv.read(text, name, options))


def in_slots(name: str, text: str, stages: int, microbatches: int) -> Case:
    """A CSV in torch's older runtime, which is locked to slots."""
    profile = "torch-multi"
    program = of_csv(text, stages, microbatches, profile=profile)
    options = ReadOptions(stages=stages, microbatches=microbatches, profile=profile)
    return _case("slots", name, program, torch_csv.read(text, name, options))


def of_class(name: str, ranks: int, microbatches: int, *, deferred: bool = False) -> Case:
    """A class that torch ships, as it runs itself."""
    found = get_schedule_class(name)
    each = 1 if name in {"GPipe", "1F1B"} else 2
    stages = mock_stages(ranks, each)
    named = {"defer_pp_recv": True} if deferred else {}
    made = found(stages if each == 2 else stages[0], microbatches, **named)
    told = orders_of(made)
    homes = homes_of(told["rows"], ranks * each)
    program = Program(ranks, microbatches, homes, deferred=deferred, runner=name)
    options = ReadOptions(stages=ranks * each, microbatches=microbatches, profile=told["profile"])
    text = f"{name} {ranks}x{microbatches}"
    return _case("shipped", text, program, torch_csv.read_rows_of(told["rows"], text, options))


def _case(group: str, name: str, program: Program, documents: tuple[Document, ...]) -> Case:
    verdict = judge(documents[0], Asked(transports=("gloo",))).transports[0]
    return Case(group, name, covered(program, verdict), verdict)


def shipped() -> Iterator[Case]:
    """Every class that torch ships, on two to four ranks with up to eight microbatches."""
    for name in CLASSES:
        for ranks in RANKS:
            for microbatches in _numbers(name, ranks):
                yield of_class(name, ranks, microbatches)


def _numbers(name: str, ranks: int) -> list[int]:
    least = {"GPipe": 2, "1F1B": ranks, "DualPipeV": 2 * ranks}.get(name, 1)
    rounds = {n: max(1, n // ranks) for n in range(1, MOST + 1)}
    looped = name in LOOPED - {"LoopedBFS"}
    fitting = [n for n in range(least, MOST + 1) if not looped or n % rounds[n] == 0]
    return sorted({fitting[0], *fitting[2::3], fitting[-1]})


def files(names: tuple[str, ...] = ()) -> Iterator[Case]:
    """The files with faults that people wrote down, or some of them."""
    listed = json.loads((DATA / "cases" / "index.json").read_text(encoding="utf-8"))["cases"]
    for each in listed:
        path = DATA / "cases" / each["file"]
        if names and path.stem not in names:
            continue
        text = path.read_text(encoding="utf-8")
        yield of_text("files", path.stem, text, each["stages"], each["microbatches"])


def examples() -> Iterator[Case]:
    """A file for each thing that a run comes to; a hang takes seconds, and is seen elsewhere."""
    expected: dict[str, Kind] = {
        "cc08-sent-before-computed": Kind.ERROR,
        "cc10-sends-face-each-other": Kind.RIGHT,
        "cc14-reduced-too-early": Kind.WRONG,
        "cc22-gradient-receives-swapped": Kind.WRONG,
        "co01-plain-1f1b": Kind.RIGHT,
        "co07-waiting-in-a-circle": Kind.ERROR,
    }
    for case in files(tuple(expected)):
        yield replace(case, expected=expected[case.name])


def slots() -> Iterator[Case]:
    """Orders that the older runtime runs slot by slot, and the same without their bubbles."""
    listed = json.loads((DATA / "torch" / "index.json").read_text(encoding="utf-8"))
    for each in listed:
        size = each["stages"], each["microbatches"]
        if each["format"] != "compute_only" or not _slotted(each):
            continue
        path = DATA / "torch" / each["file"]
        text = path.read_text(encoding="utf-8")
        yield in_slots(path.stem, text, *size)
        rows = [[cell for cell in line.split(",") if cell] for line in text.splitlines()]
        closed = "".join(",".join(row) + "\n" for row in rows)
        if closed != text:
            yield in_slots(f"{path.stem} without bubbles", closed, *size)


def _slotted(each: dict[str, object]) -> bool:
    few = each["ranks"], each["microbatches"]
    loops = ("LoopedBFS", "Interleaved", "ZBV")
    return few in {(2, 2), (2, 4)} and str(each["file"]).startswith(loops)


def deferred() -> Iterator[Case]:
    """What torch's option `defer_pp_recv` makes of the classes that it ships."""
    listed = json.loads((DATA / "torch" / "index.json").read_text(encoding="utf-8"))
    for each in listed:
        if each["file"].startswith("defer/"):
            path = DATA / "torch" / each["file"]
            text = path.read_text(encoding="utf-8")
            yield of_text("deferred", path.stem, text, each["stages"], each["microbatches"])


def mutants(number: int) -> Iterator[Case]:
    """Files with messages, one thing of which is changed: each of the ways in turn."""
    for k in range(number):
        way = list(MUTATIONS)[k % len(MUTATIONS)]
        rng = random.Random(f"{way} {k} in torch's runtime")
        base, home, microbatches = _base(BASES[k % len(BASES)])
        programs = [list(program) for program in base]
        MUTATIONS[way](rng, rng.choice(programs))
        text = "".join(",".join(program) + "\n" for program in programs)
        yield of_text("mutants", f"{way} {k}", text, len(home), microbatches)
