"""JUnit: a case a rule and transport, and nothing that is not shown passes."""

from dataclasses import replace
from types import MappingProxyType

import pytest
from junitparser import Error, Failure, Skipped, TestCase

from pipeproof.errors import Problem
from pipeproof.reports import junit as report
from pipeproof.verdict.result import FileReport, Quote, Result
from pipeproof.verdict.verdict import (
    Outcome,
    Place,
    Seen,
    TraceStep,
    TransportVerdict,
    Undecided,
    Violation,
)
from tests.reports.junits import checked
from tests.reports.made import (
    DEADLOCK,
    STRANDED,
    accepted,
    proved,
    refuted,
    transport,
    unknown,
    unreadable,
    verdict,
    whole,
)

Ending = tuple[str, str, str, str]


def told(*files: FileReport) -> dict[str, Ending]:
    """What became of each case, by its name: kind, type, message and text."""
    suites = checked(report.render(Result("0.5.0", files)))
    return {str(case.name): _ending(case) for suite in suites for case in suite}


def _ending(case: TestCase) -> Ending:
    if not case.result:
        return "passed", "", "", ""
    (result,) = case.result
    kind = {Failure: "failure", Error: "error", Skipped: "skipped"}[type(result)]
    return kind, result.type or "", result.message or "", result.text or ""


def one(*transports: TransportVerdict, outcome: Outcome = Outcome.REFUTED) -> FileReport:
    return FileReport("a.yaml", verdict(*transports, outcome=outcome, path="a.yaml"))


def test_each_rule_is_a_case_under_each_transport_in_the_suite_of_its_file() -> None:
    suites = list(checked(report.render(Result("0", (proved(), refuted())))))

    assert [suite.name for suite in suites] == ["fine.yaml", "crossed.yaml"]
    assert [case.name for case in suites[0]] == [
        f"{rule} under {name}"
        for name in ("rendezvous", "buffered")
        for rule in (
            "PP101 missing-operation",
            "PP205 collective-order",
            "PP301 deadlock",
            "PP501 read-before-complete",
        )
    ]
    assert {case.classname for case in suites[1]} == {"crossed.yaml"}


def test_a_broken_rule_fails_with_its_sentence_its_places_and_how_it_comes_to_it() -> None:
    kind, name, message, text = told(refuted())["PP301 deadlock under rendezvous"]
    lines = text.splitlines()

    assert (kind, name, message) == ("failure", "PP301 deadlock", DEADLOCK.message)
    assert lines[:3] == [
        DEADLOCK.message,
        "  crossed.yaml:6:25: rank 0, position 3: 0SEND_F1",
        "  crossed.yaml:7:4: rank 1, position 3: 1SEND_B0",
    ]
    assert "    rank 1: past 1RECV_F0, 1F0, 1B0; stands at 1SEND_B0 (position 3)" in lines


def test_each_transport_has_its_own_failure() -> None:
    found = told(refuted())
    broken = [name for name, ending in found.items() if ending[0] == "failure"]

    assert broken == [
        "PP301 deadlock under rendezvous",
        "PP303 stranded-message under rendezvous",
        "PP301 deadlock under rendezvous-edge",
        "PP303 stranded-message under rendezvous-edge",
        "PP301 deadlock under rendezvous-rank",
    ]
    assert found["PP301 deadlock under buffered"][0] == "passed"
    assert found["PP303 stranded-message under rendezvous"][3].endswith(
        "  not reached: a deadlock comes before it"
    )


def test_what_a_rule_applied_to_nothing_of_is_no_pass() -> None:
    assert told(proved())["PP501 read-before-complete under buffered"] == (
        "skipped",
        "nothing",
        "it applied to nothing: 0 instances",
        "",
    )
    assert told(proved())["PP101 missing-operation under buffered"][0] == "passed"


def test_what_is_not_known_is_an_error() -> None:
    assert told(unknown())["PP501 read-before-complete under buffered"] == (
        "error",
        "unknown",
        "storage is not judged by this version",
        "",
    )


def test_a_rule_that_is_broken_and_open_is_broken() -> None:
    under = transport(
        "gloo", Outcome.REFUTED, DEADLOCK, unknown=(Undecided("PP301", "more may be"),)
    )

    assert told(one(under))["PP301 deadlock under gloo"][0] == "failure"


def test_a_warning_is_no_pass_and_no_failure() -> None:
    kind, name, message, _ = told(refuted())["PP302 depends-on-buffering under rendezvous"]

    assert (kind, name) == ("skipped", "warning")
    assert message == "legal under every buffered transport, stuck under rendezvous"


def test_a_transport_that_is_not_proved_is_green_for_no_reason() -> None:
    for outcome in (Outcome.UNKNOWN, Outcome.REFUTED):
        found = told(one(transport("gloo", outcome), outcome=outcome))

        assert found["is proved under gloo"][:2] == ("error", "unknown")
    assert "is proved under buffered" not in told(proved())


def test_a_file_without_a_verdict_is_an_error_of_its_kind() -> None:
    failed, later = whole().files[-2:]
    bug = replace(failed, failure=replace(failed.failure, exit_code=101))  # type: ignore[type-var]  # it failed
    endings = [told(each) for each in (unreadable(), failed, bug, later)]

    assert endings == [
        {
            "is a schedule": (
                "error",
                "unreadable",
                "bad.yaml:3:7: '2X0' is no operation; write 2F0 or 1SEND_F3",
                "",
            )
        },
        {"is judged": ("error", "do not trust", "do not trust this run: no replay", "")},
        {"is judged": ("error", "internal error", "do not trust this run: no replay", "")},
        {"is judged": ("error", "unknown", "faults are not judged by this version", "")},
    ]


