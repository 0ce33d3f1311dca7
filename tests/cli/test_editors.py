"""What the page on editors says works as it says it."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from pipeproof.cli import run
from tests.cli.made import ROOT

PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ pipeproof (.*)$", PAGE, re.MULTILINE)
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_its_commands_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert [run(shlex.split(each)) for each in COMMANDS] == [0, 0, 0]
    assert "1 proved" in capsys.readouterr().out
    assert {each.name for each in tmp_path.iterdir()} == {
        "schedule.yaml",
        "pipeproof.schema.json",
    }
    (line,) = (text for kind, text in BLOCKS if kind == "yaml" and text.startswith("#"))
    assert Path("schedule.yaml").read_text(encoding="utf-8").startswith(line)


def test_its_settings_are_read() -> None:
    (settings,) = (json.loads(text) for kind, text in BLOCKS if kind == "json")
    hooks = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]

    assert list(settings["yaml.schemas"]) == ["./pipeproof.schema.json"]
    assert hooks[1][0]["hooks"][0]["id"] == "check-jsonschema"
