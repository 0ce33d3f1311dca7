"""A generator of schedules over a grid: every illegal configuration of it, minimised."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Self

from pipeproof.campaign.judged import names_of, number_of
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets import configured
from pipeproof.campaign.targets.target import Told
from pipeproof.campaign.task import Json, Task

__all__ = ["STATES", "Grid", "Point", "known_text", "points_of"]

STATES = 1_000_000
"""States of one exploration, where the graph engine needs one."""


class Point(NamedTuple):
    """One configuration of a grid: where it comes from, and its text."""

    of: Mapping[str, str]
    text: str

    @property
    def told(self) -> Mapping[str, Json]:
        """The data of a campaign."""
        return {"of": dict(self.of), "text": self.text}


class Grid(NamedTuple):
    """The target: the points of a grid, judged under transports, their own if none is named."""

    points: tuple[Point, ...]
    transports: tuple[str, ...] = ()
    states: int = STATES

    @classmethod
    def of(cls, campaign: Mapping[str, Json]) -> Self:
        """Return the target that a campaign says of itself."""
        made = points_of(campaign["points"])
        return cls(made, names_of(campaign, "transports"), number_of(campaign, "states") or STATES)

    @property
    def campaign(self) -> Mapping[str, Json]:
        """All that the list of tasks follows from."""
        return {
            "target": "generator",
            "points": [each.told for each in self.points],
            "transports": list(self.transports),
            "states": self.states,
        }

    def tasks(self) -> Iterator[Task]:
        """Yield a task for each configuration."""
        for each in self.points:
            yield configured.configured(each.text, each.of, self.transports, self.states)

    def further(self, rows: Iterable[Row]) -> Iterator[Task]:
        """Yield what minimises the smallest illegal configuration of each rule and shape."""
        for each in configured.illegal(rows):
            yield each.minimise

    def told(self, rows: Iterable[Row]) -> Told:
        """Return what is said of the grid."""
        found = {row.key: row for row in rows}
        groups = configured.illegal(found.values())
        counts = configured.table(found.values())
        looked = sum(int(cell) for row in counts.rows for cell in row[1:3])
        undecided = configured.undecided(found.values())
        covered = (
            f"{looked} configurations judged, each for every interleaving, in "
            f"{len(counts.rows)} ways of making them",
            f"{len(groups)} rules and shapes broken, each minimised",
            *((f"{undecided} configurations are not decided",) if undecided else ()),
        )
        cases = tuple(configured.cases(groups, found))
        return Told(covered, looked, (counts,), cases, undecided=undecided)


def points_of(said: Json) -> tuple[Point, ...]:
    """Return the points that a campaign holds.

    Raises:
        TypeError: they are none.
    """
    return tuple(_point(each) for each in ([] if isinstance(said, str | int) else said))


def _point(said: Json) -> Point:
    if not isinstance(said, Mapping):
        message = f"{said!r} is no point of a grid"
        raise TypeError(message)
    of = said["of"]
    words = of if isinstance(of, Mapping) else {}
    return Point({name: str(each) for name, each in words.items()}, str(said["text"]))


def known_text(
    name: str,
    sizes: tuple[int, int, int | None],
    lowering: str = "torch",
    options: Mapping[str, str] | None = None,
) -> str:
    """Return the spec that names a known schedule.

    Args:
        name: its name.
        sizes: ranks, microbatches, and stages a rank, None where it is not said.
        lowering: how it gets its messages.
        options: its own options.
    """
    ranks, microbatches, per_rank = sizes
    said = {"name": name, "ranks": ranks, "lowering": lowering, **(options or {})}
    if per_rank is not None:
        said["stages_per_rank"] = per_rank
    keys = ", ".join(f"{key}: {value}" for key, value in said.items())
    head = f"pipeproof: 1\nmicrobatches: {microbatches}\nprofile: torch-runtime\n"
    return f"{head}schedule: {{{keys}}}\n"
