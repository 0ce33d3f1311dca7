"""torch's schedule CSV: one row a rank, one action a cell.

| torch | here |
|---|---|
| `stage_index`, `microbatch_index` | stage, microbatch |
| row | rank |
| empty cell, `None` | bubble: no position |
| `compute_only` | lowering `torch`, or the one asked for |
| `compute_comms` | lowering `as-written` |

Source: torch 2.13.0, `torch/distributed/pipelining/schedules.py`, `_Action.from_str`, `_load_csv`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pipeproof.errors import ParseError, Problem
from pipeproof.frontends._profiles import require_profile, transports_of
from pipeproof.frontends._torch_rows import FORBIDDEN_BUBBLE, Cells, read_rows, rows_of
from pipeproof.ir.reading import Mistakes, ReadOptions, check_characters, check_size
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.source import Document, OnePlace

__all__ = ["NAME", "read", "read_rows_of", "sniff"]

NAME = "torch-csv"

_CELL = re.compile(r"\s*\"?\s*(?:\d+[A-Z]|\()")
_SNIFFED = 64
_CHUNK = 1 << 22


def sniff(head: str, name: str) -> bool:
    """Return whether `head`, the start of a file, looks like torch's CSV."""
    cells = [cell for cell in re.split("[,\n]", head[:4096]) if cell.strip()][:_SNIFFED]
    like = sum(_CELL.match(cell) is not None for cell in cells)
    return bool(cells) and 2 * like > len(cells)


def read(text: str, name: str, options: ReadOptions) -> tuple[Document, ...]:
    """Read a CSV into one schedule; linear in the length of `text`.

    Raises:
        ParseError: cells are no actions, or bubbles stand between messages.
        LimitError: it exceeds `csv-bytes`, `ranks` or `instructions`.
        UsageError: the profile asked for does not exist, or the case.
        UnsupportedFeatureError: the profile is one that this version does not model.
    """
    check_size(text, name, "csv-bytes", options)
    _check_counts(text, name, options)
    check_characters(text, name)
    mistakes = Mistakes(name)
    if options.case not in (None, 0):
        mistakes.add(
            1, 1, f"case {options.case} stands nowhere", "a CSV holds one schedule, case 0"
        )
    profile = require_profile("torch-runtime" if options.profile is None else options.profile)
    lines, notes = rows_of(text, mistakes)
    if len(lines) > options.limit("ranks"):
        _too_many(name, options, "ranks", len(lines))
    cells = read_rows(lines, mistakes)
    if cells.instructions > options.limit("instructions"):
        _too_many(name, options, "instructions", cells.instructions)
    mistakes.settle()
    if not len(cells.operations):
        raise ParseError([Problem(name, 1, 1, "no operation stands in the file", "write 2F0")])
    if cells.has_messages:
        _refuse_bubbles(cells, mistakes)
    schedule = _schedule(cells, len(lines), profile, options)
    _check_size(schedule, cells, name, options)
    noted = [Problem(name, line, 1, found, expected) for line, found, expected in notes]
    if cells.has_messages and options.lowering is not None:
        found = f"messages stand in the file, so it is not lowered by '{options.lowering}'"
        noted.append(Problem(name, 1, 1, found, "it is judged as written"))
    return (Document(name, schedule, cells, notes=tuple(noted)),)


def read_rows_of(
    rows: Sequence[Sequence[str]], name: str, options: ReadOptions, notes: Sequence[str] = ()
) -> tuple[Document, ...]:
    """Read the actions of each rank, an empty text for a bubble, as of a CSV that holds them.

    `notes` are said of it beside those of reading.

    Raises:
        InputError: as `read`; the place is row and column of a CSV that stands nowhere.
    """
    text = "".join(f"{','.join(row) or ','}\n" for row in rows)
    return tuple(
        replace(each, places=OnePlace(), notes=(*each.notes, *notes))
        for each in read(text, name, options)
    )


def _check_counts(text: str, name: str, options: ReadOptions) -> None:
    """Refuse a file with too many lines or cells before anything is made of them."""
    lines = text.rstrip("\n").count("\n") + 1
    if lines > options.limit("ranks"):
        _too_many(name, options, "ranks", lines)
    most = options.limit("instructions")
    if len(text) < 3 * most:  # the shortest cell is `0F0` and what parts it from the next
        return
    filled = 0
    for low in range(0, len(text), _CHUNK):
        codes = np.frombuffer(text[low : low + _CHUNK].encode("utf-8", "replace"), np.uint8)
        parts = (codes == ord(",")) | (codes == ord("\n"))
        filled += int(np.sum(parts[1:] & ~parts[:-1]))
        if filled > most:
            _too_many(name, options, "instructions", filled)


def _too_many(name: str, options: ReadOptions, limit: str, count: int) -> None:
    raise options.exceeded(Problem(name, 1, 1, f"the file has {count} {limit}", ""), limit)


def _refuse_bubbles(cells: Cells, mistakes: Mistakes) -> None:
    for line, column in cells.bubbles():
        mistakes.add(line, column, "an empty cell stands here", FORBIDDEN_BUBBLE)
    mistakes.settle()


def _check_size(schedule: Schedule, cells: Cells, name: str, options: ReadOptions) -> None:
    """Check that what stages and microbatches ask for is within the limit on instructions."""
    asked = schedule.stages * schedule.microbatches
    if asked > options.limit("instructions"):
        operations = cells.operations
        wide = schedule.stages > schedule.microbatches
        farthest = (operations.stage if wide else operations.microbatch).argmax()
        found = f"{schedule.stages} stages and {schedule.microbatches} microbatches ask for {asked}"
        problem = Problem(name, *cells.place(int(farthest)), f"{found} operations", "")
        raise options.exceeded(problem, "instructions")


def _schedule(cells: Cells, ranks: int, profile: str, options: ReadOptions) -> Schedule:
    operations = cells.operations
    stages = options.stages or int(operations.stage.max()) + 1
    microbatches = options.microbatches or max(int(operations.microbatch.max()) + 1, 1)
    return Schedule(
        operations,
        ranks=ranks,
        stages=stages,
        microbatches=microbatches,
        transports=transports_of(profile),
        profile=profile,
        lowering="as-written" if cells.has_messages else options.lowering or "torch",
        slots=cells.slots() if profile == "torch-multi" else None,
    )
