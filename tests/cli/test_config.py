"""What the configuration says, where it is looked for, and what it may not hold."""

import json
import os
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.cli._keys import KEYS
from pipeproof.ir.source import Document
from pipeproof.verdict.verdict import FileVerdict, Outcome, Warned
from tests.cli.made import Asked, Command, verdict

SPEC = "pipeproof: 1\nmicrobatches: 1\nranks:\n  - 0F0; 0B0\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a repository of its own, with a schedule in it."""
    for name in os.environ:
        if name.startswith("PIPEPROOF_"):
            monkeypatch.delenv(name)
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.csv").write_text("0F0,0B0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def asked(command: Command) -> list[Asked]:
    seen: list[Asked] = []

    def judge(document: Document, asked: Asked) -> FileVerdict:
        seen.append(asked)
        return verdict(document)

    command.judge = judge
    return seen


def configure(text: str, name: str = "pipeproof.toml") -> None:
    Path(name).write_text(text)


def shown(command: Command, *argv: str) -> dict[str, dict[str, object]]:
    assert command("config", "show", "--format", "json", *argv) == 0
    return {each["key"]: each for each in json.loads(command.out)["keys"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('transport = ["gloo", "strict"]', Asked(("gloo", "strict"))),
        ('profile = "torch-single"', Asked(profile="torch-single")),
        ('engine = "explore"', Asked(engine="explore")),
        ('select = ["PP3"]', Asked(select=("PP3",))),
        ('ignore = ["PP301", "PP2"]', Asked(ignore=("PP301", "PP2"))),
        ("", Asked()),
    ],
)
def test_a_key_reaches_the_judge_and_is_told(
    command: Command, asked: list[Asked], text: str, expected: Asked
) -> None:
    configure(text)

    assert command("check", "a.csv") == 0
    assert asked == [expected]
    said = f"configured by pipeproof.toml: {text}\n" if text else ""
    assert command.err == said


