"""Whether what a bundle says holds together: digests, results, certificates, schedules as run."""

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol

from pipeproof import recheck
from pipeproof.evidence._boundaries import boundaries
from pipeproof.evidence._own import require_own
from pipeproof.evidence._result import Summary, entries, expected_exit, is_written, summary
from pipeproof.evidence._shape import Json, Malformed, rows, table, text, texts
from pipeproof.evidence.manifest import (
    MANIFEST,
    SCHEMA_FILE,
    SUMS,
    canonical,
    identity,
    schema_text,
    sha256,
)

__all__ = ["Again", "Checked", "Found", "checked"]


class Found(NamedTuple):
    """What judging afresh gave: the schedule as run, None where it has none, and the result."""

    as_run: str | None
    entry: Mapping[str, Json]


class Again(Protocol):
    """Judges a schedule of a bundle afresh, of the bytes of its file and of that it imports."""

    def __call__(
        self,
        schedule: Mapping[str, Json],
        options: Mapping[str, Json],
        data: bytes,
        imported: bytes | None,
    ) -> Found: ...


class Checked(NamedTuple):
    """What was looked at again of a schedule.

    `statements` are those that the second checker accepted, `counterexamples` the refuted ones
    among them; `again` says whether the schedule was judged afresh, with the same result, and
    `rejected` that its certificate is refused, as the bundle itself says.
    """

    name: str
    verdict: str
    statements: int = 0
    counterexamples: int = 0
    again: bool = False
    rejected: bool = False


def checked(
    manifest: Mapping[str, Json], contents: Mapping[str, bytes], again: Again | None, *, same: bool
) -> list[Checked]:
    """Check that the parts of a bundle say the same, and return what was looked at again.

    Only where it is of the `same` program that runs here, it has to use the same words, and is
    judged afresh.

    Raises:
        Malformed: they do not.
    """
    predicate = table(manifest["predicate"])
    _digests(manifest, predicate, contents)
    told = _results(predicate, contents, same=same)
    schedules = [table(each) for each in rows(predicate["schedules"])]
    options = table(predicate["options"])
    inputs = {text(each["path"]): contents[text(each["file"])] for each in _inputs(predicate)}
    found = []
    for schedule, entry in zip(schedules, told, strict=True):
        each = _schedule(schedule, summary(entry), contents)
        if again is not None and same:
            imported = schedule["imports"]
            also = None if imported is None else inputs[text(imported)]
            afresh = again(schedule, options, inputs[text(schedule["path"])], also)
            each = each._replace(again=_same(schedule, entry, contents, afresh))
        found.append(each)
    if same:
        _require_written(predicate, contents, told, found)
    return found


def _digests(
    manifest: Mapping[str, Json], predicate: Mapping[str, Json], contents: Mapping[str, bytes]
) -> None:
    subject = {
        text(table(each)["name"]): table(table(each)["digest"])["sha256"]
        for each in rows(manifest["subject"])
    }
    files = {name: sha256(data) for name, data in contents.items() if name not in {MANIFEST, SUMS}}
    _require(list(subject) == sorted(files) and subject == files, "its subject is not its files")
    _require(predicate["id"] == identity(predicate, contents), "its id is not that of what it says")
    paths = []
    for each in _inputs(predicate):
        _require(
            files.get(text(each["file"])) == each["sha256"], f"{each['file']} is another input"
        )
        paths.append(text(each["path"]))
        inside = not PurePosixPath(paths[-1]).is_absolute() and ".." not in paths[-1].split("/")
        _require(inside, "an input stands outside of the repository")
    named = [
        text(path)
        for each in map(table, rows(predicate["schedules"]))
        for path in (each["path"], each["imports"])
        if path is not None
    ]
    _require(paths == list(dict.fromkeys(named)), "its inputs are not those of its schedules")
    _require(
        files.keys() == _named(predicate), "it holds a file that it does not name, or lacks one"
    )


def _named(predicate: Mapping[str, Json]) -> set[str]:
    """Return the files that a manifest names."""
    keys = {
        "inputs": ("file",),
        "schedules": ("as_run", "certificate"),
        "commands": ("stdout", "stderr"),
    }
    named = [
        each[key]
        for part, names in keys.items()
        for each in map(table, rows(predicate[part]))
        for key in names
    ]
    return {text(each) for each in [*named, predicate["results"], SCHEMA_FILE] if each is not None}


