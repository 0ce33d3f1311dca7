"""Torch's own simulator against ours on mutants: they differ only where torch has a known gap.

Each gap is a predicate on the file, written without the engine. Torch's simulator
(`_simulate_comms_compute`, torch 2.13.0) lets sends never wait and receives wait at once, which
is the transport `buffered`.
"""

import contextlib
import io
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeproof import api
from pipeproof.frontends import torch_csv
from pipeproof.ir.reading import ReadOptions

torch_schedules = pytest.importorskip("torch.distributed.pipelining.schedules")

DATA = Path(__file__).parents[1] / "data/torch"
BASES = (
    *("1F1B__r2_s2_m4", "1F1B__r4_s4_m4", "GPipe__r2_s2_m2", "LoopedBFS__r2_s4_m2"),
    *("Interleaved1F1B__r2_s4_m4", "InterleavedZeroBubble__r2_s4_m4", "ZBVZeroBubble__r2_s4_m4"),
    *("InterleavedZeroBubble__r2_s2_m4", "DualPipeV__r2_s4_m4"),
)
EACH = 200
SOME = 80
CELL = re.compile(r"(\d+)([A-Z_]+?)(\d*)")
Programs = list[list[str]]


def _parts(cell: str) -> tuple[int, str, int]:
    found = CELL.fullmatch(cell)
    assert found, cell
    return int(found[1]), found[2], int(found[3] or -1)


def _members(cell: str) -> list[tuple[int, str, int]]:
    if cell.startswith("("):
        return [_parts(each) for each in cell[1 : cell.index(")")].split(";")]
    return [_parts(cell)]


# mutations


def _swap(rng: random.Random, program: list[str]) -> None:
    at = rng.randrange(len(program) - 1)
    program[at], program[at + 1] = program[at + 1], program[at]


def _drop(rng: random.Random, program: list[str]) -> None:
    del program[rng.randrange(len(program))]


def _duplicate(rng: random.Random, program: list[str]) -> None:
    program.insert(rng.randrange(len(program) + 1), rng.choice(program))


def _relabel(rng: random.Random, program: list[str]) -> None:
    numbered = [
        at for at, cell in enumerate(program) if not cell.startswith("(") and cell[-1].isdigit()
    ]
    at = rng.choice(numbered)
    stage, kind, microbatch = _parts(program[at])
    program[at] = f"{stage}{kind}{(microbatch + 1) % 2}"


def _move(rng: random.Random, program: list[str]) -> None:
    cell = program.pop(rng.randrange(len(program)))
    program.insert(rng.randrange(len(program) + 1), cell)


MUTATIONS: dict[str, Callable[[random.Random, list[str]], None]] = {
    "swap": _swap,
    "drop": _drop,
    "duplicate": _duplicate,
    "relabel": _relabel,
    "move": _move,
}


# gaps of torch's simulator


def _cells(programs: Programs) -> Iterator[tuple[int, int, tuple[int, str, int]]]:
    for rank, program in enumerate(programs):
        for at, cell in enumerate(program):
            for member in _members(cell):
                yield rank, at, member


def _channels(
    programs: Programs, home: list[int]
) -> dict[tuple[int, int, str], list[tuple[int, str, int]]]:
    """Return, for each directed pair of ranks and side, the values in order, as their maker."""
    found: dict[tuple[int, int, str], list[tuple[int, str, int]]] = {}
    for rank, _, (stage, kind, microbatch) in _cells(programs):
        if kind not in {"SEND_F", "RECV_F", "SEND_B", "RECV_B"}:
            continue
        step = 1 if kind in {"SEND_F", "RECV_B"} else -1
        peer = home[stage + step]
        maker = stage if kind.startswith("SEND") else stage + step
        ends = (rank, peer) if kind.startswith("SEND") else (peer, rank)
        found.setdefault((*ends, kind[:4]), []).append((maker, kind[5], microbatch))
    return found


def _pairs_by_name(programs: Programs, home: list[int]) -> bool:
    sides = _channels(programs, home)
    ends = {key[:2] for key in sides}
    return any(sides.get((*e, "SEND"), []) != sides.get((*e, "RECV"), []) for e in ends)


def _twice(programs: Programs) -> bool:
    count = Counter(member for _, _, member in _cells(programs) if member[2] >= 0)
    return any(number > 1 for number in count.values())


def _incomplete(programs: Programs, base: Programs) -> bool:
    have = {member for _, _, member in _cells(programs) if member[2] >= 0}
    return {member for _, _, member in _cells(base) if member[2] >= 0} != have


def _order_unknown(programs: Programs) -> bool:
    """A backward before its forward, or a weight gradient before its input gradient."""
    seen: set[tuple[int, str, int]] = set()
    for _, _, (stage, kind, microbatch) in _cells(programs):
        if kind in {"B", "I"} and (stage, "F", microbatch) not in seen:
            return True
        if kind == "W" and (stage, "I", microbatch) not in seen:
            return True
        seen.add((stage, kind, microbatch))
    return False


