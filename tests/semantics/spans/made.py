"""Traces of the earliest execution of a model, and what may go wrong with them."""

from collections.abc import Callable
from random import Random

from pipeproof.ir.recorded import MICROSECOND, Recorded, Span
from pipeproof.semantics.earliest import moments
from pipeproof.semantics.model import Model
from pipeproof.semantics.spans._offence import Offence
from pipeproof.semantics.spans.clocks import against
from pipeproof.semantics.spans.matching import Matched, matched
from pipeproof.semantics.spans.overlaps import overlapping
from pipeproof.semantics.spans.programs import diverging

Change = Callable[[list[Span]], list[Span]]
US = MICROSECOND


def earliest(model: Model, step: int = 0) -> list[Span]:
    """The spans of the execution in which everything is as early as it can be; a unit is 10 us."""
    frame = model.frame
    found = moments(frame, model.progress)
    at = [int(each) * 10 * US // found.unit for each in found.at]
    later = step * (max(at) + 100 * US)
    return [
        Span(
            int(frame.instruction_rank[i]),
            frame.instruction_text(i),
            at[2 * i] + later,
            at[2 * i + 1] + later,
            file="made.json",
            event=step * frame.instructions + i,
        )
        for i in range(frame.instructions)
    ]


def seen(model: Model, spans: list[Span]) -> Matched:
    return matched(model.frame, Recorded(tuple(spans)))


def judged(
    model: Model, spans: list[Span], skew: int | None = None
) -> tuple[list[Offence], list[Offence]]:
    """What breaks PP901, and what breaks PP903."""
    found = seen(model, spans)
    diverges = diverging(found).offences
    return overlapping(found), diverges or against(model, found, skew=skew)


def jittered(spans: list[Span], seed: int) -> list[Span]:
    """The same execution, every moment of it moved by one monotone map: no order changes."""
    random = Random(seed)
    times = sorted({time for span in spans for time in (span.start, span.end)})
    moved, now = {}, random.randrange(1000 * US)
    for time in times:
        now += random.randrange(1, 50 * US)
        moved[time] = now
    return [span._replace(start=moved[span.start], end=moved[span.end]) for span in spans]


def renamed(name: str, rank: int, to: str) -> Change:
    return lambda spans: [
        span._replace(name=to) if (span.name, span.rank) == (name, rank) else span for span in spans
    ]


def swapped(rank: int, one: str, other: str) -> Change:
    names = {one: other, other: one}
    return lambda spans: [
        span._replace(name=names.get(span.name, span.name)) if span.rank == rank else span
        for span in spans
    ]


def without(rank: int, name: str) -> Change:
    return lambda spans: [span for span in spans if (span.rank, span.name) != (rank, name)]


def twice(rank: int, name: str) -> Change:
    return lambda spans: [
        each
        for span in spans
        for each in ((span, span) if (span.rank, span.name) == (rank, name) else (span,))
    ]


def shifted(by: int, *ranks: int) -> Change:
    return lambda spans: [
        span._replace(start=span.start + by, end=span.end + by) if span.rank in ranks else span
        for span in spans
    ]
