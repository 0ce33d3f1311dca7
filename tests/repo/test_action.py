"""The GitHub Action and the hooks of pre-commit: what they run, and that nothing is injected."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeproof import cli
from pipeproof.plugins import names

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github/actions/check"
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text())
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
HOSTILE = (
    "$(touch pwned)",
    "`touch pwned`",
    '"; touch pwned; "',
    "'; touch pwned; '",
    "a b  c",
    "*",
    "${PATH}",
    "x\\",
    "::error::x",
)
PYTHON = """\
#!/bin/sh
if [ "$1" = -m ] && [ "$2" = venv ]; then
  mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$STUB" "$3/bin/pipeproof"
elif [ "$1" = -m ] && [ "$2" = pip ]; then
  for each in "$@"; do last=$each; done
  printf '%s' "$last" >installed
  if [ "${NO_INSTALL:-}" ]; then echo "::error::no such version"; exit 1; fi
fi
"""
REAL = f"""\
#!/bin/sh
PYTHONPATH='{ROOT}' exec '{sys.executable}' -m pipeproof "$@"
"""
STUB = f"""\
#!{sys.executable}
import json, os, sys
argv = sys.argv[1:]
with open("asked", "a") as asked:
    asked.write(json.dumps(argv) + "\\n")
if "-o" in argv and os.environ.get("WRITES"):
    with open(argv[argv.index("-o") + 1], "w") as out:
        out.write("## a report\\n")
elif "-o" not in argv:
    print("::notice title=pipeproof::judged")
    print("::error::from a name", file=sys.stderr)
