"""Baselines: files of accepted findings, read, compared and written."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeproof.cli._inputs import text_of
from pipeproof.errors import printable
from pipeproof.ir.codes import CODES
from pipeproof.ir.reading import Mistakes, ReadOptions
from pipeproof.verdict.result import Entry, Result

if TYPE_CHECKING:
    from pipeproof.frontends._spec_nodes import Check, Node

__all__ = ["SCHEMA", "Baseline", "baseline_option", "read_baseline", "today", "written"]

SCHEMA = "pipeproof.baseline/1"

_CASE = re.compile(r"#\d+$")
_NEEDS = ("fingerprint", "rule", "path", "transports", "message", "reason", "date")
_EPOCH = "SOURCE_DATE_EPOCH"

baseline_option = click.option(
    "--baseline",
    metavar="FILE",
    help="Accept the findings that stand there, each with a reason; only what is new exits 1. "
    "`pipeproof baseline` writes it.",
)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a baseline; files are named in it as from the folder in which it lies."""

    file: str
    entries: tuple[Entry, ...] = ()

    @property
    def _folder(self) -> str:
        return os.path.dirname(os.path.abspath(self.file))  # noqa: PTH100, PTH120  links stay

    def named(self, path: str) -> str:
        """Return how a file that was judged is named here; what is no file keeps its name."""
        if not os.path.lexists(_CASE.sub("", path)):
            return path
        return os.path.relpath(os.path.abspath(path), self._folder).replace(os.sep, "/")  # noqa: PTH100

    def exists(self, path: str) -> bool:
        """Whether there is a file that is named so here."""
        return os.path.lexists(Path(self._folder) / _CASE.sub("", path))

    def of(self, result: Result) -> Result:
        """Return `result` with what is accepted marked so, and what is gone."""
        from pipeproof.verdict.baseline import compared  # noqa: PLC0415  when asked for

        return compared(result, self.file, self.entries, self.named, self.exists)


def read_baseline(path: str) -> Baseline:
    """Read a baseline in JSON or YAML.

    Raises:
        InputError: it cannot be read, or an entry is not as it has to be.
    """
    from pipeproof.frontends import spec  # noqa: PLC0415  yaml is loaded only where it is read

    options = ReadOptions()
    name, text = text_of(path, options)
    mistakes = Mistakes(name)
    root = spec.tree(text, mistakes, options)
    mistakes.settle()
    _checked(root, mistakes)
    return Baseline(path, tuple(_entries(root)))


def _checked(root: "Node", mistakes: Mistakes) -> None:
    from pipeproof.frontends import _spec_nodes as nodes  # noqa: PLC0415  as above

    known: dict[str, Check] = {
        "fingerprint": nodes.pattern("[0-9a-f]{32}", "32 hexadecimal digits"),
        "rule": nodes.one_of(*CODES),
        "path": nodes.text,
        "transports": nodes.items(nodes.text, expected="a list of transports"),
        "message": nodes.text,
        "reason": nodes.pattern(r"(?s).*\S.*", "why it is accepted"),
        "date": _is_date,
        "count": nodes.number(1),
    }
    entries = nodes.items(nodes.keys(known, needs=_NEEDS), least=0)
    whole = {"schema": nodes.one_of(SCHEMA), "accepted": entries}
    nodes.keys(whole, needs=("schema", "accepted"))(root, mistakes)
    mistakes.settle()
    first: dict[str, nodes.Scalar] = {}
    for scalar in (entry["fingerprint"] for entry in _tables(root)):
        if not isinstance(scalar, nodes.Scalar):
            continue
        if scalar.text in first:
            found = f"{printable(scalar.text)} stands here again"
            said = f"it stands at line {first[scalar.text].line}; write a finding once"
            mistakes.add(scalar.line, scalar.column, found, said)
        first.setdefault(scalar.text, scalar)
    mistakes.settle()


def _is_date(node: "Node", mistakes: Mistakes) -> bool:
    from pipeproof.frontends import _spec_nodes as nodes  # noqa: PLC0415  as above

    text = node.text if isinstance(node, nodes.Scalar) else ""
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            date.fromisoformat(text)
            return True
    except ValueError:
        pass
    return nodes.wrong(node, mistakes, "write a date as 2026-11-30")


def _tables(root: "Node") -> Iterator["dict[str, Node]"]:
    from pipeproof.frontends._spec_nodes import Items, Table  # noqa: PLC0415  as above

    accepted = root.entries["accepted"] if isinstance(root, Table) else None
    for node in accepted.nodes if isinstance(accepted, Items) else ():
        if isinstance(node, Table):
            yield dict(node.entries)


def _entries(root: "Node") -> Iterator[Entry]:
    from pipeproof.frontends._spec_nodes import plain  # noqa: PLC0415  as above

    for table in _tables(root):
        text = {key: value for key in table if isinstance(value := plain(table[key]), str)}
        transports = plain(table["transports"])
        names = transports if isinstance(transports, tuple) else ()
        yield Entry(
            text["fingerprint"],
            text["rule"],
            text["path"],
            text["message"],
            text["reason"],
            text["date"],
            tuple(str(name) for name in names),
            int(text.get("count", "1")),
        )


def written(entries: Sequence[Entry], file: str) -> str:
    """Return a baseline as it stands in a file: YAML where the name says so, else JSON."""
    ordered = sorted(entries, key=lambda each: (each.path, each.rule, each.fingerprint))
    tables = [_table(each) for each in ordered]
    if file.lower().endswith((".yaml", ".yml")):
        lines = [f"schema: {SCHEMA}", "accepted:" + ("" if tables else " []")]
        for table in tables:
            said = [f"{key}: {_text(value)}" for key, value in table.items()]
            lines += [f"  - {said[0]}", *(f"    {each}" for each in said[1:])]
        return "\n".join([*lines, ""])
    return _text({"schema": SCHEMA, "accepted": tables}, indent=1) + "\n"


def _table(entry: Entry) -> dict[str, str | int | list[str]]:
    return {
        "fingerprint": entry.fingerprint,
        "rule": entry.rule,
        "path": entry.path,
        "transports": list(entry.transports),
        "message": entry.message,
        "reason": entry.reason,
        "date": entry.date,
        **({"count": entry.count} if entry.count > 1 else {}),
    }


def _text(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def today() -> str:
    """Return the date of today in UTC, or that of SOURCE_DATE_EPOCH where it is set.

    Raises:
        click.UsageError: it is no number of seconds.
    """
    said = os.environ.get(_EPOCH)
    if said is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return datetime.fromtimestamp(int(said), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        wrong = f"{_EPOCH} is {printable(said)}; write seconds since 1970, or unset it."
        raise click.UsageError(wrong) from None
