"""Whether a rank computed two things at once."""

from collections.abc import Iterator

from pipeproof.semantics.spans._offence import Offence, called
from pipeproof.semantics.spans.matching import Matched

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
    of = {unit.key: unit for unit in found.programs[rank]}
    open_ = None
    for before, each in enumerate(found.timed[rank]):
        span, unit = each.span, of.get(each.key)
        if span.end == span.start:
            continue
        if open_ is not None and span.start + tolerance < open_.span.end:
            other = of.get(open_.key)
            if unit is None or other is None or unit.instruction != other.instruction:
                begun, name = called(span.name), called(open_.span.name)
                why = f"{begun} of rank {rank} begins before {name} has ended"
                place = None if unit is None else (rank, unit.position)
                yield Offence(why, (span, open_.span), rank, before, place)
                return
        if open_ is None or span.end > open_.span.end:
            open_ = each