sys.exit(int(os.environ.get("CODE", "0")))
"""


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    summary: str
    output: dict[str, str]
    asked: list[list[str]]


def act(folder: Path, stub: str = STUB, **environ: str) -> Ended:
    """Run what the action runs, in a folder, with a Python that installs `stub`."""
    programs = folder.parent / "programs"
    programs.mkdir(exist_ok=True)
    for name, text in (("python3", PYTHON), ("stub", stub)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    summary, output = programs / "summary", programs / "output"
    summary.write_text("")
    output.write_text("")
    done = subprocess.run(  # noqa: S603  our own script
        ["/bin/bash", str(FOLDER / "check.sh")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "STUB": str(programs / "stub"),
            "RUNNER_TEMP": str(programs),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(output),
            **environ,
        },
    )
    assert done.stderr == ""
    asked = folder / "asked"
    return Ended(
        done.returncode,
        done.stdout,
        summary.read_text(),
        dict(line.split("=", 1) for line in output.read_text().splitlines()),
        [json.loads(line) for line in asked.read_text().splitlines()] if asked.exists() else [],
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def commands(log: str) -> list[str]:
    """Return the lines of a log that GitHub takes for commands, as it reads them."""
    found, token = [], None
    for line in log.splitlines():
        stop = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", line)
        if token is not None:
            token = None if line == f"::{token}::" else token
        elif stop is not None:
            token = stop[1]
        elif line.lstrip().startswith("::") or "##[" in line:
            found.append(line)
    assert token is None
    return found


def test_what_is_refuted_is_annotated_and_drawn_in_the_summary(folder: Path) -> None:
    name = "a$(touch pwned) ::error::x.yaml"
    (folder / name).write_text((ROOT / "specs/illegal/crossed-sends.yaml").read_text())
    (folder / "::error::bad.yaml").write_text("pipeproof: 1\nstages: x\n")
    ended = act(folder, REAL, PIPEPROOF_ACTION_PATHS=f"{name}\n::error::bad.yaml\n")

    assert ended.code == 2
    assert ended.output == {"exit-code": "2"}
    titles = [re.findall(r"title=([\w ]+)", line)[0] for line in commands(ended.out)]
    assert titles[:2] == ["PP301 deadlock", "pipeproof"]
    assert "bad.yaml:2:9: 'x' stands here" in ended.out
    assert ended.summary.startswith("## pipeproof: refuted\n")
    assert ended.summary.count("```mermaid\n") == 1
    assert sorted(each.name for each in folder.iterdir()) == sorted(
        [name, "::error::bad.yaml", "installed"]
    )


def test_inputs_are_arguments_one_a_line_and_nothing_else(folder: Path) -> None:
    lines = "\r\n".join(("", *HOSTILE, ""))
    ended = act(folder, PIPEPROOF_ACTION_PATHS=lines, PIPEPROOF_ACTION_ARGS=lines)

    assert ended.code == 0
    assert ended.asked[0] == ["check", *HOSTILE, "--format", "github", "--", *HOSTILE]
    assert ended.asked[1][: len(HOSTILE) + 3] == ["check", *HOSTILE, "--format", "markdown"]
    assert not (folder / "pwned").exists()
    assert commands(ended.out) == ["::notice title=pipeproof::judged"]
    assert "::error::from a name" in ended.out


def test_without_inputs_the_folder_is_judged_by_the_version_of_the_action(folder: Path) -> None:
    ended = act(folder)

    assert ended.asked[0] == ["check", "--format", "github", "--", "."]
    assert (folder / "installed").read_text() == str(ROOT)
    act(folder, PIPEPROOF_ACTION_VERSION="0.6.0")
    assert (folder / "installed").read_text() == "pipeproof==0.6.0"


@pytest.mark.parametrize("version", ["$(touch pwned)", "0.6 --index-url=x", "1;2", "../x", "a\nb"])
def test_a_version_that_is_none_is_refused(folder: Path, version: str) -> None:
    ended = act(folder, PIPEPROOF_ACTION_VERSION=version)

    assert ended.code == 2
    assert ended.out.startswith("::error title=pipeproof::the input 'version' is no version")
    assert not list(folder.iterdir())


def test_what_cannot_be_installed_is_a_mistake_and_no_verdict(folder: Path) -> None:
    ended = act(folder, NO_INSTALL="1")

    assert (ended.code, ended.asked) == (2, [])
    assert commands(ended.out) == ["::error title=pipeproof::pipeproof could not be installed"]


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, 101])
def test_the_exit_code_is_that_of_the_command_and_always_an_output(folder: Path, code: int) -> None:
    ended = act(folder, CODE=str(code))
    assert (ended.code, ended.output) == (code, {"exit-code": str(code)})
    assert f"It ended with exit code {code}" in ended.summary
    ended = act(folder, CODE=str(code), PIPEPROOF_ACTION_FAIL="false")
    assert (ended.code, ended.output) == (0, {"exit-code": str(code)})


def test_reports_are_written_where_they_are_asked_for(folder: Path) -> None:
    ended = act(
        folder, WRITES="1", CODE="1", PIPEPROOF_ACTION_SARIF="true", PIPEPROOF_ACTION_HTML="page"
    )

    assert ended.code == 1
    assert ended.summary == "## a report\n"
    assert [argv[2] for argv in ended.asked] == ["github", "markdown", "sarif", "html"]
    assert set(ended.output) == {"sarif", "html", "exit-code"}
    assert Path(ended.output["sarif"]).read_text() == "## a report\n"
    assert set(act(folder, CODE="1", PIPEPROOF_ACTION_SARIF="true").output) == {"exit-code"}


def test_the_action_hands_its_inputs_over_by_the_environment() -> None:
    inputs = {"paths", "args", "version", "python-version", "fail", "sarif", "html"}
    script = (FOLDER / "check.sh").read_text()
    steps = ACTION["runs"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    (environ,) = [step["env"] for step in steps if "run" in step]

    assert ACTION["runs"]["using"] == "composite"
    assert set(ACTION["inputs"]) == inputs
    assert runs == ['bash "$GITHUB_ACTION_PATH/check.sh"']
    assert "${{" not in script
    assert set(re.findall(r"PIPEPROOF_ACTION_[A-Z]+", script)) == set(environ)
    assert all(
        re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", step["uses"])
        for step in steps
        if "uses" in step
    )
    assert all(each["default"] is not None for each in ACTION["inputs"].values())


def test_hooks_of_pre_commit_are_subcommands() -> None:
    assert [hook["id"] for hook in HOOKS] == ["pipeproof-check", "pipeproof-test"]
    for hook in HOOKS:
        program, command = hook["entry"].split()
        assert program == "pipeproof"
        assert command in names(cli)
        assert re.search(hook["files"], "schedules/a.yaml")
        assert hook["require_serial"] is True
