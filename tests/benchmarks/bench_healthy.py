"""What recording, identity checks and checkpoints cost a training in which nothing goes wrong.

Run from the repository's root as `python tests/benchmarks/bench_healthy.py`. Each mode and
repetition is a process of its own, modes in turn. Before anything is measured every oracle has to
pass, in a process whose time is told apart. Losses and weights of all processes have to be equal
bit by bit. The figures are compared with `healthy.toml`: the exit code is 1 where one is above its
threshold, and 2 where an oracle fails or two modes train differently.
"""

import json
import os
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
THRESHOLDS = Path(__file__).with_name("healthy.toml")
MODES = ("plain", "recording", "identities", "checkpoints", "all")
SHAPE = ("schedule", "ranks", "microbatches", "witness", "optimizer", "steps")
WARM = 5  # steps at the beginning that are not measured


class Figures(NamedTuple):
    """What one mode costs: milliseconds of a step, and MB at the most.

    `training` and `step` are of the processor, without and with what watches it, at 50 of 100;
    `latency` is how long a step takes with it, at 50 and at 95 of 100.
    """

    training: float
    step: float
    latency: float
    latency95: float
    memory: float


def process(what: str, shape: list[object]) -> dict[str, object]:
    """Run a process and return what it says.

    Raises:
        CalledProcessError: it failed.
    """
    command = [sys.executable, "-m", "tests.benchmarks.healthy_process", what, json.dumps(shape)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(  # noqa: S603  our own command
        command,
        capture_output=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
    )
    return dict(json.loads(done.stdout))


def figures(runs: list[dict[str, object]]) -> Figures:
    """Return the least of each figure over several processes."""
    found = []
    for each in runs:
        wall, processor = ([numbers(each[w], n) for w in ("training", "watching")] for n in (0, 1))
        step = [a + b for a, b in zip(*processor, strict=True)]
        latency = [a + b for a, b in zip(*wall, strict=True)]
        peak = each["peak"]
        assert isinstance(peak, float)
        middle = statistics.median
        found.append((middle(processor[0]), middle(step), *placed(latency), peak))
    return Figures(*map(min, zip(*found, strict=True)))


def numbers(said: object, which: int) -> list[float]:
    assert isinstance(said, list)
    return [1000 * each[which] for each in said[WARM:]]


def placed(milliseconds: list[float]) -> tuple[float, float]:
    """Return those at 50 and at 95 of 100."""
    cuts = statistics.quantiles(milliseconds, n=20)
    return cuts[9], cuts[18]


def above(mode: str, cost: Figures, plain: Figures, most: Mapping[str, float]) -> list[str]:
    """Return which figures of a mode are above their thresholds."""
    pairs = {
        "training": cost.training / plain.training,
        "step": cost.step / plain.step,
        "memory": cost.memory / plain.memory,
    }
    return [
        f"{mode}: {name} is {times:.2f} times the plain run, above {most[name]}"
        for name, times in pairs.items()
        if times > most[name]
    ]


def main() -> int:
    asked = tomllib.loads(THRESHOLDS.read_text(encoding="utf-8"))
    shape = [asked[name] for name in SHAPE]
    checked = process("oracles", shape)
    print(f"{checked['seconds']:8.2f} s  all oracles, outside of everything below")
    if checked["wrong"]:
        print(f"an oracle fails: {checked['wrong']}")
        return 2
    runs: dict[str, list[dict[str, object]]] = {mode: [] for mode in MODES}
    for _ in range(asked["repetitions"]):
        for mode in MODES:
            runs[mode].append(process(mode, shape))
    digests = {each["digest"] for of_mode in runs.values() for each in of_mode}
    if len(digests) > 1:
        print("losses and weights are not equal in all modes")
        return 2
    found = {mode: figures(of_mode) for mode, of_mode in runs.items()}
    return told(found, asked)


def told(found: Mapping[str, Figures], asked: Mapping[str, object]) -> int:
    """Print a table and what is above its threshold; return the exit code."""
    microbatches, most = asked["microbatches"], asked["most"]
    assert isinstance(microbatches, int)
    assert isinstance(most, dict)
    print("               processor ms a step          a step takes, ms")
    print("mode          training  with watching      p50      p95   microbatches/s      MB")
    over = []
    for mode, each in found.items():
        print(
            f"{mode:12s} {each.training:9.2f} {each.step:14.2f} {each.latency:8.2f} "
            f"{each.latency95:8.2f} {1000 * microbatches / each.latency:16.0f} {each.memory:7.0f}"
        )
        if mode != "plain":
            over += above(mode, each, found["plain"], most[mode])
    print("\n".join(over) or "every figure is within its threshold")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
