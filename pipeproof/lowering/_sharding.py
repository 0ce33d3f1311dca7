"""Where torch gathers and frees the weights of stages (`_add_unshard_reshard`)."""

from typing import NamedTuple

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import IntArray

__all__ = ["Change", "changes"]

_ACTIVE = 3  # how many stages torch keeps gathered: `max_active_stages`


class Change(NamedTuple):
    """UNSHARD or RESHARD of a stage before an instruction of its rank, or behind the last."""

    before: int
    kind: Kind
    stage: int


def changes(stages: IntArray, instructions: IntArray) -> list[Change]:
    """Return where the stages of one rank are gathered and freed, in order.

    Before each instruction the next three different stages are looked up, and all others of the
    overlap that the third comes in: the rest is freed, in the order of a CPython set of their
    numbers, and missing ones gathered, in the order of their use.

    Args:
        stages: the stage of each of the rank's operations, in order.
        instructions: the instruction of each, counted within the rank, from 0 without a gap.
    """
    if not len(stages):
        return []
    total = int(instructions[-1]) + 1
    active: set[int] = set()
    found: list[Change] = []
    for before, ahead in _windows(stages.tolist(), instructions.tolist(), total):
        fetch = [stage for stage in ahead if stage not in active]
        for stage in [stage for stage in active if stage not in ahead]:
            active.remove(stage)
            found.append(Change(before, Kind.RESHARD, stage))
        for stage in fetch:
            active.add(stage)
            found.append(Change(before, Kind.UNSHARD, stage))
    found.extend(Change(total, Kind.RESHARD, stage) for stage in list(active))
    return found


def _windows(
    stages: list[int], instructions: list[int], total: int
) -> list[tuple[int, tuple[int, ...]]]:
    """Return the next stages before each instruction at which their set can change."""
    if len(set(stages)) <= _ACTIVE:
        return _few(stages, instructions)
    seen: dict[int, int] = {}  # the stages ahead, the nearest last, with their next instruction
    windows: list[tuple[int, tuple[int, ...]]] = []
    at = len(stages) - 1
    for instruction in range(total - 1, -1, -1):
        low = at
        while low >= 0 and instructions[low] == instruction:
            low -= 1
        for stage in stages[low + 1 : at + 1][::-1]:
            seen.pop(stage, None)
            seen[stage] = instruction
        at = low
        near = list(reversed(seen))
        end = _ACTIVE
        while end < len(near) and seen[near[end]] == seen[near[_ACTIVE - 1]]:
            end += 1
        ahead = tuple(near[:end])
        if windows and set(windows[-1][1]) == set(ahead):
            windows.pop()
        windows.append((instruction, ahead))
    return windows[::-1]


def _few(stages: list[int], instructions: list[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Return the same where all stages fit: gathered at once, freed after their last use."""
    order = tuple(dict.fromkeys(stages))
    last = {stage: instructions[at] for at, stage in enumerate(stages)}
    windows = [(0, order)]
    for instruction in sorted(set(last.values()))[:-1]:
        windows.append((instruction + 1, tuple(s for s in order if last[s] > instruction)))
    return windows
