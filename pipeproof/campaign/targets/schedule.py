"""A schedule: its mutants, and the configurations beside it.

Each mutant is judged by the graph engine and by a witness that decides in another way, so that it
is either killed, or shown to be as legal as the schedule. Where torch has words for a mutant, its
own checks are asked, too: which of the illegal ones does torch let through?
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, Self

from pipeproof.campaign.judged import names_of, number_of, read, text_of
from pipeproof.campaign.mutate import mutant, mutate, mutations
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets import configured
from pipeproof.campaign.targets._mutants_told import Asking, told
from pipeproof.campaign.targets._witness import witnessed
from pipeproof.campaign.targets.generator import Point, points_of
from pipeproof.campaign.targets.target import Told
from pipeproof.campaign.task import Json, Task
from pipeproof.errors import InputError, UnsupportedFeatureError
from pipeproof.ir.actions import Kind
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.spec_text import write_spec
from pipeproof.lowering.lower import lower
from pipeproof.proofs.asked import Effort

__all__ = ["KIND", "RLIMIT", "STATES", "Around", "perform"]

KIND = "witnessed"
"""The kind of task."""

STATES, RLIMIT = 200_000, 20_000_000
"""How far the explorer and the solver go for a mutant under a transport."""

_COMPUTED = (Kind.F, Kind.B, Kind.I, Kind.W)


class Around(NamedTuple):
    """The target: `mutants` of each mutation of the schedules in `bases`, and `beside` them.

    With `torch` its own checks are asked; `blames` tells that what they let through is a find.
    """

    bases: tuple[Point, ...]
    beside: tuple[Point, ...]
    mutants: int
    seed: int
    mutations: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    torch: bool = False
    blames: bool = False
    states: int = STATES
    rlimit: int = RLIMIT

    @classmethod
    def of(cls, campaign: Mapping[str, Json]) -> Self:
        """Return the target that a campaign says of itself."""
        numbers = {each: number_of(campaign, each) or 0 for each in _NUMBERS}
        return cls(
            bases=points_of(campaign["bases"]),
            beside=points_of(campaign["beside"]),
            mutants=numbers["mutants"],
            seed=numbers["seed"],
            mutations=names_of(campaign, "mutations"),
            transports=names_of(campaign, "transports"),
            torch=bool(numbers["torch"]),
            blames=bool(numbers["blames"]),
            states=numbers["states"],
            rlimit=numbers["rlimit"],
        )

    @property
    def campaign(self) -> Mapping[str, Json]:
        """All that the list of tasks follows from."""
        return {
            "target": "schedule",
            "bases": [each.told for each in self.bases],
            "beside": [each.told for each in self.beside],
            "mutations": list(self.mutations),
            "transports": list(self.transports),
            **{each: int(getattr(self, each)) for each in _NUMBERS},
        }

    def tasks(self) -> Iterator[Task]:
        """Yield the schedules as they are, those beside them, and then the mutants."""
        for each in (*self.bases, *self.beside):
            yield configured.configured(each.text, each.of, self.transports, self.states)
        schedules = [read(each.text).schedule for each in self.bases]
        for name in self.mutations or mutations():
            fits = [
                base
                for base, schedule in zip(self.bases, schedules, strict=True)
                if mutate(schedule, name, self.seed) is not None
            ]
            yield from self._mutants(name, fits)

    def _mutants(self, name: str, bases: list[Point]) -> Iterator[Task]:
        """Yield as many mutants as are asked for, of each schedule in turn."""
        for number in range(self.mutants if bases else 0):
            base = bases[number % len(bases)]
            body: dict[str, Json] = {
                "text": base.text,
                "of": dict(base.of),
                "mutation": name,
                "seed": self.seed + number // len(bases),
                "states": self.states,
                "rlimit": self.rlimit,
                "torch": int(self.torch),
            }
            if self.transports:
                body["transports"] = list(self.transports)
            yield Task(KIND, body)

    def further(self, rows: Iterable[Row]) -> Iterator[Task]:
        """Yield what minimises what was found."""
        found = list(rows)
        for each in configured.illegal(found):
            yield each.minimise
        for case in told(self._asking, found).cases:
            if case.rule and not case.minimised:
                yield configured.minimising(case.text, case.rule, case.transport)

    def told(self, rows: Iterable[Row]) -> Told:
        """Return what is said of mutants and of the configurations beside the schedules."""
        return told(self._asking, list(rows))

    @property
    def _asking(self) -> Asking:
        number = len(self.mutations or mutations())
        return Asking(KIND, len(self.bases), number, blames=self.blames)


_NUMBERS = ("mutants", "seed", "torch", "blames", "states", "rlimit")


def perform(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Make a mutant and have it judged twice.

    Returns:
        `applies`, 0 or 1; where it does `digest` of what it is, and what becomes of it: `fate`,
        `witness`, `rule`, `rules`, `transport`, `said`; and what `torch` says, where it is asked.
    """
    try:
        document = mutant(body)
    except (InputError, UnsupportedFeatureError):
        document = None
    if document is None:
        return {"applies": 0}
    effort = Effort(states=number_of(body, "states"), rlimit=number_of(body, "rlimit"))
    found = witnessed(document, names_of(body, "transports"), effort)
    answer: dict[str, Json] = {"applies": 1, **found.told}
    text = write_spec(document, None).encode("utf-8", "replace")
    answer["digest"] = hashlib.sha256(text).hexdigest()[:16]
    if number_of(body, "torch"):
        answer["torch"] = _torch(body)
    return answer


def _torch(body: Mapping[str, Json]) -> str:
    """Return what torch's own checks say of a mutant: lets through, finds, or `-`."""
    schedule = read(text_of(body, "text")).schedule
    changed = mutate(schedule, text_of(body, "mutation"), number_of(body, "seed") or 0)
    programs = None if changed is None else _programs(changed)
    if changed is None or programs is None:
        return "-"
    from pipeproof.execution.torch_validator import torch_says  # noqa: PLC0415  torch, when asked

    home = [int(rank) for rank in lower(schedule).placement]
    found = torch_says(programs, home, changed.microbatches)
    if found.lets_through:
        return "lets through"
    return f"{found.validate}, {found.simulate}"


def _programs(schedule: Schedule) -> list[list[str]] | None:
    """Return computations as torch writes them; None where torch has no word for something."""
    ops = replace(schedule.operations, torch_words=True)
    if ops.attributes or schedule.lowering == "as-written" or not ops.is_kind(*_COMPUTED).all():
        return None
    return [list(ops.program(rank)) for rank in range(schedule.ranks)]
