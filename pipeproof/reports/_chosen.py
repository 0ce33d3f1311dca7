"""The one execution that is shown of a result, where a format holds no more than one."""

from collections.abc import Iterator
from typing import NamedTuple

from pipeproof.ir.source import Document
from pipeproof.reports._drawn import showings, told
from pipeproof.reports._worded import worded
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken, Decision
from pipeproof.verdict.result import FileReport, Result
from pipeproof.verdict.verdict import Violation

__all__ = ["Chosen", "chosen", "others", "summed_up"]


class Chosen(NamedTuple):
    """A schedule under one transport, and what is broken there, if anything is."""

    report: FileReport
    document: Document
    model: Model
    decision: Decision
    violation: Violation | None
    broken: Broken | None

    @property
    def transport(self) -> str:
        """The transport under which it runs."""
        return self.model.frame.transport.name


def chosen(result: Result) -> Chosen | None:
    """Return the first violation of the first refuted schedule, else the first schedule.

    None where no schedule is at hand.
    """
    reports = [each for each in result.files if each.kept and each.document is not None]
    refuted = (found for each in reports if each.word == "refuted" for found in _refuted(each))
    first = next(refuted, None)
    return first if first is not None else next((found for r in reports for found in _any(r)), None)


def _refuted(report: FileReport) -> Iterator[Chosen]:
    if report.verdict is None or report.document is None:
        return
    listed = [(each.name, one) for each in report.verdict.transports for one in each.violations]
    listed.sort(key=lambda pair: not pair[1].first)
    for name, violation in listed:
        shown = showings(name, report.kept).get(told(violation))
        if shown is not None:
            model, broken = shown
            decision = next(each for made, each in report.kept if made is model)
            yield Chosen(report, report.document, model, decision, violation, broken)


def _any(report: FileReport) -> Iterator[Chosen]:
    if report.document is not None:
        for model, decision in report.kept:
            yield Chosen(report, report.document, model, decision, None, None)


def summed_up(result: Result, shown: Chosen | None) -> str:
    """Return in words what is shown, of what, and that it is not all."""
    if shown is None:
        return "nothing is shown: no schedule of this result is at hand"
    of = f"{worded(shown.document.name)} under {worded(shown.transport)}"
    violation = shown.violation
    if violation is not None:
        said = f"the execution that shows {violation.rule} {violation.name} in {of}"
        said += f": {worded(violation.message)}"
        if shown.broken is not None and not len(shown.broken.trace):
            said += " (no event shows it: what can happen is shown)"
    elif shown.decision.complete and not shown.decision.broken:
        said = f"the earliest execution of {of}"
    else:
        said = f"what can happen in {of}"
    more = len(others(result, shown))
    return said + (f"; {more} more {'is' if more == 1 else 'are'} not shown" if more else "")


def others(result: Result, shown: Chosen | None) -> list[str]:
    """Return in words what else the result holds: other violations, transports, files."""
    found: list[str] = []
    for report in result.files:
        path = worded(report.path)
        if report.verdict is None:
            found.append(f"{path}: {report.word}")
            continue
        for each in report.verdict.transports:
            said = f"{path} under {worded(each.name)}"
            own = shown is not None and (report, each.name) == (shown.report, shown.transport)
            if not own and not each.violations:
                found.append(f"{said}: {each.outcome.value}")
            told = [v for v in each.violations if shown is None or v is not shown.violation]
            found += [f"{said}: {v.rule} {v.name}: {worded(v.message)}" for v in told]
    return found
