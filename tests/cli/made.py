"""A command whose judge does what a test says, and what a process does."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

from pipeproof.cli import run
from pipeproof.ir.source import Document
from pipeproof.verdict.verdict import (
    FileVerdict,
    Outcome,
    Place,
    TransportVerdict,
    Undecided,
    Violation,
    Warned,
)

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


@dataclass(frozen=True, slots=True)
class Asked:
    transports: tuple[str, ...] = ()
    profile: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    engine: str = "graph"


RULES = (
    SimpleNamespace(
        code="PP101", name="missing-operation", doc="It is missing.\n\nWhy: x.\n", message="m"
    ),
    SimpleNamespace(
        code="PP301", name="deadlock", doc="Ranks wait.\n\n    More.\n", message="{why}"
    ),
)
Judge = Callable[[Document, Asked], FileVerdict]


def verdict(  # noqa: PLR0913  each says one thing
    document: Document,
    outcome: Outcome = Outcome.PROVED,
    *violations: Violation,
    names: tuple[str, ...] = ("rendezvous",),
    instances: int = 1,
    unknown: tuple[Undecided, ...] = (),
    warnings: tuple[Warned, ...] = (),
) -> FileVerdict:
    counts = MappingProxyType({"PP101": instances, "PP301": instances})
    transports = tuple(
        TransportVerdict(
            name, outcome, "graph", 4, 1, ("A2",), counts, unknown, warnings, violations
        )
        for name in names
    )
    schedule = document.schedule
    return FileVerdict(
        document.name,
        outcome,
        schedule.stages,
        schedule.ranks,
        schedule.microbatches,
        len(schedule.operations),
        schedule.lowering,
        schedule.profile,
        schedule.fragment,
        transports,
    )


def raising(error: BaseException) -> Judge:
    def judge(document: Document, asked: Asked) -> FileVerdict:
        raise error

    return judge


def violation(rule: str = "PP301", *at: tuple[int, int]) -> Violation:
    places = tuple(Place(rank, position, "0F0", 0, 0, 0) for rank, position in at)
    return Violation(rule, "deadlock", "they wait", places, 1, first=True)


@dataclass(slots=True)
class Command:
    """Runs the command here; `judge` is what judges."""

    judge: Judge
    capsys: pytest.CaptureFixture[str]
    out: str = ""
    err: str = ""

    def __call__(self, *argv: object) -> int:
        code = run([str(each) for each in argv])
        captured = self.capsys.readouterr()
        self.out, self.err = captured.out, captured.err
        return code


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: seconds of processor time, and the most memory held, in bytes."""

    code: int
    out: str
    err: str
    seconds: float
    peak: int


Process = Callable[..., Ended]
MEASURED = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "pipeproof", *sys.argv[1:]]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
