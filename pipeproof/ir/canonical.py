"""Canonical JSON of a schedule, and its digest: same content, same bytes."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from pipeproof.ir.actions import COMPUTE, TORCH_COMMS
from pipeproof.ir.operations import NONE, Bracket, Operations
from pipeproof.ir.schedule import Plain, Schedule
from pipeproof.ir.transport import Transport

__all__ = ["canonical", "digest"]

Json = str | int | list["Json"] | dict[str, "Json"]

# Operations that are written by kind, stage and microbatch alone, if they have no attributes.
_SHORT = {int(kind): kind.name for kind in (*COMPUTE, *TORCH_COMMS)}


def canonical(schedule: Schedule, **more: Plain | int) -> str:
    """Return canonical JSON: keys sorted, no spaces, texts and whole numbers only.

    Programs are lists of instructions as the language writes them; `more` is set beside the keys
    of the schedule. Linear in the number of operations.

    Raises:
        ValueError: a key of `more` is one of the schedule's own.
    """
    content = _schedule(schedule)
    taken = sorted(more.keys() & content.keys())
    if taken:
        message = f"keys of the schedule itself: {', '.join(taken)}"
        raise ValueError(message)
    content |= {key: _json(value) for key, value in more.items()}
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(text: str) -> str:
    """Return the SHA-256 of `text` in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _schedule(schedule: Schedule) -> dict[str, Json]:
    return {
        "described": _json(schedule.described),
        "fragment": "true" if schedule.fragment else "false",
        "gradients": {"reduce": schedule.gradients.reduce, **_mapping(schedule.gradients.other)},
        "lowering": schedule.lowering,
        "microbatches": schedule.microbatches,
        "pipelines": [list[Json](line) for line in schedule.pipelines],
        "placement": list[Json](schedule.placement),
        "profile": schedule.profile,
        "programs": _programs(schedule),
        "ranks": schedule.ranks,
        "segments": schedule.segments,
        "stages": schedule.stages,
        "steps": "any" if schedule.steps is None else schedule.steps,
        "transports": [_transport(each) for each in schedule.transports],
    }


def _json(value: Plain | int) -> Json:
    match value:
        case str() | int():
            return value
        case tuple():
            return [_json(each) for each in value]
        case _:
            return _mapping(value)


def _mapping(value: Mapping[str, Plain]) -> dict[str, Json]:
    return {key: _json(each) for key, each in value.items()}


def _transport(transport: Transport) -> dict[str, Json]:
    capacity = transport.capacity
    return {
        "capacity": "unbounded" if capacity is None else capacity,
        "communicators": "lazy" if transport.lazy else "eager",
        "completion": transport.completion.value,
        "groups": transport.groups.value,
        "match": transport.match.value,
        "name": transport.name,
        "queue": transport.queue.value,
        "wait": transport.wait.value,
        "weak": list[Json](sorted(transport.weak)),
    }


def _programs(schedule: Schedule) -> list[Json]:
    programs: list[list[Json]] = [[] for _ in range(schedule.ranks)]
    operations = schedule.operations
    attributes = {row: dict(sorted(each.items())) for row, each in operations.attributes.items()}
    plain = replace(operations, attributes=MappingProxyType(attributes), torch_words=False)
    for rank, text in _instructions(plain):
        programs[rank].append(text)
    return list[Json](programs)


def _instructions(operations: Operations) -> Iterator[tuple[int, str]]:
    """Yield the rank and the text of each instruction, in the order of the table."""
    rows = operations.first_row
    columns = (
        column[rows].tolist()
        for column in (
            *(operations.rank, operations.kind, operations.stage, operations.microbatch),
            *(operations.bracket, operations.handle, operations.comm),
        )
    )
    for instruction, (row, values) in enumerate(
        zip(rows.tolist(), zip(*columns, strict=True), strict=True)
    ):
        rank, kind, stage, microbatch, *others = values
        plain = others == [int(Bracket.NONE), NONE, 0] and row not in operations.attributes
        if plain and kind in _SHORT:
            yield rank, f"{stage}{_SHORT[kind]}{microbatch if microbatch != NONE else ''}"
        else:
            yield rank, operations.instruction_text(instruction)
