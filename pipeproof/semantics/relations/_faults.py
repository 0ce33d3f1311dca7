"""What is wrong with a gradient where it is used, and how it is said."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeproof.semantics.found import Finding, Spot
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import at, program_end

__all__ = ["Faults", "Item", "Used", "numbers", "use_text", "used_at"]

_LISTED = 8
_REASONS = 4


class Used(NamedTuple):
    """Where the gradient of a stage is used: a STEP, or row -1, the end of the program."""

    stage: int
    row: int


class Item(NamedTuple):
    """One microbatch of a gradient and what is wrong with it; `name` is the parameter."""

    microbatch: int
    why: str
    name: str = ""
    of: int = -1


@dataclass(slots=True)
class Faults:
    """What is wrong, by use; beyond those listed, microbatches are counted only."""

    instances: int = 0
    items: dict[Used, list[Item]] = field(default_factory=dict)
    more: dict[Used, int] = field(default_factory=dict)

    def add(self, use: Used, item: Item) -> None:
        self.items.setdefault(use, []).append(item)

    def findings(self, frame: Frame, fact: str) -> list[Finding]:
        """Return one finding a use, in order of place; `fact` lists the microbatches."""
        found = [
            Finding(
                (used_at(frame, use),),
                {
                    "op": use_text(frame, use),
                    "stage": str(use.stage),
                    fact: _listed(items, use.stage, self.more.get(use, 0)),
                },
            )
            for use, items in self.items.items()
        ]
        return sorted(found, key=lambda each: each.spots[0])


def used_at(frame: Frame, use: Used) -> Spot:
    """Return the place of a use."""
    if use.row >= 0:
        return at(frame, use.row)
    return program_end(frame, frame.run.placement[use.stage])


def use_text(frame: Frame, use: Used) -> str:
    """Return a use in words."""
    return frame.text(use.row) if use.row >= 0 else "the end of the program"


def numbers(microbatches: Sequence[int]) -> str:
    """Return `microbatch 1`, or `microbatches 0, 1, 2 and 5 more`."""
    said = ", ".join(str(each) for each in microbatches[:_LISTED])
    if len(microbatches) > _LISTED:
        said = f"{said} and {len(microbatches) - _LISTED} more"
    return f"microbatch{'es' * (len(microbatches) > 1)} {said}"


def _listed(items: Iterable[Item], stage: int, more: int) -> str:
    groups: dict[tuple[int, str, str], list[int]] = {}
    for item in items:
        groups.setdefault((item.of, item.name, item.why), []).append(item.microbatch)
    told = []
    for (of, name, why), microbatches in list(groups.items())[:_REASONS]:
        where = f" of stage {of}" if of not in (-1, stage) else ""
        where += f" in parameter {name}" if name else ""
        told.append(f"{numbers(microbatches)}{where} ({why})")
    hidden = more + sum(len(each) for each in list(groups.values())[_REASONS:])
    return "; ".join(told) + (f"; and {hidden} more" if hidden else "")
