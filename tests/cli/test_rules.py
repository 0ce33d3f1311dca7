"""All rules, listed."""

import json
from pathlib import Path

import pytest

from pipeproof.api import rules
from pipeproof.cli import run
from pipeproof.ir.codes import CODES
from tests.cli.made import ROOT
from tests.cli.schemas import schema, wrong


def test_every_rule_is_listed_with_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    listed = {rule["code"]: rule["name"] for rule in told["rules"]}

    assert wrong("rules", told) == []
    assert listed.items() <= CODES.items()
    assert listed.keys() >= {rule.code for rule in rules()}
    for rule in told["rules"]:
        page = (ROOT / "docs" / rule["page"]).read_text(encoding="utf-8")
        assert page.startswith(f"# {rule['code']} {rule['name']}\n")
        assert rule["summary"].endswith(".")


def test_people_read_a_line_a_rule_by_family(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rules.txt"
    assert run(["rules"]) == 0
    out = capsys.readouterr().out
    assert run(["rules", "-o", str(path)]) == 0

    lines = out.splitlines()
    codes = [line.split()[0] for line in lines if line.startswith("  PP")]
    assert lines[0] == "identity"
    assert "\n\nstorage\n  PP501  read-before-complete " in out
    assert codes == sorted(codes)
    assert len(codes) >= len(rules())
    assert path.read_text(encoding="utf-8") == out


def test_the_schema_knows_no_other_key() -> None:
    assert schema("rules")["additionalProperties"] is False
    assert wrong("rules", {"schema": "pipeproof.rules/1", "rules": [{"code": "PP101"}]})
