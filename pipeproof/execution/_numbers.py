"""Which version of each weight of a stage an operation reads, as numbers, in program order."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.actions import Kind

__all__ = ["ABSENT", "Names", "Numbers", "is_withdrawn", "withdrawn"]

ABSENT = -1  # a cache that was never filled holds no version
_WITHDRAWN = -2
_Said = Mapping[str, str]
_SPREAD = (0, 2, 1, 3)  # named parameters take the matrices first


def withdrawn(row: int) -> int:
    """Return what stands for the version of a STEP that is withdrawn later."""
    return _WITHDRAWN - row


def is_withdrawn(number: int) -> bool:
    """Whether a version is one that is withdrawn later."""
    return number <= _WITHDRAWN


class Names:
    """Which weights of the witness a parameter or a bucket of the file stands for."""

    def __init__(
        self, parameters: Sequence[str], buckets: Sequence[str], weights: int, *, rest: bool = True
    ) -> None:
        """Share the weights out, with `rest` some of them for what no parameter names.

        Raises:
            UnsupportedFeatureError: there are more names than weights.
        """
        if max(len(parameters) + rest - (not parameters), len(buckets)) > weights:
            message = f"a stage of the witness has {weights} weights, and the file names more"
            raise UnsupportedFeatureError(message)
        self.weights = range(weights)
        self.parameters, self.buckets = tuple(parameters), tuple(buckets)
        order = [*(k for k in _SPREAD if k < weights), *range(len(_SPREAD), weights)]
        shared = cycle(self.parameters) if not rest else self.parameters
        self._parameter = {k: name for name, k in zip(shared, order, strict=False)}

    def of_parameter(self, said: _Said) -> list[int]:
        """Return the weights that an operation is about."""
        name = said.get("param")
        if name is None:
            return list(self.weights)
        return [k for k in self.weights if self._parameter.get(k) == name]

    def of_bucket(self, bucket: str | None) -> list[int]:
        """Return the weights in a bucket, all of them without one."""
        if bucket is None or bucket not in self.buckets:
            return list(self.weights)
        return [k for k in self.weights if self.buckets[k % len(self.buckets)] == bucket]


class Numbers:
    """The versions of one stage's weights while its program runs.

    `current` holds the number of each weight, `first` what the first part of the forward of each
    microbatch read, `kept` what its forward read. A version that is withdrawn later has a number
    of its own (`withdrawn`); `below` holds the numbers that a ROLLBACK makes current again, and
    `last` the highest number that is not withdrawn.
    """

    def __init__(self, names: Names, *, gathers: bool) -> None:
        self.names = names
        self.current = [0 for _ in names.weights]
        self.last = list(self.current)
        self.below: list[list[int]] = [[] for _ in names.weights]
        self.gathered = list(self.current) if gathers else None
        self.cache = [ABSENT for _ in names.weights]
        self.kept: dict[int, dict[int, int]] = {}
        self.first: dict[int, dict[int, int]] = {}
        self._parts: dict[int, set[str]] = {}

    def step(self, said: _Said, lost: Mapping[int, int]) -> dict[int, int]:
        """Make the next version of the weights that a STEP is about; return their numbers.

        Args:
            said: what is written behind it.
            lost: the numbers of those that are withdrawn later.
        """
        made = {k: lost.get(k, self.last[k] + 1) for k in self.names.of_parameter(said)}
        for k, number in made.items():
            if k in lost:
                self.below[k].append(self.current[k])
            else:
                self.last[k] = number
            self.current[k] = number
        return made

    def withdraw(self, weights: Iterable[int]) -> None:
        """Make the versions before the last ones current again."""
        for k in weights:
            self.current[k] = self.below[k].pop()

    def gather(self, said: _Said) -> None:
        """Copy the current version of a bucket, or of all."""
        if self.gathered is not None:
            for k in self.names.of_bucket(said.get("bucket")):
                self.gathered[k] = self.current[k]

    def read(self, kind: Kind, microbatch: int, said: _Said) -> dict[int, int]:
        """Return the version that an operation reads of each weight; nothing under `w=none`."""
        about = self.names.of_parameter(said)
        if kind is Kind.F:
            about = [k for k in about if k in self.names.of_bucket(said.get("bucket"))]
        held = {k: number for k, number in self._seen(kind, microbatch, said).items() if k in about}
        if "fill" in said:
            for k, number in held.items():
                self.cache[k] = number
        if kind is Kind.F:
            self._keep(microbatch, held, said.get("bucket"))
        return held

    def _seen(self, kind: Kind, microbatch: int, said: _Said) -> dict[int, int]:
        which = said.get("w", "stash" if "wv" in said else "latest")
        if (which == "stash" and kind is Kind.F) or ("fill" in said and which == "cache"):
            which = "latest"
        match which:
            case "none":
                return {}
            case "cache":
                return dict(enumerate(self.cache))
            case "latest":
                now = self.current if self.gathered is None else self.gathered
                return dict(enumerate(now))
            case "stash" if "wv" not in said:
                return dict(self.kept.get(microbatch, dict.fromkeys(self.names.weights, ABSENT)))
            case _:
                number = int(said["wv"] if which == "stash" else which)
                return {k: self._numbered(k, number) for k in self.names.weights}

    def _numbered(self, k: int, number: int) -> int:
        """Return the version of a number, also where it is withdrawn later."""
        held = [*self.below[k], self.current[k]]
        above = number - self.last[k]
        base = held.index(self.last[k]) if self.last[k] in held else 0
        return held[base + above] if 0 < above < len(held) - base else number

    def _keep(self, microbatch: int, held: dict[int, int], bucket: str | None) -> None:
        parts = self._parts.get(microbatch)
        if bucket is None or parts is None or bucket in parts:
            self.kept[microbatch], self._parts[microbatch] = dict(held), set()
            self.first[microbatch] = dict(held)
        self.kept[microbatch].update(held)
        if bucket is not None:
            self._parts[microbatch].add(bucket)

    def keep_read(self, microbatch: int, held: Mapping[int, int]) -> None:
        """Note what the first operation that stands read, where no forward does."""
        self.first.setdefault(microbatch, dict(held))
        self.kept.setdefault(microbatch, dict(held))
