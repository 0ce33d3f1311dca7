"""What it costs to judge storage, weight versions and gradients too, beside order and messages.

Run as `python tests/benchmarks/bench_storage.py`. Interleaved 1F1B with 64 ranks, two stages a rank
and 1,024 microbatches is judged from one CSV of computations: as it is, with pools, a weight policy
and coefficients, and with sizes, so that the most that is live is computed. CPU seconds of whole
processes, the best of several, in turn. It prints a table and judges nothing.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNS = 3
PLAIN = """\
pipeproof: 1
transport: nccl-lazy
import: {format: torch-csv, path: run.csv}
"""
FULL = f"""{PLAIN}storage:
  receive: {{slots: 256}}
  send: {{slots: 256}}
  stash: {{slots: 256}}
weights: {{policy: flush}}
gradients: {{coefficients: sum}}
bounds: {{live: 256}}
"""
SIZED = f"""{FULL}sizes: {{F: 64MiB, B: 64MiB, keep: 1GiB, weights: 4GiB}}
"""
SIZE = ("--ranks", "64", "--microbatches", "1024", "--stages-per-rank", "2")


def seconds(*command: str) -> tuple[float, int]:
    """Return the processor time of one run of the command, and its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = [sys.executable, "-m", "pipeproof", *command]
    done = subprocess.run(argv, capture_output=True, check=False, cwd=ROOT)  # noqa: S603  our own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds("generate", "interleaved_1f1b", *SIZE, "-o", f"{folder}/run.csv")
        files = {}
        for name, text in (("order", PLAIN), ("all rules", FULL), ("and sizes", SIZED)):
            files[name] = Path(folder) / f"{name.replace(' ', '-')}.yaml"
            files[name].write_text(text, encoding="utf-8")
        best = dict.fromkeys(files, (float("inf"), 0))
        for _ in range(RUNS):
            for name, path in files.items():
                best[name] = min(best[name], seconds("check", str(path)))
    for name, (used, code) in best.items():
        print(f"{used:8.2f} s  exit {code}  {used / best['order'][0]:5.2f} times  {name}")


if __name__ == "__main__":
    main()
