"""Timings in words and as data."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import NamedTuple

from pipeproof.ir.costs import time_text
from pipeproof.reports._grid import WIDTH, grid
from pipeproof.timing.bounds import Bounds
from pipeproof.timing.measures import Boundary, StageTotals
from pipeproof.timing.report import Timing
from pipeproof.timing.timeline import Timeline

__all__ = ["CAVEAT", "Timed", "compared", "timing_lines", "timing_object"]

CAVEAT = (
    "a model of time: it shows neither what kernels cost nor whether the network makes progress"
)
NECESSARY = "totals that are right are necessary for a legal schedule, not sufficient"
ILLEGAL = "illegal, not comparable"
_RANKS = 16


class Timed(NamedTuple):
    """A schedule under transports that give it the same timeline; `timing` is None if it has none.

    `word` is its verdict, `why` says why there is no timeline, `versions` how many versions of the
    weights each rank holds at most. `totals` are those of a schedule without a timeline.
    """

    name: str
    transports: tuple[str, ...]
    word: str
    timing: Timing | None
    why: str = ""
    versions: Mapping[int, int] | None = None
    totals: tuple[tuple[StageTotals, ...], tuple[Boundary, ...]] = ((), ())

    def is_like(self, other: "Timed") -> bool:
        """Whether the same is told under other transports; messages may move at other times."""
        if self.timing is None or other.timing is None:
            return self[2:] == other[2:]
        mine, its = self.timing.line, other.timing.line
        same = (mine.makespan, mine.spans) == (its.makespan, its.spans)
        return same and (self.word, self.versions) == (other.word, other.versions)


def timing_lines(each: Timed) -> Iterator[str]:
    """Yield the lines of one schedule."""
    yield from _wrapped(f"{each.name}: {each.word} under {', '.join(each.transports)}", "")
    timing = each.timing
    if timing is None:
        yield from _wrapped(each.why)
        yield from _totals(*each.totals)
        yield ""
        return
    yield from _totals(timing.stages, timing.boundaries)
    yield ""
    yield from (f"  {row}" for row in grid(timing.line, WIDTH - 2).splitlines())
    yield ""
    yield from _summary(timing)
    yield from _ranks(timing, each.versions)
    yield f"  {CAVEAT}"
    yield ""


def _wrapped(text: str, indent: str = "  ") -> Iterator[str]:
    yield from wrap(text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _totals(stages: Sequence[StageTotals], boundaries: Sequence[Boundary]) -> Iterator[str]:
    if not stages:
        return
    rows: list[tuple[str, ...]] = [("stage", "rank", "F", "B", "W", "expected", "most live")]
    rows += [tuple(map(str, _counted(stage))) for stage in stages]
    yield from _table(_folded(rows))
    moved = [f"{b.source}->{b.destination} {_of(b.transfers, b.expected)}" for b in boundaries]
    if moved:
        yield from _wrapped(f"transfers: {_listed(moved)}")
    yield f"  {NECESSARY}"


def _counted(stage: StageTotals) -> tuple[object, ...]:
    expected = "-" if stage.expected is None else stage.expected
    halves = stage.halves or "-"
    return stage.stage, stage.rank, stage.forwards, stage.backwards, halves, expected, stage.live


def _folded(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Leave out the middle of many rows."""
    if len(rows) <= 2 * _RANKS + 1:
        return rows
    gap = ("…", *[""] * (len(rows[0]) - 1))
    return [*rows[: _RANKS + 1], gap, *rows[-_RANKS:]]


def _of(number: int, expected: int | None) -> str:
    if expected is None:
        return str(number)
    return f"{number} of {expected}"


def _listed(words: Sequence[str]) -> str:
    if len(words) <= _RANKS:
        return ", ".join(words)
    return f"{', '.join(words[:_RANKS])}, … {len(words) - _RANKS} more; --format json lists all"


def _summary(timing: Timing) -> Iterator[str]:
    line, measures, bounds = timing.line, timing.measures, timing.bounds
    told = f"makespan {_time(line.makespan, line)}, bubble {_percent(measures.bubble)}"
    used = f"utilisation {_percent(1 - measures.bubble)}"
    yield f"  {told}, {used}, {float(measures.throughput):.6g} microbatches a unit of time"
    if timing.formula is not None:
        value, formula = timing.formula
        same = "the same" if value == measures.bubble else f"here {_percent(measures.bubble)}"
        yield f"  analytical bubble {formula} = {_percent(value)}: {same}"
    if bounds is not None:
        yield from _bounds(bounds, line)


