import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.made import PATH, ROOT

LEGAL = ROOT / "specs" / "legal" / "1f1b-4x8.yaml"
ILLEGAL = ROOT / "specs" / "illegal" / "swapped-receive.yaml"
BLOCK = "import sys; sys.modules['torch'] = None\n"


def without_torch(folder: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    """Run `python -m` in a process in which torch cannot be imported."""
    (folder / "sitecustomize.py").write_text(BLOCK)
    path = os.pathsep.join((str(folder), PATH))
    return subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-m", *argv],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        timeout=120,
        text=True,
    )


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [(LEGAL, 0, "proved"), (ILLEGAL, 1, "PP202")],
    ids=["legal", "illegal"],
)
def test_check_works(path: Path, code: int, said: str, tmp_path: Path) -> None:
    done = without_torch(tmp_path, "pipeproof", "check", str(path))

    assert done.returncode == code
    assert said in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    "argv",
    [
        ("run", str(LEGAL)),
        ("run", str(LEGAL), "--format", "json"),
        ("replay", "result.json"),
        ("check", "--confirm", str(ILLEGAL)),
    ],
    ids=lambda argv: " ".join(argv[:2]).partition("/")[0],
)
def test_what_runs_on_torch_says_that_it_is_missing(argv: tuple[str, ...], tmp_path: Path) -> None:
    done = without_torch(tmp_path, "pipeproof", *argv)

    assert done.returncode == 2
    assert done.stdout == ""
    assert "pip install 'pipeproof[torch]'" in done.stderr


def test_tests_that_need_it_are_skipped_with_the_reason_and_others_are_not(tmp_path: Path) -> None:
    needing = ("tests/execution/test_versions.py", "tests/cli/test_run_.py")
    other = "tests/cli/test_explain.py"

    quiet = ("-q", "-rs", "-p", "no:cacheprovider")
    done = without_torch(tmp_path, "pytest", *quiet, *needing, other)

    assert done.returncode == 0
    skipped = re.findall(
        r"^SKIPPED .* (tests/[\w/]+\.py)(?::\d+)?: (.*)$", done.stdout, re.MULTILINE
    )
    assert {path for path, _ in skipped} == set(needing)
    assert all("torch is not installed" in reason for _, reason in skipped)
    assert re.search(r"\d+ passed, 2 skipped", done.stdout)
