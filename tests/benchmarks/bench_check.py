"""What `pipeproof check` costs: processor time of whole processes, each the best of several.

Run as `python tests/benchmarks/bench_check.py`. It prints a table and judges nothing.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TORCH = ROOT / "tests" / "data" / "torch"
RUNS = 5
LARGEST = 5
SPEC = """\
pipeproof: 1
title: 1F1B, two ranks, two microbatches
microbatches: 2
transport: nccl-lazy
ranks:
  - - 0F0; 0SEND_F0
    - 0F1; 0SEND_F1
    - 0RECV_B0; 0B0
    - 0RECV_B1; 0B1
    - 0REDUCE_GRAD
    - 0STEP
  - - 1RECV_F0
    - 1F0
    - 1RECV_F1
    - 1B0
    - 1SEND_B0
    - 1F1
    - 1B1; 1SEND_B1
    - 1REDUCE_GRAD; 1STEP
# Ranks stand in order.
"""


def seconds(*command: str) -> tuple[float, int]:
    """Return the least processor time of several runs, and the last exit code."""
    best, code = float("inf"), 0
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(  # noqa: S603  our own command
            [sys.executable, *command], capture_output=True, check=False, cwd=ROOT
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best, code = min(best, used), done.returncode
    return best, code


def show(what: str, *command: str) -> float:
    used, code = seconds(*command)
    print(f"{used:8.3f} s  exit {code}  {what}")
    return used


def main() -> None:
    imports = show("python -c 'import click, yaml, numpy'", "-c", "import click, yaml, numpy")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.yaml"
        path.write_text(SPEC, encoding="utf-8")
        lines = len(SPEC.splitlines())
        check = show(
            f"pipeproof check, a spec of {lines} lines", "-m", "pipeproof", "check", str(path)
        )
    print(f"{check / imports:8.2f} times the imports")
    files = sorted(TORCH.glob("*compute_comms.csv"), key=lambda each: -each.stat().st_size)
    for each in files[:LARGEST]:
        show(f"pipeproof check {each.name}", "-m", "pipeproof", "check", str(each))


if __name__ == "__main__":
    main()
