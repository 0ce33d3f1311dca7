"""The cause slice of a violation in the numbers of the boxes of a page."""

from pipeproof.reports._pack import Json
from pipeproof.reports._scene import Scene
from pipeproof.reports._slice import Box, Slice
from pipeproof.reports._worded import worded

__all__ = ["slice_data"]

_PLACE = "position "  # a note that a page tells by itself


def slice_data(scene: Scene, told: Slice, ops: dict[int, int]) -> dict[str, Json]:
    """Return a slice; what is no operation stands in `extra` under a number below -1.

    Args:
        scene: what is shown.
        told: the slice.
        ops: the first operation of each box that is one, by its key.
    """
    extra: list[Json] = []
    key = dict(ops)
    for box in told.boxes:
        if box.key not in key:
            key[box.key] = -2 - len(extra)
            said: dict[str, Json] = {"id": key[box.key], "rank": box.rank}
            extra.append({**said, "text": worded(box.text), "state": box.state.value})
    arrows: list[Json] = [
        {
            "before": key[each.before],
            "after": key[each.after],
            "means": each.means.value,
            "label": worded(each.label),
        }
        for each in told.arrows
    ]
    return {
        "ops": sorted({op for first in ops.values() for op in _members(scene, first)}),
        "extra": extra,
        "arrows": arrows,
        "notes": [[key[box.key], said] for box in told.boxes for said in _notes(box)],
        "states": [[key[box.key], box.state.value] for box in told.boxes],
        "left_out": told.left_out,
    }


def _members(scene: Scene, op: int) -> list[int]:
    return scene.all_of(int(scene.frame.ops.instruction[scene.rows[op]]))


def _notes(box: Box) -> list[str]:
    return [worded(said) for said in box.notes if not said.startswith(_PLACE)]
