"""The keys `schedule` and `lowering`: a known schedule, made by whoever the caller names."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pipeproof.errors import (
    InputError,
    LimitError,
    MalformedScheduleError,
    UnsupportedFeatureError,
    UsageError,
    printable,
)
from pipeproof.frontends._spec_nodes import (
    Check,
    Node,
    Scalar,
    Table,
    any_of,
    number,
    one_of,
    pattern,
    wrong,
)
from pipeproof.ir.reading import LOWERINGS, Generate, Mistakes, ReadOptions
from pipeproof.ir.schedule import Plain, Schedule
from pipeproof.ir.source import Document, OnePlace

__all__ = ["LOWERING", "SCHEDULE", "generated"]

LOWERING: Check = one_of(*LOWERINGS)
_NAME = pattern(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", "a name: letters, digits and _")
_KEYS: Mapping[str, Check] = MappingProxyType(
    {"name": _NAME, "ranks": number(1), "stages_per_rank": number(1), "lowering": LOWERING}
)


def _mapping(node: Node, mistakes: Mistakes) -> bool:
    """Check a mapping: known keys, and options of the schedule itself, which are words."""
    if not isinstance(node, Table):
        return wrong(node, mistakes, f"write a name, or a mapping with {', '.join(_KEYS)}")
    right = [_KEYS.get(key, _NAME)(each, mistakes) for key, each in node.entries.items()]
    if "name" not in node.entries:
        right.append(wrong(node, mistakes, "write name: here", "the key 'name' is missing"))
    return all(right)


SCHEDULE: Check = any_of(_NAME, _mapping)


def generated(root: Table, profile: str, options: ReadOptions, mistakes: Mistakes) -> Document:
    """Return the known schedule that the key `schedule` names, its operations made.

    Raises:
        ParseError: the number of ranks is not said.
        MalformedScheduleError: there is no such schedule, not of that shape, or it has another
            number of stages than the file says.
        LimitError: it exceeds a limit.
        UnsupportedFeatureError: nothing was given that generates it, or it is no single step.
    """
    if options.generate is None:
        message = "a known schedule is to be generated, and the reader was given nothing that does"
        raise UnsupportedFeatureError(message)
    _check_steps(root)
    asked = _asked(root, options, mistakes)
    schedule = _made(options.generate, asked, options, mistakes)
    if asked.stages is not None and asked.stages != schedule.stages:
        found = f"{asked.stages} stages are said, and {schedule.stages} stand in {asked.name}"
        stated = root.entries.get("stages", asked.node)
        wrong(stated, mistakes, f"write {schedule.stages}, or other numbers of ranks", found)
        mistakes.settle(MalformedScheduleError)
    lowering = options.lowering or LOWERINGS.get(_word(asked.said, "lowering"), "torch")
    schedule = replace(schedule, profile=profile, lowering=lowering)
    place = OnePlace(asked.node.line, asked.node.column)
    return Document(mistakes.file, schedule, place, origin=_origin(asked))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a file asks for; `said` are the entries of the key, `stages` what the file says."""

    node: Node
    said: Mapping[str, Scalar]
    ranks: int
    microbatches: int
    stages_per_rank: int | None
    stages: int | None

    @property
    def name(self) -> str:
        return self.said["name"].text

    @property
    def options(self) -> dict[str, str]:
        return {key: each.text for key, each in self.said.items() if key not in _KEYS}


def _check_steps(root: Table) -> None:
    for key in ("steps", "segments"):
        node = root.entries.get(key)
        if isinstance(node, Scalar) and node.text not in ("1", "any"):
            message = f"a known schedule is generated for '{key}: 1', not for {node.text}"
            raise UnsupportedFeatureError(message)


def _asked(root: Table, options: ReadOptions, mistakes: Mistakes) -> _Asked:
    node = root.entries["schedule"]
    said = {"name": node} if isinstance(node, Scalar) else _entries(node)
    stages = _number(root, "stages") or options.stages
    per_rank = _count(said, "stages_per_rank")
    ranks = _count(said, "ranks") or (stages or 0) // (per_rank or 1)
    if not ranks:
        found = "the number of ranks is not said"
        wrong(node, mistakes, "write stages:, or {name: …, ranks: 4} here", found)
        mistakes.settle()
    if per_rank is None and stages and stages % ranks == 0 and stages > ranks:
        per_rank = stages // ranks
    microbatches = _number(root, "microbatches") or options.microbatches or 1
    return _Asked(node, MappingProxyType(said), ranks, microbatches, per_rank, stages)


def _made(generate: Generate, asked: _Asked, options: ReadOptions, mistakes: Mistakes) -> Schedule:
    try:
        return generate(
            asked.name,
            ranks=asked.ranks,
            microbatches=asked.microbatches,
            stages_per_rank=asked.stages_per_rank,
            options=asked.options,
            limits=options.limits,
        )
    except (LimitError, UsageError) as error:
        problems = [
            problem._replace(file=mistakes.file, line=at.line, column=at.column)
            for problem in error.problems
            for at in (_where(asked, problem.found),)
        ]
        raise _kind(error)(problems) from None


def _kind(error: InputError) -> type[InputError]:
    return LimitError if isinstance(error, LimitError) else MalformedScheduleError


def _where(asked: _Asked, found: str) -> Node:
    """Return the value that `found` quotes, or whose key it quotes, else where all stands."""
    for key, each in asked.said.items():
        if found.startswith((printable(each.text), printable(key))):
            return each
    return asked.node


def _origin(asked: _Asked) -> Mapping[str, Plain]:
    """Return what is to be written to have the schedule again."""
    again: dict[str, Plain] = {"name": asked.name, "ranks": str(asked.ranks)}
    if asked.stages_per_rank is not None:
        again["stages_per_rank"] = str(asked.stages_per_rank)
    again |= asked.options
    return MappingProxyType({"schedule": MappingProxyType(again)})


def _entries(node: Node) -> dict[str, Scalar]:
    entries = node.entries if isinstance(node, Table) else {}
    return {key: each for key, each in entries.items() if isinstance(each, Scalar)}


def _word(said: Mapping[str, Scalar], key: str) -> str:
    return said[key].text if key in said else ""


def _count(said: Mapping[str, Scalar], key: str) -> int | None:
    return int(said[key].text) if key in said else None


def _number(root: Table, key: str) -> int | None:
    node = root.entries.get(key)
    return int(node.text) if isinstance(node, Scalar) else None
