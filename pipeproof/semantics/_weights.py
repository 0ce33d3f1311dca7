"""The weights of one stage, followed along its program: steps, copies, caches, withdrawals."""

from collections.abc import Iterator, Mapping

from pipeproof.ir.actions import Kind
from pipeproof.ir.operations import NONE
from pipeproof.semantics._open_steps import OpenSteps

__all__ = ["Followed", "Ledger"]

_Said = Mapping[str, str]
_Held = dict[int, tuple[int, ...]]
"""The versions of each weight that a copy holds or an operation read."""


class Ledger:
    """Versions as they are made, one element each in every list.

    `weight` it is a version of, its `number`, the row of the STEP that `made` it, the row that
    `settled` it (its own where it is committed at once), and whether it was `withdrawn`, or is
    `absent`: named by an operation and not there.
    """

    def __init__(self, base: int) -> None:
        self.base = base
        self.weight: list[int] = []
        self.number: list[int] = []
        self.made: list[int] = []
        self.settled: list[int] = []
        self.withdrawn: list[bool] = []
        self.absent: list[bool] = []

    def make(self, weight: int, number: int, row: int, *, absent: bool = False) -> int:
        """Enter a version and return its index."""
        self.weight.append(weight)
        self.number.append(number)
        self.made.append(row)
        self.settled.append(row)
        self.withdrawn.append(False)
        self.absent.append(absent)
        return self.base + len(self.weight) - 1

    def settle(self, version: int, row: int, *, withdrawn: bool) -> None:
        """Note that a version is committed or withdrawn at `row`."""
        self.settled[version - self.base] = row
        self.withdrawn[version - self.base] = withdrawn

    def is_withdrawn(self, version: int) -> bool:
        """Whether a version was withdrawn; the first version of a weight never is."""
        return version >= self.base and self.withdrawn[version - self.base]


