"""A found case is two files that show what they say."""

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipeproof.campaign import written as module
from pipeproof.campaign.judged import read
from pipeproof.campaign.written import Finding, keep, written
from pipeproof.cli import run
from pipeproof.errors import InternalError
from pipeproof.ir.source import Document
from tests.campaign.padded import illegal

ILLEGAL = ("crossed-sends", "one-microbatch-short", "never-reduced", "norm-of-own-rank")
FOUND = Finding("1f1b on 2 ranks", "pipeproof hunt --schedule 1f1b --seed 17", "swap", 17)
HOSTILE = (
    'x"""\nimport os\n',
    "\\",
    "{name} %s",
    "::error::x",
    "\u202e<script>",
    "\ud800",
    "a: [b",
    "'" * 900,
)


def one_transport(name: str) -> Document:
    """Return a schedule of specs/illegal under the first of its transports."""
    document = illegal(name)
    schedule = replace(document.schedule, transports=document.schedule.transports[:1])
    return replace(document, schedule=schedule)


@pytest.mark.parametrize("name", ILLEGAL)
def test_the_spec_shows_what_it_expects(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = written(one_transport(name), FOUND)
    spec, _ = keep(case, tmp_path)

    assert run(["test", str(spec)]) == 0
    assert "1 agree, 0 differ" in capsys.readouterr().out
    assert read(case.spec).expect[0].verdict == "refuted"


def test_the_test_passes_as_it_stands_and_fails_once_the_schedule_is_legal(tmp_path: Path) -> None:
    keep(written(one_transport("crossed-sends"), FOUND), tmp_path / "found")
    spec, _ = keep(written(one_transport("never-reduced"), FOUND), tmp_path / "mended")
    spec.write_text("pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\n", encoding="utf-8")
    ended = subprocess.run(  # noqa: S603  this very interpreter
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    assert "1 failed, 1 passed" in ended.stdout
    assert "found/test_pp301_swap" not in ended.stdout.rpartition("short test summary")[2]
    assert "DID NOT RAISE" in ended.stdout


def test_title_and_source_say_what_was_found_and_how_to_find_it_again() -> None:
    document = read(written(one_transport("crossed-sends"), FOUND).spec)

    assert document.title == "deadlock in 1f1b on 2 ranks, after swap, seed 17"
    assert document.origin["source"] == f"{FOUND.command}; swap, seed 17"


def test_same_schedule_same_files() -> None:
    one, other = (written(one_transport("never-reduced"), FOUND) for _ in range(2))

    assert one == other


def test_the_name_is_of_the_schedule_and_not_of_its_title() -> None:
    document = one_transport("crossed-sends")
    other = written(replace(document, title="another"), FOUND)

    assert written(document, FOUND).name == other.name
    assert other.name != written(one_transport("one-microbatch-short"), FOUND).name
    assert other.name.startswith("pp301-swap-")


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_user_is_only_ever_text(text: str) -> None:
    case = written(one_transport("crossed-sends"), Finding(text, text, "swap", 3))
    module_ = ast.parse(case.test)
    names = {node.id for node in ast.walk(module_) if isinstance(node, ast.Name)}

    assert names == {
        "pytest",
        "assert_legal",
        "SPEC",
        "FOUND_BY",
        "Path",
        "__file__",
        "AssertionError",
    }
    assert [type(each).__name__ for each in module_.body[-2:]] == ["Assign", "FunctionDef"]
    assert case.test.isascii() or all(c.isprintable() or c == "\n" for c in case.test)
    document = read(case.spec)
    assert len(document.expect) == 1
    assert "\n" not in document.title
    assert all(c.isprintable() or c == "\n" for c in case.spec)


@pytest.mark.parametrize("mutation", ["../../x", "a b;c", "x" * 500, "\u202e"])
def test_a_name_of_a_file_is_never_a_path(mutation: str, tmp_path: Path) -> None:
    case = written(one_transport("crossed-sends"), Finding("x", "x", mutation, 0))
    paths = keep(case, tmp_path / "found")

    assert {path.parent for path in paths} == {tmp_path / "found"}
    assert sorted(path.name for path in (tmp_path / "found").iterdir()) == sorted(
        path.name for path in paths
    )


def test_what_is_legal_is_no_case() -> None:
    with pytest.raises(ValueError, match=r"is proved, and a case is what is refuted"):
        written(read("pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\n"), FOUND)


def test_a_file_that_does_not_show_what_it_says_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    legal = (
        "pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\nexpect: [{verdict: refuted, rule: PP301}]\n"
    )
    monkeypatch.setattr(module, "write_spec", lambda *_: legal)

    with pytest.raises(InternalError, match=r"was to show refuted PP301 .* and shows proved"):
        written(one_transport("crossed-sends"), FOUND)


def test_a_file_that_stands_there_stays_as_it_is(tmp_path: Path) -> None:
    case = written(one_transport("crossed-sends"), FOUND)
    _, test = keep(case, tmp_path)
    test.write_text("# mine\n", encoding="utf-8")
    keep(case, tmp_path)

    assert test.read_text(encoding="utf-8") == "# mine\n"


def test_no_half_file_is_left_where_none_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path, __: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)

    with pytest.raises(OSError, match="No space"):
        keep(written(one_transport("crossed-sends"), FOUND), tmp_path)
    assert not list(tmp_path.iterdir())
