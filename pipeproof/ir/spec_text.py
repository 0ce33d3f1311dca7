"""A schedule as a spec file that judges the same."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain, repeat

from pipeproof.errors import ParseError, Problem
from pipeproof.ir.schedule import Plain, Schedule
from pipeproof.ir.source import Document, Expectation
from pipeproof.ir.transport import NAMED, STRICT, Transport

__all__ = ["write_spec"]

_PLAIN = re.compile(r"[A-Za-z0-9_./+][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+(][A-Za-z0-9_./+()-]*)*")


def write_spec(document: Document, path: str | None) -> str:
    """Return the text of a spec file.

    A schedule of computations only is imported from `path`, relative to where the spec will
    stand, since programs written in a spec are never lowered; a known one is named.

    Raises:
        ParseError: it would have to be imported and came from standard input.
    """
    return "".join(f"{line}\n" for line in _lines(document, path))


def _lines(document: Document, path: str | None) -> Iterator[str]:
    schedule = document.schedule
    yield "pipeproof: 1"
    if document.title:
        yield f"title: {_text(document.title)}"
    source = document.origin.get("source")
    if isinstance(source, str):
        yield f"source: {_text(source)}"
    yield f"stages: {schedule.stages}"
    yield f"microbatches: {schedule.microbatches}"
    if schedule.steps != 1:
        yield f"steps: {'any' if schedule.steps is None else schedule.steps}"
    if schedule.placement:
        yield f"placement: {_flow(tuple(map(str, schedule.placement)))}"
    if schedule.segments != 1:
        yield f"segments: {schedule.segments}"
    if schedule.pipelines:
        yield f"pipelines: {_flow(tuple(tuple(map(str, line)) for line in schedule.pipelines))}"
    if schedule.fragment:
        yield "fragment: true"
    yield f"profile: {_text(schedule.profile)}"
    yield f"transport: {_transport(schedule.transports)}"
    yield from _mapped(document)
    yield from _programs(document, path)
    if document.expect:
        yield "expect:"
        yield from (f"  - {_expectation(each)}" for each in document.expect)


def _mapped(document: Document) -> Iterator[str]:
    """Yield the keys that hold mappings: gradients, what is described, rules."""
    gradients = document.schedule.gradients
    asked = {} if gradients.reduce == "default" else {"reduce": gradients.reduce}
    if asked or gradients.other:
        yield f"gradients: {_flow({**asked, **gradients.other})}"
    for key, value in document.schedule.described.items():
        if key != "ready":  # stands with the programs
            yield f"{_text(key)}: {_flow(value)}"
    rules = {"select": document.select, "ignore": document.ignore}
    if any(rules.values()):
        yield f"rules: {_flow({key: codes for key, codes in rules.items() if codes})}"


def _programs(document: Document, path: str | None) -> Iterator[str]:
    schedule = document.schedule
    if schedule.lowering == "as-written":
        yield "ranks:"
        yield from _ranks(schedule)
        return
    known = document.origin.get("schedule")
    lowering = {} if schedule.lowering == "torch" else {"lowering": schedule.lowering}
    if isinstance(known, Mapping):
        yield f"schedule: {_flow({**known, **lowering})}"
    elif path is not None:
        yield f"import: {_flow({'format': 'torch-csv', 'path': path, **lowering})}"
    else:
        found = "it holds computations only, which a spec imports from a file"
        raise ParseError([Problem(document.name, 1, 1, found, "name the file")])


def _ranks(schedule: Schedule) -> Iterator[str]:
    said = schedule.described.get("ready", {})
    ready = said if isinstance(said, Mapping) else {}
    for rank in range(schedule.ranks):
        program = list(schedule.operations.program(rank))
        keys = ready.get(str(rank))
        if isinstance(keys, Mapping):
            yield from _ready(keys, program)
            continue
        yield "  - |" if program else '  - ""'
        yield from (f"    {instruction}" for instruction in program)


def _ready(keys: Mapping[str, Plain], program: list[str]) -> Iterator[str]:
    """Yield a rank that runs what is ready."""
    for lead, (key, value) in zip(chain("-", repeat(" ")), keys.items(), strict=False):
        yield f"  {lead} {_text(key)}: {_flow(value)}"
    yield "    program: |" if program else '    program: ""'
    yield from (f"      {instruction}" for instruction in program)


def _transport(transports: tuple[Transport, ...]) -> str:
    names = tuple(transport.name for transport in transports)
    if names == STRICT:
        return "strict"
    if all(NAMED.get(transport.name) == transport for transport in transports):
        return _text(names[0]) if len(names) == 1 else _flow(names)
    return _flow(_keys(transports[0]))


def _keys(transport: Transport) -> dict[str, Plain]:
    keys: dict[str, Plain] = {
        "completion": transport.completion.value,
        "queue": transport.queue.value,
        "groups": transport.groups.value,
        "wait": transport.wait.value,
        "match": transport.match.value,
    }
    if transport.capacity is not None:
        keys["capacity"] = str(transport.capacity)
    if transport.weak:
        keys["weak"] = tuple(sorted(name or "default" for name in transport.weak))
    if transport.lazy:
        keys["communicators"] = "lazy"
    return keys


def _expectation(expected: Expectation) -> str:
    said: dict[str, Plain] = {
        "transport": expected.transport or "",
        "verdict": expected.verdict,
        "rule": expected.rule or "",
        "or": expected.alternatives,
        "at": expected.at,
        "at_any": expected.at_any,
        "exact": "true" if expected.exact else "",
    }
    return _flow({key: value for key, value in said.items() if value})


def _flow(value: Plain) -> str:
    """Return `value` on one line."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(_flow(each) for each in value) + "]"


def _text(text: str) -> str:
    """Return a scalar: plain where nothing in it means something to YAML, else quoted."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=not text.isprintable())
