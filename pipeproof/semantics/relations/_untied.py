"""Tied copies that are used without having been tied, or tied in different reduction state."""

from collections.abc import Iterator

import numpy as np

from pipeproof.ir.actions import Kind
from pipeproof.semantics.found import Finding
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._accumulators import Held, Interpretation, Use
from pipeproof.semantics.relations._asked import Asked
from pipeproof.semantics.relations._faults import Used, use_text, used_at
from pipeproof.semantics.relations._spots import finding
from pipeproof.semantics.relations._ties import Copies, tied
from pipeproof.semantics.relations._windows import param_of

__all__ = ["find_untied", "unlike_ties", "untied_findings"]


class _Untied:
    """The uses of tied stages, against the TIEs since the last contribution."""

    def __init__(self, frame: Frame, asked: Asked, found: Interpretation) -> None:
        self.frame, self.asked, self.found = frame, asked, found
        self.added: set[tuple[int, str, int]] = set()
        self.names: dict[int, set[str]] = {}
        for use in found.uses:
            for held in use.held:
                if held.added >= 0:
                    self.added.add((use.stage, held.name, held.turn))
        adding = frame.ops.is_kind(Kind.B, Kind.W)
        for stage in {use.stage for use in found.uses}:
            rows = np.flatnonzero(adding & (frame.ops.stage == stage)).tolist()
            self.names[stage] = {param_of(frame, row) for row in rows}

    def of(self, copies: Copies) -> Iterator[tuple[Used, str]]:
        """Yield each use of a copy that lacks a TIE, and why."""
        ops = self.frame.ops
        rows = [
            row
            for row in np.flatnonzero(ops.is_kind(Kind.TIE)).tolist()
            if int(ops.stage[row]) in copies.stages
        ]
        named = {param_of(self.frame, row) for row in rows} - {""}
        for use in self.found.uses:
            ends = use.row < 0 and self.asked.each_update and use.stepped
            if use.stage not in copies.stages or ends:
                continue
            for held in use.held:
                if self._needs(copies, named, use, held) and not copies.ranks <= held.tied:
                    yield Used(use.stage, use.row), self._why(copies, use, held)
                    break

    def _needs(self, copies: Copies, named: set[str], use: Use, held: Held) -> bool:
        """Whether an accumulator is shared, and something was added to one of its copies."""
        if copies.listed and held.name not in self._shared(copies, named, held.name):
            return False
        if named and not held.name:
            return False
        absent = self.frame.fragment and use.row < 0
        if self.asked.each_update or absent:
            return held.added >= 0
        return any((stage, held.name, held.turn) in self.added for stage in copies.stages)

    def _shared(self, copies: Copies, named: set[str], name: str) -> set[str]:
        """Return the parameters that listed copies share: those of their TIEs, else all common."""
        if named:
            return named
        own = [self.names.get(stage, set()) for stage in copies.stages]
        common = set.intersection(*own) - {""}
        return common or {name}

    def _why(self, copies: Copies, use: Use, held: Held) -> str:
        others = " and ".join(f"stage {stage}" for stage in copies.stages if stage != use.stage)
        where = use_text(self.frame, Used(use.stage, use.row))
        what = f"parameter {held.name} of stage {use.stage}" if held.name else f"stage {use.stage}"
        said = f"at {where} {what} is not tied to its copy on {others}: "
        ranks = ",".join(str(rank) for rank in sorted(copies.ranks))
        behind = f" after {self.frame.text(held.added)}" if held.added >= 0 else " in its step"
        return f"{said}no TIE ranks={ranks} stands{behind}"


def find_untied(frame: Frame, asked: Asked, found: Interpretation) -> dict[Used, str]:
    """Return the uses of a tied stage without a TIE of all copies after its last contribution."""
    told: dict[Used, str] = {}
    every = () if frame.run.schedule.forward_only else tied(frame)
    if not every:
        return told
    judged = _Untied(frame, asked, found)
    for copies in every:
        for use, why in judged.of(copies):
            told.setdefault(use, why)
    return told


def untied_findings(frame: Frame, told: dict[Used, str]) -> list[Finding]:
    """Return what lacks a TIE as findings."""
    return [Finding((used_at(frame, use),), {"why": why}) for use, why in told.items()]


def unlike_ties(frame: Frame, found: Interpretation) -> Iterator[Finding]:
    """Yield every TIE over copies of which one is reduced and another is not, or to shards."""
    for met in sorted(set(found.meetings.values())):
        present = [row for row in met if row in found.posted]
        names = sorted({name for row in present for name in found.posted[row].state})
        for name in names:
            states = {
                row: found.posted[row].state[name]
                for row in present
                if name in found.posted[row].state
            }
            if len(set(states.values())) > 1:
                stage = frame.ops.stage
                said = ", ".join(f"stage {stage[row]} {state}" for row, state in states.items())
                for row in present:
                    text = frame.text(row)
                    yield finding(frame, row, why=f"{text} sums up unlike copies: {said}")
                break
