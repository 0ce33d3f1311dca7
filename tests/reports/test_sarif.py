"""SARIF: what is found, where it stands, how it comes to it, and what does not fit."""

import json
import random
import zlib
from dataclasses import replace

import pytest

from pipeproof.reports import sarif as report
from pipeproof.reports._sarif_flow import STEPS
from pipeproof.verdict.fingerprint import fingerprint
from pipeproof.verdict.result import FileReport, Result
from pipeproof.verdict.verdict import Outcome, Seen, Undecided
from tests.reports.made import (
    DEADLOCK,
    PROGRAMS,
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
from tests.reports.sarifs import Run, checked, one, told, traced


def spots(result: Run) -> list[tuple[int, int, int]]:
    regions = [
        each["physicalLocation"]["region"]
        for each in (*result["locations"], *result.get("relatedLocations", ()))
    ]
    return [(each["startLine"], each["startColumn"], each["endColumn"]) for each in regions]


def test_a_broken_rule_is_an_error_at_its_first_place_told_once_for_all_transports() -> None:
    first, second, warned = told(refuted())["results"]

    assert (first["ruleId"], first["kind"], first["level"]) == ("PP301", "fail", "error")
    assert first["message"]["text"] == (
        "rank 0 waits at 0SEND_F1 for rank 1, which waits at 1SEND_B0 for rank 0 (under "
        "rendezvous, rendezvous-edge, rendezvous-rank). Also at [r1.3 1SEND_B0](1)."
    )
    assert first["properties"]["transports"] == ["rendezvous", "rendezvous-edge", "rendezvous-rank"]
    assert second["properties"]["transports"] == ["rendezvous", "rendezvous-edge"]
    assert "Not reached: a deadlock comes before it." in second["message"]["text"]
    assert (warned["ruleId"], warned["level"], warned["kind"]) == ("PP302", "warning", "fail")


def test_places_have_regions_with_what_stands_there_and_are_linked_from_the_message() -> None:
    result = told(refuted())["results"][0]
    place, related = result["locations"][0], result["relatedLocations"][0]

    assert spots(result) == [(6, 25, 33), (7, 4, 12)]
    assert place["physicalLocation"]["region"]["snippet"] == {"text": "0SEND_F1"}
    assert place["physicalLocation"]["contextRegion"] == {
        "startLine": 6,
        "endLine": 6,
        "snippet": {"text": f"  - {'; '.join(PROGRAMS[0])}"},
    }
    assert place["physicalLocation"]["artifactLocation"] == {
        "uri": "crossed.yaml",
        "uriBaseId": "%SRCROOT%",
    }
    assert place["logicalLocations"] == [
        {"name": "0SEND_F1", "fullyQualifiedName": "r0.3", "kind": "operation"}
    ]
    assert related["message"] == {"text": "rank 1, position 3: 1SEND_B0"}


def test_an_execution_is_a_thread_flow_a_rank_in_one_order() -> None:
    (flow,) = told(refuted())["results"][0]["codeFlows"]
    steps = {
        step["executionOrder"]: (thread["id"], step["location"]["message"]["text"])
        for thread in flow["threadFlows"]
        for step in thread["locations"]
    }

    assert [thread["id"] for thread in flow["threadFlows"]] == ["rank 0", "rank 1"]
    assert [steps[n] for n in (1, 2, 3, 14)] == [
        ("rank 0", "rank 0: 0F0 starts"),
        ("rank 0", "rank 0: 0F0 ends"),
        ("rank 1", "rank 1: 1RECV_F0 starts"),
        ("rank 1", "rank 1: 1SEND_B0 starts"),
    ]
    assert flow["message"]["text"] == "An execution under rendezvous that shows it."


def test_events_at_the_places_of_a_violation_are_essential() -> None:
    (flow,) = told(refuted())["results"][0]["codeFlows"]
    essential = [
        step["location"]["logicalLocations"][0]["fullyQualifiedName"]
        for thread in flow["threadFlows"]
        for step in thread["locations"]
        if step["importance"] == "essential"
    ]

    assert essential == ["r0.3", "r1.3"]


def test_a_long_execution_is_cut_from_the_front_and_says_so() -> None:
    steps = tuple(("0F0", "start", 0, n) for n in range(1_500))
    result = told(one(traced(*steps)))["results"][0]
    (thread,) = result["codeFlows"][0]["threadFlows"]

    assert [thread["locations"][at]["executionOrder"] for at in (0, -1)] == [501, 1_500]
    assert [
        thread["locations"][at]["location"]["logicalLocations"][0]["fullyQualifiedName"]
        for at in (0, -1)
    ] == ["r0.500", "r0.1499"]
    assert "the last 1000 of 1500 events are told" in result["message"]["text"]


def test_what_a_file_of_many_executions_has_no_room_for_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report, "_ROOMS", ((35, 100),))
    many = tuple(replace(DEADLOCK, message=f"0F{n} waits") for n in range(5))
    results = told(one(*many))["results"]
    events = [
        sum(len(thread["locations"]) for thread in each["codeFlows"][0]["threadFlows"])
        if "codeFlows" in each
        else 0
        for each in results[:-1]
    ]

    assert events == [14, 14, 7, 0, 0]
    assert "Of its execution the last 7 of 14 events are told." in results[2]["message"]["text"]
    assert "Its execution does not fit in here" in results[3]["message"]["text"]


