"""Certificates: what shows a verdict to whoever knows the language and nothing of pipeproof."""

import json
from dataclasses import dataclass

from pipeproof.errors import ParseError, Problem, ReplayMismatchError
from pipeproof.ir.canonical import digest

__all__ = [
    "PROVABLE",
    "SCHEMA",
    "SHOWABLE",
    "Blocked",
    "Certificate",
    "Ordered",
    "Path",
    "Proved",
    "Refuted",
    "Statement",
    "read",
]

SCHEMA = "pipeproof.certificate/1"
PROVABLE = frozenset(
    {
        *("PP105", "PP201", "PP202", "PP204", "PP205", "PP301"),
        *("PP401", "PP402", "PP403", "PP404", "PP405"),
        *("PP501", "PP502", "PP503", "PP504", "PP505"),
    }
)
"""The rules of which a certificate can show that they hold."""
SHOWABLE = PROVABLE - {"PP105", "PP204"}
"""The rules of which a certificate can show that they are broken."""

_MOST = 2**53  # whole numbers that every reader of JSON keeps exact
_EXPECTED = f"a certificate is an object of the schema {SCHEMA}, section 10 of the language"

Json = str | int | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Path:
    """`before` comes before `after` because each event of `path` comes before the next."""

    before: int
    after: int
    path: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Blocked:
    """`before` comes before `after`: `run` is all that can happen without it, without `after`."""

    before: int
    after: int
    run: tuple[int, ...]


Ordered = Path | Blocked

Outcome = tuple[tuple[str, str], ...]
"""For each choice what came, in order of the choices; nothing where the runtime chooses nothing."""


@dataclass(frozen=True, slots=True)
class Proved:
    """Why rules hold: a run of every event, and why each pair that they ask for is ordered."""

    transport: str
    copies: int
    rules: tuple[str, ...]
    run: tuple[int, ...]
    paths: tuple[Ordered, ...]
    outcome: Outcome = ()


@dataclass(frozen=True, slots=True)
class Refuted:
    """Why a rule does not hold: an execution, and the places, or else the pair, that it shows.

    Places are ranks and positions; the first event of a pair is -1 where nothing puts there what
    the second needs.
    """

    transport: str
    copies: int
    rule: str
    run: tuple[int, ...]
    places: tuple[tuple[int, int], ...] = ()
    pair: tuple[int, int] | None = None
    outcome: Outcome = ()


Statement = Proved | Refuted


@dataclass(frozen=True, slots=True)
class Certificate:
    """Statements about one schedule as run, of which `schedule` is the digest."""

    schedule: str
    version: str
    statements: tuple[Statement, ...]

    @property
    def text(self) -> str:
        """The certificate as it stands in a file."""
        content = self._content()
        content["digest"] = digest(_canonical(content))
        return _canonical(content) + "\n"

    def _content(self) -> dict[str, Json]:
        return {
            "schema": SCHEMA,
            "schedule": self.schedule,
            "tool": {"name": "pipeproof", "version": self.version},
            "statements": [_written(each) for each in self.statements],
        }


def _canonical(content: Json) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _written(statement: Statement) -> Json:
    said: dict[str, Json] = {
        "transport": statement.transport,
        "copies": statement.copies,
        "run": list[Json](statement.run),
    }
    if statement.outcome:
        said["outcome"] = dict(statement.outcome)
    match statement:
        case Proved():
            said["verdict"] = "proved"
            said["rules"] = list[Json](statement.rules)
            said["paths"] = [_ordered(each) for each in statement.paths]
        case Refuted():
            said["verdict"] = "refuted"
            said["rule"] = statement.rule
            if statement.pair is None:
                said["places"] = [list[Json](place) for place in statement.places]
            else:
                said["before"], said["after"] = statement.pair
    return said


def _ordered(each: Ordered) -> Json:
    said: dict[str, Json] = {"before": each.before, "after": each.after}
    match each:
        case Path():
            said["path"] = list[Json](each.path)
        case Blocked():
            said["blocked"] = list[Json](each.run)
    return said


