"""The few events that make a schedule illegal, and what joins them: what a diagram draws."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from itertools import pairwise
from typing import NamedTuple

__all__ = ["MOST", "Arrow", "Box", "Draft", "Means", "Slice", "State"]

MOST = 60
"""How many boxes a slice has at most."""


class State(StrEnum):
    """How far an instruction is where the execution that shows the violation ends."""

    DONE = "done"
    POSTED = "posted, not complete"
    STANDS = "started, not done"
    LATER = "has not started"
    ABSENT = "stands nowhere"
    UNTOLD = "no execution shows it"


class Means(Enum):
    """What an arrow says of two instructions, those first that lead downwards in time."""

    PROGRAM = "next in the program"
    MESSAGE = "message"
    CROSSED = "taken for another message"
    CONTENT = "puts what is read, or was there before"
    VERSION = "makes the weights that are read"
    UNORDERED = "must come first, and nothing ensures it"
    WAITS = "waits for"
    AGAIN = "takes place, and once more"
    TAKES = "takes away what is needed"
    DIFFERS = "must agree, and does not"
    MEANT = "the message that the receive names"


class Arrow(NamedTuple):
    """From one box to another, by key."""

    before: int
    after: int
    means: Means
    label: str = ""


@dataclass(slots=True)
class Box:
    """An instruction on the lane of a rank, the end of its program, or what stands nowhere.

    `order` is its place on the lane, None where it has none. `named` boxes are places of the
    violation; `first` is the first illegal event.
    """

    key: int
    rank: int
    order: int | None
    text: str
    state: State
    named: bool = False
    first: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Slice:
    """What is drawn of a violation: boxes by lane and order; `left_out` more did not fit."""

    title: tuple[str, ...]
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    left_out: int = 0


class Draft:
    """A slice in the making: takes boxes up to a number, each once, and arrows between them."""

    def __init__(self, most: int = MOST) -> None:
        """Start without boxes; `most` is how many there may be."""
        self.boxes: dict[int, Box] = {}
        self._most = most
        self._arrows: dict[tuple[int, int, Means], list[str]] = {}
        self._refused: set[int] = set()

    def __len__(self) -> int:
        return len(self.boxes)

    def __contains__(self, key: int) -> bool:
        return key in self.boxes

    def add(self, box: Box) -> bool:
        """Take a box, unless there are too many; say whether it is there."""
        if box.key in self.boxes:
            return True
        if len(self.boxes) >= self._most:
            self._refused.add(box.key)
            return False
        self.boxes[box.key] = box
        return True

    def join(self, before: int, after: int, means: Means, label: str = "") -> None:
        """Draw an arrow between two boxes that are there; labels of one arrow are listed."""
        itself = before == after and means is not Means.WAITS
        if itself or not {before, after} <= self.boxes.keys():
            return
        labels = self._arrows.setdefault((before, after, means), [])
        if label and label not in labels:
            labels.append(label)

    def note(self, key: int, said: str) -> None:
        """Write something into a box that is there, once."""
        box = self.boxes.get(key)
        if box is not None and said not in box.notes:
            box.notes.append(said)

    def finished(self, title: Iterable[str]) -> Slice:
        """Return the slice, each lane led through in order of its program."""
        self._merge()
        self._lanes()
        boxes = sorted(self.boxes.values(), key=_in_order)
        place = {box.key: n for n, box in enumerate(boxes)}
        arrows = [
            Arrow(before, after, means, _listed(labels))
            for (before, after, means), labels in self._arrows.items()
        ]
        arrows.sort(key=lambda a: (list(Means).index(a.means), place[a.before], place[a.after]))
        return Slice(tuple(title), tuple(boxes), tuple(arrows), len(self._refused))

    def _merge(self) -> None:
        """Leave out what another arrow between the same boxes says already."""
        for (before, after, means), labels in list(self._arrows.items()):
            if means is Means.CONTENT:
                labels[:] = [x for x in labels if not any(y.startswith(f"{x} in ") for y in labels)]
                strong = self._arrows.get((before, after, Means.UNORDERED))
                if strong is not None:
                    more = [x for x in labels if not any(y.startswith(x) for y in strong)]
                    strong[:] = [*more, *strong]
                    del self._arrows[before, after, means]

    def _is_joined(self, before: int, after: int) -> bool:
        shown = (Means.CONTENT, Means.VERSION, Means.UNORDERED, Means.AGAIN, Means.DIFFERS)
        return any((before, after, means) in self._arrows for means in shown)

    def _lanes(self) -> None:
        lanes: dict[int, list[Box]] = {}
        for box in sorted(self.boxes.values(), key=_in_order):
            if box.order is not None:
                lanes.setdefault(box.rank, []).append(box)
        for lane in lanes.values():
            for one, other in pairwise(lane):
                between = (other.order or 0) - (one.order or 0) - 1
                if between or not self._is_joined(one.key, other.key):
                    said = f"… {between} more" if between else ""
                    self.join(one.key, other.key, Means.PROGRAM, said)


def _in_order(box: Box) -> tuple[int, bool, int, int]:
    return box.rank, box.order is None, box.order or 0, box.key


_FEW = 3


def _listed(labels: list[str]) -> str:
    more = len(labels) - _FEW
    return ", ".join([*labels[:_FEW], *([f"{more} more"] if more > 0 else [])])
