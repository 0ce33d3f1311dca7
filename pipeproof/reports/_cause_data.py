"""The cause slice of a violation in the numbers of the boxes of a page."""

import re
from collections.abc import Iterator

from pipeproof.ir.actions import Kind
from pipeproof.reports._pack import Json
from pipeproof.reports._scene import Scene
from pipeproof.reports._slice import Arrow, Box, Means, Slice
from pipeproof.reports._worded import worded

__all__ = ["slice_data"]

_PLACE = "position "  # a note that a page tells by itself
_CARRIED = (Means.MESSAGE, Means.CROSSED, Means.MEANT)
_Ends = tuple[int | None, int | None]
_WORD = re.compile(r"[^\s,;]+")


def slice_data(scene: Scene, told: Slice, ops: dict[int, int]) -> dict[str, Json]:
    """Return a slice; what is no operation stands in `extra` under a number below -1.

    Of a bracket, what an arrow or a note is about is the member that carries what is named.

    Args:
        scene: what is shown.
        told: the slice.
        ops: the first operation of each box that is one, by its key.
    """
    return _Slice(scene, told, ops).data()


class _Slice:
    def __init__(self, scene: Scene, told: Slice, ops: dict[int, int]) -> None:
        self.scene, self.told = scene, told
        self.ops, self.pairing = scene.frame.ops, scene.frame.pairing
        self.members = {key: self._members(first) for key, first in ops.items()}
        self.extra = {
            box.key: -2 - n for n, box in enumerate(box for box in told.boxes if box.key not in ops)
        }
        self.rank = {box.key: box.rank for box in told.boxes}

    def _members(self, op: int) -> list[int]:
        """Return the rows of the instruction of an operation that are shown."""
        instruction = int(self.ops.instruction[self.scene.rows[op]])
        return [int(self.scene.rows[each]) for each in self.scene.all_of(instruction)]

    def data(self) -> dict[str, Json]:
        boxes, op = self.told.boxes, self.scene.op
        extra: list[Json] = [
            {
                "id": self.extra[box.key],
                "rank": box.rank,
                "text": worded(box.text),
                "state": box.state.value,
            }
            for box in boxes
            if box.key in self.extra
        ]
        return {
            "ops": sorted(int(op[row]) for rows in self.members.values() for row in rows),
            "extra": extra,
            "arrows": [arrow for each in self.told.arrows for arrow in self._arrows(each)],
            "notes": [note for box in boxes for note in self._notes(box)],
            "states": [[number, box.state.value] for box in boxes for number in self._all(box.key)],
            "left_out": self.told.left_out,
        }

    def _all(self, key: int) -> list[int]:
        if key in self.extra:
            return [self.extra[key]]
        return [int(self.scene.op[row]) for row in self.members[key]]

    def _notes(self, box: Box) -> list[Json]:
        said = [each for each in box.notes if not each.startswith(_PLACE)]
        return [[self._number(box.key, self._named(box.key, each)), worded(each)] for each in said]

    def _arrows(self, arrow: Arrow) -> Iterator[Json]:
        """Yield an arrow, or one a message where it stands for several."""
        carried = self._carried(arrow) if arrow.means in _CARRIED else []
        for before, after in carried or [self._ends(arrow)]:
            said = arrow.label
            if len(carried) > 1 and before is not None:
                said = self.ops.value_text(int(self.ops.value[before]))
            yield {
                "before": self._number(arrow.before, before),
                "after": self._number(arrow.after, after),
                "means": arrow.means.value,
                "label": worded(said),
            }

    def _number(self, key: int, row: int | None) -> int:
        if key in self.extra:
            return self.extra[key]
        return int(self.scene.op[self.members[key][0] if row is None else row])

    def _carried(self, arrow: Arrow) -> list[_Ends]:
        """Return the sends and receives of two boxes that meet, or of which one names the other."""
        found: list[_Ends] = []
        for row in self.members.get(arrow.before, []):
            transfer = int(self.pairing.of_row[row])
            if transfer < 0 or self.ops.kind[row] != Kind.SEND:
                continue
            for other in self.members.get(arrow.after, []):
                meets = int(self.pairing.receive[transfer]) == other
                named = self.pairing.of_row[other] >= 0 and self.ops.kind[other] == Kind.RECV
                named = named and self.ops.value[row] == self.ops.value[other]
                if named if arrow.means is Means.MEANT else meets:
                    found.append((row, other))
        return found

    def _ends(self, arrow: Arrow) -> _Ends:
        """Return the members between which an arrow leads, None for the first of them."""
        first = self._named(arrow.before, arrow.label, Kind.RECV)
        last = self._named(arrow.after, arrow.label, Kind.SEND)
        if arrow.means is Means.WAITS:
            first = self._of_peer(arrow.before, arrow.after)
            last = self._of_peer(arrow.after, arrow.before)
        return first, last

    def _named(self, key: int, said: str, kind: Kind | None = None) -> int | None:
        """Return the member whose message is named in what is said, one of `kind` first."""
        words = set(_WORD.findall(said))
        rows = [
            row
            for row in self.members.get(key, [])
            if self.pairing.of_row[row] >= 0
            and self.ops.value_text(int(self.ops.value[row])) in words
        ]
        return min(rows, key=lambda row: self.ops.kind[row] != kind, default=None)

    def _of_peer(self, key: int, other: int) -> int | None:
        """Return the member that is a message with the rank of another box."""
        rows = self.members.get(key, [])
        found = [row for row in rows if int(self.ops.peer[row]) == self.rank[other]]
        return found[0] if found else None