def read(text: str, name: str) -> Certificate:
    """Return the certificate that `text` holds.

    Raises:
        ParseError: it holds none.
        ReplayMismatchError: it was changed after it was written: its digest is not its own.
    """
    try:
        content = json.loads(
            text, object_pairs_hook=_object, parse_float=_no_number, parse_constant=_no_number
        )
        return _certificate(content)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise ParseError([Problem(name, 1, 1, why, _EXPECTED)]) from error


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "a key stands twice"
        raise ValueError(message)
    return found


def _no_number(text: str) -> Json:
    message = f"{text} is no whole number"
    raise ValueError(message)


def _certificate(said: Json) -> Certificate:
    content = _mapping(said, "schema", "schedule", "tool", "statements", "digest")
    if content["schema"] != SCHEMA:
        message = f"its schema is not {SCHEMA}"
        raise ValueError(message)
    tool = _mapping(content["tool"], "name", "version")
    _text(tool["name"])
    statements = tuple(_statement(each) for each in _list(content["statements"]))
    found = Certificate(_text(content["schedule"]), _text(tool["version"]), statements)
    sealed = _text(content.pop("digest"))
    if sealed != digest(_canonical(content)):
        message = "the digest of the certificate is not that of its contents"
        raise ReplayMismatchError(message)
    return found


def _statement(said: Json) -> Statement:
    if not isinstance(said, dict):
        message = "a statement is no object"
        raise ValueError(message)  # noqa: TRY004  what a file holds, not what a caller passes
    outcome = _outcome(said["outcome"]) if "outcome" in said else ()
    shared = ("transport", "copies", "verdict", "run", *(["outcome"] if outcome else []))
    if said.get("verdict") == "proved":
        _mapping(said, *shared, "rules", "paths")
        rules = tuple(_text(each) for each in _list(said["rules"]))
        paths = tuple(_read_ordered(each) for each in _list(said["paths"]))
        return Proved(*_head(said), rules, _numbers(said["run"]), paths, outcome)
    if said.get("verdict") != "refuted":
        message = "a statement is neither proved nor refuted"
        raise ValueError(message)
    shown = ("places",) if "places" in said else ("before", "after")
    _mapping(said, *shared, "rule", *shown)
    head = (*_head(said), _text(said["rule"]), _numbers(said["run"]))
    if "places" in said:
        places = tuple(_place(each) for each in _list(said["places"]))
        return Refuted(*head, places=places, outcome=outcome)
    pair = (_number(said["before"], least=-1), _number(said["after"]))
    return Refuted(*head, pair=pair, outcome=outcome)


def _outcome(said: Json) -> Outcome:
    if not isinstance(said, dict):
        message = "an outcome is no object"
        raise ValueError(message)  # noqa: TRY004  as above
    return tuple(sorted((choice, _text(what)) for choice, what in said.items()))


def _head(said: dict[str, Json]) -> tuple[str, int]:
    return _text(said["transport"]), _number(said["copies"])


def _read_ordered(said: Json) -> Ordered:
    if isinstance(said, dict) and "blocked" in said:
        _mapping(said, "before", "after", "blocked")
        before, after = _number(said["before"]), _number(said["after"])
        return Blocked(before, after, _numbers(said["blocked"]))
    entry = _mapping(said, "before", "after", "path")
    return Path(_number(entry["before"]), _number(entry["after"]), _numbers(entry["path"]))


def _place(said: Json) -> tuple[int, int]:
    numbers = _numbers(said)
    if len(numbers) != 2:  # noqa: PLR2004  rank and position
        message = "a place is not a rank and a position"
        raise ValueError(message)
    return numbers[0], numbers[1]


def _mapping(said: Json, *keys: str) -> dict[str, Json]:
    if not isinstance(said, dict) or said.keys() != set(keys):
        message = f"an object has not the keys {', '.join(sorted(keys))}"
        raise ValueError(message)
    return said


def _list(said: Json) -> list[Json]:
    if not isinstance(said, list):
        message = "a list is missing"
        raise ValueError(message)  # noqa: TRY004  as above
    return said


def _text(said: Json) -> str:
    if not isinstance(said, str):
        message = "a text is missing"
        raise ValueError(message)  # noqa: TRY004  as above
    return said


def _number(said: Json, least: int = 0) -> int:
    if type(said) is not int or not least <= said < _MOST:
        message = f"a whole number from {least} on is missing"
        raise ValueError(message)
    return said


def _numbers(said: Json) -> tuple[int, ...]:
    return tuple(_number(each) for each in _list(said))