def _bounds(bounds: Bounds, line: Timeline) -> Iterator[str]:
    yield "  whatever the order of these operations, it takes at least"
    yield f"    {_time(bounds.path, line)} by the longest chain of data of a microbatch"
    yield f"    {_time(bounds.work, line)} by the work of a rank with its fill and drain"
    if bounds.memory is not None:
        yield f"    {_time(bounds.memory, line)} where no more forwards are live than here"
    over = _above(bounds, line)
    yield f"  the makespan is {_percent(over)} above that" if over else "  so no order is faster"


def _above(bounds: Bounds, line: Timeline) -> Fraction:
    return Fraction(line.makespan, bounds.best) - 1 if bounds.best else Fraction()


def _ranks(timing: Timing, versions: Mapping[int, int] | None) -> Iterator[str]:
    line = timing.line
    held = versions or {}
    rows: list[tuple[str, ...]] = [("rank", "busy", "idle", "busy %", "most live", "versions held")]
    for rank, busy in enumerate(timing.measures.busy):
        part = Fraction(busy, line.makespan) if line.makespan else Fraction()
        idle = _time(line.makespan - busy, line)
        worked = f"{float(100 * part):.1f}"
        counts = str(timing.peaks[rank]), str(held.get(rank, 1))
        rows.append((str(rank), _time(busy, line), idle, worked, *counts))
    yield from _table(_folded(rows))


def compared(all_: Sequence[Timed]) -> Iterator[str]:
    """Yield a table of several schedules side by side."""
    rows: list[tuple[str, ...]] = [
        ("schedule", "makespan", "bubble", "microbatches/unit", "most live", "above bound")
    ]
    for each in all_:
        name = f"{each.name} ({each.transports[0]}{', …' if len(each.transports) > 1 else ''})"
        if each.timing is None:
            rows.append((name, each.why))
            continue
        timing = each.timing
        live = max(timing.peaks, default=0)
        bounds = timing.bounds
        over = "-" if bounds is None else _percent(_above(bounds, timing.line))
        rows.append(
            (
                name,
                _time(timing.line.makespan, timing.line),
                _percent(timing.measures.bubble),
                f"{float(timing.measures.throughput):.6g}",
                str(live),
                over,
            )
        )
    yield from _table(rows, left=1)
    yield f"  {CAVEAT}"


def _table(rows: Sequence[tuple[str, ...]], left: int = 0) -> Iterator[str]:
    """Yield rows in columns; one with fewer cells than the first stands behind its name."""
    columns = len(rows[0])
    full = [row for row in rows if len(row) == columns]
    widths = [max(len(row[k]) for row in full) for k in range(columns)]
    for row in rows:
        if len(row) < columns:
            yield f"  {row[0].ljust(widths[0])}  {'  '.join(row[1:])}"
            continue
        cells = [
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"  {'  '.join(cells)}".rstrip()


def _time(ticks: int, line: Timeline) -> str:
    return time_text(ticks, line.unit)


def _percent(part: Fraction) -> str:
    return f"{float(100 * part):.3g} %"


def timing_object(each: Timed) -> dict[str, object]:
    """Return one schedule as data; times are numbers of units."""
    said: dict[str, object] = {
        "path": each.name,
        "transports": list(each.transports),
        "verdict": each.word,
    }
    timing = each.timing
    if timing is None:
        stages, boundaries = each.totals
        said |= {"timing": None, "why": each.why}
        said["stages"] = [stage._asdict() for stage in stages]
        return {**said, "boundaries": [boundary._asdict() for boundary in boundaries]}
    line, bounds = timing.line, timing.bounds

    def units(ticks: int) -> int | float:
        return ticks // line.unit if ticks % line.unit == 0 else ticks / line.unit

    said["timing"] = {
        "makespan": units(line.makespan),
        "bubble": float(timing.measures.bubble),
        "throughput": float(timing.measures.throughput),
        "live": list(timing.peaks),
        "busy": [units(busy) for busy in timing.measures.busy],
        "bounds": None
        if bounds is None
        else {
            "path": units(bounds.path),
            "work": units(bounds.work),
            "memory": None if bounds.memory is None else units(bounds.memory),
        },
        "analytical": None
        if timing.formula is None
        else {"bubble": float(timing.formula[0]), "formula": timing.formula[1]},
        "versions": {str(rank): n for rank, n in sorted((each.versions or {}).items())},
        "stages": [stage._asdict() for stage in timing.stages],
        "boundaries": [boundary._asdict() for boundary in timing.boundaries],
        "operations": [
            {
                "row": span.row,
                "rank": span.rank,
                "operation": f"{span.stage}{span.kind.name}{span.microbatch}",
                "start": units(span.start),
                "end": units(span.end),
            }
            for span in line.spans
        ],
        "transfers": [
            {**transfer._asdict(), "start": units(transfer.start), "end": units(transfer.end)}
            for transfer in line.transfers
        ],
        "caveat": CAVEAT,
    }
    return said
