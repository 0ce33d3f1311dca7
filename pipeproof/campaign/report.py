"""What a campaign came to, told from its store alone: as text, or as one JSON object."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from pipeproof import __version__
from pipeproof.campaign.chance import NO_FAULT, WORDS, coverage, written
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets.target import Case, Table, Target, Told, many
from pipeproof.campaign.task import Json

__all__ = ["RATES", "SCHEMA", "Report", "report"]

SCHEMA = "pipeproof.hunt/1"
RATES = ("0.1", "0.01", "0.001", "0.0001")
"""Rates for which it is told how sure it is that a fault of such a rate was met."""

_LONGEST = 200  # characters of what is said of a case in a line
_DIGITS = 12  # of a chance, in text


class _Guard(NamedTuple):
    """A task without an answer, and why it has none."""

    key: str
    kind: str
    body: Mapping[str, Json]
    outcome: str
    why: str


class Report(NamedTuple):
    """What a campaign came to.

    `guards` are the tasks that hit a guard or were lost, `absent` counts those that nobody has
    run: other shards, or an interrupted campaign. So long as there are any it is not whole.
    """

    campaign: Mapping[str, Json]
    told: Told
    done: int
    guards: tuple[_Guard, ...]
    absent: int

    def text(self) -> str:
        """Return it for people."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        told = self.told
        yield f"hunt of {', '.join(_said(self.campaign))}"
        yield from told.covered
        counts = f"{len(self.guards)} without an answer, {self.absent} not run"
        yield f"{self.done} tasks done, {counts}"
        for guard in self.guards:
            task = f"{guard.key[:12]} {guard.kind} {_body(guard.body)}"
            yield f"  {task}: {guard.outcome}: {guard.why}"
        for table in told.tables:
            yield ""
            yield from _columns(table)
        yield ""
        yield f"found: {len(told.cases) or 'nothing'}"
        yield from (f"  {each.name}: {_short(each.what)}" for each in told.cases)
        yield ""
        yield f"chance that {many(told.trials, 'independent trial')} meet a fault at least once:"
        yield from (f"  of rate {rate}: {found}" for rate, found in self._chances(_DIGITS))
        yield from (*WORDS, NO_FAULT)

    def _chances(self, digits: int | None = None) -> Iterator[tuple[str, str]]:
        for rate in RATES:
            found = written(coverage(Decimal(rate), self.told.trials))
            if digits is not None and len(found) > digits + 2:
                found = f"{found[: digits + 2]}..."
            yield rate, found

    def json(self) -> str:
        """Return it as one JSON object, ending in a line break."""
        told = self.told
        whole = {
            "schema": SCHEMA,
            "tool": {"name": "pipeproof", "version": __version__},
            "campaign": self.campaign,
            "covered": list(told.covered),
            "tasks": {
                "done": self.done,
                "without_answer": len(self.guards),
                "not_run": self.absent,
            },
            "guards": [each._asdict() for each in self.guards],
            "tables": [each._asdict() for each in told.tables],
            "found": [_found(each) for each in told.cases],
            "trials": told.trials,
            "chances": [{"rate": rate, "chance": chance} for rate, chance in self._chances()],
            "words": [*WORDS, NO_FAULT],
        }
        return json.dumps(whole, indent=1) + "\n"


def report(target: Target, rows: Iterable[Row]) -> Report:
    """Return what a campaign came to, of the rows of its store in any order.

    What a shard minimised and the whole campaign would not counts for nothing, as does what another
    campaign left there.
    """
    every = {row.key: row for row in sorted(rows, key=lambda row: row.key)}
    asked = {task.key for task in target.tasks()}
    looked = [row for key, row in every.items() if key in asked]
    wanted = asked | {task.key for task in target.further(looked)}
    found = {key: row for key, row in every.items() if key in wanted}
    guards = tuple(
        _Guard(key, each.task.kind, each.task.body, each.outcome, each.why)
        for key, each in ((key, row.ended) for key, row in found.items())
        if each.outcome != "done"
    )
    absent = len(wanted - found.keys())
    done = len(wanted) - absent - len(guards)
    return Report(target.campaign, target.told(found.values()), done, guards, absent)


def _found(case: Case) -> dict[str, str]:
    return case._asdict()


def _said(campaign: Mapping[str, Json]) -> Iterator[str]:
    yield str(campaign["target"])
    for name, value in sorted(campaign.items()):
        if isinstance(value, str | int) and name != "target":
            yield f"{name} {_short(str(value))}"
        elif value and not isinstance(value, Mapping | str | int):
            words = [each for each in value if isinstance(each, str)]
            yield f"{name} {' '.join(words) if words else len(value)}"


def _plain(value: Json) -> str:
    return str(value) if isinstance(value, str | int) else json.dumps(value, sort_keys=True)


def _body(body: Mapping[str, Json]) -> str:
    return _short(" ".join(f"{name}={_plain(value)}" for name, value in sorted(body.items())))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _columns(table: Table) -> Iterator[str]:
    rows: Sequence[tuple[str, ...]] = (table.heads, *table.rows)
    widths = [max(len(row[k]) for row in rows) for k in range(len(table.heads))]
    for row in rows:
        cells = (
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
