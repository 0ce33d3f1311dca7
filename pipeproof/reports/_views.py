"""A schedule under one transport as a page shows it: boxes, executions, and what is broken."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pipeproof.ir.source import Document
from pipeproof.reports._accepted import accepted_line
from pipeproof.reports._cause import cause
from pipeproof.reports._cause_data import slice_data
from pipeproof.reports._drawn import Kept, Shown, showings, told
from pipeproof.reports._facts import place_data, transport_data, violation_data
from pipeproof.reports._layout import execution
from pipeproof.reports._layouts import Layouts
from pipeproof.reports._pack import Json
from pipeproof.reports._places import by_places
from pipeproof.reports._scene import Scene
from pipeproof.reports._slice import Slice
from pipeproof.reports._steps import steps
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model
from pipeproof.verdict.decision import Broken, Decision
from pipeproof.verdict.result import FileReport
from pipeproof.verdict.telling import place
from pipeproof.verdict.verdict import FileVerdict, Place, TransportVerdict, Violation

__all__ = ["EVENTS", "OPERATIONS", "Room", "views"]

OPERATIONS = 1_600_000
"""How many operations a page draws."""
EVENTS = 100_000
"""How many events the executions of a page have that can be stepped through."""
_TOLD = 200  # violations of a view that are listed
_SLICES = ((20_000, 40), (200_000, 4), (OPERATIONS, 1))  # up to so many operations, so many slices
_OUTCOMES = 4  # further outcomes of choices that have a view of their own
_COUNTED, _LEFT_OVER = "PP105", ("PP201", "PP204")  # PP105 counts what the others name
_COLUMNS = ("rank", "kind", "stage", "microbatch", "value", "peer", "instruction")


@dataclass(slots=True)
class Room:
    """What there is room for yet on a page."""

    operations: int = OPERATIONS
    events: int = EVENTS


class _Case(NamedTuple):
    """A violation, and what shows it."""

    violation: Violation
    shown: Shown | None


@dataclass(slots=True)
class _File:
    """A schedule, and the views of it that are there already."""

    report: FileReport
    document: Document
    room: Room
    views: list[Json] = field(default_factory=list)
    grids: dict[tuple[object, ...], tuple[int, Scene]] = field(default_factory=dict)


def views(report: FileReport, verdict: FileVerdict, room: Room) -> list[Json]:
    """Return a view for each transport, and for outcomes of choices that have other programs."""
    if report.document is None:
        why = "the schedule itself is not at hand, only its verdict"
        return [_without_grid(report, each, _cases(each, ()), why) for each in verdict.transports]
    file = _File(report, report.document, room)
    for each in verdict.transports:
        for part in _parts(file, each):
            file.views.append(part)
    return file.views


def _cases(verdict: TransportVerdict, kept: Kept) -> list[_Case]:
    known = showings(verdict.name, kept)
    return [_Case(each, known.get(told(each))) for each in verdict.violations]


def _parts(file: _File, verdict: TransportVerdict) -> Iterator[Json]:
    """Yield the view of a transport, then those of further outcomes."""
    kept = file.report.kept
    cases = _cases(verdict, kept)
    own = [pair for pair in kept if pair[0].frame.transport.name == verdict.name]
    if not own:
        why = "nothing that was judged under this transport is at hand"
        yield _without_grid(file.report, verdict, cases, why)
        return
    main = next((case.shown[0] for case in cases if case.shown is not None), own[0][0])
    groups: list[tuple[Model, list[_Case]]] = [(main, [])]
    for case in cases:
        model = main if case.shown is None else case.shown[0]
        for first, members in groups:
            if _same_programs(first.frame, model.frame):
                members.append(case)
                break
        else:
            groups.append((model, [case]))
    yield _View(file, verdict, groups[0], own).data()
    for number, group in enumerate(groups[1 : _OUTCOMES + 1], 2):
        yield _View(file, verdict, group, own, number).data()


def _same_programs(one: Frame, other: Frame) -> bool:
    if one.run is other.run:
        return True
    if len(one.ops) != len(other.ops) or one.run.copies != other.run.copies:
        return False
    same = (np.array_equal(getattr(one.ops, n), getattr(other.ops, n)) for n in _COLUMNS)
    return all(same) and np.array_equal(one.run.base, other.run.base)


def _without_grid(
    report: FileReport, verdict: TransportVerdict, cases: Sequence[_Case], why: str
) -> Json:
    violations = [
        {
            **violation_data(each.violation),
            "layout": 0,
            "own": False,
            "note": _accepted(each.violation),
            "at": [place_data(report, at, -1) for at in each.violation.at],
            "slice": None,
            "steps": None,
            "no_steps": why,
        }
        for each in cases[:_TOLD]
    ]
    notes = _left_out(len(cases))
    said = {"grid": None, "no_grid": why, "violations": violations, "layouts": []}
    return {**transport_data(verdict), **said, "notes": notes, "steps": None, "no_steps": why}


def _accepted(violation: Violation) -> str:
    return "" if violation.accepted is None else accepted_line(violation.accepted)


def _left_out(number: int) -> list[str]:
    more = number - _TOLD
    return [f"{more} more violations are not listed; --format json lists all"] if more > 0 else []


class _View:
    """One view in the making."""

    def __init__(
        self,
        file: _File,
        verdict: TransportVerdict,
        group: tuple[Model, list[_Case]],
        own: Sequence[tuple[Model, Decision]],
        number: int = 1,
    ) -> None:
        self.file, self.verdict, self.own, self.number = file, verdict, own, number
        self.model, self.cases = group
        self.copies = any(at.step is not None for each in self.cases for at in each.violation.at)

    def data(self) -> Json:
        said = transport_data(self.verdict)
        if self.number > 1:
            said["transport"] = f"{said['transport']}, outcome {self.number}"
        scene, grid = self._scene()
        if scene is None:
            why = (
                f"{len(self.model.frame.ops)} operations: a page draws up to {OPERATIONS}, and "
                f"has room for {self.file.room.operations} more"
            )
            return _without_grid(self.file.report, self.verdict, self.cases, why)
        layouts = Layouts(scene)
        violations = [
            self._violation(scene, layouts, case, n) for n, case in enumerate(self.cases[:_TOLD])
        ]
        steps_, why = None, ""
        if not self.cases:
            layouts.earliest(self.model, self._decision(self.model))
            steps_, why = self._earliest_steps(scene)
        return {
            **said,
            "notes": self._notes(),
            "grid": grid,
            "no_grid": None,
            "violations": violations,
            "layouts": layouts.data(),
            "steps": steps_,
            "no_steps": why,
        }

    def _scene(self) -> tuple[Scene | None, Json]:
        """Return the boxes and their columns, which a view before this one may have already."""
        file, frame = self.file, self.model.frame
        transport = frame.transport
        key = (id(frame.run), transport.match, transport.wait, self.copies)
        if key in file.grids:
            number, scene = file.grids[key]
            return scene, {"same": number}
        scene = Scene(frame, copies=self.copies)
        if len(scene) > file.room.operations:
            return None, None
        file.room.operations -= len(scene)
        file.grids[key] = len(file.views), scene
        return scene, scene.grid(file.document.places)

    def _decision(self, model: Model) -> Decision:
        return next(decision for each, decision in self.own if each is model)

    def _notes(self) -> list[str]:
        notes = _left_out(len(self.cases))
        if self.verdict.outcomes > 1:
            shown = "the one in which the first violation stands" if self.cases else "one of them"
            notes.append(
                f"{self.verdict.outcomes} outcomes of choices were judged: {shown} is drawn"
            )
        if self.model.frame.run.copies > 1:
            shown = "both are drawn" if self.copies else "the first is drawn"
            notes.append(f"judged over two steps, which run the same programs: {shown}")
        return notes

    def _earliest_steps(self, scene: Scene) -> tuple[Json, str]:
        model = self.model
        if (why := self._no_room(model.events, self.file.room.events // 2)) != "":
            return None, why
        events = execution(model, self._decision(model), None)
        self.file.room.events -= len(events)
        return steps(scene, model, events), ""

    def _no_room(self, events: int, most: int) -> str:
        """Return why an execution cannot be stepped through; what is legal leaves room for more."""
        if events <= most:
            return ""
        return f"{events} events: there is room for {most} more on this page, of {EVENTS} in all"

    def _violation(self, scene: Scene, layouts: Layouts, case: _Case, number: int) -> Json:
        violation, shown = case
        said = violation_data(violation)
        model, broken = shown if shown is not None else (self.model, None)
        layout, own, note = layouts.of(model, self._decision(model), broken)
        steps_, why = self._violation_steps(scene, model, broken if own else None)
        at = [
            place_data(self.file.report, each, _op(scene, model.frame, broken, each))
            for each in violation.at
        ]
        told_ = self._slice(scene, case, number)
        note = ". ".join(filter(None, (_accepted(violation), note)))
        said |= {"layout": layout, "own": own, "note": note, "at": at, "slice": told_}
        return {**said, "steps": steps_, "no_steps": why}

    def _violation_steps(
        self, scene: Scene, model: Model, broken: Broken | None
    ) -> tuple[Json, str]:
        if broken is None or not len(broken.trace):
            return None, "no execution of its own is told of it"
        if (why := self._no_room(len(broken.trace), self.file.room.events)) != "":
            return None, why
        self.file.room.events -= len(broken.trace)
        return steps(scene, model, broken.trace), ""

    def _placed(self, violation: Violation) -> Violation:
        """Return a violation; of one that only counts messages, the one that names them."""
        if violation.at or violation.rule != _COUNTED:
            return violation
        found = (case.violation for case in self.cases if case.violation.rule in _LEFT_OVER)
        alike = (each for each in found if _where(each) == _where(violation))
        return next(alike, violation)

    def _slice(self, scene: Scene, case: _Case, number: int) -> Json:
        most = next(n for size, n in _SLICES if len(scene) <= size)
        if number >= most:
            return None
        if case.shown is not None:
            found = cause(*case.shown, (), {})
            frame = case.shown[0].frame
            ops = {
                box.key: scene.of_instruction(box.key)
                for box in found.boxes
                if box.key < frame.instructions
            }
        else:
            found = by_places(self._placed(case.violation), (), {})
            ops = _by_order(scene, found)
        if not found.boxes:
            return None
        return slice_data(scene, found, {key: op for key, op in ops.items() if op >= 0})


def _where(violation: Violation) -> str:
    return violation.message.partition(" (where ")[2]


def _op(scene: Scene, frame: Frame, broken: Broken | None, at: Place) -> int:
    """Return the operation of a place, -1 where it is none."""
    if at.row < 0:
        return -1
    if broken is not None:
        for spot in broken.finding.spots:
            if spot.row >= 0 and place(frame, spot) == at:
                return int(scene.op[spot.row])
    run = frame.run
    rows = np.flatnonzero((run.written == at.row) & (run.copy == (at.step or 0)))
    alike = [row for row in rows.tolist() if frame.text(row) == at.operation]
    return int(scene.op[[*alike, *rows.tolist()][0]]) if len(rows) else -1


def _by_order(scene: Scene, found: Slice) -> dict[int, int]:
    """Return the operations of boxes whose order is a position that runs on over copies."""
    frame = scene.frame
    first = frame.ops.first_row
    rank = frame.ops.rank[first]
    length = np.asarray([frame.length(each) for each in range(frame.ranks)], np.int64)
    written = np.maximum(frame.run.written[first], 0)
    position = frame.run.schedule.operations.position[written]
    position = position + frame.run.copy[first] * length[rank]
    ops: dict[int, int] = {}
    for box in found.boxes:
        alike = np.flatnonzero((rank == box.rank) & (position == box.order)).tolist()
        named = [each for each in alike if frame.instruction_text(each) == box.text]
        if alike:
            ops[box.key] = scene.of_instruction([*named, *alike][0])
    return ops
