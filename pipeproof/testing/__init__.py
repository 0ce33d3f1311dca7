"""For tests of schedules: `assert_legal`, and stages for a schedule class without processes.

```python
from pipeproof.testing import assert_legal, mock_stages


def test_my_schedule_is_legal() -> None:
    assert_legal(MySchedule(mock_stages(ranks=4, stages_per_rank=2), 8))
```

`pipeproof.testing.conformance` is for those who write an engine.

torch is never imported here: its objects are read by what they hold.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeproof import __version__, frontends
from pipeproof.api import Asked, judge
from pipeproof.errors import (
    ParseError,
    Problem,
    UnsupportedFeatureError,
    UsageError,
    did_you_mean,
    printable,
)
from pipeproof.execution.torch_classes import mock_stages, orders_of
from pipeproof.frontends import torch_csv
from pipeproof.ir.reading import LIMITS, ReadOptions, decode
from pipeproof.ir.source import Document
from pipeproof.ir.transport import names
from pipeproof.plugins import members
from pipeproof.reports import text as report
from pipeproof.schedules import generate
from pipeproof.verdict.result import FileReport, Result, quoted

__all__ = ["assert_legal", "mock_stages"]

_TEXT = "<text>"


def assert_legal(
    schedule: object,
    transport: str | Sequence[str] | None = None,
    *,
    profile: str | None = None,
    microbatches: int | None = None,
    stages: int | None = None,
) -> None:
    """Fail unless a schedule is proved legal under every transport asked for.

    Args:
        schedule: the path of a file that `pipeproof check` reads; the text of a spec or a torch
            CSV; a schedule object of torch, whose order with messages is taken where it has one;
            or such an order, a mapping from each rank to its actions, None for a bubble.
        transport: a name or several; else the schedule's own.
        profile: a runtime's rules and transports; for what torch writes `torch-runtime`.
        microbatches: microbatches in one step, where the schedule does not say.
        stages: the number of stages, where the schedule does not say.

    Raises:
        AssertionError: it is refuted or unknown; the message is the report of `pipeproof check`.
        InputError: it cannot be read, or an option has no such value.
        ValueError: an object holds no order.
    """
    __tracebackhide__ = True  # pytest shows the line that asserts
    _check_count("microbatches", microbatches)
    _check_count("stages", stages)
    asked = Asked(transports=_transports(transport), profile=profile)
    options = ReadOptions(
        microbatches=microbatches, stages=stages, profile=profile, generate=generate
    )
    result = Result(__version__, tuple(_reports(schedule, options, asked)))
    if result.word != "proved":
        said = {"refuted": "illegal", "unknown": "not proved: unknown is no success"}
        message = f"the schedule is {said.get(result.word, result.word)}\n{report.render(result)}"
        raise AssertionError(message)


def _check_count(what: str, count: object) -> None:
    if count is not None and (type(count) is not int or count < 1):
        problem = Problem(
            what, 1, 1, f"{printable(repr(count))} stands here", "write a number from 1"
        )
        raise UsageError([problem])


def _transports(asked: object) -> tuple[str, ...]:
    several = asked if isinstance(asked, list | tuple) else ()
    chosen = (asked,) if asked is not None and not several else tuple(several)
    for name in map(str, chosen):
        if name not in names():
            said = f"write one of {', '.join(names())}{did_you_mean(name[:40], names())}"
            found = f"{printable(name)} is no transport"
            raise UsageError([Problem("transport", 1, 1, found, said)])
    return tuple(map(str, chosen))


def _reports(schedule: object, options: ReadOptions, asked: Asked) -> list[FileReport]:
    try:
        documents, text = _documents(schedule, options)
    except UnsupportedFeatureError as error:
        return [FileReport(_name(schedule), unsupported=str(error))]
    return [_report(document, text, asked) for document in documents]


def _report(document: Document, text: str, asked: Asked) -> FileReport:
    try:
        verdict = judge(document, asked)
    except UnsupportedFeatureError as error:
        return FileReport(document.name, unsupported=str(error))
    path = document.origin.get("path")
    file = path if isinstance(path, str) else None
    if file is not None:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    quotes = quoted(verdict, document.places, text, file)
    return FileReport(document.name, verdict, quotes=quotes)


def _documents(schedule: object, options: ReadOptions) -> tuple[tuple[Document, ...], str]:
    """Return what is to be judged, and the text in which its operations stand."""
    if isinstance(schedule, str) and _is_text(schedule):
        return _read(schedule, _TEXT, options), schedule
    if isinstance(schedule, str | os.PathLike):
        text = _text(Path(schedule))
        return _read(text, _name(schedule), options), text
    orders = orders_of(schedule)
    stated = ReadOptions(
        microbatches=options.microbatches or orders["microbatches"],
        stages=options.stages or orders["stages"],
        profile=options.profile or orders["profile"],
    )
    return torch_csv.read_rows_of(orders["rows"], _name(schedule), stated, orders["notes"]), ""


def _is_text(schedule: str) -> bool:
    return "\n" in schedule or any(each.sniff(schedule, _TEXT) for each in members(frontends))


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > max(LIMITS["csv-bytes"], LIMITS["bytes"]):
            problem = Problem(str(path), 1, 1, f"the file has {size} bytes", "")
            raise ReadOptions().exceeded(problem, "csv-bytes")
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        said = f"it cannot be read ({error.strerror or error})"
        raise ParseError([Problem(str(path), 1, 1, said, "name a file")]) from error


def _read(text: str, name: str, options: ReadOptions) -> tuple[Document, ...]:
    for each in members(frontends):
        if each.sniff(text, name):
            documents: tuple[Document, ...] = each.read(text, name, options)
            return documents
    said = "a spec holds 'pipeproof: 1', a torch CSV a row of actions for each rank"
    raise ParseError([Problem(name, 1, 1, "this is no schedule", said)])


def _name(schedule: object) -> str:
    if isinstance(schedule, str | os.PathLike):
        return _TEXT if isinstance(schedule, str) and _is_text(schedule) else os.fspath(schedule)
    return "orders" if isinstance(schedule, Mapping) else type(schedule).__name__
