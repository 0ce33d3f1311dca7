"""The commands that make, verify and list bundles, and how they end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeproof.cli import run
from pipeproof.evidence import commands, environment
from pipeproof.evidence.manifest import MANIFEST, SUMS, sums
from tests.cli.made import PATH
from tests.cli.test_schema_written import agreed
from tests.evidence.made import (
    FILES,
    committed,
    contents,
    git,
    inside,
    manifest,
    repository,
    resealed,
    written,
)
from tests.semantics.made import text

OTHER = "0" * 40


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in which the command runs; its own commands run in this process."""
    folder = repository(tmp_path / "root")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(commands, "processes", inside)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return folder


def test_a_bundle_is_made_and_fresh_and_each_change_has_its_exit_code(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["evidence", "create", "legal.yaml", "-o", "../b", "--run", "echo 'a b'"]) == 0
    said = capsys.readouterr().out
    assert "legal.yaml: proved\necho 'a b': exit 0\n../b: bundle " in said
    whole, commit = contents(root.parent / "b"), git(root, "rev-parse", "HEAD")

    assert run(["evidence", "verify", "../b"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("FRESH: bundle ")
    assert "  legal.yaml: proved; 2 statements accepted by the second checker, judged" in said
    assert "  echo 'a b': exit 0\n" in said

    (root / "more.txt").write_text("more")
    last = committed(root)
    assert run(["evidence", "verify", "../b"]) == 10
    assert run(["evidence", "verify", "../b", "--expected-commit", commit[:7]]) == 0
    assert run(["evidence", "verify", "../b", "--expected-commit", last.upper()]) == 10
    assert run(["evidence", "verify", "../b", "--expected-commit", OTHER]) == 11
    (root / "legal.yaml").write_text(FILES["stuck.yaml"])
    assert run(["evidence", "verify", "../b"]) == 11
    assert run(["evidence", "create", "legal.yaml", "-o", "../dirty"]) == 1
    assert run(["evidence", "verify", "../dirty"]) == 12

    shown = manifest(whole)
    shown["predicateType"] = "urn:pipeproof:evidence:2"
    files = {**whole, MANIFEST: json.dumps(shown).encode()}
    written(root.parent / "later", {**files, SUMS: sums(files)})
    assert run(["evidence", "verify", "../later"]) == 15
    written(root.parent / "broken", {**whole, MANIFEST: b"x"})
    assert run(["evidence", "verify", "../broken"]) == 14
    monkeypatch.setattr(environment, "source", lambda: "0" * 64)
    assert run(["evidence", "verify", "../b"]) == 13


def test_an_answer_is_as_its_schema_says(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evidence", "create", ".", "-o", "../b", "--run", "false"]) == 1
    capsys.readouterr()
    answers = []
    for more in ([], ["--no-judge", "--expected-commit", OTHER]):
        code = run(["evidence", "verify", "../b", "--format", "json", *more])
        answers.append(json.loads(capsys.readouterr().out))
        assert answers[-1]["exit"] == code
    written(root.parent / "b", {SUMS: b""})
    assert run(["evidence", "verify", "../b", "--format", "json"]) == 14
    answers.append(json.loads(capsys.readouterr().out))

    agreed("verified", *answers)
    assert [each["status"] for each in answers] == ["FRESH", "STALE_INPUTS_CHANGED", "TAMPERED"]
    assert [each["again"] for each in answers[0]["schedules"]] == [True] * 3
    assert [each["again"] for each in answers[1]["schedules"]] == [False] * 3
    assert answers[0]["commands"] == [{"command": "false", "exit": 1}]
    assert answers[2]["reasons"][0]["why"] == "manifest.json is missing"


def test_a_manifest_is_as_its_schema_says(root: Path) -> None:
    options = ["--transport", "gloo", "--stored", "the shelf", "--run", "true"]
    run(["evidence", "create", "legal.yaml", "-o", "../b", *options])

    found = manifest(contents(root.parent / "b"))
    agreed("evidence", found)
    predicate = found["predicate"]
    assert isinstance(predicate, dict)
    assert predicate["stored"] == "the shelf"
    assert predicate["options"]["transport"] == ["gloo"]
    assert [each["name"] for each in predicate["schedules"][0]["transports"]] == ["gloo"]
    assert run(["evidence", "verify", "../b"]) == 0


def test_a_file_in_a_folder_below_the_root_is_named_from_the_root(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "deep").mkdir()
    (root / "deep" / "run#1.csv").write_text("0F0,0B0\n")
    (root / "deep" / "legal.yaml").write_text(FILES["legal.yaml"])
    committed(root)
    monkeypatch.chdir(root / "deep")

    code = run(["evidence", "create", "run#1.csv", "legal.yaml#0", "-o", "../../b"])

    lines = capsys.readouterr().out.splitlines()[:-1]
    assert [line.partition(":")[0] for line in lines] == ["deep/run#1.csv", "deep/legal.yaml#0"]
    assert code == run(["check", "run#1.csv", "legal.yaml", "-o", "/dev/null"])
    assert run(["evidence", "verify", "../../b"]) == 0


def test_at_a_terminal_the_command_that_runs_is_shown(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    run(["evidence", "create", "twice.yaml", "-o", "../b", "--run", "echo '::error::'"])

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("pipeproof check --format=json")
    assert lines[-1] == "echo ::error::"


def test_a_failing_command_is_no_success_and_stands_in_the_bundle(root: Path) -> None:
    assert run(["evidence", "create", "legal.yaml", "-o", "../b", "--run", "false"]) == 1
    assert (root.parent / "b" / MANIFEST).exists()


def test_a_rejected_certificate_is_distrust(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.evidence.made.recheck", lambda _: 1)
    own = inside

    def rejecting(argv: list[str], folder: Path, logs: Path) -> object:
        ended = own(argv, folder, logs)
        return ended._replace(exit=1) if "pipeproof.recheck" in argv else ended

    monkeypatch.setattr(commands, "processes", rejecting)
    assert run(["evidence", "create", "legal.yaml", "-o", "../b"]) == 4
    assert "certificates/000.json: rejected by the second checker" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["create", "none.yaml"], "none.yaml"),
        (["create", "-"], "standard input"),
        (["create", "../outside.yaml"], "it stands elsewhere"),
        (["create", "link.yaml"], "it stands elsewhere"),
        (["create", "legal.yaml", "-o", "."], "something stands there already"),
        (["create", "legal.yaml", "-o", "legal.yaml/b"], "cannot be written"),
        (["create", "legal.yaml", "--run", "'"], "is no command"),
        (["create", "legal.yaml", "--transport", "gluu"], "gluu"),
        (["verify", "none"], "none:1:1: it cannot be read"),
        (["verify", "legal.yaml"], "it is no archive"),
        (["verify", ".", "--expected-commit", "HEAD"], "is no commit"),
        (["verify", ".", "--expected-commit", "--all"], "is no commit"),
        (["verify", ".", "--root", "none"], "is no folder"),
        (["table", "none"], "none:1:1: it cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_words_with_exit_code_2(
    root: Path, capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    (root.parent / "outside.yaml").write_text(FILES["legal.yaml"])
    (root / "link.yaml").symlink_to(root.parent / "outside.yaml")

    assert run(["evidence", *argv]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert sorted(each.name for each in root.parent.iterdir()) == ["outside.yaml", "root"]


def test_a_folder_without_schedules_makes_no_bundle(root: Path) -> None:
    (root / "empty").mkdir()

    assert run(["evidence", "create", "empty", "-o", "../b"]) == 5
    assert not (root.parent / "b").exists()


def test_without_git_no_bundle_is_fresh_of_nothing(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["evidence", "create", "legal.yaml", "-o", "../b"])
    commit = git(root, "rev-parse", "HEAD")
    shutil.rmtree(root / ".git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(root.parent))

    assert run(["evidence", "verify", "../b"]) == 2
    assert "no commit is checked out here to compare with" in capsys.readouterr().err
    assert run(["evidence", "verify", "../b", "--expected-commit", commit]) == 0
    assert run(["evidence", "create", "legal.yaml", "-o", "../c"]) == 0
    assert run(["evidence", "verify", "../c"]) == 12
    said = capsys.readouterr().out
    assert "of commit none, now none\n" in said
    assert "there is no git repository" in said


def test_a_read_only_folder_is_said_in_words(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refused)

    assert run(["evidence", "create", "legal.yaml", "-o", "../b"]) == 2
    assert "../b:1:1: it cannot be written (Permission denied)" in capsys.readouterr().err
    assert not (root.parent / "b").exists()


def test_a_page_is_written_from_bundles_and_from_no_tampered_one(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["evidence", "create", ".", "-o", "../b", "--run", "true"])
    capsys.readouterr()

    assert run(["evidence", "table", "../b"]) == 0
    page = capsys.readouterr().out
    assert page.count("| current |") == 4
    (root / "more.txt").write_text("more")
    (root / "stuck.yaml").write_text(FILES["stuck.yaml"] + "# more\n")
    assert run(["evidence", "table", "../b"]) == 0
    page = capsys.readouterr().out
    assert "current |" not in page
    written(root.parent / "c", {**contents(root.parent / "b"), "more": b""})
    assert run(["evidence", "table", "../b", "../c", "-o", "page.md"]) == 14
    assert "../c: TAMPERED: more is not in SHA256SUMS" in capsys.readouterr().err
    files = contents(root.parent / "b")
    false, true = b'"forward_only": false', b'"forward_only": true'
    files["results/check.json"] = files["results/check.json"].replace(false, true)
    written(root.parent / "c", resealed(files))
    assert run(["evidence", "table", "../c", "-o", "page.md"]) == 14
    assert "judged afresh, it differs" in capsys.readouterr().err
    assert not (root / "page.md").exists()


def test_hostile_names_are_told_without_what_a_terminal_or_a_runner_obeys(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "::error::\x1b[31m\u202e.yaml"
    (root / name).write_text(text("0F0", fragment=True))
    committed(root)

    run(["evidence", "create", name, "-o", "../b", "--run", "echo ::set-output::"])
    run(["evidence", "verify", "../b"])
    run(["evidence", "verify", "../b", "--format", "json"])
    run(["evidence", "table", "../b"])

    said = capsys.readouterr()
    lines = [*said.out.splitlines(), *said.err.splitlines()]
    assert not any(line.lstrip().startswith("::") for line in lines)
    assert "\x1b" not in said.out + said.err
    assert "\u202e" not in said.out + said.err


def test_a_bundle_with_a_hostile_command_and_path_is_told_the_same_way(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["evidence", "create", "legal.yaml", "-o", "../b", "--run", "true"])
    made = contents(root.parent / "b")

    def hostile(predicate: dict[str, object]) -> None:
        commands = predicate["commands"]
        assert isinstance(commands, list)
        commands[-1]["argv"] = ["\n::error::x", "\x1b[2J"]

    written(root.parent / "c", resealed(made, hostile))  # type: ignore[arg-type]
    capsys.readouterr()
    assert run(["evidence", "verify", "../c"]) == 0
    said = capsys.readouterr().out
    assert not any(line.lstrip().startswith("::") for line in said.splitlines())
    assert "\x1b" not in said


def test_a_file_that_imports_nothing_is_judged_whatever_its_bundle_says(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["evidence", "create", "legal.yaml", "stuck.yaml", "-o", "../b"])
    made = contents(root.parent / "b")

    def lies(predicate: dict[str, object]) -> None:
        schedules = predicate["schedules"]
        assert isinstance(schedules, list)
        schedules[0]["imports"] = "stuck.yaml"

    forged = {**made, "inputs/000.yaml": made["inputs/001.yaml"]}
    written(root.parent / "c", resealed(forged, lies))  # type: ignore[arg-type]
    capsys.readouterr()
    assert run(["evidence", "verify", "../c"]) == 14
    assert "its input gives another schedule as run" in capsys.readouterr().out


def test_what_a_bundle_imports_is_read_from_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = "pipeproof: 1\nmicrobatches: 1\nimport: {format: torch-csv, path: run.csv}\n"
    (root / "a.yaml").write_text(spec)
    (root / "run.csv").write_text("0F0,0B0\n")
    committed(root)
    run(["evidence", "create", "a.yaml", "-o", "../b"])
    made = contents(root.parent / "b")
    assert run(["evidence", "verify", "../b"]) == 0
    assert "judged afresh: the same" in capsys.readouterr().out

    def own(predicate: dict[str, object]) -> None:
        schedules, inputs = predicate["schedules"], predicate["inputs"]
        assert isinstance(schedules, list)
        assert isinstance(inputs, list)
        schedules[0]["imports"] = None
        del inputs[1]

    less = {name: data for name, data in made.items() if name != "inputs/001.csv"}
    written(root.parent / "c", resealed(less, own))  # type: ignore[arg-type]
    assert run(["evidence", "verify", "../c"]) == 14
    assert "gives another schedule as run" in capsys.readouterr().out
    other = {**made, "inputs/001.csv": b"0B0,0F0\n"}
    written(root.parent / "d", resealed(other))
    assert run(["evidence", "verify", "../d"]) == 14
    assert "gives another schedule as run" in capsys.readouterr().out
    (root / "run.csv").write_text("0F0,0B0,\n")
    assert run(["evidence", "verify", "../b"]) == 11


INTERRUPTED = """
import sys
from pipeproof import cli
from pipeproof.evidence import commands
from tests.evidence.made import inside
commands.processes = inside
cli.main(sys.argv[1:])
"""


def test_interrupted_it_leaves_no_half_bundle_and_no_process(tmp_path: Path) -> None:
    root = repository(tmp_path / "root", {"legal.yaml": FILES["legal.yaml"]})
    argv = ["evidence", "create", "legal.yaml", "-o", "../b"]
    argv += ["--run", "sh -c 'echo $$ >pid; exec sleep 60'"]
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", INTERRUPTED, *argv],
        cwd=root,
        env={**os.environ, "PYTHONPATH": PATH},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while not (root / "pid").exists() or not (root / "pid").read_text():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130

    assert [each.name for each in tmp_path.iterdir()] == ["root"]
    left = Path(f"/proc/{(root / 'pid').read_text().strip()}/cmdline")
    assert not left.exists() or b"sleep" not in left.read_bytes()
