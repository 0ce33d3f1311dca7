"""What came of a trace, in words and as data."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from textwrap import wrap
from typing import NamedTuple

from pipeproof import __version__
from pipeproof.errors import printable
from pipeproof.ir.recorded import Span, micros_text
from pipeproof.reports._timing import CAVEAT
from pipeproof.semantics.spans.conformity import Broken, Conformity
from pipeproof.timing.recorded import StepTimes
from pipeproof.timing.report import Timing
from pipeproof.verdict.result import Json

__all__ = ["SCHEMA", "Beside", "Told", "conform_lines", "conform_object"]

SCHEMA = "pipeproof.conform/1"
_WIDTH = 100
_MOST = 6
_WORDS = {
    "conforms": "conforms",
    "refuted": "is no execution of it",
    "unknown": "unknown",
    "nothing": "nothing to check",
}
Place = Callable[[Span], tuple[int, int]]


class Beside(NamedTuple):
    """What the model says where operations take as long as in the trace, in microseconds.

    `timing` is None where it says nothing, and `why` why.
    """

    transport: str
    timing: Timing | None
    why: str = ""


class Told(NamedTuple):
    """All that is told: `file` is of the schedule, `place` finds where a span stands."""

    file: str
    traces: tuple[str, ...]
    conformity: Conformity
    place: Place
    times: tuple[StepTimes, ...]
    beside: Beside | None


def conform_lines(told: Told) -> Iterator[str]:
    """Yield the lines of a result."""
    found = told.conformity
    names = ", ".join(told.traces[:3]) + (" …" if len(told.traces) > 3 else "")  # noqa: PLR2004
    yield from _wrapped(f"{names} and {told.file}: {_WORDS[found.verdict]}{_under(found)}", "")
    if found.verdict == "nothing":
        yield "  no span in it is an operation"
        return
    yield from _wrapped(_counts(found))
    for why in found.unknown:
        yield from _wrapped(f"unknown: {why}")
    for note in found.notes:
        yield from _wrapped(note)
    yield from _all_broken(told)
    yield from _times(told)


def _under(found: Conformity) -> str:
    if found.verdict == "conforms":
        return f" under {', '.join(found.under)}"
    if found.verdict == "refuted":
        return f" under {', '.join(found.broken)}"
    return ""


def _wrapped(text: str, indent: str = "  ") -> Iterator[str]:
    behind = f"{indent}  "
    yield from wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=behind, break_on_hyphens=False
    )


def _counts(found: Conformity) -> str:
    matched = found.found
    spans = sum(len(named) for named in matched.ordered)
    ranks, steps = _number(len(matched.ordered), "rank"), _number(matched.steps, "step")
    said = [f"{spans} spans of {ranks}, {steps}"]
    said.append(f"recorded: {', '.join(matched.recorded)}")
    if matched.unrecorded:
        said.append(f"not recorded, not judged: {', '.join(matched.unrecorded)}")
    if matched.foreign:
        said.append(f"not of the schedule, left out: {', '.join(matched.foreign)}")
    return "; ".join(said)


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _all_broken(told: Told) -> Iterator[str]:
    """Yield what is wrong, once for all transports under which the same is."""
    alike: dict[tuple[Broken, ...], list[str]] = {}
    for name, broken in told.conformity.broken.items():
        if broken:
            alike.setdefault(broken, []).append(name)
    for broken, names in alike.items():
        if len(names) < len(told.conformity.broken):
            yield from _wrapped(f"not under {', '.join(names)}:")
        for each in broken[:_MOST]:
            code = f"{each.rule.code} {each.rule.name}"
            yield from _wrapped(f"{code}: {each.rule.message.format(why=each.offence.why)}")
            for span in each.offence.spans:
                yield f"    {_span(told, span)}"
        if len(broken) > _MOST:
            yield f"  … {len(broken) - _MOST} more; --format json lists all"


def _span(told: Told, span: Span) -> str:
    line, column = told.place(span)
    times = f"{micros_text(span.start)} to {micros_text(span.end)} us"
    return f"{span.file}:{line}:{column}: {printable(span.name)} of rank {span.rank}, {times}"


def _times(told: Told) -> Iterator[str]:
    for number, each in enumerate(told.times):
        if each.makespan is None:
            makespan = "not comparable: clocks of ranks differ by an unknown offset"
        else:
            makespan = f"{micros_text(each.makespan)} us, bubble {_percent(each.bubble)}"
        yield from _wrapped(f"step {number}: makespan {makespan}")
        for rank, (busy, window) in enumerate(zip(each.busy, each.windows, strict=True)):
            part = _percent(Fraction(busy, window)) if window else "-"
            said = f"rank {rank}: {micros_text(busy)} us of {micros_text(window)} us busy ({part})"
            yield f"    {said}"
    if told.beside is None:
        return
    timing = told.beside.timing
    if timing is None:
        yield from _wrapped(told.beside.why)
        return
    line, bounds = timing.line, timing.bounds
    span = _float(line.makespan, line.unit)
    yield from _wrapped(
        f"with the medians of this trace as costs, the model under {told.beside.transport} is over "
        f"in {span} us at the earliest, bubble {_percent(timing.measures.bubble)}"
        + (f"; no order is below {_float(bounds.best, line.unit)} us" if bounds else "")
    )
    yield from _wrapped(CAVEAT)


def _percent(part: Fraction | None) -> str:
    return "-" if part is None else f"{float(100 * part):.1f} %"


def _float(ticks: int, unit: int) -> str:
    return f"{float(Fraction(ticks, unit)):.6g}"


def conform_object(told: Told) -> dict[str, Json]:
    """Return a result as JSON holds it."""
    found = told.conformity
    matched = found.found
    transports: list[Json] = [
        {
            "name": name,
            "verdict": "refuted" if broken else "conforms",
            "violations": [_violation(told, each, first=not n) for n, each in enumerate(broken)],
        }
        for name, broken in found.broken.items()
    ]
    return {
        "schema": SCHEMA,
        "tool": {"name": "pipeproof", "version": __version__},
        "verdict": found.verdict,
        "path": told.file,
        "traces": list(told.traces),
        "ranks": len(matched.ordered),
        "steps": matched.steps,
        "spans": sum(len(named) for named in matched.ordered),
        "recorded": list(matched.recorded),
        "unrecorded": list(matched.unrecorded),
        "foreign": list(matched.foreign),
        "unknown": list(found.unknown),
        "notes": list(found.notes),
        "transports": transports,
        "times": [_step(each) for each in told.times],
        "model": _model(told.beside),
    }


def _violation(told: Told, each: Broken, *, first: bool) -> Json:
    offence = each.offence
    spans: list[Json] = []
    for span in offence.spans:
        line, column = told.place(span)
        spans.append(
            {
                "file": span.file,
                "event": span.event,
                "line": line,
                "column": column,
                "rank": span.rank,
                "name": span.name,
                "start": micros_text(span.start),
                "end": micros_text(span.end),
            }
        )
    at = offence.place
    return {
        "rule": each.rule.code,
        "name": each.rule.name,
        "first": first,
        "message": each.rule.message.format(why=offence.why),
        "at": None if at is None else {"rank": at[0], "position": at[1]},
        "spans": spans,
    }


def _step(each: StepTimes) -> Json:
    return {
        "makespan": None if each.makespan is None else micros_text(each.makespan),
        "bubble": None if each.bubble is None else float(each.bubble),
        "busy": [micros_text(busy) for busy in each.busy],
        "windows": [micros_text(window) for window in each.windows],
    }


def _model(beside: Beside | None) -> Json:
    if beside is None:
        return None
    timing = beside.timing
    if timing is None:
        return {"transport": beside.transport, "why": beside.why}
    unit, bounds = timing.line.unit, timing.bounds
    return {
        "transport": beside.transport,
        "unit": "us",
        "makespan": float(Fraction(timing.line.makespan, unit)),
        "bubble": float(timing.measures.bubble),
        "bounds": None
        if bounds is None
        else {
            "path": float(Fraction(bounds.path, unit)),
            "work": float(Fraction(bounds.work, unit)),
            "memory": None if bounds.memory is None else float(Fraction(bounds.memory, unit)),
        },
        "says": CAVEAT,
    }
