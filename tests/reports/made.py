"""Results made by hand."""

from dataclasses import replace
from types import MappingProxyType

from pipeproof.errors import Problem
from pipeproof.verdict.result import Compared, Entry, Failure, FileReport, Quote, Result
from pipeproof.verdict.verdict import (
    Accepted,
    FileVerdict,
    Outcome,
    Place,
    TraceStep,
    TransportVerdict,
    Undecided,
    Violation,
    Warned,
)

PROGRAMS = (
    ("0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0", "0RECV_B1", "0B1"),
    ("1RECV_F0", "1F0", "1B0", "1SEND_B0", "1RECV_F1", "1F1", "1B1", "1SEND_B1"),
)
STUCK = (Place(0, 3, "0SEND_F1", 3, 0, 1), Place(1, 3, "1SEND_B0", 11, 1, 0))
INSTANCES = MappingProxyType({"PP101": 4, "PP205": 0, "PP301": 16, "PP501": 0})


def _trace() -> tuple[TraceStep, ...]:
    steps: list[TraceStep] = []
    for position in range(3):
        for rank, program in enumerate(PROGRAMS):
            steps.append(TraceStep(program[position], "start", rank, position))
            steps.append(TraceStep(program[position], "done", rank, position))
    for rank, program in enumerate(PROGRAMS):
        steps.append(TraceStep(program[3], "start", rank, 3))
    return tuple(steps)


DEADLOCK = Violation(
    "PP301",
    "deadlock",
    "rank 0 waits at 0SEND_F1 for rank 1, which waits at 1SEND_B0 for rank 0",
    STUCK,
    7,
    trace=_trace(),
    first=True,
)
STRANDED = Violation(
    "PP303",
    "stranded-message",
    "0SEND_F1 is received by nobody",
    (Place(0, 3, "0SEND_F1", 3, 0, 1),),
    9,
    reached=False,
)


def transport(
    name: str,
    outcome: Outcome,
    *violations: Violation,
    unknown: tuple[Undecided, ...] = (),
) -> TransportVerdict:
    warnings = (Warned("PP302", "legal under every buffered transport, stuck under rendezvous"),)
    return TransportVerdict(
        name,
        outcome,
        "graph",
        32,
        "any",
        ("A2", "A10", "A4"),
        INSTANCES,
        warnings=warnings if violations else (),
        violations=violations,
        unknown=unknown,
    )


def verdict(*transports: TransportVerdict, outcome: Outcome, path: str) -> FileVerdict:
    return FileVerdict(
        path,
        outcome,
        stages=2,
        ranks=2,
        microbatches=2,
        operations=16,
        lowering="as-written",
        profile="none",
        fragment=False,
        transports=transports,
        undescribed=("storage", "weights"),
    )


def refuted() -> FileReport:
    quotes = MappingProxyType(
        {3: Quote(6, 25, f"  - {'; '.join(PROGRAMS[0])}"), 11: Quote(7, 4, "\t- 1SEND_B0\x1b[31m")}
    )
    found = verdict(
        transport("rendezvous", Outcome.REFUTED, DEADLOCK, STRANDED),
        transport("rendezvous-edge", Outcome.REFUTED, DEADLOCK, STRANDED),
        transport("rendezvous-rank", Outcome.REFUTED, DEADLOCK),
        transport("buffered", Outcome.PROVED),
        outcome=Outcome.REFUTED,
        path="crossed.yaml",
    )
    return FileReport("crossed.yaml", found, quotes=quotes)


def proved() -> FileReport:
    found = verdict(
        transport("rendezvous", Outcome.PROVED),
        transport("buffered", Outcome.PROVED),
        outcome=Outcome.PROVED,
        path="fine.yaml",
    )
    return FileReport("fine.yaml", found)


def unknown() -> FileReport:
    undecided = (Undecided("PP501", "storage is not judged by this version"),)
    found = verdict(
        transport("buffered", Outcome.UNKNOWN, unknown=undecided),
        outcome=Outcome.UNKNOWN,
        path="open.yaml",
    )
    return FileReport("open.yaml", found)


def unreadable() -> FileReport:
    problem = Problem("bad.yaml", 3, 7, "'2X0' is no operation", "write 2F0 or 1SEND_F3")
    return FileReport("bad.yaml", problems=(problem,))


def whole() -> Result:
    failed = FileReport("odd.yaml", failure=Failure("do not trust this run: no replay", 4))
    later = FileReport("later.yaml", unsupported="faults are not judged by this version")
    return Result("0.1.0", (refuted(), proved(), unknown(), unreadable(), failed, later))


ACCEPTED = Accepted("known since the spring", "2026-01-02")


def accepted(*, also: bool = False) -> Result:
    """A file whose deadlock is accepted, and the stranded message too, if `also`."""
    known = replace(DEADLOCK, accepted=ACCEPTED)
    other = replace(STRANDED, accepted=ACCEPTED) if also else STRANDED
    found = verdict(
        transport("rendezvous", Outcome.REFUTED, known, other),
        outcome=Outcome.REFUTED,
        path="crossed.yaml",
    )
    gone = Entry(
        "0" * 32, "PP501", "fine.yaml", "it was so", "a reason", "2025-12-31", ("rendezvous",)
    )
    compared = Compared("base.json", 1 + also, (gone,), 3)
    return Result("0", (FileReport("crossed.yaml", found), proved()), compared)
