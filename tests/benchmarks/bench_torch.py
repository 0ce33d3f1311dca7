"""`pipeproof check` against torch's own load, lowering, validation and simulation, in one run.

Run from the repository's root, with the extra `torch`:

    python tests/benchmarks/bench_torch.py [--ranks 64] [--microbatches 1024] [--curve OUT.png]

Both sides read the same computations-only CSV of interleaved 1F1B with two stages a rank, each in
a process of its own; CPU seconds of whole processes. `--curve` adds smaller schedules, prints the
slope of time over size, and draws it where matplotlib is installed.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pipeproof import schedules

CURVE = (64, 128, 256, 512, 1024)
TORCH = """
import sys, time
path, ranks, microbatches = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
from torch.distributed.pipelining import schedules as S
class Stage:
    def __init__(self):
        self.num_stages, self.group_size, self.group_rank, self.submod = 2 * ranks, ranks, 0, None
runtime = S._PipelineScheduleRuntime([Stage(), Stage()], microbatches)
runtime._load_csv(path)
fsdp = {S.UNSHARD, S.RESHARD, S.REDUCE_GRAD}
order = {
    rank: [a for a in actions if a.computation_type not in fsdp]
    for rank, actions in runtime.pipeline_order_with_comms.items()
}
S._simulate_comms_compute(order, lambda s: runtime.stage_index_to_group_rank[s], 2 * ranks)
"""


def measured(command: list[str]) -> tuple[float, float]:
    """Run a command; return its CPU seconds and its peak memory in MB.

    Raises:
        RuntimeError: it failed.
    """
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"{command[:4]} ended with {process.returncode}"
        raise RuntimeError(message)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def written(folder: Path, ranks: int, microbatches: int) -> tuple[Path, int]:
    """Write the CSV of a schedule; return its path and its number of operations."""
    made = schedules.generate(
        "interleaved_1f1b", ranks=ranks, microbatches=microbatches, stages_per_rank=2
    )
    path = folder / f"r{ranks}m{microbatches}.csv"
    lines = (",".join(made.operations.program(rank)) for rank in range(ranks))
    path.write_text("\n".join(lines) + "\n")
    return path, len(made.operations)


def ours(path: Path) -> tuple[float, float]:
    """Measure `pipeproof check` under one transport."""
    check = [sys.executable, "-m", "pipeproof", "check", "--transport", "nccl-lazy", str(path)]
    return measured(check)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--microbatches", type=int, default=1024)
    parser.add_argument("--curve", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, operations = written(Path(folder), asked.ranks, asked.microbatches)
        left = ours(path)
        shape = [str(path), str(asked.ranks), str(asked.microbatches)]
        right = measured([sys.executable, "-c", TORCH, *shape])
        print(f"{operations} operations, whole process, CPU s and peak MB")
        print(f"pipeproof  {left[0]:8.2f} s  {left[1]:6.0f} MB")
        print(f"torch      {right[0]:8.2f} s  {right[1]:6.0f} MB")
        print(f"torch / pipeproof  {right[0] / left[0]:.1f}")
        if asked.curve is not None:
            curve(Path(folder), asked.ranks, asked.curve)


def curve(folder: Path, ranks: int, out: Path) -> None:
    """Print time over size less that of four operations, its log-log slope, and draw it."""
    floor = min(ours(written(folder, 1, 1)[0])[0] for _ in range(3))
    points = []
    for microbatches in CURVE:
        path, operations = written(folder, ranks, microbatches)
        seconds = min(ours(path)[0] for _ in range(3)) - floor
        points.append((operations, seconds))
        print(f"{operations:8d} operations  {seconds:6.2f} s  (floor {floor:.2f} s)")
    (n0, t0), (n1, t1) = points[0], points[-1]
    print(f"log-log slope {math.log(t1 / t0) / math.log(n1 / n0):.2f}")
    draw(points, out)


def draw(points: list[tuple[int, float]], out: Path) -> None:
    """Draw the curve, where matplotlib is installed."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415
    except ImportError:
        print("no picture: matplotlib is not installed")
        return
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.loglog(*zip(*points, strict=True), "o-", color="black")
    axes.set_xlabel("operations as written (three times as many as run)")
    axes.set_ylabel("CPU seconds, whole process less that of four operations")
    axes.grid(visible=True, which="both", alpha=0.3)
    figure.tight_layout()
    figure.savefig(out, dpi=100)


if __name__ == "__main__":
    main()
