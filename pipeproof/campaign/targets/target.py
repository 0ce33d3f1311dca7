"""What every target of a campaign says of itself."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from pipeproof.campaign.store import Row
from pipeproof.campaign.task import Json, Task

__all__ = ["Case", "Table", "Target", "Told", "many"]


class Case(NamedTuple):
    """A found case: the text of a spec and what is known of it.

    `name` tells it from others, `what` is one line on what is wrong, `key` that of the task that
    found it. `rule` and `transport` are empty where it is no broken rule that was found. `of` says
    what it was made of, `command` what finds it again, `mutation` and `seed` how it was changed,
    where it was, and `minimised` whether it was.
    """

    name: str
    what: str
    text: str
    key: str
    rule: str = ""
    transport: str = ""
    of: str = ""
    command: str = ""
    mutation: str = ""
    seed: int = 0
    minimised: bool = False


class Table(NamedTuple):
    """Counts to be told: a title, the heads of its columns, and rows of cells."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Told(NamedTuple):
    """What a target says of its rows.

    `covered` are sentences on what was looked at, `trials` how many different looks decided
    something, `cases` what was found, in order of their names. `distrust` says that pipeproof
    itself errs, `undecided` of how much nothing could say whether it is a find, `refuted` how many
    of the schedules that are hunted around are themselves illegal: no cases, and no success.
    """

    covered: tuple[str, ...]
    trials: int
    tables: tuple[Table, ...]
    cases: tuple[Case, ...]
    distrust: bool = False
    undecided: int = 0
    refuted: int = 0


class Target(Protocol):
    """What a campaign hunts in."""

    @property
    def campaign(self) -> Mapping[str, Json]:
        """All that the list of tasks follows from; `target` is its name."""
        ...

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks that look."""
        ...

    def further(self, rows: Iterable[Row]) -> Iterator[Task]:
        """Yield the tasks that follow from what was found: what is to be minimised."""
        ...

    def told(self, rows: Iterable[Row]) -> Told:
        """Return what is said of the rows of a store."""
        ...


def many(number: Json, word: str) -> str:
    """Return a number and what there are so many of, as `1 rank` or `2 ranks`."""
    return f"{number} {word}{'' if number == 1 else 's'}"
