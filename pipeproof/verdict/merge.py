"""The verdict over every outcome of what a runtime chooses, from the verdict over each."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from pipeproof.verdict.decision import added
from pipeproof.verdict.verdict import (
    Explained,
    Live,
    TransportVerdict,
    Undecided,
    Violation,
    worst,
)

__all__ = ["merged"]

_SIZES = ("transfers", "waits")


def merged(verdicts: Sequence[TransportVerdict], labels: Sequence[str]) -> TransportVerdict:
    """Return the verdict that holds of all outcomes together.

    It is refuted if one is, else unknown if one is. A fault that several outcomes show is told
    once, with the first of them; the first violation is the one that needs the fewest events.

    Args:
        verdicts: the verdict over each outcome, one at least.
        labels: what was chosen in each, in words.
    """
    told: dict[tuple[object, ...], Violation] = {}
    firsts: list[Violation] = []
    for verdict, label in zip(verdicts, labels, strict=True):
        for violation in verdict.violations:
            key = (violation.rule, violation.at)
            named = _where(violation, label)
            if key not in told:
                told[key] = dataclasses.replace(named, first=False)
            if violation.first:
                firsts.append(told[key])
    violations = list(told.values())
    if firsts:
        first = min(firsts, key=_order)
        violations.remove(first)
        violations.insert(0, dataclasses.replace(first, first=True))
    return TransportVerdict(
        name=verdicts[0].name,
        outcome=worst(tuple(each.outcome for each in verdicts)),
        engine=", ".join(dict.fromkeys(n for each in verdicts for n in each.engine.split(", "))),
        events=max(each.events for each in verdicts),
        steps="any" if all(each.steps == "any" for each in verdicts) else _steps(verdicts),
        assumes=tuple(sorted({id_ for each in verdicts for id_ in each.assumes}, key=_natural)),
        instances=MappingProxyType(_instances(verdicts)),
        unknown=_once(verdicts),
        warnings=tuple(dict.fromkeys(each for v in verdicts for each in v.warnings)),
        violations=tuple(violations),
        live=_live(verdicts),
        outcomes=len(verdicts),
        explanations=tuple(_explanations(verdicts, labels)),
        counts=_counts(verdicts),
    )


def _counts(verdicts: Sequence[TransportVerdict]) -> Mapping[str, int]:
    """Return the largest size of an outcome, and what was taken for all of them."""
    total = added(each.counts for each in verdicts)
    sizes = {name: max(each.counts.get(name, 0) for each in verdicts) for name in _SIZES}
    return MappingProxyType({name: sizes.get(name, number) for name, number in total.items()})


def _where(violation: Violation, label: str) -> Violation:
    if not label:
        return violation
    return dataclasses.replace(violation, message=f"{violation.message} (where {label})")


def _explanations(
    verdicts: Sequence[TransportVerdict], labels: Sequence[str]
) -> Iterator[Explained]:
    """Yield what is explained in every outcome alike, and by outcome what is not."""
    alike = frozenset.intersection(*(frozenset(each.explanations) for each in verdicts))
    told: set[Explained] = set()
    for verdict, label in zip(verdicts, labels, strict=True):
        for each in verdict.explanations:
            if each not in alike:
                yield each._replace(where=label)
            elif each not in told:
                told.add(each)
                yield each


def _order(violation: Violation) -> tuple[int, str, list[tuple[int, int]]]:
    places = [(place.rank, place.position) for place in violation.at]
    return violation.cost, violation.rule, places


def _steps(verdicts: Sequence[TransportVerdict]) -> int:
    return min(each.steps for each in verdicts if each.steps != "any")


def _natural(id_: str) -> int:
    return int(id_[1:])


def _instances(verdicts: Sequence[TransportVerdict]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for verdict in verdicts:
        for code, number in verdict.instances.items():
            counts[code] = counts.get(code, 0) + number
    return counts


def _once(verdicts: Sequence[TransportVerdict]) -> tuple[Undecided, ...]:
    first: dict[str, Undecided] = {}
    for each in (undecided for verdict in verdicts for undecided in verdict.unknown):
        first.setdefault(each.rule, each)
    return tuple(first[code] for code in sorted(first))


def _live(verdicts: Sequence[TransportVerdict]) -> tuple[Live, ...]:
    most: dict[tuple[int, str], Live] = {}
    for each in (live for verdict in verdicts for live in verdict.live):
        known = most.get((each.rank, each.kind), each)
        size = None if each.size is None else max(each.size, known.size or 0)
        exact = each.exact and known.exact
        most[each.rank, each.kind] = Live(
            each.rank, each.kind, max(each.number, known.number), size, exact
        )
    return tuple(most.values())