def test_no_more_results_are_told_than_there_is_room_for_and_errors_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report, "_ROOMS", ((100, 20),))
    bad = tuple(replace(STRANDED, message=f"0F{n} waits", at=()) for n in range(19))
    run = told(unknown(), one(*bad), one(STRANDED, STRANDED))
    notes = run["invocations"][0]["toolExecutionNotifications"]

    assert [each["level"] for each in run["results"]] == ["error"] * 20
    assert [each["message"]["text"] for each in notes] == [
        "4 results more are not told here; `pipeproof check` tells them all."
    ]


def test_a_file_that_would_become_too_large_loses_executions_and_then_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise = random.Random(1)
    bad = [replace(DEADLOCK, message=noise.randbytes(900).hex()) for _ in range(60)]
    sizes = []
    for most in (200_000, 80_000, 60_000):
        monkeypatch.setattr(report, "_BYTES", most)
        monkeypatch.setattr(report, "_ROOMS", ((10_000, 100), (0, 100), (0, 20)))
        text = report.render(Result("0", (one(*bad),)))
        (run,) = json.loads(text)["runs"]
        sizes.append((len(run["results"]), "codeFlows" in run["results"][0]))
        assert len(zlib.compress(text.encode())) <= most

    assert sizes == [(61, True), (61, False), (20, False)]


def test_the_limits_are_those_of_github() -> None:
    assert report._ROOMS[0][1] == 25_000
    assert 9_000_000 < report._BYTES < 10_000_000
    assert STEPS == 1_000


def test_an_unknown_rule_is_open_and_no_failure() -> None:
    (result,) = told(unknown())["results"]

    assert (result["kind"], result["level"], result["ruleId"]) == ("open", "none", "PP501")
    assert result["message"]["text"] == (
        "not decided: storage is not judged by this version (under buffered)"
    )
    assert spots(result) == [(1, 1, 1)]


def test_what_differs_only_by_its_transport_is_told_once() -> None:
    names = ("gloo", "nccl", "mpi")
    open_ = [
        transport(n, Outcome.UNKNOWN, unknown=(Undecided("PP501", f"no room under {n}"),))
        for n in names
    ]
    found = verdict(*open_, outcome=Outcome.UNKNOWN, path="a.yaml")
    (result,) = told(FileReport("a.yaml", found))["results"]

    assert result["message"]["text"] == "not decided: no room under gloo (under gloo, nccl, mpi)"


