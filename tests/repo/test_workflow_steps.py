"""The commands of the workflows, one after another, in a repository as GitHub would check it out.

The long ones together: `pytest -m slow tests/repo`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash") or "bash"
GIT = shutil.which("git") or "git"
PROGRAM = f"""\
#!/bin/sh
PYTHONPATH='{ROOT}' exec '{sys.executable}' -P -m pipeproof "$@"
"""


def repository(folder: Path, *files: str) -> Path:
    """A repository whose one commit holds these files of this one in `schedules`."""
    where = folder / "repository"
    (where / "schedules").mkdir(parents=True)
    for name in files:
        shutil.copy(ROOT / name, where / "schedules")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "Schedules")):
        subprocess.run([GIT, *words], cwd=where, check=True)  # noqa: S603
    return where


def environ(folder: Path, where: Path, **more: str) -> dict[str, str]:
    programs, temp = folder / "programs", folder / "temp"
    for each in (programs, temp):
        each.mkdir(exist_ok=True)
    (programs / "pipeproof").write_text(PROGRAM)
    (programs / "pipeproof").chmod(0o755)
    head = subprocess.run(  # noqa: S603
        [GIT, "rev-parse", "HEAD"], cwd=where, check=True, text=True, capture_output=True
    )
    return {
        "GITHUB_RUN_NUMBER": "17",
        "GITHUB_SHA": head.stdout.strip(),
        "HOME": str(temp),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(temp),
        **more,
    }


def ran(job: Mapping[str, Any], where: Path, given: Mapping[str, str]) -> dict[str, int]:
    """Run the commands of a job but what installs; after a failure only those that say so."""
    codes: dict[str, int] = {}
    for step in job["steps"]:
        goes_on = not any(codes.values()) or "!cancelled()" in step.get("if", "")
        if "run" in step and step["name"] != "Install" and goes_on:
            ended = subprocess.run(  # noqa: S603
                [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=where, env=given, check=False,
            )  # fmt: skip
            codes[step["name"]] = ended.returncode
    return codes


def workflow(name: str) -> dict[str, Any]:
    text = (ROOT / f"examples/workflows/{name}.yml").read_text()
    found: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  the safest one
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "code"),
    [
        (["specs/legal/crossed-sends-fixed.yaml"], 0),
        (["specs/legal/crossed-sends-fixed.yaml", "specs/illegal/crossed-sends.yaml"], 1),
    ],
)
def test_a_push_leaves_a_bundle_that_is_fresh_whatever_is_found(
    files: list[str], code: int, tmp_path: Path
) -> None:
    where = repository(tmp_path, *files)
    flow = workflow("checks")
    given = environ(tmp_path, where, RUN="https://example.org/17", **flow["env"])

    assert ran(flow["jobs"]["check"], where, given) == {
        "Check": code,
        "Create the bundle": code,
        "Verify the bundle": 0,
    }
    assert (tmp_path / "temp/evidence/SHA256SUMS").exists()


@pytest.mark.slow
def test_a_night_merges_what_its_shards_did_and_leaves_nothing_out(tmp_path: Path) -> None:
    where = repository(tmp_path, "specs/legal/crossed-sends-fixed.yaml")
    flow = workflow("hunt")
    given = environ(tmp_path, where, **{**flow["env"], "MUTANTS": "1"})
    stores, shards = tmp_path / "temp/stores", flow["jobs"]["hunt"]["strategy"]["matrix"]["shard"]
    stores.mkdir()
    for shard in shards:
        own = given | {"SHARD": shard, "SHARDS": str(len(shards))}
        assert ran(flow["jobs"]["hunt"], where, own) == {"Hunt": 0}
        for store in (tmp_path / "temp").glob(f"hunt-{shard}.sqlite*"):
            store.rename(stores / store.name)

    assert ran(flow["jobs"]["report"], where, given) == {"Merge them and report": 0}
    assert len(list(stores.iterdir())) == len(shards) == 4
    assert " 0 not run\n" in (tmp_path / "temp/hunt.txt").read_text()
