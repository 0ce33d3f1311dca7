"""The result as JUnit XML: a suite a schedule, a test case a rule and transport.

Broken is a failure, not known an error, and what a rule applied to nothing of is skipped: nothing
was shown. Nothing in it depends on time. Source: the schema junit-10.xsd of Jenkins' xUnit plugin,
which GitLab's reader takes too.
"""

from collections.abc import Iterable, Iterator
from io import BytesIO

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from pipeproof.reports._accepted import accepted_line
from pipeproof.reports._clean import clean, inert
from pipeproof.reports._trace import told
from pipeproof.semantics.rules import all_rules
from pipeproof.verdict.result import FileReport, Result
from pipeproof.verdict.verdict import Outcome, Place, TransportVerdict, Violation

__all__ = ["NAME", "render"]

NAME = "junit"
_LONGEST = 2_000
_TOLD = 10  # violations of one rule that are told at length
_PLACES = 10

_Ending = Failure | Error | Skipped | None


def render(result: Result) -> str:
    """Return the document in ASCII, a test case a line; equal results, equal bytes."""
    whole = JUnitXml("pipeproof")
    suites = [_suite(report) for report in result.files]
    whole.tests = sum(suite.tests for suite in suites)
    whole.failures = sum(suite.failures for suite in suites)
    whole.errors = sum(suite.errors for suite in suites)
    for suite in suites:
        whole.append(suite)  # type: ignore[no-untyped-call]  # add_testsuite compares all with all
    written = BytesIO()
    whole.write(written)
    text = written.getvalue().decode()
    for tag in ("<testsuite ", "<testcase ", "</testsuite>", "</testsuites>"):
        text = text.replace(tag, f"\n{tag}")  # nowhere in a text: there `<` is written otherwise
    text = text.replace("##[", "&#35;#[")  # no runner takes it for a command, printed or not
    return text.encode("ascii", "xmlcharrefreplace").decode() + "\n"


def _suite(report: FileReport) -> TestSuite:
    path = _line(report.path)
    cases = []
    for name, ending in _endings(report):
        case = TestCase(_line(name), path)
        if ending is not None:
            case.result = ending
        cases.append(case)
    suite = TestSuite(path)
    suite.add_testcases(cases)
    return suite


def _endings(report: FileReport) -> Iterator[tuple[str, _Ending]]:
    """Yield the name of each test case and what became of it, None for what passed."""
    if report.failure is not None:
        distrust = report.failure.exit_code == 4  # noqa: PLR2004  as the command ends
        kind = "do not trust" if distrust else "internal error"
        yield "is judged", _ended(Error, kind, [report.failure.message])
    elif report.problems:
        yield "is a schedule", _ended(Error, "unreadable", map(str, report.problems))
    elif report.verdict is None:
        yield "is judged", _ended(Error, "unknown", [report.unsupported or "not judged"])
    else:
        names = {rule.code: rule.name for rule in all_rules()}
        for transport in report.verdict.transports:
            yield from _transport(report, transport, names)
        if not report.verdict.transports:
            yield "is judged", _ended(Error, "unknown", ["there is no transport to judge it under"])


def _transport(
    report: FileReport, transport: TransportVerdict, names: dict[str, str]
) -> Iterator[tuple[str, _Ending]]:
    codes = {*transport.instances, *(each.rule for each in transport.violations)}
    codes |= {each.rule for each in transport.unknown}
    codes |= {each.rule for each in transport.warnings}
    good = True
    for code in sorted(codes):
        ending = _ending(report, transport, code)
        good = good and not isinstance(ending, Failure | Error)
        yield f"{code} {names.get(code, '')} under {transport.name}".replace("  ", " "), ending
    accepted = any(each.accepted is not None for each in transport.violations)
    if good and transport.outcome is not Outcome.PROVED and not accepted:
        said = f"the verdict is {transport.outcome.value}, and no rule says why"
        yield f"is proved under {transport.name}", _ended(Error, "unknown", [said])


def _ending(report: FileReport, transport: TransportVerdict, code: str) -> _Ending:
    """Return what became of one rule under one transport."""
    broken = [each for each in transport.violations if each.rule == code]
    new = [each for each in broken if each.accepted is None]
    open_ = [each.why for each in transport.unknown if each.rule == code]
    warned = [each.message for each in transport.warnings if each.rule == code]
    if new:
        return _broken(report, new)
    if open_:
        return _ended(Error, "unknown", open_)
    if broken:
        return _ended(Skipped, "accepted", (_accepted(each) for each in broken))
    if warned:
        return _ended(Skipped, "warning", warned)
    if not transport.instances.get(code, 0):
        return _ended(Skipped, "nothing", ["it applied to nothing: 0 instances"])
    return None


def _broken(report: FileReport, broken: list[Violation]) -> Failure:
    lines: list[str] = []
    for violation in broken[:_TOLD]:
        lines += _told(report, violation)
    if len(broken) > _TOLD:
        lines.append(f"… and {len(broken) - _TOLD} more; `pipeproof check` tells them all")
    return _failure([violation.message for violation in broken], lines, broken[0])


def _failure(messages: list[str], lines: list[str], first: Violation) -> Failure:
    more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
    failure = Failure(f"{_line(messages[0])}{more}", _line(f"{first.rule} {first.name}"))
    failure.text = "\n".join(inert(_line(line)) for line in lines)
    return failure


def _told(report: FileReport, violation: Violation) -> Iterator[str]:
    yield violation.message
    for place in violation.at[:_PLACES]:
        yield f"  {_where(report, place)}"
    if len(violation.at) > _PLACES:
        yield f"  … and {len(violation.at) - _PLACES} more places"
    if not violation.reached:
        yield "  not reached: a deadlock comes before it"
    lines = list(told(violation))
    if lines:
        yield "  how it comes to it:"
        yield from (f"    {line}" for line in lines)
    if violation.seen is not None:
        yield f"  on tensors, {violation.seen.answer}: {violation.seen.why}"


def _where(report: FileReport, place: Place) -> str:
    said = f"rank {place.rank}, position {place.position}: {place.operation}"
    quote = report.quote(place)
    if quote is None:
        return said
    return f"{quote.file or report.path}:{quote.line}:{quote.column}: {said}"


def _accepted(violation: Violation) -> str:
    by = "" if violation.accepted is None else accepted_line(violation.accepted)
    return f"{by}; accepted is not proved: {violation.message}"


def _ended(kind: type[Error | Skipped], word: str, lines: Iterable[str]) -> Error | Skipped:
    said = [_line(line) for line in lines]
    ending = kind(said[0], word)
    if len(said) > 1:
        ending.text = "\n".join(map(inert, said))
    return ending


def _line(text: str) -> str:
    shown = clean(text[: _LONGEST + 1])
    return f"{shown[:_LONGEST]}…" if len(shown) > _LONGEST else shown
