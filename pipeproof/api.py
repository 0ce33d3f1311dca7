"""The one use case: judge a schedule under each transport, and have the verdict replayed."""

import dataclasses
from collections.abc import Callable

from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document, OnePlace
from pipeproof.ir.transport import Transport
from pipeproof.lowering.lower import lower
from pipeproof.proofs.asked import ALL, Asked
from pipeproof.proofs.judging import Judging, written_as_run
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.model import Model
from pipeproof.semantics.rules import all_rules
from pipeproof.verdict.decision import Decision
from pipeproof.verdict.verdict import (
    FileVerdict,
)

__all__ = [
    "ALL",
    "Asked",
    "as_run",
    "judge",
    "judge_text",
    "lowered",
    "models",
    "rules",
    "trace_rules",
    "transports_of",
]


def rules() -> tuple[Rule, ...]:
    """Return every rule in order of its code."""
    return all_rules()


def trace_rules() -> tuple[Rule, ...]:
    """Return every rule of traces of real runs, which no schedule alone breaks."""
    from pipeproof.semantics.rules import traces  # noqa: PLC0415  only asked for by `explain`

    return traces.trace_rules()


def judge(
    document: Document,
    asked: Asked | None = None,
    kept: list[tuple[Model, Decision]] | None = None,
) -> FileVerdict:
    """Judge a schedule for every interleaving under each transport asked for.

    What a certificate is written from is added to `kept`, where it is given.

    Raises:
        LimitError: the schedule asks for more operations than are looked through.
        ReplayMismatchError: a counterexample did not replay; believe nothing then.
    """
    judging = Judging(document, asked or Asked(), kept)
    return judging.verdict()


def models(document: Document, asked: Asked | None = None) -> Callable[[str, int], Model | None]:
    """Return what models a schedule under a transport by name, None if it has none, in copies."""
    judging = Judging(document, asked or Asked())
    by_name = {each.name: each for each in judging.transports}
    return lambda name, copies: judging.model(by_name[name], copies) if name in by_name else None


def transports_of(document: Document, asked: Asked | None = None) -> tuple[Transport, ...]:
    """Return the transports under which a schedule is judged."""
    return Judging(document, asked or Asked()).transports


def as_run(document: Document, asked: Asked | None = None) -> str:
    """Return what is judged in canonical JSON: messages resolved, and every wait by transport."""
    return written_as_run(Judging(document, asked or Asked()))


def lowered(document: Document) -> Document:
    """Return `document` with what its lowering adds written out, to be judged as written."""
    run = lower(document.schedule)
    schedule = dataclasses.replace(
        document.schedule,
        operations=run.spelled,
        placement=run.placement,
        lowering="as-written",
    )
    return Document(document.name, schedule, OnePlace(), title=document.title)


def judge_text(text: str, name: str, asked: Asked | None = None) -> FileVerdict:
    """Judge the schedule of a spec file given as text.

    Raises:
        InputError: the text is no spec.
    """
    from pipeproof.frontends import spec  # noqa: PLC0415  yaml is loaded only where it is read
    from pipeproof.schedules import generate  # noqa: PLC0415

    documents = spec.read(text, name, ReadOptions(generate=generate))
    return judge(documents[0], asked)
