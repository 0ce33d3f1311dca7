"""What `check` reads, asks and tells."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeproof.cli._output import wants_colour
from pipeproof.ir.source import Document
from pipeproof.verdict.verdict import FileVerdict, Outcome
from tests.cli.made import PATH, ROOT, Asked, Command, Process, verdict, violation

SPEC = "pipeproof: 1\nmicrobatches: 1\nranks:\n  - 0F0; 0B0\n"


def paths(command: Command) -> list[str]:
    return [file["path"] for file in json.loads(command.out)["files"]]


@pytest.fixture
def asked(command: Command) -> list[Asked]:
    """What the judge was asked, in order."""
    seen: list[Asked] = []

    def judge(document: Document, asked: Asked) -> FileVerdict:
        seen.append(asked)
        return verdict(document)

    command.judge = judge
    return seen


def test_options_reach_the_judge(command: Command, csv: Path, asked: list[Asked]) -> None:
    code = command(
        *("check", csv, "--transport", "gloo", "--transport", "strict", "--select", "PP3"),
        *("--select", "PP101", "--ignore", "PP301", "--profile", "none"),
    )

    assert code == 0
    assert asked == [Asked(("gloo", "strict"), "none", ("PP3", "PP101"), ("PP301",), "graph")]


def test_numbers_of_the_file_are_overridden(command: Command, csv: Path) -> None:
    assert command("check", csv, "--stages", 3, "--microbatches", 5, "--format", "json") == 0
    file = json.loads(command.out)["files"][0]

    assert (file["stages"], file["microbatches"]) == (3, 5)


@pytest.mark.parametrize(
    ("option", "value", "meant"),
    [
        ("--transport", "nccl-lasy", "nccl-lazy"),
        ("--select", "PP311", "PP301"),
        ("--ignore", "PP311", "PP301"),
        ("--limit", "dept=3", "depth"),
        ("--format", "jsn", "json"),
    ],
)
def test_an_unknown_word_is_refused_with_the_word_that_is_meant(
    command: Command, csv: Path, option: str, value: str, meant: str
) -> None:
    assert command("check", csv, option, value) == 2
    assert f"'{meant}'" in command.err
    assert command.out == ""


@pytest.mark.parametrize(
    "value", ["depth=0", "depth=-1", "depth=x", "depth", "depth=1e3", "depth=٣"]
)
def test_a_limit_is_a_whole_number(command: Command, csv: Path, value: str) -> None:
    assert command("check", csv, "--limit", value) == 2


def test_a_folder_is_searched_in_order_without_what_is_hidden(
    command: Command, tmp_path: Path
) -> None:
    for name in ("b.yaml", "a/z.yml", "a/.hidden.yaml", ".git/c.yaml", "c.csv", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("0F0,0B0\n" if name.endswith("csv") else SPEC)
    (tmp_path / "index.json").write_text('{"cases": []}')
    command("check", tmp_path, "--format", "json")

    assert paths(command) == [str(tmp_path / name) for name in ("b.yaml", "c.csv", "a/z.yml")]


def test_a_pattern_and_a_path_given_twice_are_judged_once(command: Command, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(SPEC)
    command("check", tmp_path / "*.yaml", tmp_path / "a.yaml", tmp_path, "--format", "json")

    assert paths(command) == [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]


def test_a_pattern_without_a_match_is_nothing_to_check(command: Command, tmp_path: Path) -> None:
    assert command("check", tmp_path / "*.yaml") == 5


def test_a_case_of_a_file_is_named_behind_it(command: Command, csv: Path) -> None:
    assert command("check", f"{csv}#0", "--format", "json") == 0
    assert paths(command) == [f"{csv}#0"]
    assert command("check", f"{csv}#7") == 2


def test_a_file_whose_name_looks_like_a_case_is_that_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "run#1").write_text("0F0,0B0\n")

    assert command("check", tmp_path / "run#1") == 0


def test_the_content_decides_and_not_the_name(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(SPEC)
    (tmp_path / "b.yaml").write_text("0F0,0B0\n")

    assert command("check", tmp_path / "a.csv", tmp_path / "b.yaml") == 0


def test_a_refuted_place_is_quoted_from_the_file(command: Command, csv: Path) -> None:
    command.judge = lambda document, _: verdict(
        document, Outcome.REFUTED, violation("PP301", (0, 0))
    )
    command("check", csv)

    assert f"  {csv}:1:1  rank 0, position 0: 0F0\n    0F0,0B0\n    ^^^\n" in command.out


def test_a_place_in_an_imported_file_is_quoted_from_there(
    command: Command, csv: Path, tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text(
        "pipeproof: 1\nmicrobatches: 1\nimport: {format: torch-csv, path: run.csv}\n"
    )
    command.judge = lambda document, _: verdict(
        document, Outcome.REFUTED, violation("PP301", (0, 0))
    )
    command("check", tmp_path / "s.yaml")

    assert "run.csv:1:1  rank 0, position 0: 0F0\n    0F0,0B0\n    ^^^\n" in command.out


def test_the_result_goes_to_a_file(command: Command, csv: Path, tmp_path: Path) -> None:
    assert command("check", csv, "-o", tmp_path / "out.txt") == 0
    assert command.out == ""
    assert (tmp_path / "out.txt").read_text().endswith("1 proved, 0 refuted, 0 unknown\n")


def test_a_result_that_cannot_be_written_exits_2(
    command: Command, csv: Path, tmp_path: Path
) -> None:
    assert command("check", csv, "-o", tmp_path / "no" / "out.txt") == 2
    assert "out.txt" in command.err
    assert command("check", csv, "-o", tmp_path) == 2


def test_results_go_to_stdout_and_complaints_to_stderr(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("pipeproof: 2\n")
    command("check", tmp_path)

    assert "a.yaml: unreadable, " in command.out
    assert "a.yaml:1:12: '2' " in command.err


@pytest.mark.parametrize(
    ("choice", "environ", "coloured"),
    [
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "1", "TERM": "dumb"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_is_a_choice(
    monkeypatch: pytest.MonkeyPatch, choice: str, environ: dict[str, str], *, coloured: bool
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    assert wants_colour(choice, None) is coloured


def test_a_file_is_coloured_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert not wants_colour("auto", "out.txt")
    assert wants_colour("always", "out.txt")


def test_colour_is_written_when_asked(command: Command, csv: Path) -> None:
    command("check", csv, "--color", "always")

    assert "\x1b[" in command.out


SMALL = ROOT / "specs" / "illegal" / "crossed-sends.yaml"


def test_a_schedule_that_hangs_is_refuted(process: Process) -> None:
    ended = process("check", SMALL)

    assert ended.code == 1
    assert ended.err == ""
    assert f"{SMALL}: refuted (PP301 deadlock) under rendezvous\n" in ended.out
    assert ended.out.endswith("0 proved, 1 refuted, 0 unknown\n")


def test_the_bytes_of_a_result_do_not_depend_on_the_hash_seed(process: Process) -> None:
    first = process("check", SMALL, "--format", "json", PYTHONHASHSEED="1")

    assert process("check", SMALL, "--format", "json", PYTHONHASHSEED="2").out == first.out


def test_a_small_file_is_judged_without_what_is_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from pipeproof.cli import run; run(['check', *sys.argv[1:]]); "
        "heavy = {'importlib.metadata', 'networkx', 'rich', 'torch', 'z3'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-c", code, SMALL, "-o", tmp_path / "out"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": PATH},
    )

    assert done.stdout == "[]\n"
