"""What a program reads."""

import json
from typing import Any

from pipeproof.reports import json as report
from pipeproof.verdict.result import Result
from tests.reports.made import proved, refuted, unknown, unreadable, whole


def told(result: Result) -> Any:
    return json.loads(report.render(result))


def test_the_keys_stand_in_the_order_of_the_contract() -> None:
    whole_ = told(whole())
    file = whole_["files"][0]
    transport = file["transports"][0]
    violation = transport["violations"][0]

    assert list(whole_) == ["schema", "tool", "verdict", "files"]
    assert whole_["schema"] == "pipeproof.result/1"
    assert whole_["tool"] == {"name": "pipeproof", "version": "0.1.0"}
    assert list(file)[:9] == [
        *("path", "verdict", "stages", "ranks", "microbatches", "operations"),
        *("lowering", "profile", "fragment"),
    ]
    assert list(transport)[:10] == [
        *("name", "verdict", "engine", "events", "steps", "assumes", "zero_instances"),
        *("unknown", "warnings", "violations"),
    ]
    assert list(violation)[:6] == ["rule", "name", "first", "at", "message", "trace"]
    assert violation["at"][0] == {
        "rank": 0,
        "position": 3,
        "operation": "0SEND_F1",
        "stage": 0,
        "microbatch": 1,
        "version": None,
        "line": 6,
        "column": 25,
    }
    assert violation["trace"][0] == {"event": "0F0", "phase": "start", "rank": 0, "position": 0}


def test_rules_that_applied_to_nothing_are_named() -> None:
    transport = told(Result("0", (proved(),)))["files"][0]["transports"][0]

    assert transport["zero_instances"] == ["PP205", "PP501"]
    assert transport["instances"] == {"PP101": 4, "PP205": 0, "PP301": 16, "PP501": 0}


def test_an_unreadable_file_is_an_error_entry() -> None:
    file = told(Result("0", (unreadable(),)))["files"][0]

    assert file == {
        "path": "bad.yaml",
        "verdict": "error",
        "errors": [
            {
                "line": 3,
                "column": 7,
                "found": "'2X0' is no operation",
                "expected": "write 2F0 or 1SEND_F3",
                "message": "bad.yaml:3:7: '2X0' is no operation; write 2F0 or 1SEND_F3",
            }
        ],
    }


def test_a_failure_of_ours_is_an_error_entry_without_a_place() -> None:
    file = told(whole())["files"][4]

    assert file["verdict"] == "error"
    assert file["errors"][0]["message"] == "do not trust this run: no replay"
    assert file["errors"][0]["line"] is None


def test_what_is_unsupported_is_unknown_and_says_why() -> None:
    file = told(whole())["files"][5]

    assert (file["verdict"], file["transports"]) == ("unknown", [])
    assert file["unsupported"] == "faults are not judged by this version"


def test_the_verdict_is_the_worst_and_never_a_success_over_nothing() -> None:
    assert told(whole())["verdict"] == "refuted"
    assert told(Result("0", (proved(), unreadable(), unknown())))["verdict"] == "error"
    assert told(Result("0", (proved(), unknown())))["verdict"] == "unknown"
    assert told(Result("0", (proved(),)))["verdict"] == "proved"
    assert told(Result("0", ()))["verdict"] == "unknown"
    assert told(Result("0", ()))["files"] == []


def test_equal_results_are_equal_bytes_of_ascii_one_line_a_file() -> None:
    said = report.render(Result("0", (refuted(), proved())))

    assert said == report.render(Result("0", (refuted(), proved())))
    assert said.isascii()
    assert said.count("\n") == 3
