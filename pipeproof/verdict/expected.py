"""What a file must show against what it shows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pipeproof.ir.source import Expectation
from pipeproof.verdict.verdict import FileVerdict, Outcome, TransportVerdict, Violation, worst

__all__ = ["Agreement", "Shown", "compare", "shown", "wanted"]

# How many places show a violation: two ends of a message, as many as it takes, else at most one.
_RIGHT = {"PP202": (2,), "PP203": (2,), "PP204": (2,)}
_MANY = ("PP106", "PP205", "PP301")


class Agreement(StrEnum):
    """Whether a verdict is as expected; `unknown`: it differs only because it is undecided."""

    AGREE = "agree"
    DIFFER = "differ"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Shown:
    """A verdict over some transports."""

    verdict: str
    first: Violation | None
    violations: tuple[Violation, ...]
    unknown: frozenset[str]


def shown(verdict: FileVerdict, transport: str | None = None) -> Shown:
    """Return what `verdict` shows over all its transports, or under that of its transports."""
    transports = [each for each in verdict.transports if transport in (None, each.name)]
    if transport is None:
        return _shown(verdict.verdict, verdict.first, transports)
    violations = (violation for each in transports for violation in each.violations)
    first = next((violation for violation in violations if violation.first), None)
    return _shown(worst(tuple(each.outcome for each in transports)).value, first, transports)


def _shown(verdict: str, first: Violation | None, transports: Sequence[TransportVerdict]) -> Shown:
    return Shown(
        verdict,
        first,
        tuple(violation for each in transports for violation in each.violations),
        frozenset(undecided.rule for each in transports for undecided in each.unknown),
    )


def compare(expected: Expectation, found: Shown) -> tuple[Agreement, str]:
    """Return whether `found` is what `expected` says, and if not, what was found instead."""
    if found.verdict != expected.verdict:
        return _other_verdict(expected, found)
    rules = (expected.rule, *expected.alternatives) if expected.rule else ()
    if expected.verdict == Outcome.UNKNOWN:
        if rules and not found.unknown.intersection(rules):
            return Agreement.DIFFER, f"unknown ({', '.join(sorted(found.unknown))})"
        return Agreement.AGREE, found.verdict
    if rules and (found.first is None or found.first.rule not in rules):
        return Agreement.DIFFER, _said(found)
    wrong = _wrong_places(expected, found) or _too_much(found.violations)
    return (Agreement.DIFFER, wrong) if wrong else (Agreement.AGREE, found.verdict)


def _other_verdict(expected: Expectation, found: Shown) -> tuple[Agreement, str]:
    """An undecided verdict is no disagreement where the rule in question is what is undecided."""
    rules = (expected.rule, *expected.alternatives) if expected.rule else ()
    undecided = found.verdict == Outcome.UNKNOWN and (
        expected.verdict == Outcome.PROVED or bool(found.unknown.intersection(rules))
    )
    return (Agreement.UNKNOWN if undecided else Agreement.DIFFER), _said(found)


def _said(found: Shown) -> str:
    if found.verdict == Outcome.UNKNOWN:
        return f"unknown ({', '.join(sorted(found.unknown)) or 'no rule named'})"
    if found.first is None:
        return found.verdict
    return f"{found.verdict} {found.first.rule} {_listed(_places([found.first]))}".rstrip()


def _places(violations: Iterable[Violation]) -> list[str]:
    places = {(place.rank, place.position) for each in violations for place in each.at}
    return [f"r{rank}.{position}" for rank, position in sorted(places)]


def _listed(places: Sequence[str]) -> str:
    return f"at {', '.join(places)}" if places else ""


def _wrong_places(expected: Expectation, found: Shown) -> str:
    """Return where the expected rule is reported, if not where it should be, else nothing."""
    reported = [violation for violation in found.violations if violation.rule == expected.rule]
    if not reported:
        return ""
    places = _places(reported)
    right = set(expected.at) <= set(places)
    if expected.at_any:
        right = right and not set(expected.at_any).isdisjoint(places)
    if expected.exact:
        right = right and set(places) == set(expected.at) | set(expected.at_any)
    return "" if right else f"{expected.rule} {_listed(places) or 'without a place'}"


def _too_much(violations: Iterable[Violation]) -> str:
    """Return which violation names more places than what shows it, or nothing."""
    for violation in violations:
        places = len(violation.at)
        right = _RIGHT.get(violation.rule, (0, 1))
        if violation.rule not in _MANY and places not in right:
            return f"{violation.rule} names {places} places: {_listed(_places([violation]))}"
    return ""


def wanted(expected: Expectation) -> str:
    """Return `expected` in words."""
    rules = " or ".join((expected.rule, *expected.alternatives)) if expected.rule else ""
    parts = [expected.verdict, rules, _listed(expected.at)]
    if expected.at_any:
        parts.append(f"at one of {', '.join(expected.at_any)}")
    if expected.exact:
        parts.append("and nowhere else")
    return " ".join(part for part in parts if part)
