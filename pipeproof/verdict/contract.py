"""What each update of the weights is: of which version the gradient, and applied to which."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import NONE
from pipeproof.semantics.updates import (
    Policy,
    applied_to,
    evaluations,
    next_end,
    policy_of,
    whole,
)
from pipeproof.semantics.versions import READERS, Versions, versions_of

__all__ = ["CONVERGENCE", "Contract", "Evaluated", "Part", "Update", "contract"]

CONVERGENCE = (
    "Convergence and quality are those of this algorithm, not of synchronous training, "
    "and must be evaluated as such."
)
_END = "end of program"
_MIXED = "invalid mixed-version derivative"


class Evaluated(NamedTuple):
    """The microbatches whose contributions were evaluated at these versions of one stage."""

    versions: tuple[int, ...]
    microbatches: tuple[int, ...]


class Part(NamedTuple):
    """What an update does to one stage, or to one parameter of it.

    `delays` are the least and most updates between the oldest version read and the one that is
    changed, empty where nothing was added.
    """

    stage: int
    parameter: str
    rank: int
    position: int
    operation: str
    skipped: bool
    applied_to: int
    evaluated: tuple[Evaluated, ...]
    delays: tuple[int, ...]


class Update(NamedTuple):
    """One update of all stages: the k-th STEP or SKIP of each of them.

    `kind` says in words what the gradient is. It is `one_vector` where it was evaluated at one
    version, the same at all stages for all microbatches.
    """

    number: int
    implicit: bool
    kind: str
    one_vector: bool
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Contract:
    """All updates of a schedule, and what is assumed of the versions that they read.

    `left` are stages with the microbatches whose contributions no update takes.
    """

    policy: Policy
    updates: tuple[Update, ...]
    left: tuple[tuple[int, tuple[int, ...]], ...]
    assumes: tuple[str, ...]
    steps: int | Literal["any"]

    @property
    def convergence(self) -> str | None:
        """What must be said of every algorithm that does not flush."""
        return None if self.policy.name == "flush" else CONVERGENCE


def contract(run: AsRun) -> Contract:
    """Return the contract of the updates in the first copy of `run`.

    Where no STEP stands, the step ends with the programs: one update, which is implicit.
    """
    versions, policy = versions_of(run), policy_of(run.schedule)
    taking = _Taking(versions)
    steps = run.schedule.steps
    return Contract(
        policy=policy,
        updates=tuple(taking.updates()),
        left=tuple(taking.left()),
        assumes=_assumed(run, policy),
        steps="any" if steps is None else steps,
    )


def _assumed(run: AsRun, policy: Policy) -> tuple[str, ...]:
    kept = (
        "every version that is read later is retained"
        if policy.slots is None
        else f"{policy.slots} versions of each stage's weights are retained at once (PP604)"
    )
    again = "what F kept is reconstructed by R with the version that F read (PP802)"
    return (kept, again) if np.any(run.operations.is_kind(Kind.R)) else (kept,)


class _Taking:
    """The contributions of a run, by the update that takes them.

    `taken` holds the microbatches that a weight has from its contributions to each STEP or SKIP;
    those of the end of the programs stand under NONE.
    """

    def __init__(self, versions: Versions) -> None:
        self.versions = versions
        self.ops = versions.run.operations
        self.implicit = not np.any(self.ops.is_kind(Kind.STEP, Kind.SKIP))
        self.read = _read(versions)
        self.broken = _broken(versions, self.read)
        self.numbers = _changed(versions)
        rows, weights = versions.adds
        self.taken: dict[tuple[int, int], dict[int, None]] = {}
        for weight, end, microbatch in zip(
            weights.tolist(),
            next_end(versions, weights, rows).tolist(),
            whole(versions, rows).tolist(),
            strict=True,
        ):
            self.taken.setdefault((weight, end), {})[microbatch] = None

    def updates(self) -> Iterator[Update]:
        """Yield every update, in order."""
        if self.implicit:
            ends = sorted(self.taken)
            if ends:
                yield self._update(0, ends)
            return
        turns: dict[int, list[tuple[int, int]]] = {}
        seen: dict[int, int] = {}
        weights, rows = self.versions.ends
        for weight, row in zip(weights.tolist(), rows.tolist(), strict=True):
            turn = seen.get(weight, 0)
            seen[weight] = turn + 1
            turns.setdefault(turn, []).append((weight, row))
        for turn, parts in sorted(turns.items()):
            yield self._update(turn, parts)

    def left(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the stages of whose contributions some stand behind the last update."""
        for (weight, end), microbatches in sorted(self.taken.items()):
            if end == NONE and not self.implicit:
                yield int(self.versions.stage[weight]), tuple(sorted(microbatches))

    def _update(self, number: int, ends: list[tuple[int, int]]) -> Update:
        parts = tuple(self._part(weight, row) for weight, row in ends)
        microbatches = {m for weight, row in ends for m in self.taken.get((weight, row), ())}
        read = self._vectors(microbatches)
        skipped = all(part.skipped for part in parts)
        kind = "left out" if skipped else self._kind(parts, microbatches)
        return Update(number, self.implicit, kind, len(read) == 1, parts)

    def _vectors(self, microbatches: set[int]) -> set[int]:
        stages = range(self.versions.run.schedule.stages)
        first = self.versions.weights_of_stage.tolist()
        return {
            number
            for stage in stages
            for weight in range(first[stage], first[stage + 1])
            for microbatch in microbatches
            for number in self.read.get((weight, microbatch), ())
        }

    def _kind(self, parts: tuple[Part, ...], microbatches: set[int]) -> str:
        delays = [delay for part in parts for delay in part.delays]
        if microbatches & self.broken:
            return _MIXED
        if not delays:
            return "nothing was added"
        low, high = min(delays), max(delays)
        if low == high == 0:
            return "valid fixed version"
        if low < 0:
            return "valid gradient of newer weights than it changes"
        return f"valid but stale gradient, delay {low if low == high else f'{low} to {high}'}"

    def _part(self, weight: int, row: int) -> Part:
        versions, run = self.versions, self.versions.run
        stage = int(versions.stage[weight])
        current = self.numbers[weight, row]
        groups: dict[tuple[int, ...], list[int]] = {}
        for microbatch in self.taken.get((weight, row), ()):
            read = self.read.get((weight, microbatch))
            if read is not None:
                groups.setdefault(tuple(sorted(read)), []).append(microbatch)
        oldest = [current - read[0] for read in groups]
        rank = run.placement[stage]
        return Part(
            stage=stage,
            parameter=versions.names[weight],
            rank=rank,
            position=self._position(rank, row),
            operation=run.spelled.text(int(run.base[row])) if row >= 0 else _END,
            skipped=row >= 0 and bool(self.ops.kind[row] == Kind.SKIP),
            applied_to=current,
            evaluated=tuple(
                Evaluated(read, tuple(sorted(own))) for read, own in sorted(groups.items())
            ),
            delays=(min(oldest), max(oldest)) if oldest else (),
        )

    def _position(self, rank: int, row: int) -> int:
        written = self.versions.run.schedule.operations
        if row >= 0:
            return int(written.position[self.versions.run.written[row]])
        own = written.position[written.rank == rank]
        return int(own.max(initial=-1)) + 1


