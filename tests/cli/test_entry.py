"""The exit codes of the command, one by one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeproof.cli._exits import Exit, TerminatedError, worst
from pipeproof.errors import (
    InternalError,
    Problem,
    ReplayMismatchError,
    UnsupportedFeatureError,
    UsageError,
)
from pipeproof.ir.source import Document
from pipeproof.verdict.verdict import FileVerdict, Outcome, Undecided, Warned
from tests.cli.made import ROOT, Asked, Command, Process, raising, verdict, violation

PIPEPROOF = (sys.executable, "-m", "pipeproof")


def refuting(document: Document, asked: Asked) -> FileVerdict:
    return verdict(document, Outcome.REFUTED, violation("PP301", (0, 0)))


def leaving_open(document: Document, asked: Asked) -> FileVerdict:
    return verdict(document, Outcome.UNKNOWN, unknown=(Undecided("PP301", "too large"),))


def test_0_everything_is_proved(command: Command, csv: Path) -> None:
    assert command("check", csv) == 0
    assert command.out.endswith("1 proved, 0 refuted, 0 unknown\n")


def test_1_something_is_refuted(command: Command, csv: Path) -> None:
    command.judge = refuting

    assert command("check", csv) == 1


def test_2_usage(command: Command) -> None:
    assert command("check") == 2
    assert command("chekc") == 2
    assert "did you mean 'check'?" in command.err
    assert command("check", "--enigne", "graph", "x") == 2


def test_2_unreadable_input(command: Command, tmp_path: Path) -> None:
    assert command("check", tmp_path / "missing.yaml") == 2
    assert "missing.yaml:1:1: it does not exist; " in command.err


def test_2_an_option_that_the_judge_refuses(command: Command, csv: Path) -> None:
    command.judge = raising(
        UsageError([Problem("--profile", 1, 1, "'x' is no profile", "write y")])
    )

    assert command("check", csv) == 2
    assert command.out == ""
    assert "'x' is no profile; write y" in command.err


def test_3_unknown(command: Command, csv: Path) -> None:
    command.judge = leaving_open

    assert command("check", csv) == 3


def test_3_unsupported(command: Command, csv: Path) -> None:
    command.judge = raising(UnsupportedFeatureError("faults are not judged"))

    assert command("check", csv) == 3
    assert "unknown: faults are not judged\n" in command.out


def test_4_do_not_trust(command: Command, csv: Path) -> None:
    command.judge = raising(ReplayMismatchError("the trace stops at event 7"))

    assert command("check", csv) == 4
    assert "do not trust this run: the trace stops at event 7" in command.err


def test_5_no_files(command: Command, tmp_path: Path) -> None:
    assert command("check", tmp_path) == 5
    assert command.out == "0 proved, 0 refuted, 0 unknown\n"


def test_5_every_rule_applied_to_nothing(command: Command, csv: Path) -> None:
    command.judge = lambda document, _: verdict(document, instances=0)

    assert command("check", csv) == 5


@pytest.mark.parametrize("error", [KeyError("x"), InternalError("x"), RecursionError("x")])
def test_101_a_bug_says_so_and_asks_for_a_report(
    command: Command, csv: Path, error: Exception
) -> None:
    command.judge = raising(error)

    assert command("check", csv) == 101
    assert "internal error" in command.out
    assert "Traceback" in command.err
    assert "Please report it" in command.err


def test_101_also_outside_of_judging(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("pipeproof.cli._sources.expand", broken)

    assert command("check", "x") == 101
    assert "Please report it" in command.err


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (TerminatedError(), 143)])
def test_130_and_143_tell_what_was_found_before(
    command: Command, tmp_path: Path, error: BaseException, code: int
) -> None:
    for name in ("a.csv", "b.csv", "c.csv"):
        (tmp_path / name).write_text("0F0,0B0\n")

    def judge(document: Document, asked: Asked) -> FileVerdict:
        if document.name.endswith("b.csv"):
            raise error
        return verdict(document)

    command.judge = judge

    assert command("check", tmp_path) == code
    assert command.out.endswith("1 proved, 0 refuted, 0 unknown\n")
    assert "stopped after 1 schedules" in command.err


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ({0, 1, 2, 3, 4, 101}, 101),
        ({0, 1, 2, 3, 4}, 4),
        ({0, 1, 2, 3}, 2),
        ({0, 1, 3}, 1),
        ({0, 3}, 3),
        ({0}, 0),
    ],
)
def test_several_codes_at_once_have_an_order(codes: set[int], expected: int) -> None:
    assert worst({Exit(code) for code in codes}) == expected


def test_a_file_that_fails_does_not_stop_the_others(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("pipeproof: 1\nranks: 3\n")
    (tmp_path / "b.csv").write_text("0F0,0B0\n")

    assert command("check", tmp_path) == 2
    assert command.out.endswith("1 proved, 0 refuted, 0 unknown, 1 unreadable\n")


def test_exit_zero_turns_1_into_0_and_nothing_else(command: Command, csv: Path) -> None:
    command.judge = refuting
    assert command("check", "--exit-zero", csv) == 0
    command.judge = leaving_open
    assert command("check", "--exit-zero", csv) == 3
    assert command("check", "--exit-zero", csv, "missing") == 2
    command.judge = raising(ValueError("x"))
    assert command("check", "--exit-zero", csv) == 101


def test_fail_on_adds_warnings_and_rules_that_applied_to_nothing(
    command: Command, csv: Path
) -> None:
    warned = (Warned("PP302", "it depends on buffering"),)
    command.judge = lambda document, _: verdict(document, warnings=warned)
    assert command("check", csv) == 0
    assert command("check", csv, "--fail-on", "warning") == 1
    assert command("check", csv, "--fail-on", "zero") == 0
    command.judge = lambda document, _: verdict(document, instances=0)
    assert command("check", csv, "--fail-on", "zero") == 3
    command.judge = refuting
    assert command("check", csv, "--fail-on", "unknown", "--fail-on", "refuted") == 1


def test_help_and_version_exit_0(command: Command) -> None:
    for argv in (("--help",), ("check", "--help"), ("--version",)):
        assert command(*argv) == 0
    assert command.out.startswith("pipeproof, version ")


def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(  # noqa: S603  our own command
        [*PIPEPROOF, "--help"], stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, check=False
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_process_with_its_code(number: signal.Signals, code: int) -> None:
    started = subprocess.Popen(  # noqa: S603  our own command
        [*PIPEPROOF, "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert started.stdin is not None
    started.stdin.write(b"pipeproof: 1\n" * 20_000)  # more than a pipe holds: it is being read
    started.stdin.flush()
    started.send_signal(number)
    out, err = started.communicate(timeout=20)

    assert started.returncode == code
    assert out.endswith(b"0 proved, 0 refuted, 0 unknown\n")
    assert b"Traceback" not in err


def test_nothing_heavy_is_imported_to_say_the_version() -> None:
    code = (
        "import sys; from pipeproof.cli import run; run(['--version']); "
        "print(sorted({'networkx', 'numpy', 'rich', 'torch', 'yaml', 'z3'} & set(sys.modules)))"
    )
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert done.stdout.endswith("[]\n")


def test_the_process_runs_as_a_module(process: Process) -> None:
    ended = process("--version")

    assert ended.code == 0
    assert ended.out.startswith("pipeproof, version ")
