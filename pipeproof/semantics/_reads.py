"""What operations read that name what they read, or read what is current: no state to follow."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import IntArray
from pipeproof.semantics._weights import Ledger

__all__ = ["READERS", "Plain", "Reads", "at_home", "identified", "plain_reads"]

READERS = (Kind.F, Kind.B, Kind.I, Kind.W, Kind.R)
_Flags = npt.NDArray[np.bool_]


class Reads(NamedTuple):
    """What is read: row `rows[k]` reads `versions[k]`, both shape `(n,)`.

    Rows ascend. A row stands more than once where it reads several weights, or a weight of which
    it reads several versions.
    """

    rows: IntArray
    versions: IntArray


class Plain(NamedTuple):
    """Stages that only step: the rows of their STEPs by stage, and the weight of each.

    The versions of STEPs are numbered from `base` on, those of one stage without a gap; `first`
    is the first weight of each stage.
    """

    steps: IntArray
    owner: IntArray
    base: int
    first: IntArray

    @property
    def numbers(self) -> IntArray:
        """The number of the version that each STEP makes."""
        return np.asarray(np.arange(len(self.steps)) - np.searchsorted(self.owner, self.owner) + 1)


def at_home(run: AsRun) -> _Flags:
    """Return which rows are of a stage that lives on their rank."""
    ops = run.operations
    known = (ops.stage >= 0) & (ops.stage < run.schedule.stages)
    home = np.asarray((*run.placement, -1))
    return np.asarray(known & (home[np.where(known, ops.stage, -1)] == ops.rank))


def identified(run: AsRun) -> _Flags:
    """Return which rows at home name a microbatch that exists."""
    ops = run.operations
    return at_home(run) & (ops.microbatch >= 0) & (ops.microbatch < run.microbatches)


def plain_reads(run: AsRun, rows: IntArray, plain: Plain, ledger: Ledger) -> tuple[Reads, bool]:
    """Return what `rows` read: the version after the STEPs before them, or what they name.

    And whether some of them name what they read.
    """
    ops = run.operations
    owner = plain.first[ops.stage[rows]]
    count = np.zeros(len(rows), np.int64)
    low = count
    if len(plain.steps):
        size = len(ops) + 1
        keys = plain.owner * size + plain.steps
        low = np.searchsorted(keys, owner * size)
        count = np.searchsorted(keys, owner * size + rows) - low
    versions = np.where(count > 0, plain.base + low + count - 1, owner)
    named = _Named(run, rows)
    if not named.any:
        return Reads(rows, versions), False
    at, number = named.numbers
    there = number <= count[at]
    found = np.where(number > 0, plain.base + low[at] + number - 1, owner[at])
    versions[at[there]] = found[there]
    absent: dict[tuple[int, int], int] = {}
    for place, asked in zip(at[~there].tolist(), number[~there].tolist(), strict=True):
        key = (int(owner[place]), asked)
        if key not in absent:
            absent[key] = ledger.make(*key, -1, absent=True)
        versions[place] = absent[key]
    return named.stashed(versions), True


class _Named:
    """The reads among `rows` that say which version they read."""

    def __init__(self, run: AsRun, rows: IntArray) -> None:
        self.ops, self.rows = run.operations, rows
        self.total = run.microbatches
        kinds = self.ops.kind[rows].tolist() if self.ops.attributes else []
        self.none: list[int] = []
        self.stash: list[int] = []
        self.named: list[tuple[int, int]] = []
        attributes = self.ops.attributes
        for at, (row, kind) in enumerate(zip(rows.tolist(), kinds, strict=False)):
            said = attributes.get(row)
            if said is not None:
                self._note(at, kind, said.get("w"), said.get("wv"))

    def _note(self, at: int, kind: int, which: str | None, claimed: str | None) -> None:
        which = which or ("latest" if claimed is None else "stash")
        if which == "none":
            self.none.append(at)
        elif which == "stash" and claimed is not None:
            self.named.append((at, int(claimed)))
        elif which == "stash" and kind != Kind.F:
            self.stash.append(at)
        elif which not in ("latest", "stash"):
            self.named.append((at, int(which)))

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self.none or self.stash or self.named)

    @property
    def numbers(self) -> tuple[IntArray, IntArray]:
        """Where a number is named, and which."""
        pairs = np.asarray(self.named, np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def stashed(self, versions: IntArray) -> Reads:
        """Give stashes what the forward before them read; drop what reads nothing."""
        ops, rows, stash = self.ops, self.rows, np.asarray(self.stash, np.int64)
        own = (ops.stage[rows] * self.total + ops.microbatch[rows]) * (len(ops) + 1)
        forwards = np.flatnonzero(ops.is_kind(Kind.F)[rows])
        forwards = forwards[np.argsort((own + rows)[forwards], kind="stable")]
        keep = np.ones(len(rows), np.bool_)
        keep[self.none] = False
        if len(stash):
            place = np.searchsorted((own + rows)[forwards], (own + rows)[stash]) - 1
            there = place >= 0
            there[there] = own[forwards[place[there]]] == own[stash[there]]
            versions[stash[there]] = versions[forwards[place[there]]]
            keep[stash[~there]] = False
            keep[stash[there]] = keep[forwards[place[there]]]
        return Reads(rows[keep], versions[keep])
