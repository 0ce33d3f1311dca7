"""What was found in one file, as results of SARIF."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pipeproof.reports._accepted import accepted_line
from pipeproof.reports._clean import clean
from pipeproof.reports._sarif_flow import Flows
from pipeproof.reports._sarif_places import Located, located, name_of, said
from pipeproof.reports._sarif_rules import BROKEN, MALFORMED, UNSUPPORTED
from pipeproof.verdict.fingerprint import fingerprint
from pipeproof.verdict.result import FileReport, Json
from pipeproof.verdict.verdict import Accepted, FileVerdict, Violation

__all__ = ["Found", "results"]

_LONGEST = 2_000
_OPERATION = 80
_NAMED = 8  # places that a message links to
_RELATED = 99  # GitHub shows 100 locations of a result

_Under = list[tuple[str, Violation]]


@dataclass(frozen=True, slots=True)
class Found:
    """One result; `more` is what it holds beside its rule, level, sentence and fingerprint.

    `level` is error, warning, or none for what is open: not known.
    """

    rule: str
    level: str
    message: str
    fingerprint: str
    more: Mapping[str, Json]

    def object(self, codes: Mapping[str, int], *, compared: bool = False) -> Json:
        """Return the result.

        Args:
            codes: where each rule stands in the list of rules.
            compared: whether a baseline was asked, so that of each result it is said whether
                somebody has accepted it.
        """
        return {
            "ruleId": self.rule,
            "ruleIndex": codes[self.rule],
            "kind": "open" if self.level == "none" else "fail",
            "level": self.level,
            "message": {"text": self.message},
            **({"suppressions": []} if compared else {}),
            **self.more,
            "partialFingerprints": {"pipeproof/v1": self.fingerprint},
        }


class _Said(NamedTuple):
    """What is said of a file as a whole, or of a place in it."""

    rule: str
    level: str
    message: str


def results(report: FileReport, flows: Flows) -> Iterator[Found]:
    """Yield what is broken in a file, what warns, and what is not known; each is told once."""
    places = located(report)
    for problem in report.problems:
        where = places.spot(problem.line, problem.column, file=problem.file)
        told = _Said(MALFORMED, "error", f"{problem.found}; {problem.expected}")
        yield _plain(report, told, where)
    if report.failure is not None:
        yield _plain(report, _Said(BROKEN, "none", report.failure.message), places.whole())
    elif report.verdict is not None:
        for (name, _), under in _broken(report, report.verdict).items():
            yield _violation(name, under, places, flows)
        for told, cause, names in _beside(report.verdict):
            yield _whole(report, told, places.whole(), cause, names)
    elif not report.problems:
        told = _Said(UNSUPPORTED, "none", report.unsupported or "not judged")
        yield _plain(report, told, places.whole())


def _plain(report: FileReport, told: _Said, where: Mapping[str, Json]) -> Found:
    name = _name(report, told.rule, told.message)
    return Found(told.rule, told.level, _sentence(told.message), name, {"locations": [where]})


def _whole(
    report: FileReport,
    told: _Said,
    where: Mapping[str, Json],
    cause: str,
    transports: tuple[str, ...],
) -> Found:
    more: dict[str, Json] = {
        "locations": [where],
        "properties": {"transports": [said(name) for name in transports]},
    }
    message = f"{_sentence(told.message)} ({_under(transports)})"
    return Found(told.rule, told.level, message, _name(report, told.rule, cause), more)


def _name(report: FileReport, rule: str, cause: str) -> str:
    return fingerprint(name_of(report.path), Violation(rule, rule, cause, (), 0))


def _sentence(message: str) -> str:
    return said(message, _LONGEST) or "nothing is said"


def _under(transports: tuple[str, ...]) -> str:
    return f"under {said(', '.join(transports), _LONGEST)}"


def _beside(verdict: FileVerdict) -> Iterator[tuple[_Said, str, tuple[str, ...]]]:
    """Yield what warns and then what is not decided.

    What differs only by the transport that it names is one: with the sentence of the first, the
    sentence without it, and all transports.
    """
    names: dict[_Said, tuple[str, ...]] = {}
    warned = [(each, t.name) for t in verdict.transports for each in t.warnings]
    open_ = [(each, t.name) for t in verdict.transports for each in t.unknown]
    said_ = [(_Said(each.rule, "warning", each.message), name) for each, name in warned]
    said_ += [(_Said(each.rule, "none", f"not decided: {each.why}"), name) for each, name in open_]
    for told, name in said_:
        names[told] = (*names.get(told, ()), name)
    found: dict[_Said, list[_Said]] = {}
    for told, under in names.items():
        alike = told._replace(message=told.message.replace(under[0], "…"))
        found.setdefault(alike, []).append(told)
    for alike, all_ in found.items():
        yield all_[0], alike.message, tuple(name for told in all_ for name in names[told])


def _broken(report: FileReport, verdict: FileVerdict) -> dict[tuple[str, int], _Under]:
    """Return what is broken, by fingerprint and how many before have it, under each transport."""
    path = name_of(report.path)
    under: dict[tuple[str, int], _Under] = {}
    for transport in verdict.transports:
        seen: dict[str, int] = {}
        for violation in transport.violations:
            name = fingerprint(path, violation)
            seen[name] = seen.get(name, -1) + 1
            under.setdefault((name, seen[name]), []).append((transport.name, violation))
    return under


def _violation(name: str, found: _Under, places: Located, flows: Flows) -> Found:
    violation = found[0][1]
    transports = tuple(transport for transport, _ in found)
    transport, shown = next((pair for pair in found if pair[1].trace), found[0])
    told, left_out = flows.told(transport, shown, places)
    at = [places.place(place) for place in violation.at[: _RELATED + 1]] or [places.whole()]
    others: list[Json] = [
        {**where, "id": number, "message": {"text": _named(violation, number)}}
        for number, where in enumerate(at[1:], 1)
    ]
    message = f"{_sentence(violation.message)} ({_under(transports)})."
    accepted = _accepted(found)
    by = [f"It is {said(accepted_line(accepted), _LONGEST)}."] if accepted is not None else []
    return Found(
        violation.rule,
        "error",
        " ".join([message, *by, *_also(violation), *([left_out] if left_out else [])]),
        name,
        {
            "locations": at[:1],
            **({"relatedLocations": others} if others else {}),
            **({"codeFlows": told} if told else {}),
            **_suppressed(accepted),
            "properties": _properties(violation, transports),
        },
    )


def _named(violation: Violation, number: int) -> str:
    place = violation.at[number]
    return f"rank {place.rank}, position {place.position}: {said(place.operation, 200)}"


def _also(violation: Violation) -> Iterator[str]:
    """Yield what is said beside the sentence, with links to the other places."""
    if not violation.reached:
        yield "Not reached: a deadlock comes before it."
    links = []
    for number, place in enumerate(violation.at[1 : _NAMED + 1], 1):
        text = said(place.operation, _OPERATION).replace("\\", "\\\\")
        text = text.replace("[", "\\[").replace("]", "\\]")
        links.append(f"[r{place.rank}.{place.position} {text}]({number})")
    if links:
        more = len(violation.at) - 1 - len(links)
        yield f"Also at {', '.join(links)}{f' and {more} more' if more else ''}."


def _accepted(found: _Under) -> Accepted | None:
    """Return who has accepted it, where that is so under every transport."""
    accepted = [violation.accepted for _, violation in found]
    return None if None in accepted else accepted[0]


def _suppressed(accepted: Accepted | None) -> Mapping[str, Json]:
    if accepted is None:
        return {}
    why = said(f"{accepted.date}: {accepted.reason}", _LONGEST)
    return {"suppressions": [{"kind": "external", "status": "accepted", "justification": why}]}


def _properties(violation: Violation, transports: tuple[str, ...]) -> Json:
    seen = violation.seen
    confirmed = {} if seen is None else {key: clean(text) for key, text in seen._asdict().items()}
    return {
        "transports": [said(name) for name in transports],
        "first": violation.first,
        "reached": violation.reached,
        **({"confirmation": confirmed} if confirmed else {}),
    }
