"""Completion in shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete

from pipeproof.api import rules
from pipeproof.cli import COMPLETE, GROUP
from pipeproof.cli._complete import complete_all
from pipeproof.cli.schema import schemas
from pipeproof.frontends._profiles import PROFILES
from pipeproof.ir.codes import CODES
from pipeproof.ir.costs import DEFAULT
from pipeproof.ir.reading import LIMITS, LOWERINGS
from pipeproof.ir.transport import names
from pipeproof.schedules import names as schedules
from tests.cli.made import PATH, Command, Process

PREFIXES = {code[:3] for code in CODES} | {*CODES}


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch) -> "Completed":
    """Completes here; the types of parameters are as before when the test ends."""
    for command in _commands(GROUP):
        for param in command.params:
            monkeypatch.setattr(param, "type", param.type)
    complete_all(GROUP)
    return Completed()


def _commands(group: click.Group) -> list[click.Command]:
    context = click.Context(group)
    found: list[click.Command] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found += _commands(command) if isinstance(command, click.Group) else [command]
    return found


class Completed:
    """Asks click what it completes."""

    def items(self, *words: str) -> list[CompletionItem]:
        shell = ShellComplete(GROUP, {}, "pipeproof", COMPLETE)
        return shell.get_completions(list(words[:-1]), words[-1])

    def __call__(self, *words: str) -> set[str]:
        return {item.value for item in self.items(*words)}


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_shell_has_its_script(command: Command, shell: str) -> None:
    assert command("completion", shell) == 0
    assert "_PIPEPROOF_COMPLETE" in command.out
    assert f"{shell}_complete" in command.out


def test_another_shell_is_refused(command: Command) -> None:
    assert command("completion", "tcsh") == 2


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (("check", "--transport", ""), {*names()}),
        (("conform", "--transport", ""), {*names()}),
        (("check", "--profile", ""), {*PROFILES}),
        (("check", "--schedule", ""), {*schedules()}),
        (("generate", ""), {*schedules()}),
        (("init", "--schedule", ""), {*schedules()}),
        (("check", "--select", "PP"), PREFIXES),
        (("check", "--ignore", ""), PREFIXES),
        (("explain", "PP"), {*CODES}),
        (("explain", ""), {*CODES, *CODES.values()}),
        (("diagram", "--rule", ""), {*CODES, *CODES.values()}),
        (("check", "--limit", ""), {f"{name}=" for name in LIMITS}),
        (("show", "--cost", ""), {f"{kind}=" for kind in DEFAULT}),
        (("check", "--budget", "states=9,"), {"states=9,states=", "states=9,seconds="}),
        (("check", "--option", ""), {"backward=ascending", "backward=descending"}),
        (("check", "--why", ""), {"first"}),
        (("check", "--format", ""), {"json", "text", "github"}),
        (("check", "--engine", ""), {"all", "explore", "graph", "smt"}),
        (("check", "--lowering", "torch"), {"torch", "torch-deferred"}),
        (("hunt", "--generator", ""), {*schedules()}),
        (("hunt", "--lowering", ""), {*LOWERINGS}),
        (("hunt", "--mutation", "swap"), {"swap"}),
        (("schema", ""), {*schemas()}),
        (("completion", ""), {"bash", "fish", "zsh"}),
        (("che",), {"check"}),
        (("check", "--tr"), {"--transport"}),
    ],
)
def test_what_is_known_is_completed(
    completed: Completed, words: tuple[str, ...], known: set[str]
) -> None:
    found = completed(*words)

    assert found >= known
    closed = "--budget" in words or "--format" in words
    assert closed or found == known


def test_a_word_begins_as_what_stands_there(completed: Completed) -> None:
    assert completed("check", "--transport", "nccl-e") == {"nccl-eager", "nccl-edge"}
    assert completed("explain", "dead") == {"deadlock"}


def test_an_unknown_subcommand_breaks_nothing(completed: Completed) -> None:
    assert "check" in completed("chec", "")


def test_a_code_is_told_with_its_name(completed: Completed) -> None:
    (item,) = completed.items("explain", "PP301")

    assert item.help == "deadlock"


@pytest.mark.parametrize(
    "words",
    [
        ("check", ""),
        ("check", "a.yaml", "specs/b"),
        ("check", "-o", ""),
        ("check", "--diagram", ""),
        ("check", "--baseline", ""),
        ("show", ""),
        ("test", ""),
        ("replay", ""),
        ("verify", ""),
        ("verify", "a.json", ""),
        ("partition", "--layers", ""),
        ("init", ""),
        ("schema", "spec", "-o", ""),
    ],
)
def test_a_path_is_left_to_the_shell(completed: Completed, words: tuple[str, ...]) -> None:
    assert [(each.value, each.type) for each in completed.items(*words)] == [(words[-1], "file")]


def test_every_parameter_is_completed_or_free(completed: Completed) -> None:
    """A new option that takes a word is completed, or stands here as one that anything may be."""
    free = {
        *("--reason", "--object", "--skew", "--tolerance", "--unit", "--inject"),
        *("--places", "--cache-dir"),
        *("--run", "--stored", "--expected-commit"),
        *("--ranks", "--stages-per-rank", "--microbatches", "--shard", "--ray-address", "--costs"),
    }
    plain = {
        param.opts[-1]
        for command in _commands(GROUP)
        for param in command.params
        if param.type is click.STRING
    }

    assert plain <= free


def test_every_rule_that_is_completed_is_explained() -> None:
    told = {rule.code: rule.name for rule in rules()}

    assert told.items() <= CODES.items()
    assert {code for code in CODES if code not in told} <= {"PP901", "PP903"}


def test_words_are_completed_in_a_process(process: Process) -> None:
    asked = {"_PIPEPROOF_COMPLETE": "bash_complete", "COMP_CWORD": "3"}
    ended = process(COMP_WORDS="pipeproof check --transport glo", **asked)

    assert (ended.code, ended.out, ended.err) == (0, "plain,gloo\n", "")


def test_bash_itself_completes(tmp_path: Path, command: Command) -> None:
    assert command("completion", "bash") == 0
    script, tool = tmp_path / "script.bash", tmp_path / "pipeproof"
    script.write_text(command.out)
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m pipeproof "$@"\n')
    tool.chmod(0o755)
    asked = (
        f"source {script}; COMP_WORDS=(pipeproof explain deadl); COMP_CWORD=2; "
        'complete -p pipeproof; _pipeproof_completion pipeproof; echo "${COMPREPLY[@]}"'
    )
    environ = {**os.environ, "PYTHONPATH": PATH, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(  # noqa: S603  our own command
        [bash, "--norc", "-c", asked], capture_output=True, env=environ, check=True, timeout=60
    )

    assert done.stdout.decode().splitlines() == [
        "complete -o nosort -F _pipeproof_completion pipeproof",
        "deadlock",
    ]
