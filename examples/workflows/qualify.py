"""What a GPU qualification runs, in a folder that holds no package: python qualify.py CHECK.

The checks are `readme` (its commands do what it says), `gpu-tests` (the tests that need a GPU)
and `streams` (examples/cuda_streams on one). The pipeproof that they use is the one installed in
the environment of this Python, for tests, examples and specs are copied to where no other is.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("README.md", "examples", "pyproject.toml", "specs", "tests")
FENCE = re.compile(r"^```(console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MADE = (
    "pipeproof init schedule.yaml",
    "pipeproof generate gpipe --ranks 2 --microbatches 4 -o schedule.csv",
    "pipeproof run schedule.yaml --trace trace.json",
)
INSTALLS = ("python3 -m venv ", ".venv/bin/pip install ")


def run(command: str, folder: Path, code: int = 0, printed: str | None = None) -> bool:
    """Run a command, and say whether it ends with its code, and prints what it is said to."""
    name, *arguments = shlex.split(command, comments=True)
    program = Path(sys.executable).parent / name
    ended = subprocess.run(  # noqa: S603  commands of this repository
        [program if program.exists() else name, *arguments],
        cwd=folder, text=True, capture_output=printed is not None, check=False,
    )  # fmt: skip
    right = ended.returncode == code and printed in (None, ended.stdout)
    print(f"{'ok' if right else 'FAILED'}: {command}", flush=True)
    if not right:
        print(f"  it ended with {ended.returncode}, expected {code}\n{ended.stdout or ''}")
        print(ended.stderr or "", flush=True)
    return right


def commands(text: str) -> Iterator[tuple[str, int, str | None]]:
    """What a README has one type, without what installs: the line, its exit code, its output."""
    for language, block in FENCE.findall(text):
        if language == "console":
            first, _, printed = block.partition("\n")
            yield first.removeprefix("$ "), int("refuted" in printed), printed
            continue
        for line in block.splitlines():
            for part in line.split(" && "):
                if not part.startswith(INSTALLS):
                    yield part.removeprefix(".venv/bin/"), int("specs/illegal/" in part), None


def readme(folder: Path) -> bool:
    """Run every command of the README, on the files that it speaks of."""
    made = [run(command, folder) for command in MADE]
    said = list(commands((folder / "README.md").read_text(encoding="utf-8")))
    done = [run(line, folder, code, printed) for line, code, printed in said]
    return bool(done) and all(made + done)


def gpu_tests(folder: Path) -> bool:
    """Run the tests that are marked as needing a GPU; without one they fail."""
    marked = sorted(
        str(path.relative_to(folder))
        for path in (folder / "tests").rglob("test_*.py")
        if "@pytest.mark.gpu" in path.read_text(encoding="utf-8")
    )
    return run(shlex.join(["python", "-m", "pytest", "-m", "gpu", *marked]), folder)


def streams(folder: Path) -> bool:
    """Keep storage on the streams of a GPU."""
    return run("python examples/cuda_streams/run.py --device cuda", folder)


CHECKS: dict[str, Callable[[Path], bool]] = {
    "readme": readme, "gpu-tests": gpu_tests, "streams": streams,
}  # fmt: skip


def main(argv: list[str]) -> int:
    """Run the checks that are named, and return the exit code."""
    if not argv or set(argv) - set(CHECKS):
        print(f"qualify.py: name checks of {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
        done = [CHECKS[name](folder) for name in argv]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
