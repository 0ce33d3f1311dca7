"""An execution event by event, and what each of them changes, for a page that steps through it."""

import numpy as np

from pipeproof.ir.operations import IntArray
from pipeproof.reports._pack import Json, packed, packed_texts
from pipeproof.reports._scene import Scene
from pipeproof.reports._states import changes
from pipeproof.reports._worded import worded
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.model import Model

__all__ = ["PHASES", "steps"]

PHASES = ("start", "done", "drained", "arrived")
_LONGEST = 200  # characters of a name or value


def steps(scene: Scene, model: Model, events: IntArray) -> dict[str, Json]:
    """Return an execution as a page takes it.

    Args:
        scene: what is shown; an event of nothing in it is of operation -1, the end of the program
            of rank r of -2 - r.
        model: the schedule under a transport.
        events: the events in an order in which they can happen, without gates.
    """
    op, phase = _owners(scene, model.frame, events)
    names: dict[tuple[str, str], int] = {}
    values: dict[str, int] = {}
    found = changes(model, events)
    name = [names.setdefault((each.group, each.name), len(names)) for each in found]
    value = [values.setdefault(each.value, len(values)) for each in found]
    return {
        "phases": list(PHASES),
        "op": packed(op),
        "phase": packed(phase),
        "names": packed_texts([(group, worded(said, _LONGEST)) for group, said in names]),
        "values": packed_texts([worded(said, _LONGEST) for said in values]),
        "change_step": packed(
            np.asarray([each.step for each in found], np.int64), differences=True
        ),
        "change_name": packed(np.asarray(name, np.int64)),
        "change_value": packed(np.asarray(value, np.int64)),
    }


def _owners(scene: Scene, frame: Frame, events: IntArray) -> tuple[IntArray, IntArray]:
    """Return the operation of each event, and its phase."""
    op = np.where(events >= frame.ends, frame.ends - 2 - events, -1)
    phase = np.ones(len(events), np.int64)
    own = events < frame.ends
    if np.any(own):
        op[own] = scene.op[frame.ops.first_row[events[own] // 2]]
        phase[own] = events[own] % 2
    moved = events >= frame.first_transfer
    if np.any(moved):
        number, late = np.divmod(events[moved] - frame.first_transfer, 2)
        send, receive = frame.pairing.send[number], frame.pairing.receive[number]
        row = np.where(((late == 1) & (receive >= 0)) | (send < 0), receive, send)
        op[moved] = scene.op[row]
        phase[moved] = 2 + late
    return op, phase
