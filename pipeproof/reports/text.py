"""The result as text, for people: what is wrong, where, how it comes to it, what was covered."""

import re
from collections.abc import Iterable, Iterator
from io import StringIO
from textwrap import wrap

from pipeproof.reports._accepted import accepted_line, baseline_lines, counts
from pipeproof.reports._advice import advice, why
from pipeproof.reports._clean import clean, excerpt, inert
from pipeproof.reports._explained import explained_lines
from pipeproof.reports._live import live_lines
from pipeproof.reports._statistics import statistics_lines
from pipeproof.reports._trace import told
from pipeproof.verdict.result import ERROR, FileReport, Quote, Result
from pipeproof.verdict.verdict import FileVerdict, Outcome, Place, TransportVerdict, Violation

__all__ = ["NAME", "file_lines", "first_told", "render", "render_in_colour"]

NAME = "text"

_PLACES = 6
_OTHERS = 10
_WIDTH = 100
_COLOURS = {"bad": "bold red", "good": "green", "unsure": "yellow", "mark": "red", "quiet": "dim"}
_STYLE = {"proved": "good", "refuted": "bad", "unknown": "unsure", ERROR: "bad"}
_CASE = re.compile(r"#\d+$")

_Line = tuple[str, str]


def render(result: Result) -> str:
    """Return the report; its last line counts the verdicts."""
    return "".join(f"{inert(clean(text))}\n" for text, _ in _page(result))


def render_in_colour(result: Result) -> str:
    """Return the report with colours of the terminal in it."""
    from rich.console import Console  # noqa: PLC0415  text without colour needs no rich
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=StringIO(), force_terminal=True, color_system="standard", no_color=False)
    with console.capture() as captured:
        for text, style in _page(result):
            console.print(Text(inert(clean(text)), _COLOURS.get(style, "")), soft_wrap=True)
    return captured.get()


def file_lines(report: FileReport) -> Iterator[str]:
    """Yield what is said of one file, without control characters."""
    for text, _ in _file(report):
        yield inert(clean(text))


def _page(result: Result) -> Iterator[_Line]:
    for report in result.files:
        yield from _file(report)
        yield "", ""
    if result.statistics:
        yield from ((line, "quiet") for line in (*statistics_lines(result), ""))
    for line in baseline_lines(result):
        yield from _wrapped(line, "unsure")
    yield counts(result), _STYLE.get(result.word, "")


def _file(report: FileReport) -> Iterator[_Line]:
    verdict = report.verdict
    if report.failure is not None:
        yield f"{report.path}: not judged: {report.failure.message}", "bad"
    elif report.problems:
        errors = len(report.problems)
        yield f"{report.path}: unreadable, {_many(errors, 'error')}", "bad"
    elif verdict is None:
        yield f"{report.path}: unknown: {report.unsupported or 'not judged'}", "unsure"
    else:
        yield from _judged(report, verdict)


def _judged(report: FileReport, verdict: FileVerdict) -> Iterator[_Line]:
    told_first = first_told(verdict)
    shown = told_first[0] if told_first is not None else None
    style = _STYLE[verdict.verdict]
    if told_first is not None:
        shown, first = told_first
        after = ", accepted by the baseline" if report.only_accepted else ""
        head = f"{report.path}: refuted ({first.rule} {first.name}) under {shown.name}{after}"
        yield head, style
        yield from _violation(report, first)
        yield from _others(violation for violation in shown.violations if violation is not first)
    elif verdict.outcome is Outcome.PROVED:
        yield f"{report.path}: {_proved(verdict.transports)}", style
    else:
        yield f"{report.path}: {verdict.verdict}", style
    yield from _transports(verdict, shown)
    yield from _open(verdict)
    yield from _live(verdict)
    for line in explained_lines(verdict):
        yield from _wrapped(line)
    yield from _covered(verdict)


def _proved(transports: Iterable[TransportVerdict]) -> str:
    engines = dict.fromkeys(each.engine for each in transports)
    return f"proved by {', '.join(engines) or 'no engine'}, no certificate"


