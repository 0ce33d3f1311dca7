"""What taking up a verdict costs, beside judging: whole processes, in turn, in the same run.

Run as `python tests/benchmarks/bench_cache.py`. Each question is asked without the cache, with an
empty one, and with one that knows the answer; processor seconds of whole processes, the best of
three. All three must print the same bytes. It prints a table and judges nothing.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNS = 3
QUESTIONS = {
    "a spec of two ranks": ("specs/legal/backward-after-reshard-fixed.yaml",),
    "all legal specs": ("specs/legal",),
    "all legal specs, every engine": ("specs/legal", "--engine", "all"),
    "choices, four stages": ("specs/post-validation/four-stages.yaml",),
    "interleaved 1F1B, 32 ranks, 256 microbatches": (
        *("--schedule", "interleaved_1f1b", "--stages-per-rank", "2"),
        *("--ranks", "32", "--microbatches", "256"),
    ),
}


def measured(folder: str, *argv: str) -> tuple[float, bytes]:
    """Return the processor time of one run of the command, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-m", "pipeproof", "check", "--no-config", *argv],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PIPEPROOF_CACHE_DIR": folder},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def best(argv: tuple[str, ...], say: Callable[[str], None]) -> None:
    plain: list[float] = []
    first: list[float] = []
    again: list[float] = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            said = [
                measured(folder, *argv),
                measured(folder, *argv, "--cache"),
                measured(folder, *argv, "--cache"),
            ]
        if len({text for _, text in said}) != 1:
            say("the answers differ")
            sys.exit(1)
        for column, (seconds, _) in zip((plain, first, again), said, strict=True):
            column.append(seconds)
    say(f"{min(plain):9.2f} {min(first):9.2f} {min(again):9.2f}")


def main() -> None:
    print(f"{'processor seconds':45} {'judged':>9} {'kept':>9} {'taken up':>9}")
    for name, argv in QUESTIONS.items():
        print(f"{name:45} ", end="", flush=True)
        best(argv, print)


if __name__ == "__main__":
    main()
