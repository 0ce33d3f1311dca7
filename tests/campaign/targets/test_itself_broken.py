"""Ten bugs, one at a time in a copy of the package, are each found by `hunt --self`.

`python -m pytest -m slow tests/campaign/targets/test_itself_broken.py` hunts for all of them.
"""

from pathlib import Path

import pytest

from tests.campaign.broken import BUGS, Bug, Caught, caught, row, seeded


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_stands_in_a_copy_and_nowhere_else(bug: Bug, tmp_path: Path) -> None:
    folder = seeded(bug, tmp_path)
    changed = [
        path.relative_to(folder)
        for path in folder.rglob("*.py")
        if path.read_bytes() != (Path(__file__).parents[3] / path.relative_to(folder)).read_bytes()
    ]

    assert changed == [Path("pipeproof") / bug.file]


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
