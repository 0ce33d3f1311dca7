"""The workflows to copy: what may start them, what they may do, and that their commands exist."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from tests.repo.command_lines import parse

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/workflows"
FILES = sorted(FOLDER.glob("*.yml"))
ACTION = ROOT / ".github/actions/check/action.yml"
WORKFLOWS: dict[str, dict[str, Any]] = {
    file.stem: yaml.load(file.read_text(), Loader=yaml.BaseLoader)  # noqa: S506  the safest one
    for file in FILES
}
LINT = ROOT / ".ci/workflows"
BASH = shutil.which("bash") or "bash"
MINUTES = 120
HARMLESS = {"push", "pull_request", "schedule", "workflow_dispatch"}
PINNED = re.compile(r"uses: ([\w.-]+/[\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$")
SHA = "3d3c42e5aac5ba805825da76410c181273ba90b1"
GH = """\
#!/bin/sh
printf '%s\\n' "$@" >asked
[ "$ROLE" ] || { echo "gh: Not Found (HTTP 404)" >&2; exit 1; }
echo "$ROLE"
"""
VALUES = {
    "GITHUB_RUN_NUMBER": "17",
    "GITHUB_SHA": SHA,
    "MUTANTS": "200",
    "RUNNER_TEMP": "temp",
    "RUN": "https://example.org/owner/name/actions/runs/17",
    "SCHEDULES": "schedules",
    "SHARDS": "4",
    "SHARD": "1",
}
each_workflow = pytest.mark.parametrize("name", WORKFLOWS)


def jobs(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = WORKFLOWS[name]["jobs"]
    return found


def steps(name: str) -> Iterator[dict[str, Any]]:
    for job in jobs(name).values():
        yield from job["steps"]


def scripts(name: str) -> list[str]:
    return [step["run"] for step in steps(name) if "run" in step]


def test_there_are_three_workflows() -> None:
    assert list(WORKFLOWS) == ["checks", "gpu", "hunt"]


@pytest.mark.parametrize("file", [*FILES, ACTION], ids=lambda file: file.stem)
def test_an_action_is_pinned_by_its_commit_beside_its_version(file: Path) -> None:
    used = [line.strip() for line in file.read_text().splitlines() if "uses:" in line]
    assert used
    for line in used:
        assert PINNED.search(line), line


def test_one_action_is_one_commit_everywhere() -> None:
    commits: dict[str, set[tuple[str, str]]] = {}
    for file in [*FILES, ACTION]:
        for line in file.read_text().splitlines():
            if found := PINNED.search(line):
                commits.setdefault(found[1], set()).add((found[2], found[3]))

    assert "actions/checkout" in commits
    assert all(len(each) == 1 for each in commits.values()), commits


@each_workflow
def test_a_workflow_may_read_and_nothing_else(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {}
    for job in jobs(name).values():
        assert job["permissions"] == {"contents": "read"}
    for step in steps(name):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false"
        assert "secrets." not in str(step)


@each_workflow
def test_every_job_has_a_limit_and_every_workflow_its_turn(name: str) -> None:
    assert WORKFLOWS[name]["concurrency"]["group"]
    for job in jobs(name).values():
        assert 0 < int(job["timeout-minutes"]) <= MINUTES


@each_workflow
def test_no_expression_stands_in_a_command(name: str) -> None:
    assert scripts(name)
    assert not [script for script in scripts(name) if "${{" in script]


@each_workflow
def test_no_workflow_runs_the_code_of_a_fork_with_the_rights_of_the_repository(name: str) -> None:
    assert set(WORKFLOWS[name]["on"]) <= HARMLESS


def test_a_pull_request_never_reaches_a_runner_of_ones_own() -> None:
    own = {
        name
        for name in WORKFLOWS
        if any("self-hosted" in job["runs-on"] for job in jobs(name).values())
    }

    assert own == {"gpu"}
    assert set(WORKFLOWS["gpu"]["on"]) == {"schedule", "workflow_dispatch"}
    assert jobs("gpu")["wheel"]["needs"] == "allowed"
    assert jobs("gpu")["qualify"]["needs"] == "wheel"


def asks(folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the step that says who may start the qualification, with a `gh` that tells a role."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    (step,) = jobs("gpu")["allowed"]["steps"]
    given = {
        "ACTOR": "somebody",
        "DEFAULT": "main",
        "GITHUB_EVENT_NAME": "workflow_dispatch",
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_REPOSITORY": "owner/name",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "ROLE": "",
    }
    return subprocess.run(  # noqa: S603
        [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, env=given | environ, text=True, capture_output=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("role", ["admin", "maintain"])
def test_a_maintainer_may_start_the_qualification(role: str, tmp_path: Path) -> None:
    assert asks(tmp_path, ROLE=role).returncode == 0
    assert "repos/owner/name/collaborators/somebody/permission" in (tmp_path / "asked").read_text()


@pytest.mark.parametrize("role", ["write", "triage", "read", "none", "", "admin maintain"])
def test_nobody_else_may(role: str, tmp_path: Path) -> None:
    assert asks(tmp_path, ROLE=role).returncode == 1


def test_another_branch_is_refused_even_to_an_admin(tmp_path: Path) -> None:
    ended = asks(tmp_path, ROLE="admin", GITHUB_REF="refs/heads/mine")

    assert ended.returncode == 1
    assert "default branch" in ended.stdout


def test_the_clock_may_start_it(tmp_path: Path) -> None:
    assert asks(tmp_path, GITHUB_EVENT_NAME="schedule", DEFAULT="").returncode == 0
    assert not (tmp_path / "asked").exists()


def test_a_name_is_no_command(tmp_path: Path) -> None:
    assert asks(tmp_path, ACTOR='x"; touch pwned; "$(touch pwned)', ROLE="read").returncode == 1
    assert not (tmp_path / "pwned").exists()


@each_workflow
def test_every_command_is_one_that_bash_can_read(name: str) -> None:
    for script in scripts(name):
        ended = subprocess.run([BASH, "-n"], input=script, text=True, check=False)  # noqa: S603
        assert ended.returncode == 0


@each_workflow
def test_every_job_that_is_waited_for_exists(name: str) -> None:
    for job in jobs(name).values():
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(jobs(name))


def lines(script: str) -> Iterator[list[str]]:
    """The commands of a script as words, each up to a pipe; variables stand for plain words."""
    for line in script.replace("\\\n", " ").splitlines():
        words = [plain(word) for word in shlex.split(line, comments=True)]
        yield words[: words.index("|")] if "|" in words else words


def plain(word: str) -> str:
    for name, value in VALUES.items():
        word = word.replace(f"${name}", value)
    return word


def commands(name: str) -> list[list[str]]:
    """What is written behind `pipeproof` in a workflow, also where it hands it on to be run."""
    said = [words for script in scripts(name) for words in lines(script)]
    runs = [
        shlex.split(value)
        for words in said
        for option, value in pairwise(words)
        if option == "--run"
    ]
    return [words[1:] for words in (*said, *runs) if words[:1] == ["pipeproof"]]


@each_workflow
def test_every_command_of_pipeproof_is_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("schedules", "temp/evidence", "temp/stores", "specs/legal"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    assert commands(name)
    for words in commands(name):
        parse(words)


@pytest.mark.parametrize("words", [["check", "--formt", "json"], ["chek"], ["lab", "covrage"]])
def test_what_is_no_command_is_not_parsed(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parse(words)


def test_every_file_that_a_workflow_names_exists() -> None:
    named = set()
    for name in WORKFLOWS:
        for script in scripts(name):
            for words in lines(script):
                inner = [part for word in words for part in word.split()]
                named |= {part for part in inner if part.startswith(("examples/", "specs/"))}

    assert {"examples/workflows/qualify.py", "specs/legal"} <= named
    assert not [path for path in sorted(named) if not (ROOT / path).exists()]


def folder_of(tmp_path: Path, **texts: str) -> Path:
    """A folder with these workflows, and the action of this repository."""
    where = tmp_path / ".github/workflows"
    where.mkdir(parents=True)
    for name, text in texts.items():
        (where / f"{name}.yml").write_text(text)
    action = tmp_path / "actions/check"
    action.mkdir(parents=True)
    shutil.copy(ACTION, action)
    return tmp_path


def lint(folder: Path) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(  # noqa: S603
        [LINT, folder], env=os.environ | {"PATH": path, "GH_TOKEN": "no"},
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


def changed(name: str, old: str, new: str) -> str:
    text = (FOLDER / f"{name}.yml").read_text()
    assert old in text
    return text.replace(old, new, 1)


def here() -> dict[str, str]:
    return {file.stem: file.read_text() for file in FILES}


def test_the_linter_finds_what_can_be_abused(tmp_path: Path) -> None:
    mutants = {
        "unpinned-uses": changed("checks", f"checkout@{SHA} # v7.0.1", "checkout@v7"),
        "template-injection": changed("checks", '"$PIPEPROOF"', "${{ github.head_ref }}"),
        "excessive-permissions": changed("hunt", "permissions: {}", "permissions: write-all"),
        "dangerous-triggers": changed("checks", "  pull_request:", "  pull_request_target:"),
        "artipacked": changed("checks", "persist-credentials: false", "fetch-depth: 1"),
        "concurrency-limits": re.sub(
            r"\nconcurrency:.*?\n\n", "\n", changed("gpu", "\n", "\n"), count=1, flags=re.DOTALL
        ),
    }
    code, said = lint(folder_of(tmp_path, **here(), **mutants))

    assert code != 0
    assert not [name for name in WORKFLOWS if f"workflows/{name}.yml" in said]
    for audit in mutants:
        pattern = rf"\[{audit}\](?:(?!\n\n)[\s\S])*?workflows/{audit}\.yml"
        assert re.search(pattern, said), audit


def test_the_schemas_find_what_would_not_load_and_what_has_no_end(tmp_path: Path) -> None:
    mutants = {
        "event": changed("hunt", "  schedule:", "  scheduled:"),
        "key": changed("checks", "    runs-on: ubuntu-latest\n", ""),
        "minutes": changed("gpu", "timeout-minutes: 60", "timeout-minutes: soon"),
    }
    endless = changed("checks", "timeout-minutes: 20", "if: true")
    folder = folder_of(tmp_path, endless=endless, **here(), **mutants)
    broken = ACTION.read_text().replace("using: composite", "using: composit")
    (folder / "actions/check/action.yml").write_text(broken)
    code, said = lint(folder)

    assert code != 0
    assert not [name for name in WORKFLOWS if f"workflows/{name}.yml::" in said]
    for name in (*mutants, "endless"):
        assert f"workflows/{name}.yml::" in said, name
    assert "'timeout-minutes' is a required property" in said
    assert "actions/check/action.yml::" in said


def test_a_lint_of_nothing_is_no_success(tmp_path: Path) -> None:
    assert lint(tmp_path) == (2, ".ci/workflows: no workflow was found\n")
