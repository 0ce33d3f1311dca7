"""docs/validation.md says what kept bundles show, and nothing historical as current."""

import re
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.evidence.verify import Files, Status, verify_at

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "validation.md"
KEPT = sorted((ROOT / "examples" / "evidence").glob("*.tar.gz"))
STANDING = re.compile(r"^(\| `.+` \| .+ \| .+ \| )([^|]+)( \| .+ \|)$", re.MULTILINE)


def written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(ROOT)
    names = [each.relative_to(ROOT).as_posix() for each in KEPT]
    assert run(["evidence", "table", *names]) == 0
    return capsys.readouterr().out


def test_the_page_is_that_of_the_bundles(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page, now = PAGE.read_text(encoding="utf-8"), written(capsys, monkeypatch)

    said = "pipeproof evidence table examples/evidence/*.tar.gz -o docs/validation.md"
    assert STANDING.sub(r"\1\3", page) == STANDING.sub(r"\1\3", now), said
    assert len(STANDING.findall(page)) > 1


def test_the_page_shows_nothing_historical_as_current(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = STANDING.findall(PAGE.read_text(encoding="utf-8"))
    now = STANDING.findall(written(capsys, monkeypatch))

    for (check, shown, _), (_, is_now, _) in zip(page, now, strict=True):
        assert shown == is_now or shown != "current", f"{check} is {is_now}: write the page again"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_a_bundle_that_is_kept_is_small_and_whole(path: Path) -> None:
    found = verify_at(str(path), Files(ROOT, None))

    assert path.stat().st_size < 300_000
    assert found.status not in {Status.TAMPERED, Status.UNSUPPORTED_SCHEMA}
    assert all(not each.rejected for each in found.checked)
    assert sum(each.statements for each in found.checked) > 0
