"""Whether a rank computed two things at once."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pipeproof.ir.recorded import Span
from pipeproof.semantics.spans._offence import Offence, called
from pipeproof.semantics.spans.matching import Matched, Unit

__all__ = ["overlapping"]


def overlapping(found: Matched, *, tolerance: int = 0) -> list[Offence]:
    """Return, for each rank, the first computation that begins before another has ended.

    Members of one instruction may, and so may messages. What takes no time overlaps nothing.

    Args:
        found: the trace beside the programs.
        tolerance: by how many ticks spans may overlap.
    """
    return [each for rank in range(len(found.timed)) for each in _first(found, rank, tolerance)]


def _first(found: Matched, rank: int, tolerance: int) -> Iterator[Offence]:
    open_: list[tuple[Span, _Part | None]] = []
    for before, (span, part) in enumerate(_parts(found, rank)):
        if span.end == span.start:
            continue
        open_ = [each for each in open_ if span.start + tolerance < each[0].end]
        for other, of in open_:
            if part is None or of is None or not part.is_beside(of):
                begun, name = called(span.name), called(other.name)
                why = f"{begun} of rank {rank} begins before {name} has ended"
                place = None if part is None else (rank, part.unit.position)
                yield Offence(why, (span, other), rank, before, place)
                return
        open_.append((span, part))


class _Part(NamedTuple):
    """What a computation is of, and its step; None where its name does not stand as often."""

    unit: Unit
    step: int | None

    def is_beside(self, other: "_Part") -> bool:
        """Whether both are members of one instruction, in one step."""
        same = (self.unit.instruction, self.step) == (other.unit.instruction, other.step)
        return same and self.unit.key != other.unit.key


def _parts(found: Matched, rank: int) -> Iterator[tuple[Span, _Part | None]]:
    """Yield each computation of a rank with what it is of: the n-th of its name."""
    units: dict[str, list[Unit]] = {}
    for unit in found.programs[rank]:
        units.setdefault(unit.key, []).append(unit)
    told, seen = Counter(each.key for each in found.timed[rank]), Counter[str]()
    for span, key in found.timed[rank]:
        of = units.get(key)
        if of is None:
            yield span, None
            continue
        step, n = divmod(seen[key], len(of))
        seen[key] += 1
        yield span, _Part(of[n], step if told[key] == len(of) * found.steps else None)
