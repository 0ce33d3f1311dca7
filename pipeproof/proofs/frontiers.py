"""Where the explorations of one schedule stand, as a file that a later run takes up."""

import json
from collections.abc import Mapping
from typing import NoReturn

from pipeproof import __version__
from pipeproof.engines.explore import Frontier
from pipeproof.errors import InputError, ParseError, Problem
from pipeproof.ir.canonical import digest

__all__ = ["SCHEMA", "Kept", "read"]

SCHEMA = "pipeproof.frontier/1"
_EXPECTED = "name a file that --frontier wrote for this schedule, or one that is not there"

Json = str | int | list["Json"] | dict[str, "Json"]


class Kept:
    """The frontiers of one schedule, by transport and name; whoever explores keeps them here.

    `schedule` is a digest of the schedule as run and of what is asked of it. What was read is
    handed out once it is asked for; what is kept is what would be written.
    """

    def __init__(self, schedule: str, known: Mapping[tuple[str, str], Frontier]) -> None:
        self.schedule = schedule
        self._known = dict(known)
        self._kept: dict[tuple[str, str], Frontier] = {}
        self._left = False

    def take(self, transport: str, of: str) -> Frontier | None:
        """Return where the exploration of that name stopped, None where it is new."""
        return self._known.get((transport, of))

    def keep(self, transport: str, frontier: Frontier, over: str) -> None:
        """Keep where an exploration stands, and what of its budget ran out, if anything did."""
        self._kept[transport, frontier.of] = frontier
        self._left |= bool(over)

    @property
    def is_left(self) -> bool:
        """Whether something is left that a later run can do."""
        return self._left

    @property
    def text(self) -> str:
        """The frontiers as they stand in a file."""
        kept = sorted({**self._known, **self._kept}.items())
        content: dict[str, Json] = {
            "schema": SCHEMA,
            "tool": {"name": "pipeproof", "version": __version__},
            "schedule": self.schedule,
            "frontiers": [
                {"transport": transport, "frontier": frontier.save().decode()}
                for (transport, _), frontier in kept
            ],
        }
        content["digest"] = digest(_canonical(content))
        return _canonical(content) + "\n"


def read(text: str, name: str, schedule: str) -> Kept:
    """Return the frontiers of a schedule, of which `schedule` is the digest, from a file.

    Raises:
        ParseError: it holds none, or those of another schedule or version.
    """
    try:
        content = json.loads(text, parse_float=_no_number, parse_constant=_no_number)
        said = _checked(content, name)
    except ValueError as error:
        at = (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else (1, 1)
        _refuse(name, "this is no JSON of a frontier", at)
    except RecursionError:
        _refuse(name, "it is nested too deep")
    if said["tool"] != {"name": "pipeproof", "version": __version__}:
        _refuse(name, f"another version wrote it, this is {__version__}")
    if said["schedule"] != schedule:
        _refuse(name, "it is the frontier of another schedule, or of other options")
    return Kept(schedule, _frontiers(said["frontiers"], name))


def _checked(content: Json, name: str) -> dict[str, Json]:
    keys = {"schema", "tool", "schedule", "frontiers", "digest"}
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or content.keys() != keys:
        _refuse(name, f"this is no {SCHEMA}")
    if content.pop("digest") != digest(_canonical(content)):
        _refuse(name, "it was changed after it was written: its digest is not its own")
    return content


def _frontiers(listed: Json, name: str) -> Mapping[tuple[str, str], Frontier]:
    found: dict[tuple[str, str], Frontier] = {}
    for each in listed if isinstance(listed, list) else [listed]:
        entry = each if isinstance(each, dict) else {}
        transport, saved = entry.get("transport"), entry.get("frontier")
        if not isinstance(transport, str) or not isinstance(saved, str):
            _refuse(name, "an entry is no frontier")
        try:
            frontier = Frontier.load(saved.encode("utf-8", "surrogatepass"))
        except InputError as error:
            _refuse(name, f"an entry is no frontier: {error.problems[0].found}")
        found[transport, frontier.of] = frontier
    return found


def _canonical(content: Json) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _no_number(text: str) -> Json:
    message = f"{text} is no whole number"
    raise ValueError(message)


def _refuse(name: str, found: str, at: tuple[int, int] = (1, 1)) -> NoReturn:
    raise ParseError([Problem(name, *at, found, _EXPECTED)])
