"""What is wrong with the contents of accumulators where they are used."""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.ir.sets import distinct
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._accumulators import Held, Interpretation, Share, Use
from pipeproof.semantics.relations._asked import Asked
from pipeproof.semantics.relations._faults import Item, Used
from pipeproof.semantics.relations._plain import Counts
from pipeproof.semantics.relations._uncounted import counting
from pipeproof.semantics.relations._windows import param_of

__all__ = ["judge_contents"]


class _Own(NamedTuple):
    """What a stage adds, anywhere in its program: rows and parameters by microbatch."""

    rows: dict[int, list[tuple[int, str]]]
    whole: bool
    names: frozenset[str]
    stepped: frozenset[str]
    elsewhere: frozenset[int]

    def adds(self, microbatch: int, name: str, behind: int = -1) -> bool:
        """Whether a contribution of the microbatch to a parameter stands behind a row."""
        added = self.rows.get(microbatch, ())
        return any(row > behind and param in ("", name) for row, param in added)

    def is_asked(self, name: str) -> bool:
        """Whether contributions to a parameter are asked for."""
        if not self.rows and not name:
            return True
        return self.whole or name in self.names or name in self.stepped


class _Contents:
    def __init__(
        self, frame: Frame, asked: Asked, found: Interpretation, untied: set[Used], counts: Counts
    ) -> None:
        self.frame, self.asked, self.found = frame, asked, found
        self.untied, self.counts = untied, counts
        self.own = {use.stage: _own(frame, asked, use.stage) for use in found.uses}
        self.runs = {stage: asked.runs_through(stage) for stage in self.own}
        self.sums = {
            (use.stage, held.name, held.turn): _by_origin(held)
            for use in found.uses
            for held in use.held
        }
        self.early = {
            (use.stage, held.turn)
            for use in found.uses
            for held in use.held
            if Used(use.stage, use.row) in untied
        }
        self.taken: set[tuple[int, str, int]] = set()

    def judge(self) -> None:
        for use in self.found.uses:
            for held in use.held:
                if self.asked.each_update:
                    self._judge_update(use, held)
                else:
                    self._judge_step(use, held)
                self._judge_brought(use, held)

    def _due(self, use: Use, held: Held) -> Iterator[int]:
        """Yield the microbatches that are due in an accumulator: of its step, at the end of all."""
        own, asked = self.own[use.stage], self.asked
        if not own.is_asked(held.name) or held.turn >= asked.steps:
            return
        until = held.turn + 1 if use.row >= 0 else asked.steps
        for microbatch in range(held.turn * asked.per_step, until * asked.per_step):
            if self.frame.fragment:
                due = microbatch in own.rows
            else:
                due = bool(self.runs[use.stage][microbatch]) and microbatch not in own.elsewhere
            if due:
                yield microbatch

    def _judge_step(self, use: Use, held: Held) -> None:
        have = _by_origin(held)
        if held.turn >= self.asked.steps and not self.frame.fragment and use.row >= 0:
            self._judge_surplus(use, held)
        due = set[int]()
        for microbatch in self._due(use, held):
            due.add(microbatch)
            self.counts.lost.instances += 1
            shares = have.get((use.stage, microbatch), [])
            late = use.row >= 0 and self._stands_behind(use, held, microbatch)
            if shares:
                self._judge_shares(use, held, shares, late=late)
            elif not late and self.asked.coefficient(microbatch) != 0:
                self._lose(use, held, microbatch)
        for (stage, microbatch), shares in have.items():
            if stage == use.stage and microbatch not in due:
                self._report_foreign(use, held, microbatch, shares)

    def _judge_surplus(self, use: Use, held: Held) -> None:
        """A STEP beyond those covered has nothing to take."""
        if held.added < 0 and self.own[use.stage].is_asked(held.name):
            item = Item(held.turn * self.asked.per_step, self.asked.surplus, held.name)
            self.counts.lost.add(Used(use.stage, use.row), item)

    def _report_foreign(self, use: Use, held: Held, microbatch: int, shares: list[Share]) -> None:
        step = microbatch // self.asked.per_step
        on_time = held.turn == step or (use.row < 0 and step > held.turn)
        if on_time and microbatch in self.own[use.stage].elsewhere:
            self._judge_shares(use, held, shares, late=False)
            return
        why = "another pipeline runs it" if on_time else f"it belongs to step {step}"
        self.counts.wrong.add(Used(use.stage, use.row), Item(microbatch, why, held.name))

    def _stands_behind(self, use: Use, held: Held, microbatch: int) -> bool:
        return self.own[use.stage].adds(microbatch, held.name, use.row)

    def _lose(self, use: Use, held: Held, microbatch: int, stage: int = -1) -> None:
        row = held.lost.get((use.stage if stage < 0 else stage, microbatch))
        if row is None:
            taken = self.own[use.stage].adds(microbatch, held.name)
            why = "an earlier step took it" if taken else "no B or W adds it"
        elif self.frame.ops.kind[row] == Kind.ZERO:
            why = f"{self.frame.text(row)} cleared it"
        else:
            why = f"{self.frame.text(row)} overwrote it"
        self.counts.lost.add(Used(use.stage, use.row), Item(microbatch, why, held.name, stage))

    def _judge_shares(self, use: Use, held: Held, shares: list[Share], *, late: bool) -> None:
        """Judge what stands of one microbatch: once, in parts that add up to what is asked."""
        self.counts.repeated.instances += 1
        self.counts.wrong.instances += 1
        used, microbatch, origin = Used(use.stage, use.row), shares[0].microbatch, shares[0].stage
        asked = self.asked.coefficient(microbatch)
        if len(shares) > 1 and not all(self._is_part(share.row) for share in shares):
            said = [self.frame.text(share.row) for share in shares]
            why = f"added by {', '.join(said[:-1])} and {said[-1]}"
            self.counts.repeated.add(used, Item(microbatch, why, held.name, origin))
            return
        total = _total(shares)
        if total == asked or (late and all(self._is_part(share.row) for share in shares)):
            return
        times = max(share.times for share in shares)
        if times > 1:
            said = [self.frame.text(share.row) for share in shares]
            why = f"TIEs summed up {' and '.join(said)} {times} times"
            self.counts.repeated.add(used, Item(microbatch, why, held.name, origin))
        else:
            why = f"{total} instead of {asked}"
            self.counts.wrong.add(used, Item(microbatch, why, held.name, origin))

    def _is_part(self, row: int) -> bool:
        return "c" in self.frame.ops.attributes.get(row, {})

    def _judge_update(self, use: Use, held: Held) -> None:
        """Judge an accumulator that a STEP takes at every microbatch: whatever came, each once."""
        have = {
            microbatch: shares
            for (stage, microbatch), shares in _by_origin(held).items()
            if stage == use.stage
        }
        if use.row < 0 and use.stepped:
            for microbatch in () if self.frame.fragment else have:
                item = Item(microbatch, "no STEP takes it", held.name)
                self.counts.lost.add(Used(use.stage, use.row), item)
            return
        for microbatch, shares in have.items():
            key = (use.stage, held.name, microbatch)
            if key in self.taken and not all(self._is_part(share.row) for share in shares):
                item = Item(microbatch, "an earlier STEP took it", held.name)
                self.counts.repeated.add(Used(use.stage, use.row), item)
            self.taken.add(key)
            self._judge_shares(use, held, shares, late=False)
        self.counts.lost.instances += len(have)
        for stage, microbatch in held.lost:
            late = use.row >= 0 and self._stands_behind(use, held, microbatch)
            if stage == use.stage and microbatch not in have and not late:
                self._lose(use, held, microbatch)

    def _judge_brought(self, use: Use, held: Held) -> None:
        """Judge what TIEs brought of other copies, unless those are to blame themselves."""
        have = _by_origin(held)
        for (stage, microbatch), shares in have.items():
            if stage == use.stage or (stage, held.turn) in self.early:
                continue
            theirs = self.sums.get((stage, held.name, held.turn), {})
            if _total(theirs.get((stage, microbatch), [])) != _total(shares):
                self._judge_shares(use, held, shares, late=False)
        for stage, microbatch in held.lost:
            missing = stage != use.stage and (stage, microbatch) not in have
            if missing and self.asked.coefficient(microbatch) != 0:
                self._lose(use, held, microbatch, stage)


