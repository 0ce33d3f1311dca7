"""What a result of `pipeproof check --format json` says, as far as a bundle repeats it."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeproof.evidence._shape import Json, Malformed, rows, table, text, texts

__all__ = ["Summary", "Under", "entries", "expected_exit", "is_written", "summary"]

_SCHEMA = "pipeproof.result/1"
_ORDER = ("refuted", "error", "unknown", "proved")


class Under(NamedTuple):
    """A verdict under one transport, and the rule that is broken first."""

    name: str
    verdict: str
    rule: str | None
    rules: frozenset[str]
    assumes: tuple[str, ...]


class Summary(NamedTuple):
    """What a result says of one schedule."""

    name: str
    verdict: str
    stages: int
    ranks: int
    microbatches: int
    operations: int
    transports: tuple[Under, ...]

    def plain(self) -> Mapping[str, Json]:
        """Return it as a manifest holds it."""
        under = [
            {"name": each.name, "verdict": each.verdict, "rule": each.rule}
            for each in self.transports
        ]
        return {**self._asdict(), "transports": under}


def entries(result: bytes) -> Sequence[Mapping[str, Json]]:
    """Return what a result says of each schedule.

    Raises:
        ValueError: it is no result.
    """
    try:
        found: Json = json.loads(result, object_pairs_hook=_unique)
    except RecursionError as error:
        message = "it nests too deeply"
        raise Malformed(message) from error
    if table(found).get("schema") != _SCHEMA:
        message = f"it is not {_SCHEMA}"
        raise Malformed(message)
    return [table(each) for each in rows(table(found)["files"])]


def summary(entry: Mapping[str, Json]) -> Summary:
    """Return what a bundle repeats of what is said of a schedule.

    Raises:
        ValueError: something is not there.
    """
    try:
        return Summary(
            text(entry["path"]),
            text(entry["verdict"]),
            _number(entry.get("stages", 0)),
            _number(entry.get("ranks", 0)),
            _number(entry.get("microbatches", 0)),
            _number(entry.get("operations", 0)),
            tuple(_under(table(each)) for each in rows(entry.get("transports", []))),
        )
    except KeyError as error:
        message = f"it lacks {error}"
        raise Malformed(message) from error


def _under(told: Mapping[str, Json]) -> Under:
    broken = [table(each) for each in rows(told["violations"])]
    rules = [text(each["rule"]) for each in broken]
    first = [rule for rule, each in zip(rules, broken, strict=True) if each.get("first") is True]
    rule = next(iter([*first, *rules]), None)
    assumes = tuple(texts(told["assumes"]))
    return Under(text(told["name"]), text(told["verdict"]), rule, frozenset(rules), assumes)


def is_written(result: bytes, version: str, told: Sequence[Mapping[str, Json]]) -> bool:
    """Whether a result is written as this version writes it, with nothing beside its entries."""
    words = {text(each["verdict"]) for each in told}
    worst = next((word for word in _ORDER if word in words), "unknown")
    tool: Json = {"name": "pipeproof", "version": version}
    head = json.dumps({"schema": _SCHEMA, "tool": tool, "verdict": worst})
    files = ",\n".join(json.dumps(each) for each in told)
    return result == f'{head[:-1]}, "files": [\n{files}]}}\n'.encode()


def expected_exit(found: Sequence[Summary]) -> set[int]:
    """Return the exit codes with which `check` may end, having found this."""
    words = {each.verdict for each in found}
    if "error" in words:
        return {2, 4, 101}
    if "refuted" in words:
        return {1}
    return {3} if "unknown" in words else {0, 5}


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "a key stands twice in one object"
        raise Malformed(message)
    return found


def _number(value: Json) -> int:
    if not isinstance(value, int):
        message = "a whole number is expected"
        raise Malformed(message)
    return value