def first_told(verdict: FileVerdict) -> tuple[TransportVerdict, Violation] | None:
    """Return the violation that is told at length, one that nobody has accepted if there is one."""
    found = [(each, _first(each)) for each in verdict.transports if each.violations]
    return next((pair for pair in found if pair[1].accepted is None), next(iter(found), None))


def _first(transport: TransportVerdict) -> Violation:
    new = [each for each in transport.violations if each.accepted is None]
    violations = new or transport.violations
    return next((violation for violation in violations if violation.first), violations[0])


def _violation(report: FileReport, violation: Violation) -> Iterator[_Line]:
    yield from _wrapped(violation.message)
    if violation.accepted is not None:
        yield from _wrapped(accepted_line(violation.accepted), "unsure")
    yield "", ""
    for place in violation.at[:_PLACES]:
        yield from _place(report, place)
    if len(violation.at) > _PLACES:
        yield f"  … and {_many(len(violation.at) - _PLACES, 'more place')}", ""
    if not violation.reached:
        yield "  not reached: a deadlock comes before it", ""
    yield from _advice(violation.rule)
    lines = list(told(violation))
    if lines:
        yield "", ""
        yield "  how it comes to it:", ""
        yield from ((f"    {line}", "") for line in lines)
        yield "", ""
    if violation.seen is not None:
        yield from _wrapped(f"on tensors, {violation.seen.answer}: {violation.seen.why}")
        yield "", ""


def _place(report: FileReport, place: Place) -> Iterator[_Line]:
    said = f"rank {place.rank}, position {place.position}: {place.operation or 'end of program'}"
    if place.step is not None:
        said += ", in the second step"
    if place.lowered:
        said += " (stands in no file: lowering wrote it in here)"
    quote = report.quote(place)
    if quote is None:
        yield f"  {said}", ""
        return
    path = quote.file or _CASE.sub("", report.path)
    yield f"  {path}:{quote.line}:{quote.column}  {said}", ""
    line, caret = excerpt(quote.text, quote.column, _length(quote, place))
    yield f"    {line}", "quiet"
    yield f"    {caret}", "mark"


def _advice(code: str) -> Iterator[_Line]:
    said = [("why it breaks training", why(code)), ("what to change", advice(code))]
    lines = [f"{name}: {text}" for name, text in said if text]
    if lines:
        yield "", ""
    for line in lines:
        yield from _wrapped(line)


def _length(quote: Quote, place: Place) -> int:
    rest = quote.text[quote.column - 1 :]
    return len(place.operation) if rest.startswith(place.operation) else 1


def _others(violations: Iterable[Violation]) -> Iterator[_Line]:
    others = list(violations)
    for violation in others[:_OTHERS]:
        where = f" at {_places(violation)}" if violation.at else ""
        reached = "" if violation.reached else " (not reached)"
        said = f"also {violation.rule} {violation.name}{where}{reached}: {violation.message}"
        seen = "" if violation.seen is None else f"; on tensors, {violation.seen.answer}"
        by = "" if violation.accepted is None else f"; {accepted_line(violation.accepted)}"
        yield from _wrapped(said + seen + by)
    if len(others) > _OTHERS:
        yield f"  … and {len(others) - _OTHERS} more; --format json lists all", ""


def _places(violation: Violation) -> str:
    places = [f"r{place.rank}.{place.position}" for place in violation.at]
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    return ", ".join(places[:_PLACES]) + more


_Key = tuple[str, str, frozenset[tuple[str, tuple[Place, ...]]]]


def _key(transport: TransportVerdict) -> _Key:
    found = frozenset((violation.rule, violation.at) for violation in transport.violations)
    return transport.outcome.value, transport.engine, found


def _transports(verdict: FileVerdict, shown: TransportVerdict | None) -> Iterator[_Line]:
    groups: dict[_Key, list[TransportVerdict]] = {}
    for transport in verdict.transports:
        groups.setdefault(_key(transport), []).append(transport)
    for group in groups.values():
        same = shown is not None and shown in group
        names = ", ".join(each.name for each in group if each is not shown)
        if same and names:
            yield from _wrapped(f"the same under {names}")
        elif not same and len(groups) == 1 and verdict.outcome is Outcome.PROVED:
            yield from _wrapped(f"under {names}")
        elif not same and len(groups) > 1:
            yield from _wrapped(f"under {names}: {_brief(group)}")


