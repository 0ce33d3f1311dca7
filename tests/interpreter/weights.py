"""Which version of its weights every operation of a stage reads."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.interpreter.program import Instruction
    from tests.interpreter.spec import Spec

READERS = ("F", "R", "B", "I", "W")


class Version(NamedTuple):
    """A version: its number, and how many of that number were made before it."""

    number: int
    generation: int = 0


START = Version(0)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one operation reads: pairs of a parameter and a version.

    Attributes:
        known: The version exists, and the cache that is read was filled.
    """

    step: Instruction
    position: int
    versions: frozenset[tuple[str, Version]]
    known: bool = True

    def of(self, parameter: str) -> set[Version]:
        """The versions of one parameter."""
        return {version for name, version in self.versions if name == parameter}


@dataclass(slots=True)
class Fate:
    """A STEP: what it makes, and where that is committed or withdrawn (-1: nowhere)."""

    step: Instruction
    position: int
    made: dict[str, Version]
    found: dict[str, Version]
    settled: int = -1
    withdrawn: bool = False


@dataclass(slots=True)
class Copies:
    """Gathered copies, the cache, and what forwards read, for one stage."""

    gathered: dict[str, dict[str, Version]] = field(default_factory=dict)
    everywhere: dict[str, Version] = field(default_factory=dict)
    cache: frozenset[tuple[str, Version]] | None = None
    stash: dict[int, frozenset[tuple[str, Version]]] = field(default_factory=dict)


class StageWeights:
    """The weights of one stage, from the first instruction of its rank to the last.

    Attributes:
        readings: What operations read, in program order.
        fates: Its STEPs, in program order.
        end: The number of instructions of its rank.
        closers: Its STEPs and SKIPs that are not withdrawn, each with what was current.
    """

    def __init__(self, spec: Spec, stage: int) -> None:
        self.program = [
            (position, step)
            for position, step in enumerate(spec.of_stage(stage))
            if step.stage == stage
        ]
        self.end = len(spec.of_stage(stage))
        named = {s.get("param") for _, s in self.program if s.kind == "STEP"} - {""}
        self.parameters = sorted(named) or [""]
        self.buckets = sorted({s.get("bucket") for _, s in self.program} - {""}) or [""]
        self.gathers = any(step.kind == "GATHER" for _, step in self.program)
        self.chain = {name: [START] for name in self.parameters}
        self.counts: dict[tuple[str, int], int] = defaultdict(int)
        self.copies = Copies(everywhere=dict.fromkeys(self.parameters, START))
        self.readings: list[Reading] = []
        self.fates: list[Fate] = []
        self.marks: list[tuple[Instruction, int, dict[str, Version]]] = []
        for position, step in self.program:
            self._take(position, step)
        gone = {fate.position for fate in self.fates if fate.withdrawn}
        self.closers = [mark for mark in self.marks if mark[1] not in gone]

    @property
    def current(self) -> dict[str, Version]:
        """The current version of each parameter."""
        return {name: versions[-1] for name, versions in self.chain.items()}

    def _take(self, position: int, step: Instruction) -> None:
        match step.kind:
            case "STEP":
                self.marks.append((step, position, self.current))
                self._update(position, step)
            case "SKIP":
                self.marks.append((step, position, self.current))
            case "COMMIT":
                for fate in self.fates:
                    fate.settled = position if fate.settled < 0 else fate.settled
            case "ROLLBACK":
                self._withdraw(position)
            case "GATHER":
                self._gather(step.get("bucket"))
            case kind if kind in READERS and step.get("w") != "none":
                self._read(position, step)
            case _:
                pass

    def _update(self, position: int, step: Instruction) -> None:
        found, made = self.current, {}
        for name in self.parameters:
            if step.get("param") in ("", name):
                number = found[name].number + 1
                made[name] = Version(number, self.counts[name, number])
                self.counts[name, number] += 1
                self.chain[name].append(made[name])
        self.fates.append(Fate(step, position, made, found))

    def _withdraw(self, position: int) -> None:
        for fate in reversed(self.fates):
            if fate.settled < 0:
                fate.settled, fate.withdrawn = position, True
                for name in fate.made:
                    self.chain[name].pop()
                return

    def _gather(self, bucket: str) -> None:
        if bucket:
            self.copies.gathered[bucket] = self.current
        else:
            self.copies.gathered, self.copies.everywhere = {}, self.current

    def _read(self, position: int, step: Instruction) -> None:
        how, copies, known = step.get("w") or "latest", self.copies, True
        mine = [name for name in self.parameters if step.get("param") in ("", name)]
        mine = mine or self.parameters
        if how == "stash":
            how = step.get("wv") or how
        if step.get("fill") == "1":
            copies.cache = frozenset(self.current.items())
        if how.isdigit():
            known = all(int(how) < len(self.chain[name]) for name in mine)
            found = frozenset((name, self._numbered(name, int(how))) for name in mine)
        elif how == "stash":
            found = copies.stash.get(step.microbatch, frozenset())
        elif how == "cache":
            known, found = copies.cache is not None, copies.cache or frozenset()
        else:
            found = frozenset(self._latest(step.get("bucket"), mine))
        if step.kind == "F":
            copies.stash[step.microbatch] = found
        self.readings.append(Reading(step, position, found, known))

    def _numbered(self, name: str, number: int) -> Version:
        chain = self.chain[name]
        return chain[number] if number < len(chain) else Version(number)

    def _latest(self, bucket: str, mine: Iterable[str]) -> Iterable[tuple[str, Version]]:
        for name in mine:
            if not self.gathers:
                yield name, self.current[name]
                continue
            for part in [bucket] if bucket else self.buckets:
                yield name, self.copies.gathered.get(part, self.copies.everywhere)[name]

    def withdrawn(self, reading: Reading) -> bool:
        """Whether an operation read a version that is withdrawn at some time."""
        gone = {item for fate in self.fates if fate.withdrawn for item in fate.made.items()}
        return bool(gone & reading.versions)

    def uncommitted(self, reading: Reading) -> bool:
        """Whether an operation read a version that was not committed yet."""
        return any(
            fate.position < reading.position < fate.settled
            and not reading.versions.isdisjoint(fate.made.items())
            for fate in self.fates
        )


def observed(stages: Iterable[StageWeights]) -> dict[str, str]:
    """What each operation reads, by its identity and how often it stood before."""
    found: dict[str, str] = {}
    for weights in stages:
        counts: dict[str, int] = defaultdict(int)
        for reading in weights.readings:
            name = reading.step.identity
            text = " ".join(
                f"{parameter}@{version.number}.{version.generation}"
                for parameter, version in sorted(reading.versions)
            )
            found[f"{name} #{counts[name]}"] = text if reading.known else f"unknown {text}"
            counts[name] += 1
    return found
