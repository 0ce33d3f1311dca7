"""A page about what was validated, written from bundles: what is current, and what no longer is."""

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeproof.evidence._boundaries import NOT_VALIDATED, OUTSIDE
from pipeproof.evidence._shape import Json, rows, table, text, texts
from pipeproof.evidence.verify import Status, Verified

__all__ = ["Row", "asked", "page", "rows_of", "standing"]

_CURRENT = {Status.FRESH, Status.HEAD_MOVED_INPUTS_SAME}
_HEAD = """\
# What was validated

This page is written by `pipeproof evidence table` from the bundles that it names, and from nothing
else ([evidence.md](evidence.md)). *Current*: the bundle is of this build of pipeproof and of these
files; of a command, of this very commit, with nothing changed since. *Superseded*: a later bundle
here holds the same check. *Historical*: anything else; it says what was so then, and nothing about
now.
"""
_NOTHING = "No bundle was named: nothing is validated.\n"
_COLUMNS = "| check | result | commit | standing | bundle |\n| --- | --- | --- | --- | --- |\n"


class Row(NamedTuple):
    """One check of a bundle: what was checked, what came of it, and when.

    `status` is that of its bundle; `same` says that the bundle is of what is there now, which a
    command of --run asks of the whole tree.
    """

    check: str
    result: str
    commit: str
    finished: str
    bundle: str
    id: str
    status: Status
    same: bool


def rows_of(bundle: str, verified: Verified) -> list[Row]:
    """Return the checks of a bundle that is whole; `bundle` is its name on the page."""
    predicate = verified.predicate
    said = table(predicate["repository"])
    commit = "none" if said["commit"] is None else text(said["commit"])[:12]
    commit += ", dirty" if said["dirty"] else ""
    at = (commit, text(table(predicate["times"])["finished"]), bundle, text(predicate["id"]))
    found = [
        Row(text(each["name"]), _result(each), *at, verified.status, verified.status in _CURRENT)
        for each in map(table, rows(predicate["schedules"]))
    ]
    fresh = verified.status is Status.FRESH and verified.now == said["commit"]
    more = (
        Row(argv, f"exit {code}", *at, verified.status, fresh) for argv, code in asked(predicate)
    )
    return [*found, *more]


def asked(predicate: Mapping[str, Json]) -> list[tuple[str, int]]:
    """Return the commands of a bundle that somebody asked for, and their exit codes."""
    every = map(table, rows(predicate["commands"]))
    told = ((each["argv"], each["exit"]) for each in every if each["purpose"] == "asked")
    return [(shlex.join(texts(argv)), code) for argv, code in told if isinstance(code, int)]


def _result(schedule: Mapping[str, Json]) -> str:
    under = [table(each) for each in rows(schedule["transports"])]
    broken = sorted({text(each["rule"]) for each in under if each["rule"] is not None})
    said = " ".join([text(schedule["verdict"]), *broken])
    shown = schedule["statements"]
    return f"{said}, {shown} statements certified" if shown else f"{said}, no certificate"


def standing(row: Row, every: Sequence[Row]) -> str:
    """Return what a check is worth now: current, superseded or historical.

    Of several of one check only the last can be current; where two are as late, the one whose
    bundle is named last.
    """
    same = [each for each in every if each.check == row.check]
    last = max(same, key=lambda each: (each.finished, each.bundle, each.id))
    if row != last:
        return "superseded"
    if row.same:
        return "current"
    return "historical" if row.status in _CURRENT else f"historical: {row.status.name}"


def page(found: Sequence[Row]) -> str:
    """Return the page, in Markdown."""
    ordered = sorted(found, key=lambda each: (each.check, each.finished, each.bundle, each.id))
    lines = [
        f"| {_code(each.check)} | {each.result} | {each.commit} | {standing(each, found)} "
        f"| {_code(each.bundle)} {each.id[:12]} |\n"
        for each in ordered
    ]
    checks = _COLUMNS + "".join(lines) if lines else _NOTHING
    return (
        f"{_HEAD}\n{checks}\n"
        "## What was not validated\n\n"
        "No bundle here says anything about:\n\n"
        f"{_items(NOT_VALIDATED)}\n"
        "## What stays outside\n\n"
        "pipeproof does not judge, and no bundle will:\n\n"
        f"{_items(OUTSIDE)}"
    )


def _items(words: Sequence[str]) -> str:
    return "".join(f"- {each}\n" for each in words)


def _code(text_: str) -> str:
    """Return a text of a bundle as code that ends no cell, span or line of the page."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text_)[:200]
    shown = shown.replace("|", "\u00a6").replace("`", "'")
    return f"`{shown}`"