def _brief(group: list[TransportVerdict]) -> str:
    transport = group[0]
    if transport.outcome is Outcome.PROVED:
        return _proved(group)
    if not transport.violations:
        return transport.outcome.value
    first = _first(transport)
    more = len(transport.violations) - 1
    where = f" at {_places(first)}" if first.at else ""
    return f"refuted ({first.rule} {first.name}){where}" + (f", and {more} more" if more else "")


def _open(verdict: FileVerdict) -> Iterator[_Line]:
    """Yield what is undecided and what warns; what differs only by its transport is one line."""
    unknown: dict[str, list[str]] = {}
    warned: dict[str, list[tuple[str, str]]] = {}
    for transport in verdict.transports:
        for each in transport.unknown:
            unknown.setdefault(f"{each.rule}: {each.why}", []).append(transport.name)
        for warning in transport.warnings:
            said = f"{warning.rule}: {warning.message}"
            alike = warned.setdefault(said.replace(transport.name, "…"), [])
            alike.append((transport.name, said))
    for said, names in unknown.items():
        yield from _wrapped(f"not decided under {', '.join(names)}: {said}", "unsure")
    for (_, said), *others in warned.values():
        more = f" (so under {', '.join(name for name, _ in others)})" if others else ""
        yield from _wrapped(f"warning {said}{more}", "unsure")


def _live(verdict: FileVerdict) -> Iterator[_Line]:
    lines = list(live_lines(verdict))
    if lines:
        yield "  most live at once, in any interleaving:", "quiet"
    for line in lines:
        yield from _wrapped(f"  {line}", "quiet")


def _covered(verdict: FileVerdict) -> Iterator[_Line]:
    steps = dict.fromkeys(each.steps for each in verdict.transports)
    parts = [
        _many(len(verdict.transports), "transport"),
        *("any number of steps" if n == "any" else _many(n, "step") for n in steps),
        _many(verdict.stages, "stage"),
        _many(verdict.ranks, "rank"),
        _many(verdict.microbatches, "microbatch", "es"),
        _many(verdict.operations, "operation"),
        *_outcomes(verdict),
        f"lowering {verdict.lowering}",
        f"profile {verdict.profile}",
        *(["a fragment"] if verdict.fragment else []),
        *(["forward only"] if verdict.forward_only else []),
    ]
    yield from _wrapped(f"covered: {', '.join(parts)}", "quiet")
    yield from _wrapped(_rules(verdict), "quiet")
    if verdict.undescribed:
        said = f"not described, so not judged: {', '.join(verdict.undescribed)}"
        yield from _wrapped(said, "quiet")
    for note in verdict.notes:
        yield from _wrapped(f"note: {note}", "quiet")


def _outcomes(verdict: FileVerdict) -> list[str]:
    most = max((each.outcomes for each in verdict.transports), default=1)
    return [f"{most} outcomes"] if most > 1 else []


def _rules(verdict: FileVerdict) -> str:
    assumed = dict.fromkeys(id_ for each in verdict.transports for id_ in each.assumes)
    counts: dict[str, int] = {}
    for each in verdict.transports:
        for code, n in each.instances.items():
            counts[code] = counts.get(code, 0) + n
    zero = sorted(code for code, n in counts.items() if not n)
    said = f"assumes {', '.join(sorted(assumed, key=_natural)) or 'nothing'}"
    said += f"; {_many(len(counts), 'rule')}"
    return said + (f", 0 instances of {', '.join(zero)}" if zero else "")


def _natural(word: str) -> tuple[str, int]:
    digits = word.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return word[: len(word) - len(digits)], int(digits) if digits.isdecimal() else 0


def _wrapped(text: str, style: str = "") -> Iterator[_Line]:
    for i, line in enumerate(wrap(clean(text), _WIDTH - 4, break_on_hyphens=False)):
        yield f"{'  ' if i == 0 else '    '}{line}", style


def _many(n: int, word: str, ending: str = "s") -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}{ending}"
