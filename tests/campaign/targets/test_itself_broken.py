"""Ten bugs, one at a time in a copy of the package, are each found by `hunt --self`.

`python -m pytest -m slow tests/campaign/targets/test_itself_broken.py` hunts for all of them.
"""

import ast
from pathlib import Path

import pytest

from tests.campaign.broken import BUGS, PACKAGE, Bug, Caught, caught, row, seeded


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_what_a_bug_changes_stands_once(bug: Bug) -> None:
    text = (PACKAGE / bug.file).read_text(encoding="utf-8")

    ast.parse(text.replace(bug.right, bug.wrong))

    assert text.count(bug.right) == 1


def test_a_bug_stands_in_a_copy(tmp_path: Path) -> None:
    bug = BUGS[0]
    copy = (seeded(bug, tmp_path) / "pipeproof" / bug.file).read_text(encoding="utf-8")
    text = (PACKAGE / bug.file).read_text(encoding="utf-8")

    assert copy == text.replace(bug.right, bug.wrong)


def test_a_row_says_who_found_a_bug_after_how_many_cases() -> None:
    assert row(BUGS[0], None).endswith("| not found | | | |\n")
    assert row(BUGS[0], Caught("legal", 2, "recheck", 3)).endswith("| 3 | legal | 2 | recheck |\n")


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_found(bug: Bug) -> None:
    assert caught(bug) is not None


@pytest.mark.slow
def test_without_a_bug_nothing_is_found() -> None:
    assert caught(None, 40) is None
