"""What a baseline accepts of a result, and what it does not."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from pipeproof.verdict.baseline import MESSAGE, compared, findings, is_gone
from pipeproof.verdict.fingerprint import fingerprint
from pipeproof.verdict.result import Entry, FileReport, Result
from pipeproof.verdict.verdict import (
    FileVerdict,
    Outcome,
    Place,
    TransportVerdict,
    Undecided,
    Violation,
)

PATH = "a.yaml"
STUCK = Violation(
    "PP301", "deadlock", "they wait", (Place(0, 1, "0SEND_F0", 1, 0, 0),), 1, first=True
)
EARLY = Violation("PP501", "read-before-complete", "too early", (Place(0, 3, "0F1", 3, 0, 1),), 3)


def under(name: str, *violations: Violation, unknown: tuple[str, ...] = ()) -> TransportVerdict:
    outcome = Outcome.PROVED if not violations else Outcome.REFUTED
    return TransportVerdict(
        name,
        Outcome.UNKNOWN if unknown and not violations else outcome,
        "graph",
        4,
        "any",
        (),
        MappingProxyType({"PP301": 1, "PP501": 0}),
        tuple(Undecided(code, "why") for code in unknown),
        (),
        violations,
    )


def report(*transports: TransportVerdict, path: str = PATH) -> FileReport:
    words = [each.outcome for each in transports]
    outcome = next((w for w in (Outcome.REFUTED, Outcome.UNKNOWN) if w in words), Outcome.PROVED)
    found = FileVerdict(
        path, outcome, 1, 1, 2, 4, "as-written", "none", fragment=False, transports=transports
    )
    return FileReport(path, found)


def entry(violation: Violation = STUCK, *transports: str, path: str = PATH) -> Entry:
    name = fingerprint(path, violation)
    under = transports or ("rendezvous",)
    return Entry(name, violation.rule, path, violation.message, "known", "2026-01-02", under)


def with_(result: Result, *entries: Entry, there: bool = True) -> Result:
    return compared(result, "b.json", entries, lambda name: name, lambda _: there)


def accepted(result: Result) -> list[str]:
    transports = [each for file in result.files if file.verdict for each in file.verdict.transports]
    return [
        f"{transport.name} {each.rule}"
        for transport in transports
        for each in transport.violations
        if each.accepted is not None
    ]


def test_a_finding_is_accepted_and_its_file_stays_refuted() -> None:
    found = with_(Result("0", (report(under("rendezvous", STUCK)),)), entry())

    assert accepted(found) == ["rendezvous PP301"]
    assert found.word == found.files[0].word == "refuted"
    assert found.files[0].only_accepted
    assert found.baseline is not None
    assert (found.baseline.accepted, found.baseline.gone) == (1, ())


def test_what_is_in_no_entry_is_new() -> None:
    found = with_(Result("0", (report(under("rendezvous", STUCK, EARLY)),)), entry())

    assert accepted(found) == ["rendezvous PP301"]
    assert not found.files[0].only_accepted


@pytest.mark.parametrize(
    "other",
    [
        replace(entry(), rule="PP501"),
        replace(entry(), path="b.yaml"),
        replace(entry(), fingerprint="0" * 32),
        entry(STUCK, "buffered"),
        entry(replace(STUCK, at=(Place(0, 2, "0SEND_F1", 2, 0, 1),))),
    ],
    ids=["rule", "path", "fingerprint", "transport", "operation"],
)
def test_an_entry_that_speaks_of_something_else_accepts_nothing(other: Entry) -> None:
    found = with_(Result("0", (report(under("rendezvous", STUCK)),)), other)

    assert accepted(found) == []
    assert not found.files[0].only_accepted


def test_a_finding_under_another_transport_is_new() -> None:
    both = report(under("rendezvous", STUCK), under("buffered", STUCK))
    found = with_(Result("0", (both,)), entry())

    assert accepted(found) == ["rendezvous PP301"]
    assert not found.files[0].only_accepted
    assert (
        with_(Result("0", (both,)), entry(STUCK, "buffered", "rendezvous")).files[0].only_accepted
    )


def test_a_second_finding_with_the_same_fingerprint_is_new() -> None:
    again = replace(STUCK, at=(STUCK.at[0]._replace(position=9),), first=False)
    twice = report(under("rendezvous", STUCK, again))
    assert fingerprint(PATH, STUCK) == fingerprint(PATH, again)

    assert not with_(Result("0", (twice,)), entry()).files[0].only_accepted
    assert with_(Result("0", (twice,)), replace(entry(), count=2)).files[0].only_accepted
    (told,) = findings(twice, PATH)
    assert told.count == 2


def test_what_is_unknown_is_never_accepted() -> None:
    unknown = report(under("rendezvous", unknown=("PP301",)))
    found = with_(Result("0", (unknown,)), entry())

    assert found.files[0].word == "unknown"
    assert not found.files[0].only_accepted
    assert found.baseline is not None
    assert found.baseline.gone == ()


def test_a_verdict_that_shows_nothing_is_not_accepted() -> None:
    bare = replace(under("rendezvous"), outcome=Outcome.REFUTED)
    assert not with_(Result("0", (report(bare),)), entry()).files[0].only_accepted


def test_what_was_judged_and_is_not_there_is_gone() -> None:
    fine = report(under("rendezvous"))
    found = with_(Result("0", (fine,)), entry(), entry(EARLY))

    assert found.baseline is not None
    assert [each.rule for each in found.baseline.gone] == ["PP301", "PP501"]


@pytest.mark.parametrize(
    "now",
    [
        report(under("buffered")),
        report(under("rendezvous", unknown=("PP301",))),
        report(replace(under("rendezvous"), instances=MappingProxyType({"PP501": 1}))),
        report(under("rendezvous"), path="other.yaml"),
        FileReport(PATH, unsupported="not judged"),
    ],
    ids=["other transport", "unknown", "rule not selected", "other file", "not judged"],
)
def test_what_was_not_judged_is_not_gone(now: FileReport) -> None:
    found = with_(Result("0", (now,)), entry())

    assert found.baseline is not None
    assert found.baseline.gone == ()
    assert found.baseline.elsewhere == (now.path != PATH)


def test_of_a_file_that_is_not_there_everything_is_gone() -> None:
    fine = report(under("rendezvous"), path="other.yaml")
    found = with_(Result("0", (fine,)), entry(), there=False)

    assert found.baseline is not None
    assert len(found.baseline.gone) == 1
    assert found.baseline.elsewhere == 0


def test_a_finding_that_is_there_under_one_of_its_transports_is_not_gone() -> None:
    half = [report(under("rendezvous", STUCK), under("buffered"))]
    both = entry(STUCK, "buffered", "rendezvous")

    assert not is_gone(both, both.transports, half, str)
    assert is_gone(both, ("buffered",), half, str)
    assert not is_gone(both, ("rendezvous",), half, str)


def test_findings_name_their_transports_and_are_plain_text() -> None:
    loud = replace(STUCK, message="a\x1b[31m\n" + "x" * 900)
    found = findings(report(under("b", loud), under("a", loud), under("c")), "d/\x07.yaml")

    assert len(found) == 1
    assert found[0].transports == ("a", "b")
    assert found[0].path == "d/\ufffd.yaml"
    assert found[0].message.startswith("a\ufffd[31m\ufffdxx")
    assert len(found[0].message) == MESSAGE


def test_without_entries_nothing_is_accepted_and_nothing_gone() -> None:
    found = with_(Result("0", (report(under("rendezvous", STUCK)),)))

    assert accepted(found) == []
    assert found.baseline is not None
    assert (found.baseline.accepted, found.baseline.gone, found.baseline.elsewhere) == (0, (), 0)
