"""What timelines and partitions cost, beside judging and beside dynamic programming.

Run as `python tests/benchmarks/bench_timing.py`. `show` prints the timeline of interleaved 1F1B
with 32 ranks, two stages a rank and 256 microbatches, which `check` judges in the same run; CPU
seconds of whole processes, the best of three, in turn. Then layers of random costs are divided:
10,000 into 64 stages by ours alone, 1,000 into 16 by ours and by the textbook's dynamic program,
which must find the same largest load. It prints a table.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import numpy as np

from pipeproof.timing.partition import balanced

ROOT = Path(__file__).parents[2]
RUNS = 3
SIZE = ("--ranks", "32", "--microbatches", "256", "--stages-per-rank", "2")


def seconds(*command: str) -> float:
    """Return the processor time of one run of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = [sys.executable, "-m", "pipeproof", *command]
    subprocess.run(argv, capture_output=True, check=False, cwd=ROOT)  # noqa: S603  our own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_program(costs: Sequence[int], stages: int) -> int:
    """Return the smallest largest load, by dynamic programming over prefixes."""
    sums = np.asarray([0, *accumulate(costs)], np.int64)
    best = sums.copy()
    for stage in range(2, stages + 1):
        worse = np.full(len(sums), sums[-1])
        for end in range(stage, len(sums)):
            cuts = slice(stage - 1, end)
            worse[end] = np.maximum(best[cuts], sums[end] - sums[cuts]).min()
        best = worse
    return int(best[-1])


def timed(function: Callable[[], object]) -> tuple[float, object]:
    """Return the best processor time of several calls, and what came of it."""
    best, found = float("inf"), None
    for _ in range(RUNS):
        began = time.process_time()
        found = function()
        best = min(best, time.process_time() - began)
    return best, found


def main() -> None:
    rng = random.Random(1)
    many = [Fraction(str(round(rng.uniform(0.1, 100), 6))) for _ in range(10_000)]
    few = [rng.randint(1, 10_000) for _ in range(1_000)]
    with tempfile.TemporaryDirectory() as folder:
        run, costs = f"{folder}/run.csv", f"{folder}/costs.json"
        Path(costs).write_text(json.dumps([float(each) for each in many]), encoding="utf-8")
        seconds("generate", "interleaved_1f1b", *SIZE, "-o", run)
        asked = {
            "check": ("check", run, "--transport", "gloo"),
            "show --format json": ("show", run, "--transport", "gloo", "--format", "json"),
            "partition, 10,000 layers": ("partition", "--layers", costs, "--stages", "64"),
            "--version": ("--version",),
        }
        best = dict.fromkeys(asked, float("inf"))
        for _ in range(RUNS):
            for name, command in asked.items():
                best[name] = min(best[name], seconds(*command))
    for name, used in best.items():
        print(f"{used:8.2f} s  pipeproof {name}")
    print(f"{timed(lambda: balanced(many, 64))[0]:8.3f} s  10,000 layers, 64 stages, ours")
    ours, part = timed(lambda: balanced(few, 16).largest)
    theirs, load = timed(lambda: by_program(few, 16))
    print(f"{ours:8.3f} s  1,000 layers, 16 stages, ours")
    print(
        f"{theirs:8.3f} s  1,000 layers, 16 stages, dynamic programming, {theirs / ours:.0f} times"
    )
    print(f"largest load {part} and {load}")


if __name__ == "__main__":
    main()