def _sharding(programs: Programs) -> bool:
    """A use while sharded, or a change that changes nothing."""
    managed = {s for _, _, (s, kind, _) in _cells(programs) if kind in {"UNSHARD", "RESHARD"}}
    gathered: set[int] = set()
    for _, _, (stage, kind, _) in _cells(programs):
        if kind == "UNSHARD":
            if stage in gathered:
                return True
            gathered.add(stage)
        elif kind == "RESHARD":
            if stage not in gathered:
                return True
            gathered.remove(stage)
        elif kind in {"F", "B", "I", "W"} and stage in managed and stage not in gathered:
            return True
    return False


def _reductions(programs: Programs, stages: int) -> bool:
    """A reduction too early, twice or not at all."""
    reduced: Counter[int] = Counter()
    for _, _, (stage, kind, _) in _cells(programs):
        if kind == "REDUCE_GRAD":
            reduced[stage] += 1
        elif kind in {"B", "W"} and reduced[stage]:
            return True
    return any(reduced[stage] != 1 for stage in range(stages))


def _gaps(programs: Programs, base: Programs, home: list[int]) -> set[str]:
    found = {
        "pairing by name, leftovers": _pairs_by_name(programs, home),
        "duplicates": _twice(programs),
        "what is missing": _incomplete(programs, base),
        "B and W always ready": _order_unknown(programs),
        "UNSHARD": _sharding(programs),
        "REDUCE": _reductions(programs, len(home)),
        "OVERLAP": any(cell.startswith("(") for program in programs for cell in program),
    }
    return {name for name, holds in found.items() if holds}


EXPLAINS = {
    "pairing by name, leftovers": {"PP105", "PP201", "PP202", "PP301", "PP303"},
    "duplicates": {"PP102", "PP702"},
    "what is missing": {"PP101", "PP701", "PP401", "PP403", "PP405", "PP404", "PP402"},
    "B and W always ready": {"PP402", "PP404"},
    "UNSHARD": {"PP102", "PP406"},
    "REDUCE": {"PP102", "PP704", "PP705"},
    "OVERLAP": set[str](),
}


# both sides


def _torch_accepts(programs: Programs, home: list[int]) -> bool:
    order = {
        rank: [
            torch_schedules._Action.from_str(cell)
            for cell in program
            if not cell.endswith(("UNSHARD", "RESHARD", "REDUCE_GRAD"))
        ]
        for rank, program in enumerate(programs)
    }
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            torch_schedules._simulate_comms_compute(order, lambda stage: home[stage], len(home))
    except (ValueError, KeyError, IndexError):
        return False
    return True


def _ours(programs: Programs, stages: int, microbatches: int, transport: str) -> set[str]:
    text = "\n".join(",".join(program) for program in programs) + "\n"
    options = ReadOptions(stages=stages, microbatches=microbatches, profile="none")
    document = torch_csv.read(text, "mutant.csv", options)[0]
    verdict = api.judge(document, api.Asked(transports=(transport,)))
    assert verdict.verdict != "unknown"
    return {violation.rule for violation in verdict.transports[0].violations}


def _base(name: str) -> tuple[Programs, list[int], int]:
    path = DATA / f"{name}__compute_comms.csv"
    programs = [line.split(",") for line in path.read_text().splitlines()]
    stages = int(name.split("_s")[1].split("_", maxsplit=1)[0])
    home = [0] * stages
    for rank, _, (stage, kind, _) in _cells(programs):
        if kind == "F":
            home[stage] = rank
    return programs, home, int(name.rsplit("_m", 1)[1])


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize(
    "numbers", [range(SOME), pytest.param(range(SOME, EACH), marks=pytest.mark.slow)]
)
def test_torch_and_we_differ_only_where_torch_has_a_gap(mutation: str, numbers: range) -> None:
    count: Counter[str] = Counter()
    for number in numbers:
        rng = random.Random(f"{mutation} {number}")
        base, home, microbatches = _base(BASES[number % len(BASES)])
        programs = [list(program) for program in base]
        MUTATIONS[mutation](rng, rng.choice(programs))
        gaps = _gaps(programs, base, home)
        broken = _ours(programs, len(home), microbatches, "buffered")
        accepts = _torch_accepts(programs, home)
        count["illegal"] += bool(broken)
        if accepts == (not broken):
            count["agree"] += 1
            continue
        count["differ"] += 1
        assert gaps, (programs, broken, accepts)
        if accepts:
            explained = set[str]().union(*(EXPLAINS[gap] for gap in gaps))
            assert broken <= explained, (programs, broken, gaps)
        else:
            assert "OVERLAP" in gaps, (programs, broken, gaps)
    assert count["illegal"] >= len(numbers) * 2 // 5
