"""Completion in shells."""

import pytest

from tests.cli.made import Command, Process


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_shell_has_its_script(command: Command, shell: str) -> None:
    assert command("completion", shell) == 0
    assert "_PIPEPROOF_COMPLETE" in command.out
    assert f"{shell}_complete" in command.out


def test_another_shell_is_refused(command: Command) -> None:
    assert command("completion", "tcsh") == 2


def test_subcommands_and_options_are_completed(process: Process) -> None:
    asked = {"_PIPEPROOF_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    ended = process(COMP_WORDS="pipeproof ch", **asked)

    assert ended.code == 0
    assert ended.out == "plain,check\n"
    asked["COMP_CWORD"] = "2"
    assert process(COMP_WORDS="pipeproof check --tr", **asked).out == "plain,--transport\n"