def _results(
    predicate: Mapping[str, Json], contents: Mapping[str, bytes], *, same: bool
) -> list[Mapping[str, Json]]:
    """Return what the result says of each schedule; the manifest says the same."""
    result = contents.get(text(predicate["results"]))
    commands = [table(each) for each in rows(predicate["commands"])]
    logs = [text(each[key]) for each in commands for key in ("stdout", "stderr")]
    _require(set(logs) <= contents.keys(), "the log of a command is missing")
    _require(len(commands) == len(rows(predicate["runs"])), "a command lacks how it ran")
    if result is None or not commands:
        message = "its result is missing"
        raise Malformed(message)
    try:
        told = list(entries(result))
        found = [summary(each) for each in told]
    except (ValueError, KeyError) as error:
        message = f"{predicate['results']} is no result: {error}"
        raise Malformed(message) from error
    keys = set(Summary._fields)
    said = [
        {key: value for key, value in table(each).items() if key in keys}
        for each in rows(predicate["schedules"])
    ]
    _require(said == [each.plain() for each in found], "the manifest and the result differ")
    judged = commands[0]
    _require(judged["purpose"] == "judge", "its first command does not judge")
    _require(judged["exit"] in expected_exit(found), "the exit code of `check` is not its result's")
    asks = any(each["purpose"] == "asked" for each in commands)
    expected = boundaries(found, asks=asks)
    told_keys = expected.keys() if same else {"transports", "sizes", "assumes"}
    said_of = table(predicate["boundaries"])
    differs = any(said_of[key] != expected[key] for key in told_keys)
    _require(not differs, "its boundaries are others")
    return told


def _require_written(
    predicate: Mapping[str, Json],
    contents: Mapping[str, bytes],
    told: Sequence[Mapping[str, Json]],
    found: Sequence[Checked],
) -> None:
    """Check that what this program makes is as it makes it: result, schema, commands."""
    results, version = text(predicate["results"]), text(table(predicate["tool"])["version"])
    _require(is_written(contents[results], version, told), f"{results} holds something else")
    _require(contents[SCHEMA_FILE] == schema_text(), f"{SCHEMA_FILE} is another")
    _require(_holds(table(predicate["repository"])), "what it says of git contradicts itself")
    require_own(predicate, [not each.rejected for each in found])


def _holds(said: Mapping[str, Json]) -> bool:
    """Whether what is said of a repository can be: no commit for a reason, no diff of nothing."""
    if said["commit"] is None:
        return said["why"] is not None and said["dirty"] is True and said["diff"] is None
    return said["why"] is None and (said["diff"] is None or said["dirty"] is True)


def _schedule(
    schedule: Mapping[str, Json], found: Summary, contents: Mapping[str, bytes]
) -> Checked:
    """Check what is shown of a schedule, with the second checker."""
    name, certificate, as_run = found.name, schedule["certificate"], schedule["as_run"]
    if certificate is None or as_run is None:
        _require(schedule["statements"] == 0, f"{name}: no certificate holds its statements")
        return Checked(name, found.verdict)
    shown, run = contents.get(text(certificate)), contents.get(text(as_run))
    if shown is None or run is None:
        message = f"{name}: its certificate is missing"
        raise Malformed(message)
    try:
        number = recheck.recheck(shown.decode(), run.decode())
        told: Json = json.loads(shown)
    except (recheck.Rejected, recheck.Unreadable, UnicodeDecodeError) as error:
        if schedule["statements"] == 0:  # as it was when the bundle was made
            return Checked(name, found.verdict, rejected=True)
        message = f"{certificate}: rejected by the second checker: {error}"
        raise Malformed(message) from error
    _require(number == schedule["statements"], f"{certificate}: it holds {number} statements")
    counterexamples = _agrees(table(told)["statements"], found, text(certificate))
    return Checked(name, found.verdict, number, counterexamples)


def _agrees(statements: Json, found: Summary, certificate: str) -> int:
    """Check that what is shown is what was found; return how many counterexamples are shown."""
    under = {each.name: each for each in found.transports}
    number = 0
    for each in map(table, rows(statements)):
        transport = under.get(text(each["transport"]))
        if transport is None:
            message = f"{certificate}: nothing was judged under {each['transport']}"
            raise Malformed(message)
        if each["verdict"] == "refuted":
            number += 1
            holds = each["rule"] in transport.rules and transport.verdict == "refuted"
            _require(holds, f"{certificate}: the result has no {each['rule']} there")
        else:
            broken = set(texts(each["rules"])) & transport.rules
            _require(
                not broken or "outcome" in each,
                f"{certificate}: it shows what the result says is broken",
            )
    return number


def _same(
    schedule: Mapping[str, Json],
    entry: Mapping[str, Json],
    contents: Mapping[str, bytes],
    found: Found,
) -> bool:
    """Check that what judging afresh gave is what the bundle holds.

    Raises:
        Malformed: it is something else.
    """
    name, as_run = schedule["name"], schedule["as_run"]
    held = None if as_run is None else contents[text(as_run)].decode("utf-8", "replace")
    run = None if held is None else held.removesuffix("\n")
    _require(found.as_run == run, f"{name}: its input gives another schedule as run")
    _require(canonical(found.entry) == canonical(entry), f"{name}: judged afresh, it differs")
    return True


def _inputs(predicate: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    return [table(each) for each in rows(predicate["inputs"])]


def _require(holds: object, why: str) -> None:
    if not holds:
        raise Malformed(why)
