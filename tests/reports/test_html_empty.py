"""The page of a schedule in which nothing stands."""

from pathlib import Path

from pipeproof.cli import run
from tests.reports.paged import data_of, validate


def test_a_schedule_without_an_operation_has_a_page(tmp_path: Path) -> None:
    spec, path = tmp_path / "a.yaml", tmp_path / "page.html"
    spec.write_text("pipeproof: 1\nmicrobatches: 1\nranks: [[], []]\n")
    assert run(["check", str(spec), "--format", "html", "-o", str(path)]) == 1
    data = data_of(path.read_text())
    validate(data)

    (*_, view) = data["files"][0]["views"]
    missing = next(each for each in view["violations"] if each["rule"].text == "PP101")
    assert missing["note"].text
