"""Findings that somebody has accepted: what of a result they cover, and which are gone."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pipeproof.verdict.fingerprint import fingerprint
from pipeproof.verdict.result import Compared, Entry, FileReport, Result
from pipeproof.verdict.verdict import Accepted, TransportVerdict, Violation

__all__ = ["MESSAGE", "Finding", "compared", "findings", "is_gone", "plain"]

MESSAGE = 500
"""How many characters of a message an entry keeps."""

Named = Callable[[str], str]
"""Returns how a file is named in a baseline, by the name under which it was judged."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What an entry stands for: one finding of a file, and under which transports it is there.

    `count` is how many findings of one transport share the fingerprint.
    """

    fingerprint: str
    rule: str
    path: str
    message: str
    transports: tuple[str, ...]
    count: int


def plain(text: str) -> str:
    """Return `text` on one line, with everything unprintable replaced."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def findings(report: FileReport, path: str) -> tuple[Finding, ...]:
    """Return what is broken in a file, each finding once, in order of its fingerprint.

    Args:
        report: what became of the file.
        path: how the file is named in the baseline.
    """
    counts: dict[str, Counter[str]] = {}
    told: dict[str, Violation] = {}
    for transport in _transports(report):
        for violation in transport.violations:
            name = fingerprint(path, violation)
            told.setdefault(name, violation)
            counts.setdefault(name, Counter())[transport.name] += 1
    found: list[Finding] = []
    for name in sorted(told):
        under = counts[name]
        message = plain(told[name].message[:MESSAGE])
        most = max(under.values())
        found.append(
            Finding(name, told[name].rule, plain(path), message, tuple(sorted(under)), most)
        )
    return tuple(found)


def compared(
    result: Result, file: str, entries: Sequence[Entry], named: Named, exists: Callable[[str], bool]
) -> Result:
    """Return `result` with what the entries accept marked so, and those that are gone.

    A finding is accepted under the transports that its entry names, and no more often than it
    says; what the entry says of rule and path has to be so, too. No outcome changes.

    Args:
        result: what was found.
        file: the name of the baseline.
        entries: its entries, no fingerprint twice.
        named: how a file that was judged is named in it.
        exists: whether there is a file of that name.
    """
    by_name = {entry.fingerprint: entry for entry in entries}
    files = tuple(_marked(report, by_name, named) for report in result.files)
    judged: dict[str, list[FileReport]] = {}
    for report in files:
        judged.setdefault(plain(named(report.path)), []).append(report)
    gone: list[Entry] = []
    elsewhere = 0
    for entry in entries:
        reports = judged.get(entry.path)
        if reports is None and exists(entry.path):
            elsewhere += 1
        elif reports is None or is_gone(entry, entry.transports, reports, named):
            gone.append(entry)
    accepted = sum(each.accepted is not None for report in files for each in _violations(report))
    return replace(result, files=files, baseline=Compared(file, accepted, tuple(gone), elsewhere))


def is_gone(
    entry: Entry, transports: Iterable[str], reports: Sequence[FileReport], named: Named
) -> bool:
    """Whether each of these transports was judged, its rule decided, and the finding is not there.

    Args:
        entry: the entry that speaks of the finding.
        transports: some of those that it names.
        reports: what became of the file.
        named: how a file that was judged is named in the baseline.
    """
    wanted = set(transports)
    decided = {
        each.name
        for report in reports
        for each in _transports(report)
        if entry.rule in each.instances and entry.rule not in {said.rule for said in each.unknown}
    }
    found = {
        each.name
        for report in reports
        for each in _transports(report)
        for violation in each.violations
        if violation.rule == entry.rule
        and fingerprint(named(report.path), violation) == entry.fingerprint
    }
    return wanted <= decided and not wanted & found


def _transports(report: FileReport) -> tuple[TransportVerdict, ...]:
    return () if report.verdict is None else report.verdict.transports


def _violations(report: FileReport) -> Iterator[Violation]:
    return (each for transport in _transports(report) for each in transport.violations)


def _marked(report: FileReport, entries: dict[str, Entry], named: Named) -> FileReport:
    verdict = report.verdict
    if verdict is None or not entries:
        return report
    path = named(report.path)
    transports = tuple(
        replace(each, violations=tuple(_accepted(each, path, entries)))
        for each in verdict.transports
    )
    return replace(report, verdict=replace(verdict, transports=transports))


def _accepted(
    transport: TransportVerdict, path: str, entries: dict[str, Entry]
) -> Iterator[Violation]:
    taken: Counter[str] = Counter()
    for violation in transport.violations:
        name = fingerprint(path, violation)
        entry = entries.get(name)
        covers = (
            entry is not None
            and (entry.rule, entry.path) == (violation.rule, plain(path))
            and transport.name in entry.transports
            and taken[name] < entry.count
        )
        taken[name] += 1
        if entry is None or not covers:
            yield violation
        else:
            yield replace(violation, accepted=Accepted(entry.reason, entry.date))
