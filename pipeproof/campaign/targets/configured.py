"""Configurations: each judged as it is, the illegal ones told once a rule and shape, and minimised.

A configuration is a spec with a few words on where it comes from: `of`, a mapping in its body.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pipeproof.campaign.judged import judged, names_of, number_of, read, text_of, told
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets.target import Case, Table, many
from pipeproof.campaign.task import Json, Task
from pipeproof.errors import InputError, UnsupportedFeatureError

__all__ = [
    "JUDGEMENTS",
    "KIND",
    "Illegal",
    "cases",
    "configured",
    "illegal",
    "is_base",
    "minimising",
    "perform",
    "table",
    "undecided",
]

KIND = "configured"
"""The kind of task."""

JUDGEMENTS = 3000
"""How many schedules may be judged to minimise one."""

_VERDICTS = ("proved", "refuted", "unknown", "none")


def configured(text: str, of: Mapping[str, str], transports: tuple[str, ...], states: int) -> Task:
    """Return the task that judges one configuration."""
    body: dict[str, Json] = {"text": text, "of": dict(of), "states": states}
    if transports:
        body["transports"] = list(transports)
    return Task(KIND, body)


def perform(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Judge one configuration.

    Returns:
        What a task of kind `judge` says, and `ranks`, `stages`, `microbatches`; or the verdict
        `none` and `why`, where there is no such configuration.
    """
    try:
        document = read(text_of(body, "text"))
        found = judged(document, names_of(body, "transports"), number_of(body, "states"))
    except (InputError, UnsupportedFeatureError) as error:
        return {"verdict": "none", "why": " ".join(str(error).split())[:500]}
    made = document.schedule
    sizes = {"ranks": made.ranks, "stages": made.stages, "microbatches": made.microbatches}
    return {**told(found), **sizes}


class Illegal(NamedTuple):
    """Illegal configurations of one origin that break the same rule first.

    The fields before `rule` say which of them is the smallest; `number` is how many there are,
    `transports` those under which one of them breaks it first.
    """

    size: tuple[int, int, int, str]
    body: Mapping[str, Json]
    transport: str
    rule: str
    origin: str
    number: int
    transports: tuple[str, ...]

    @property
    def minimise(self) -> Task:
        """The task that minimises the smallest of them."""
        return minimising(text_of(self.body, "text"), self.rule, self.transport)


def minimising(text: str, rule: str, transport: str) -> Task:
    """Return the task that minimises a schedule which breaks a rule first under a transport."""
    return Task(
        "minimise",
        {"text": text, "rule": rule, "transports": [transport], "judgements": JUDGEMENTS},
    )


def illegal(rows: Iterable[Row]) -> list[Illegal]:
    """Return the illegal configurations, told once for each origin and rule, in their order.

    A schedule that is itself hunted around is none of them.
    """
    found: dict[tuple[str, str], list[Illegal]] = {}
    for row in rows:
        answer = row.ended.answer
        if row.ended.task.kind != KIND or answer is None or answer["verdict"] != "refuted":
            continue
        if is_base(row.ended.task.body):
            continue
        for each in _broken(row, answer):
            found.setdefault((each.origin, each.rule), []).append(each)
    return [_one(found[key]) for key in sorted(found)]


def _one(alike: list[Illegal]) -> Illegal:
    least = min(alike, key=lambda each: (each.size, each.transport))
    transports = tuple(sorted({each.transport for each in alike}))
    number = len({each.size for each in alike})
    return least._replace(number=number, transports=transports)


def _broken(row: Row, answer: Mapping[str, Json]) -> Iterator[Illegal]:
    """Yield what is broken first under each transport of one configuration."""
    body, under = row.ended.task.body, answer["under"]
    ranks, microbatches, stages = (
        number_of(answer, each) or 0 for each in ("ranks", "microbatches", "stages")
    )
    size = (ranks, microbatches, stages, row.key)
    for each in () if isinstance(under, str | int) else under:
        if isinstance(each, Mapping) and each["first"]:
            rule, transport = str(each["first"]), str(each["transport"])
            yield Illegal(size, body, transport, rule, origin(body), 1, ())


def origin(body: Mapping[str, Json]) -> str:
    """Return where a configuration comes from, without its size."""
    of = body["of"]
    said = of if isinstance(of, Mapping) else {}
    words = [str(said.get("name", "")), *(str(said[each]) for each in sorted(_MORE & said.keys()))]
    return " ".join(words)


def is_base(body: Mapping[str, Json]) -> bool:
    """Whether it is the schedule itself that is hunted around."""
    of = body["of"]
    return isinstance(of, Mapping) and of.get("is") == "base"


_MORE = frozenset({"lowering", "option"})


def cases(found: Iterable[Illegal], rows: Mapping[str, Row]) -> Iterator[Case]:
    """Yield what was found as cases, each as small as it was made.

    Args:
        found: what `illegal` returns.
        rows: all rows by key, with those of the tasks that minimise.
    """
    for each in found:
        row = rows.get(each.minimise.key)
        answer = None if row is None else row.ended.answer
        small = answer if answer is not None and answer.get("found") else None
        what = f"{each.rule} in {each.origin}, {many(each.number, 'configuration')}, under "
        what += ", ".join(each.transports)
        if small is not None:
            what += f"; minimised to {_sizes(small)}"
        of = each.body["of"]
        yield Case(
            name=f"{each.rule} {each.origin}",
            what=what,
            text=str(small["text"]) if small is not None else text_of(each.body, "text"),
            key=each.minimise.key,
            rule=each.rule,
            transport=each.transport,
            of=_words(of) if isinstance(of, Mapping) else "",
            command=_command(of) if isinstance(of, Mapping) else "",
            minimised=small is not None,
        )


def _sizes(small: Mapping[str, Json]) -> str:
    microbatches = "microbatch" if small["microbatches"] == 1 else "microbatches"
    ranks, left = many(small["ranks"], "rank"), many(small["instructions"], "instruction")
    return f"{ranks}, {small['microbatches']} {microbatches}, {left}"


def _words(of: Mapping[str, Json]) -> str:
    more = ", ".join(f"{name} {of[name]}" for name in sorted(of) if name != "name")
    return f"{of.get('name', '')}, {more}" if more else str(of.get("name", ""))


def _command(of: Mapping[str, Json]) -> str:
    """Return what finds a configuration again."""
    options = {
        "generator": "name",
        "ranks": "ranks",
        "microbatches": "microbatches",
        "stages-per-rank": "per-rank",
        "option": "option",
        "costs": "costs",
        "lowering": "lowering",
    }
    said = (f"--{each} {shlex.quote(str(of[key]))}" for each, key in options.items() if key in of)
    return f"pipeproof hunt {' '.join(said)}"


def undecided(rows: Iterable[Row]) -> int:
    """Return how many configurations were judged and are neither proved nor refuted."""
    found = (row.ended for row in rows if row.ended.task.kind == KIND)
    return sum(1 for each in found if each.answer and each.answer["verdict"] == "unknown")


def table(rows: Iterable[Row]) -> Table:
    """Return how many configurations of each origin were found to be what."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        if row.ended.task.kind == KIND and row.ended.answer is not None:
            own = counts.setdefault(origin(row.ended.task.body), dict.fromkeys(_VERDICTS, 0))
            own[str(row.ended.answer["verdict"])] += 1
    cells = [(name, *(str(own[each]) for each in _VERDICTS)) for name, own in counts.items()]
    heads = ("configurations", *_VERDICTS[:-1], "no schedule")
    return Table("configurations", heads, tuple(sorted(cells)))