def test_a_file_that_was_not_judged_is_a_result_and_a_notification() -> None:
    run = told(unreadable(), *whole().files[-2:], code=101)
    invocation = run["invocations"][0]

    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("malformed-file", "error"),
        ("not-judged", "none"),
        ("not-supported", "none"),
    ]
    assert spots(run["results"][0]) == [(3, 7, 7)]
    assert [
        (each["descriptor"]["id"], each["level"])
        for each in invocation["toolExecutionNotifications"]
    ] == [("malformed-file", "error"), ("not-judged", "error"), ("not-supported", "warning")]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 101)


@pytest.mark.parametrize(
    ("code", "well"), [(0, True), (1, True), (3, True), (5, True), (4, False), (130, False)]
)
def test_a_run_is_successful_unless_something_could_not_be_judged(code: int, well: bool) -> None:  # noqa: FBT001
    invocation = told(proved(), refuted(), unknown(), code=code)["invocations"][0]

    assert invocation == {
        "executionSuccessful": well,
        "exitCode": code,
        "toolExecutionNotifications": [],
    }


def test_what_is_proved_has_no_result_and_its_rules_are_listed() -> None:
    run = told(proved())

    assert run["results"] == []
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "PP101",
        "PP205",
        "PP301",
        "PP501",
    ]
    assert run["properties"] == {
        "verdict": "proved",
        "files": {"proved": 1, "refuted": 0, "unknown": 0, "error": 0},
    }


def test_a_rule_comes_with_its_help() -> None:
    rule = told(refuted())["tool"]["driver"]["rules"][3]

    assert (rule["id"], rule["name"]) == ("PP302", "depends-on-buffering")
    assert rule["defaultConfiguration"] == {"level": "warning"}
    assert "**Why it breaks training:** " in rule["help"]["markdown"]
    assert rule["shortDescription"]["text"].startswith("depends-on-buffering: ")


def test_a_result_has_the_fingerprint_of_its_finding() -> None:
    results = told(refuted())["results"]

    assert [each["partialFingerprints"]["pipeproof/v1"] for each in results[:2]] == [
        fingerprint("crossed.yaml", DEADLOCK),
        fingerprint("crossed.yaml", STRANDED),
    ]


def test_findings_with_one_fingerprint_are_all_told() -> None:
    moved = replace(STRANDED, at=(STRANDED.at[0]._replace(position=9),))

    assert len(told(one(STRANDED, moved))["results"]) == 3


def test_an_accepted_finding_is_suppressed_and_the_others_are_not() -> None:
    result = accepted()
    run = checked(report.render(result))

    assert [len(each["suppressions"]) for each in run["results"]].count(1) >= 1
    for each in run["results"]:
        for suppressed in each["suppressions"]:
            assert (suppressed["kind"], suppressed["status"]) == ("external", "accepted")
            assert "It is accepted by the baseline on" in each["message"]["text"]
    assert all("suppressions" not in each for each in told(refuted())["results"])


def test_what_was_seen_on_tensors_stands_in_the_properties() -> None:
    seen = replace(DEADLOCK, seen=Seen("confirmed", "both wait", "linear"))
    result = told(one(seen))["results"][0]

    assert result["properties"]["confirmation"] == {
        "answer": "confirmed",
        "why": "both wait",
        "witness": "linear",
    }


def test_equal_results_are_equal_bytes() -> None:
    assert report.render(whole()) == report.render(whole())
    assert report.render(whole()).count("\n") > len(whole().files)


def test_what_is_accepted_under_one_transport_only_is_not_suppressed() -> None:
    known = next(iter(accepted().files)).verdict
    assert known is not None
    deadlock = known.transports[0].violations[0]
    both = verdict(
        transport("gloo", Outcome.REFUTED, deadlock),
        transport("nccl", Outcome.REFUTED, replace(deadlock, accepted=None)),
        outcome=Outcome.REFUTED,
        path="a.yaml",
    )
    result = replace(accepted(), files=(FileReport("a.yaml", both),))
    told_ = checked(report.render(result))["results"][0]

    assert told_["properties"]["transports"] == ["gloo", "nccl"]
    assert told_["suppressions"] == []
    assert "accepted" not in told_["message"]["text"]
