"""What docs/configuration.md says of the keys is so, and hooks hear them."""

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from pipeproof.cli import GROUP, _cache, _keys, run
from pipeproof.cli._config import found
from pipeproof.cli._configured import Configured
from pipeproof.cli._keys import KEYS
from tests.cli.made import ROOT

PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
KINDS = {
    _keys._Word: "text",
    _keys._Words: "list of texts",
    _keys._Paths: "list of texts",
    _keys._Codes: "list of texts",
    _keys._Flag: "true or false",
    _keys._Numbers: "table of numbers",
}


def test_the_table_holds_every_key_as_it_is() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (.+) \| `(\w+)` \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)

    assert rows == [
        (each.name, KINDS[type(each.kind)], each.variable, ", ".join(each.commands), each.help)
        for each in KEYS.values()
    ]


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_every_command_that_hears_a_key_has_its_option_and_no_other_does(key: _keys.Key) -> None:
    for name in ("check", "baseline", "test", "show", "diagram"):
        command = GROUP.get_command(click.Context(GROUP), name)
        assert isinstance(command, Configured)
        has = key.parameter in {each.name for each in command.params}
        assert has or name not in key.commands


def test_the_example_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(blocks[0])

    assert set(found("pyproject.toml").by_key) == {
        *("paths", "transport", "profile", "fail-on", "limit", "budget")
    }


def test_the_sizes_are_those_of_the_cache() -> None:
    assert f"more than {_cache._MOST >> 20} MiB lie there" in PAGE
    assert f"more than {_cache._LONGEST >> 20} MiB is not kept" in PAGE


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_hears_the_configuration_of_its_repository(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    hook: dict[str, str],
) -> None:
    """A hook is run in the root of the repository, with the files that change."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schedules").mkdir()
    expects = "expect: [{verdict: proved}]\n"
    text = f"pipeproof: 1\nmicrobatches: 1\nranks:\n  - 0F0; 0B0\n{expects}"
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / "schedules" / name).write_text(text)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pipeproof]\npaths = ["nowhere"]\nprofile = "torch-runtime"\nlimit.depth = 9\n'
    )
    entry = shlex.split(hook["entry"])

    assert entry[0] == "pipeproof"
    assert re.search(hook["files"], "schedules/a.yaml")
    assert run([*entry[1:], "schedules/a.yaml"]) == 0
    captured = capsys.readouterr()
    assert "b.yaml" not in captured.out
    said = 'configured by pyproject.toml: profile = "torch-runtime", limit = {"depth": 9}\n'
    assert captured.err == said
    (tmp_path / "pyproject.toml").write_text("[tool.pipeproof]\nlimits.depth = 9\n")
    assert run([*entry[1:], "schedules/a.yaml"]) == 2
    assert capsys.readouterr().err.startswith("pyproject.toml:2:1: 'limits' is no key")