def _own(frame: Frame, asked: Asked, stage: int) -> _Own:
    ops = frame.ops
    mine = (ops.stage == stage) & (frame.run.copy == 0)
    known = mine & ops.is_kind(Kind.B, Kind.W) & (ops.microbatch >= 0)
    known &= ops.microbatch < asked.total
    home = ops.rank == frame.run.placement[stage]
    rows: dict[int, list[tuple[int, str]]] = {}
    for row in counting(frame, np.flatnonzero(known & home)).tolist():
        rows.setdefault(int(ops.microbatch[row]), []).append((row, param_of(frame, row)))
    names = {param for each in rows.values() for _, param in each}
    steps = {param_of(frame, row) for row in np.flatnonzero(mine & ops.is_kind(Kind.STEP)).tolist()}
    ties = {param_of(frame, row) for row in np.flatnonzero(mine & ops.is_kind(Kind.TIE)).tolist()}
    stepped = frozenset() if "" in ties else frozenset(steps - ties - {""})
    away = frozenset(distinct(ops.microbatch[known & ~home]).tolist())
    return _Own(rows, "" in names, frozenset(names - {""}), stepped, away)


def _by_origin(held: Held) -> dict[tuple[int, int], list[Share]]:
    found: dict[tuple[int, int], list[Share]] = {}
    for share in held.shares:
        found.setdefault((share.stage, share.microbatch), []).append(share)
    return found


def _total(shares: list[Share]) -> Fraction:
    if len(shares) == 1:
        return shares[0].coefficient
    return sum((share.coefficient for share in shares), Fraction(0))


def judge_contents(
    frame: Frame, asked: Asked, found: Interpretation, untied: set[Used], counts: Counts
) -> None:
    """Add to `counts` what is wrong with interpreted gradients; `untied` are uses without a TIE.

    A microbatch that is due and absent is lost unless it stands after the STEP (PP706); twice
    without being parts it is repeated; else its coefficients must add up to what is asked.
    """
    _Contents(frame, asked, found, untied, counts).judge()