def test_an_option_comes_before_the_environment_and_that_before_the_file(
    command: Command, asked: list[Asked], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure('transport = ["gloo"]\nengine = "smt"\nignore = ["PP1"]\n')
    monkeypatch.setenv("PIPEPROOF_TRANSPORT", "strict, buffered")
    monkeypatch.setenv("PIPEPROOF_ENGINE", "explore")

    assert command("check", "a.csv", "--engine", "graph") == 0
    assert asked == [Asked(("strict", "buffered"), ignore=("PP1",))]
    assert "engine" not in command.err
    assert 'by PIPEPROOF_TRANSPORT: transport = ["strict", "buffered"]' in command.err
    assert 'by pipeproof.toml: ignore = ["PP1"]' in command.err


def test_rules_that_are_left_out_are_told_in_the_result_itself(command: Command) -> None:
    configure('\nignore = ["PP3", "PP2"]\n')
    command.judge = lambda document, _: verdict(document)

    assert command("check", "a.csv") == 0
    assert "note: rules are left out by pipeproof.toml:2:1: ignore PP3 PP2\n" in command.out
    assert command("check", "a.csv", "--format", "json") == 0
    (file,) = json.loads(command.out)["files"]
    assert file["notes"] == ["rules are left out by pipeproof.toml:2:1: ignore PP3 PP2"]
    assert command("check", "a.csv", "--ignore", "PP3") == 0
    assert "left out" not in command.out


def test_ignoring_a_rule_that_is_selected_judges_nothing_and_is_no_success(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configure('ignore = ["PP3"]')

    assert run(["check", "a.csv", "--select", "PP301"]) == 5
    assert 'configured by pipeproof.toml: ignore = ["PP3"]' in capsys.readouterr().err


def test_fail_on_and_format_are_heard(command: Command) -> None:
    warned = (Warned("PP302", "buffers"),)
    command.judge = lambda document, _: verdict(document, warnings=warned)
    configure('format = "json"')
    assert command("check", "a.csv") == 0
    assert json.loads(command.out)["verdict"] == "proved"
    assert command.err == ""

    configure('fail-on = ["warning"]')
    assert command("check", "a.csv") == 1
    assert 'fail-on = ["warning"]' in command.err


def test_a_limit_is_heard_and_the_option_replaces_it(command: Command) -> None:
    configure("limit.ranks = 1\n")
    Path("two.csv").write_text("0F0\n1F0\n")

    assert command("check", "two.csv") == 2
    assert "(limit 'ranks': --limit ranks=N)" in command.err
    assert command("check", "two.csv", "--limit", "ranks=2") == 0
    for name in ("test", "show", "diagram"):
        assert command(name, "two.csv") == 2
        assert 'configured by pipeproof.toml: limit = {"ranks": 1}\n' in command.err


def test_a_budget_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    def effort(written: str | None) -> None:
        seen.append(written)
        raise ZeroDivisionError

    monkeypatch.setattr("pipeproof.cli.check.effort", effort)
    configure("budget = {states = 10, seconds = 0.5}")

    assert run(["check", "a.csv"]) == 101
    assert run(["check", "a.csv", "--budget", "states=3"]) == 101
    assert seen == ["states=10,seconds=0.5", "states=3"]


def test_paths_stand_in_for_a_path_and_start_from_their_file(
    command: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure('paths = ["a.csv", "sub"]')
    (here / "sub").mkdir()
    (here / "sub" / "b.yaml").write_text(SPEC)

    for folder, found in (
        (here, ["a.csv", "sub/b.yaml"]),
        (here / "sub", ["../a.csv", "../sub/b.yaml"]),
    ):
        monkeypatch.chdir(folder)
        assert command("check", "--format", "json") == 0
        assert [each["path"] for each in json.loads(command.out)["files"]] == found
    assert command("check", "b.yaml", "--format", "json") == 0
    assert [each["path"] for each in json.loads(command.out)["files"]] == ["b.yaml"]
    assert command("test") == 5
    assert command("check", "--no-config") == 2


def test_a_known_schedule_takes_no_paths_of_the_configuration(command: Command) -> None:
    configure('paths = ["a.csv"]')

    code = command("check", "--schedule", "gpipe", "--ranks", 2, "--microbatches", 2)
    assert code == 0
    assert "a.csv" not in command.out


def test_test_without_paths_says_what_is_missing(command: Command) -> None:
    assert command("test") == 2
    assert "Missing argument 'PATH...'" in command.err


@pytest.mark.parametrize("name", ["pipeproof.toml", "pyproject.toml"])
def test_the_nearest_file_up_to_the_root_of_the_repository_is_taken(
    command: Command, here: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    head = "[tool.pipeproof]\n" if name == "pyproject.toml" else ""
    inner = here / "x" / "y"
    inner.mkdir(parents=True)
    (here / name).write_text(f'{head}engine = "smt"\n')
    (here / "x" / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    monkeypatch.chdir(inner)
    assert shown(command)["engine"]["file"] == f"../../{name}"

    (here / "x" / name).write_text(f'{head}engine = "explore"\n')
    assert shown(command)["engine"]["value"] == "explore"

    (here / "x" / name).unlink()
    (here / "x" / ".git").mkdir()
    assert shown(command)["engine"]["from"] == "default"


def test_two_files_in_one_folder_are_refused(command: Command) -> None:
    configure('engine = "smt"')
    configure("[build]\n[tool.pipeproof]\n", "pyproject.toml")

    assert command("check", "a.csv") == 2
    said = "pyproject.toml:2:7: pipeproof.toml holds the configuration, too; keep one of them\n"
    assert command.err == said


def test_a_file_is_named_or_none_is_read(command: Command, asked: list[Asked]) -> None:
    configure('engine = "smt"')
    configure('engine = "explore"', "other.toml")

    assert command("check", "a.csv", "--config", "other.toml") == 0
    assert command("check", "a.csv", "--no-config") == 0
    assert [each.engine for each in asked] == ["explore", "graph"]
    assert command("check", "a.csv", "--no-config", "--config", "other.toml") == 2
    assert command("check", "a.csv", "--config", "missing.toml") == 2
    assert "missing.toml:1:1: it does not exist" in command.err
    configure("[tool.other]\n", "pyproject.toml")
    assert command("check", "a.csv", "--config", "pyproject.toml") == 2
    assert "it has no [tool.pipeproof]" in command.err
    assert command("check", "a.csv", "--config", "-") == 2


WRONG = r"""
[tool."pipe\u0070roof"]
transprot = ["gloo"]
"fail-on" = ["warnings"]
transport = [
  "gloo", # fine
  "gl00"]
profile = 3
ignore = "PP3"
select = ["PP", "QQ", true]
format = "jsn"
engine = 1979-05-27
cache = 1
limit = { rank = 1, "ranks" = 0, depth = "3", "depth,ranks" = 2, bytes = 1.5 }
budget = { memory = 3, states = "1", seconds = nan, "rlimit" = 0xffffffffffffffffffffffffffff }
baseline = "a\u0000b"
paths = {}
"""


def test_every_mistake_is_told_at_its_place(command: Command) -> None:
    configure(WRONG, "pyproject.toml")

    assert command("check", "a.csv") == 2
    assert command.out == ""
    said = {line.split(": ")[0]: line for line in command.err.splitlines()}
    places = "3:1 4:14 7:3 8:11 9:10 10:17 10:23 11:10 12:10 13:9 14:11 14:21 14:34 14:47 14:66"
    places += " 15:12 15:24 15:38 15:53 16:12 17:9"
    assert list(said) == [f"pyproject.toml:{place}" for place in places.split()]
    assert "did you mean 'transport'?" in said["pyproject.toml:3:1"]
    assert "did you mean 'warning'?" in said["pyproject.toml:4:14"]
    assert "did you mean 'ranks'?" in said["pyproject.toml:14:11"]
    assert said["pyproject.toml:9:10"].endswith("""'PP3'; write a list of texts, as ["PP3"]""")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = \n", "1:5"),
        ("[tool]\npipeproof = 3", "2:13"),
        ("[[tool.pipeproof]]", "1:1"),
        ("a = 1\nb", "2:2"),
        ("a = 1\n\ufeff", "2:1"),
    ],
)
def test_what_is_no_configuration_is_told_at_its_place(
    command: Command, text: str, place: str
) -> None:
    configure(text, "pyproject.toml")

    assert command("check", "a.csv") == 2
    assert command.err.startswith(f"pyproject.toml:{place}: ")
    assert command("check", "--help") == 0
    assert command("check", "a.csv", "--no-config") == 0


def test_bytes_that_are_no_text_are_told_at_their_place(command: Command) -> None:
    Path("pipeproof.toml").write_bytes(b'engine = "\xff"')

    assert command("check", "a.csv") == 2
    assert command.err.startswith("pipeproof.toml:1:11: byte 0xff is no UTF-8")


VARIABLES = [
    ("paths", os.pathsep.join(["a b.csv", "c,d"]), ["a b.csv", "c,d"], None),
    ("transport", "gloo strict", ["gloo", "strict"], "gl00"),
    ("profile", "torch-multi", "torch-multi", "torch"),
    ("engine", "all", "all", "none"),
    ("select", "PP1,PP301", ["PP1", "PP301"], "X"),
    ("ignore", "PP1", ["PP1"], "PP1,PP999"),
    ("limit", "depth=9,ranks=3", {"depth": 9, "ranks": 3}, "depth=x"),
    ("budget", "states=5, memory=2GiB", {"states": 5, "memory": "2GiB"}, "states=1,states=2"),
    ("fail-on", "zero", ["zero"], "one"),
    ("baseline", "b.json", "b.json", "\x1b[1m"),
    ("format", "github", "github", "xml"),
    ("cache", "yes", True, "maybe"),
]


@pytest.mark.parametrize(("key", "good", "value", "bad"), VARIABLES)
def test_a_variable_is_heard_and_a_wrong_one_refused(  # noqa: PLR0913, PLR0917  a table
    command: Command, monkeypatch: pytest.MonkeyPatch, key: str, good: str, value: object, bad: str
) -> None:
    monkeypatch.setenv(KEYS[key].variable, good)
    found = shown(command, "--no-config")[key]
    assert (found["value"], found["from"], found["line"]) == (value, "environment", None)

    monkeypatch.setenv(KEYS[key].variable, "")
    assert shown(command, "--no-config")[key]["from"] == "default"
    if bad is not None:
        monkeypatch.setenv(KEYS[key].variable, bad)
        assert command("config", "show") == 2
        assert f"\nError: {KEYS[key].variable}: " in command.err
        assert "\x1b" not in command.err


def test_every_key_has_a_variable_in_that_test() -> None:
    assert {each[0] for each in VARIABLES} == set(KEYS)


def test_show_tells_every_key_its_value_and_where_it_is_set(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure('[tool.pipeproof]\nengine = "smt"\n  limit = {depth = 20}\n', "pyproject.toml")
    monkeypatch.setenv("PIPEPROOF_CACHE", "1")

    assert command("config", "show") == 0
    head, *lines = command.out.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines}
    assert head == "pyproject.toml"
    assert list(rows) == list(KEYS)
    assert rows["engine"] == ['"smt"', "pyproject.toml:2:1"]
    assert rows["limit"] == ['{"depth":', "20}", "pyproject.toml:3:3"]
    assert rows["cache"] == ["true", "PIPEPROOF_CACHE"]
    assert rows["profile"] == ["not", "set", "default"]
    assert command("config", "show", "--no-config") == 0
    assert command.out.startswith("no configuration file\n")


def test_hostile_text_of_a_file_brings_nothing_to_the_terminal(command: Command) -> None:
    long = "x" * 200_000
    configure(f'"\\u001b[2J::error\\n\\u202e" = 1\n"{long}" = 1\nengine = "\\u001b]0;a\\u0007"\n')

    assert command("check", "a.csv") == 2
    assert all(line.isprintable() for line in command.err.splitlines())
    assert "\x1b" not in command.err
    assert "\n::error" not in command.err
    assert len(command.err) < 2000


def test_equal_configuration_is_told_in_equal_bytes(command: Command) -> None:
    command.judge = lambda document, _: verdict(document, Outcome.PROVED)
    for text in ('engine = "smt"\nignore = ["PP1"]\n', 'ignore = ["PP1"]\nengine = "smt"\n'):
        configure(text)
        command("check", "a.csv")
        assert command.err == ('configured by pipeproof.toml: engine = "smt", ignore = ["PP1"]\n')


def test_where_one_may_not_look_no_file_is_found(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = os.stat

    def refused(path: str | Path, **how: bool) -> os.stat_result:
        if str(path).endswith((".toml", ".git")):
            raise PermissionError(13, "Permission denied")
        return stat(path, **how)

    configure('engine = "smt"')
    monkeypatch.setattr(os, "stat", refused)
    assert shown(command)["engine"]["from"] == "default"