def test_a_verdict_under_no_transport_is_no_success() -> None:
    found = told(one(outcome=Outcome.PROVED))

    assert found["is judged"][:2] == ("error", "unknown")


def test_every_mistake_of_a_file_is_told() -> None:
    problems = tuple(Problem("bad.yaml", n, 1, "this", "that") for n in (1, 2, 3))
    ending = told(FileReport("bad.yaml", problems=problems))["is a schedule"]

    assert ending[2] == "bad.yaml:1:1: this; that"
    assert ending[3].splitlines()[2] == "bad.yaml:3:1: this; that"


def test_an_accepted_finding_is_skipped_and_never_a_pass() -> None:
    suites = checked(report.render(accepted(also=True)))
    found = {str(case.name): _ending(case) for case in next(iter(suites))}

    assert [each[0] for each in found.values()].count("failure") == 0
    kind, name, message, _ = found["PP301 deadlock under rendezvous"]
    assert (kind, name) == ("skipped", "accepted")
    assert message.startswith("accepted by the baseline on ")
    assert "accepted is not proved" in message


def test_a_new_finding_beside_an_accepted_one_fails() -> None:
    known = next(iter(accepted().files)).verdict
    assert known is not None
    deadlock = known.transports[0].violations[0]
    found = told(one(transport("gloo", Outcome.REFUTED, deadlock, DEADLOCK)))

    assert found["PP301 deadlock under gloo"][0] == "failure"
    assert found["PP301 deadlock under gloo"][2] == DEADLOCK.message


def test_many_findings_of_one_rule_are_one_failure_that_counts_them() -> None:
    many = tuple(replace(STRANDED, message=f"0F{n} is lost") for n in range(14))
    _, _, message, text = told(one(transport("gloo", Outcome.REFUTED, *many)))[
        "PP303 stranded-message under gloo"
    ]

    assert message == "0F0 is lost (and 13 more)"
    assert "0F9 is lost" in text
    assert "0F10 is lost" not in text
    assert text.endswith("… and 4 more; `pipeproof check` tells them all")


def test_many_places_are_cut() -> None:
    places = tuple(Place(n, 0, "0F0", n) for n in range(14))
    broken = transport("gloo", Outcome.REFUTED, replace(DEADLOCK, at=places))

    assert "… and 4 more places" in told(one(broken))["PP301 deadlock under gloo"][3]


def test_what_was_seen_on_tensors_is_told() -> None:
    seen = replace(DEADLOCK, seen=Seen("confirmed", "both wait", "linear"))
    text = told(one(transport("gloo", Outcome.REFUTED, seen)))["PP301 deadlock under gloo"][3]

    assert text.endswith("  on tensors, confirmed: both wait")


HOSTILE = (
    "]]></failure><testcase name='x'/>",
    '" name="other" x=\'',
    "&amp; &#0; <!-- --> <?php ?>",
    "a\n</testsuite>\r\t\x1b[31m\x00\x0b\ufffe\uffff",
    "\u202eevil\u2066\u0085\u2028",
    "\ud800 \udcff \U0001f600",
    "<testcase <testsuite ",
    "::stop-commands::x",
    "a ##[add-mask]b",
    "x" * 200_000,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_file_is_markup(text: str) -> None:
    place = Place(0, 1, text, 1, 0, 0)
    trace = (TraceStep(text, "start", 0, 1), TraceStep(text, "drained", 0, 1))
    hostile = Violation("PP501", text, text, (place,), 1, trace, first=True)
    open_ = (Undecided("PP502", text),)
    found = verdict(
        transport(text[:50], Outcome.REFUTED, hostile, unknown=open_),
        outcome=Outcome.REFUTED,
        path=text,
    )
    quotes = MappingProxyType({1: Quote(1, 1, text)})
    files = (
        FileReport(text, found, quotes=quotes),
        FileReport("b", problems=(Problem(text, 1, 1, text, text),)),
        FileReport("c", unsupported=text),
    )
    rendered = report.render(Result("0", files))
    suites = list(checked(rendered))

    assert [len(list(suite)) for suite in suites] == [6, 1, 1]
    assert len(rendered) < 60_000
    assert not any(line.lstrip().startswith("::") for line in rendered.splitlines())
    assert "##[" not in rendered
    said = "".join(str(case.result[0].message) for suite in suites for case in suite if case.result)
    assert said.isprintable()


def test_equal_results_are_equal_bytes_without_times() -> None:
    rendered = report.render(whole())

    assert rendered == report.render(whole())
    assert "timestamp" not in rendered
    assert {part.split('"')[1] for part in rendered.split("time=")[1:]} == {"0"}


def test_a_result_of_no_file_is_a_report_of_no_test() -> None:
    assert len(list(checked(report.render(Result("0", ()))))) == 0


def test_a_case_is_a_line() -> None:
    rendered = report.render(Result("0", (proved(),)))

    assert sum(line.startswith("<testcase ") for line in rendered.splitlines()) == 8
