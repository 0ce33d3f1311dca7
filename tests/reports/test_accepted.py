"""What the reports say of findings that a baseline accepts: they are shown, and never proved."""

import json
from dataclasses import replace

import pytest

from pipeproof.reports import github, markdown, text
from pipeproof.reports import json as report
from pipeproof.verdict.result import Compared, Result
from pipeproof.verdict.verdict import Accepted
from tests.reports.made import accepted, refuted

KNOWN = "accepted by the baseline on 2026-01-02: known since the spring"
GONE = "gone, and in the baseline still: PP501 in fine.yaml: it was so (accepted on 2025-12-31)"
NEW = "nothing new was found; accepted is not proved: what is refuted stays illegal"


def test_what_is_new_is_told_at_length_before_what_is_accepted() -> None:
    told = text.render(accepted())

    assert told.startswith("crossed.yaml: refuted (PP303 stranded-message) under rendezvous\n")
    assert KNOWN in " ".join(told.split())
    assert NEW not in told
    assert "accepted is not proved" in told


def test_what_is_accepted_stays_refuted_and_a_success_says_that_nothing_is_new() -> None:
    told = text.render(accepted(also=True))
    lines = told.splitlines()

    assert lines[0] == (
        "crossed.yaml: refuted (PP301 deadlock) under rendezvous, accepted by the baseline"
    )
    assert f"  {KNOWN}" in lines
    assert GONE in " ".join(told.split())
    assert "  3 entries of the baseline: in files that were not judged now" in lines
    assert f"  {NEW}" in lines
    assert lines[-1] == "1 proved, 1 refuted, 0 unknown, 2 findings accepted"


@pytest.mark.parametrize("render", [text.render, github.render, markdown.render, report.render])
def test_without_a_baseline_nothing_is_said_of_one(render: object) -> None:
    assert callable(render)
    assert "accepted" not in render(Result("0", (refuted(),)))
    assert "baseline" not in render(Result("0", (refuted(),)))


def test_json_holds_reason_and_date_and_what_is_gone() -> None:
    told = json.loads(report.render(accepted()))
    known, new = told["files"][0]["transports"][0]["violations"]

    assert told["verdict"] == told["files"][0]["verdict"] == "refuted"
    assert known["accepted"] == {"reason": "known since the spring", "date": "2026-01-02"}
    assert "accepted" not in new
    assert told["baseline"] == {
        "path": "base.json",
        "accepted": 1,
        "gone": [
            {
                "fingerprint": "0" * 32,
                "rule": "PP501",
                "path": "fine.yaml",
                "transports": ["rendezvous"],
                "message": "it was so",
                "reason": "a reason",
                "date": "2025-12-31",
            }
        ],
        "elsewhere": 3,
    }


def test_beside_lines_what_is_accepted_is_a_notice() -> None:
    lines = github.render(accepted()).splitlines()

    assert [line.split()[0] for line in lines if "PP30" in line and "title=PP3" in line] == [
        "::error",
        "::warning",
        "::notice",
    ]
    (notice,) = [line for line in lines if "PP301" in line]
    assert notice.startswith("::notice file=crossed.yaml,title=PP301 deadlock::accepted by the ")
    assert "known since the spring: rank 0 waits" in notice
    assert any(line.startswith("::notice title=baseline::gone, and in") for line in lines)
    assert lines[-1] == (
        "::notice title=pipeproof::1 proved, 1 refuted, 0 unknown, 1 finding accepted"
    )


def test_no_more_notices_are_written_than_github_shows() -> None:
    found = accepted(also=True)
    assert found.baseline is not None
    many = replace(found, baseline=replace(found.baseline, gone=found.baseline.gone * 40))
    lines = github.render(many).splitlines()

    assert sum(line.startswith("::notice") for line in lines) == 10
    assert "more; `pipeproof check` tells them all" in lines[-2]


def test_the_summary_says_accepted_and_not_proved() -> None:
    told = markdown.render(accepted(also=True))

    assert "| `crossed.yaml` | refuted, accepted | PP301 deadlock | `rendezvous` |" in told
    assert told.count(NEW) == 1
    assert GONE in told


def test_a_reason_is_text_and_nothing_else() -> None:
    evil = "```\n<script>|[x](y)\x1b[31m\n::error::x\u202e" + "y" * 200_000
    known = accepted(also=True)
    (first, other) = known.files
    assert first.verdict is not None
    (transport,) = first.verdict.transports
    violations = tuple(
        replace(each, accepted=Accepted(evil, "2026-01-02")) for each in transport.violations
    )
    verdict = replace(first.verdict, transports=(replace(transport, violations=violations),))
    result = Result("0", (replace(first, verdict=verdict), other), Compared("x", 2, (), 0))

    for told in (text.render(result), markdown.render(result), github.render(result)):
        assert "\x1b" not in told
        assert "\u202e" not in told
        assert not any(line.startswith("::error") for line in told.splitlines())
        assert len(told) < 30_000
    assert "````text\n" in markdown.render(result)
    assert report.render(result).isascii()