def _changed(versions: Versions) -> Mapping[tuple[int, int], int]:
    """Return the number that each STEP or SKIP finds of a weight, and the end of the programs."""
    every = np.arange(len(versions.stage))
    weights = np.concatenate((versions.ends.weights, every))
    rows = np.concatenate((versions.ends.rows, np.full(len(every), NONE)))
    found = applied_to(versions, rows, weights)
    return dict(zip(zip(weights.tolist(), rows.tolist(), strict=True), found.tolist(), strict=True))


def _read(versions: Versions) -> Mapping[tuple[int, int], set[int]]:
    """Return the numbers read of each weight for each microbatch, in the first copy."""
    at = evaluations(versions, *READERS)
    read = versions.reads.versions[at]
    found: dict[tuple[int, int], set[int]] = {}
    for weight, microbatch, number in zip(
        versions.weight[read].tolist(),
        whole(versions, versions.reads.rows[at]).tolist(),
        versions.number[read].tolist(),
        strict=True,
    ):
        found.setdefault((weight, microbatch), set()).add(number)
    return found


def _broken(versions: Versions, read: Mapping[tuple[int, int], set[int]]) -> set[int]:
    """Return the microbatches for which a stage mixes versions, or reads an empty cache."""
    mixed = {microbatch for (_, microbatch), numbers in read.items() if len(numbers) > 1}
    return mixed | set(whole(versions, versions.empty).tolist())