class Followed:
    """One stage, its instructions taken one by one in the order of its program.

    `weights` are its parameters by name, with the index of each weight, which is the index of
    its first version too. `buckets` are the parts that it gathers, none without a GATHER.
    `reads` collects (row, version), `changes` (weight, row, version now current), `empty` the rows
    that read a cache which was never filled, `lost` (weight, STEP) of what was withdrawn.
    """

    def __init__(
        self, weights: Mapping[str, int], buckets: tuple[str, ...], ledger: Ledger
    ) -> None:
        self.weights = weights
        self.ledger = ledger
        self.lineage = {weight: [weight] for weight in weights.values()}
        self.gathered: dict[str, _Held] = {bucket: self._current() for bucket in buckets}
        self.cache: _Held = {}
        self.kept: dict[int, tuple[_Held, set[str]]] = {}
        self.open = OpenSteps[int]()
        self.named: dict[tuple[int, int], int] = {}
        self.reads: list[tuple[int, int]] = []
        self.changes: list[tuple[int, int, int]] = []
        self.empty: list[int] = []
        self.lost: list[tuple[int, int]] = []

    def take(self, row: int, kind: Kind, microbatch: int, said: _Said) -> None:
        """Take the next instruction of the stage."""
        match kind:
            case Kind.STEP:
                self._step(row, said)
            case Kind.SKIP:
                self.open.take(self._names(said), {}, single="param" in said)
            case Kind.COMMIT:
                for version in self.open.commit(self._part(said)):
                    self.ledger.settle(version, row, withdrawn=False)
            case Kind.ROLLBACK:
                self._roll_back(row, self._part(said))
            case Kind.GATHER:
                self._gather(said)
            case _:
                self._read(row, kind, microbatch, said)

    def concerned(self, said: _Said) -> list[int]:
        """Return the weights that an instruction is about: those of its `param`, or all."""
        name = said.get("param")
        if name is None:
            return list(self.weights.values())
        own = self.weights.get(name, self.weights.get("", NONE))
        return [own] if own != NONE else []

    def _current(self) -> _Held:
        return {weight: (line[-1],) for weight, line in self.lineage.items()}

    def _names(self, said: _Said) -> list[str]:
        concerned = self.concerned(said)
        return [name for name, weight in self.weights.items() if weight in concerned]

    def _part(self, said: _Said) -> str:
        """Return the parameter that is committed or withdrawn, empty for all of a step."""
        return said.get("param", "")

    def _step(self, row: int, said: _Said) -> None:
        """Make the next version; STEPs of different parameters are parts of one step."""
        made: dict[str, int] = {}
        for name in self._names(said):
            weight = self.weights[name]
            line = self.lineage[weight]
            made[name] = self.ledger.make(weight, len(line), row)
            line.append(made[name])
            self.changes.append((weight, row, made[name]))
        self.open.take(tuple(made), made, single="param" in said)

    def _roll_back(self, row: int, name: str) -> None:
        for part, version in self.open.withdraw(name).items():
            weight = self.weights[part]
            self.ledger.settle(version, row, withdrawn=True)
            self.lost.append((weight, self.ledger.made[version - self.ledger.base]))
            line = self.lineage[weight]
            line.remove(version)
            self.changes.append((weight, row, line[-1]))

    def _gather(self, said: _Said) -> None:
        bucket = said.get("bucket")
        for name in self.gathered if bucket is None else (bucket,):
            self.gathered[name] = self._current()

    def _read(self, row: int, kind: Kind, microbatch: int, said: _Said) -> None:
        which = said.get("w", "stash" if "wv" in said else "latest")
        if kind is Kind.F and which == "stash":
            which = "latest"  # a forward stashes what it reads itself
        filling = "fill" in said and which in ("latest", "cache")
        held = self._seen("latest" if filling else which, microbatch, said)
        if which == "cache" and not filling and not held:
            self.empty.append(row)
        if "fill" in said:
            self.cache = dict(held)
        if kind is Kind.F:
            self._keep(microbatch, held, said.get("bucket"))
        for weight in self.concerned(said):
            self.reads.extend((row, version) for version in held.get(weight, ()))

    def _seen(self, which: str, microbatch: int, said: _Said) -> _Held:
        """Return the versions of each weight that are read."""
        match which:
            case "none":
                return {}
            case "cache":
                return self.cache
            case "latest":
                return self._copies(said) if self.gathered else self._current()
            case "stash" if "wv" not in said:
                return self.kept.get(microbatch, ({}, set()))[0]
            case _:
                number = int(said["wv"] if which == "stash" else which)
                return {weight: (self._numbered(weight, number),) for weight in self.lineage}

    def _copies(self, said: _Said) -> _Held:
        """Return what the gathered copy holds: of one bucket, or of all."""
        bucket = said.get("bucket")
        parts = self.gathered.values() if bucket is None else (self.gathered[bucket],)
        held: dict[int, dict[int, None]] = {weight: {} for weight in self.lineage}
        for part in parts:
            for weight, versions in part.items():
                held[weight].update(dict.fromkeys(versions))
        return {weight: tuple(versions) for weight, versions in held.items()}

    def _numbered(self, weight: int, number: int) -> int:
        """Return the version of that number, an absent one where there is none yet."""
        line = self.lineage[weight]
        if number < len(line):
            return line[number]
        key = (weight, number)
        if key not in self.named:
            self.named[key] = self.ledger.make(weight, number, NONE, absent=True)
        return self.named[key]

    def _keep(self, microbatch: int, held: _Held, bucket: str | None) -> None:
        """Note what a forward read; parts of one forward count as their first."""
        first, parts = self.kept.get(microbatch, ({}, set()))
        counts = not any(map(self.ledger.is_withdrawn, _flat(first)))
        if bucket is not None and parts and bucket not in parts and counts:
            parts.add(bucket)
        else:
            self.kept[microbatch] = (dict(held), {bucket} if bucket is not None else set())


def _flat(held: _Held) -> Iterator[int]:
    for versions in held.values():
        yield from versions
