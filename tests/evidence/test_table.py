"""A page is written from bundles, and what is historical is never shown as current."""

from pathlib import Path

import pytest

from pipeproof.evidence import environment
from pipeproof.evidence.table import Row, asked, page, rows_of, standing
from pipeproof.evidence.verify import Files, Status, verify
from tests.evidence.conftest import Made

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
GONE = [
    *("several GPUs", "NCCL", "RDMA", "FSDP2 and ZeRO lifecycles", "MoE and all-to-all", "FP8"),
    *("CUDA graphs", "one-shot and common-mode faults", "scale", "long runs"),
]
OUTSIDE = ["relaunch", "placement", "replacement", "quarantine"]


def row(  # noqa: PLR0913  each says one thing
    check: str = "a.yaml",
    finished: str = EARLY,
    status: Status = Status.FRESH,
    *,
    same: bool = True,
    bundle: str = "b",
    id_: str = "1f" * 32,
) -> Row:
    return Row(check, "proved", "abc", finished, bundle, id_, status, same)


def test_a_fresh_bundle_is_current_in_all_it_says(made: Made) -> None:
    found = rows_of("b", verify(made.files, made.now))

    assert [each.check for each in found] == ["legal.yaml", "stuck.yaml", "twice.yaml", "echo said"]
    assert [each.result for each in found] == [
        "proved, 2 statements certified",
        "refuted PP301, 1 statements certified",
        "refuted PP102, no certificate",
        "exit 0",
    ]
    assert {standing(each, found) for each in found} == {"current"}


def test_a_command_is_current_only_at_its_commit(made: Made) -> None:
    for commit in (None, "0" * 40):
        found = rows_of("b", verify(made.files, Files(made.root, commit)))

        said = {each.check: standing(each, found) for each in found}
        assert said["echo said"] == "historical"
        assert said["legal.yaml"] == "current"


def test_no_other_status_is_ever_current(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = rows_of("b", verify(made.files, Files(tmp_path, made.commit)))
    monkeypatch.setattr(environment, "source", lambda: "0" * 64)
    other = rows_of("b", verify(made.files, made.now))

    assert {standing(each, stale) for each in stale} == {"historical: STALE_INPUTS_CHANGED"}
    assert {standing(each, other) for each in other} == {"historical: TOOL_DIFFERS"}
    for status in Status:
        each = row(status=status, same=False)
        assert standing(each, [each]).startswith("historical")


def test_of_several_bundles_only_the_last_can_be_current() -> None:
    first, last = row(), row(finished=LATE, bundle="c", status=Status.TOOL_DIFFERS, same=False)

    assert standing(first, [first, last]) == "superseded"
    assert standing(last, [first, last]) == "historical: TOOL_DIFFERS"


def test_the_page_says_what_was_not_validated_and_what_stays_outside() -> None:
    text = page([])

    assert "No bundle was named: nothing is validated." in text
    first, _, rest = text.partition("## What was not validated")
    validated, _, outside = rest.partition("## What stays outside")
    assert "- " not in first
    assert [line[2:] for line in validated.splitlines() if line.startswith("- ")] == GONE
    assert [line[2:] for line in outside.splitlines() if line.startswith("- ")] == OUTSIDE


def test_no_name_ends_its_cell_or_line() -> None:
    hostile = "a|b`c\nd\u202e<script>" + "x" * 1_000
    text = page([row(hostile, bundle=hostile)])

    (line,) = [each for each in text.splitlines() if "proved" in each and each.startswith("|")]
    assert line.count("|") == 6
    assert line.count("`") == 4
    assert "\u202e" not in text
    assert len(line) < 600


def test_the_order_of_bundles_does_not_change_the_page() -> None:
    found = [row(), row("b.yaml"), row(finished=LATE, bundle="c")]

    assert page(found) == page(found[::-1])


def test_commands_that_were_asked_for_are_told_as_a_shell_takes_them(made: Made) -> None:
    assert asked(verify(made.files, made.now).predicate) == [("echo said", 0)]
