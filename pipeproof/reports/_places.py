"""A slice from the words of a violation alone: its places, and the last of what is told before."""

from collections.abc import Mapping

from pipeproof.reports._slice import Box, Draft, Means, Slice, State
from pipeproof.verdict.verdict import Place, TraceStep, Violation

__all__ = ["by_places"]

_WANTED = 14  # boxes up to which what comes before is drawn
_STUCK = ("PP1", "PP2", "PP3")  # families in which an execution may end without an illegal event
_Where = tuple[int, int]


def by_places(
    violation: Violation, title: tuple[str, ...], lines: Mapping[tuple[int, int], str]
) -> Slice:
    """Return what is known of a violation without its model: where a fault of the file shows it.

    Args:
        violation: what is broken.
        title: what stands above the picture.
        lines: where the places stand in their file, by rank and position.
    """
    return _Told(violation, lines).slice(title)


class _Told:
    def __init__(self, violation: Violation, lines: Mapping[tuple[int, int], str]) -> None:
        self.violation, self.lines = violation, lines
        self.draft = Draft()
        self.keys: dict[_Where, int] = {}
        own = [step for step in violation.trace if step.phase in ("start", "done")]
        self.phase = {(step.rank, step.position): step.phase for step in own}
        self.text = {(step.rank, step.position): step.event for step in own}

    def slice(self, title: tuple[str, ...]) -> Slice:
        for place in self.violation.at:
            key = self._box(self._where(place), place.operation)
            self.draft.note(key, f"position {place.position}" + self._line(place))
            if place.step is not None:
                self.draft.note(key, "second step")
            if key in self.draft:
                self.draft.boxes[key].named = True
        self._mark_first()
        for where, phase in self.phase.items():
            if phase == "start" and len(self.draft) < _WANTED:
                self._box(where, self.text[where])
        for where in reversed(self.phase):
            if len(self.draft) < _WANTED:
                self._box(where, self.text[where])
        self._messages()
        return self.draft.finished(title)

    def _where(self, place: Place) -> _Where:
        """Return where a place stands in the execution, in which positions run on over copies."""
        if place.step is None:
            return place.rank, place.position
        found = [
            where
            for where, text in self.text.items()
            if (where[0], text) == (place.rank, place.operation) and where[1] > place.position
        ]
        return found[-1] if found else (place.rank, place.position)

    def _line(self, place: Place) -> str:
        return self.lines.get((place.rank, place.position), "")

    def _box(self, where: _Where, text: str) -> int:
        key = self.keys.setdefault(where, len(self.keys))
        states = {"start": State.STANDS, "done": State.DONE}
        state = states.get(self.phase.get(where, ""), State.LATER)
        if not self.violation.trace:
            state = State.UNTOLD
        self.draft.add(Box(key, where[0], where[1], text, state))
        return key

    def _mark_first(self) -> None:
        trace = self.violation.trace
        if trace and not self.violation.rule.startswith(_STUCK):
            key = self.keys.get((trace[-1].rank, trace[-1].position), -1)
            if key in self.draft.boxes and trace[-1].phase in ("start", "done"):
                self.draft.boxes[key].first = True

    def _messages(self) -> None:
        sent: dict[str, list[TraceStep]] = {}
        for step in self.violation.trace:
            if step.phase == "drained":
                sent.setdefault(step.event, []).append(step)
            elif step.phase == "arrived" and sent.get(step.event):
                source = sent[step.event].pop(0)
                ends = [self.keys.get((each.rank, each.position), -1) for each in (source, step)]
                self.draft.join(ends[0], ends[1], Means.MESSAGE, step.event)
