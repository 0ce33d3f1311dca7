"""A timeline as a grid of characters: a line a rank, time to the right."""

from math import gcd

from pipeproof.ir.actions import Kind
from pipeproof.ir.costs import time_text
from pipeproof.timing.timeline import Span, Timeline

__all__ = ["WIDTH", "grid"]

WIDTH = 100
"""The columns that a grid fits into."""

_IDLE = "."


def grid(line: Timeline, width: int = WIDTH) -> str:
    """Return the lines of a grid of at most `width` columns, and one that explains it.

    Where there is room each operation is written with its microbatch, and its stage where a rank
    has several; else a column shows the operation at its middle.
    """
    label = max(len(f"rank {rank}") for rank in range(line.ranks)) + 2
    room = width - label - 1
    common = gcd(*(tick for each in line.spans for tick in (each.start, each.end)), line.makespan)
    cells = line.makespan // common if common else 0
    lines = [f"{f'rank {rank}'.ljust(label - 1)}|" for rank in range(line.ranks)]
    if not cells or not room > 0:
        return "\n".join(lines) + "\n"
    if cells <= room:
        wide = min(room // cells, _widest(line, common))
        drawn = [_exact(line, rank, common, wide) for rank in range(line.ranks)]
        said = f"{_columns(wide)} {time_text(common, line.unit)}"
    else:
        drawn = [_sampled(line, rank, room) for rank in range(line.ranks)]
        said = f"each column is {line.makespan / line.unit / room:.4g}, and shows its middle"
    rows = [f"{start}{row}|" for start, row in zip(lines, drawn, strict=True)]
    names = ", ".join(sorted({each.kind.name for each in line.spans}))
    return "\n".join([*rows, f"{' ' * label}{said}; {names or 'nothing'}, {_IDLE} idle", ""])


def _columns(wide: int) -> str:
    return "each column is" if wide == 1 else f"{wide} columns are"


def _widest(line: Timeline, common: int) -> int:
    """Return how many columns a cell needs so that every operation can be written out."""
    several = _several(line)
    return max(
        (
            -(-(len(_text(each, several)) + 1) * common // (each.end - each.start))
            for each in line.spans
            if each.end > each.start
        ),
        default=1,
    )


def _several(line: Timeline) -> bool:
    """Whether some rank computes several stages."""
    return len({each.rank for each in line.spans}) < len({each.stage for each in line.spans})


def _text(span: Span, several: bool) -> str:  # noqa: FBT001  one of two ways to write
    return f"{span.stage if several else ''}{span.kind.name}{span.microbatch}"


def _exact(line: Timeline, rank: int, common: int, wide: int) -> str:
    row = [_IDLE] * (line.makespan // common * wide)
    several = _several(line)
    for span in line.spans:
        if span.rank != rank or span.end == span.start:
            continue
        first, last = span.start // common * wide, span.end // common * wide
        text = _text(span, several)
        shown = text if len(text) <= last - first else _short(span, last - first)
        row[first:last] = shown.ljust(last - first, "-" if last - first > len(shown) else " ")
    return "".join(row)


def _short(span: Span, room: int) -> str:
    number = f"{span.kind.name}{span.microbatch}"
    return number if len(number) <= room else span.kind.name


def _sampled(line: Timeline, rank: int, room: int) -> str:
    row = [_IDLE] * room
    for span in line.spans:
        if span.rank == rank and span.kind is not Kind.L:
            first = -(-(2 * span.start * room - line.makespan) // (2 * line.makespan))
            last = -(-(2 * span.end * room - line.makespan) // (2 * line.makespan))
            for column in range(max(first, 0), min(last, room)):
                row[column] = span.kind.name
    return "".join(row)
