"""Found cases as files."""

from pathlib import Path

from pipeproof.campaign.drawn import drawn
from pipeproof.campaign.found import write_cases
from pipeproof.campaign.targets.target import Case
from pipeproof.cli import run


def test_nothing_found_writes_nothing(tmp_path: Path) -> None:
    assert write_cases((), tmp_path / "found") == 0
    assert not (tmp_path / "found").exists()


def test_a_case_is_a_spec_that_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    case = Case("self-3-engines", "engines: a\n- b\x1b", drawn("legal", 3), "abc")
    written = write_cases([case], tmp_path / "found")
    spec = tmp_path / "found" / "self-3-engines.yaml"

    assert written == 1
    assert spec.read_text(encoding="utf-8").startswith("# engines: a - b \n# task abc\n{")
    assert run(["check", str(spec)]) == 0
    assert "def test_self_3_engines()" in (spec.parent / "test_self_3_engines.py").read_text()
