"""What a rank with `order: ready` waits for before it picks an instruction."""

import numpy as np
import numpy.typing as npt

from pipeproof.ir.operations import read_only
from pipeproof.semantics.found import Edges, no_edges
from pipeproof.semantics.frame import Frame

__all__ = ["readiness", "unpicked"]


def readiness(frame: Frame) -> Edges:
    """An instruction of a ready rank starts after the messages that it reads are complete.

    A receive starts after its message has been posted. What the rank made itself is there by the
    order of its picks. Where nothing more can be picked, the first instruction left never starts.
    """
    ready = frame.run.ready
    if ready is None:
        return no_edges()
    messages, readers = ready.completed[:, 0], ready.completed[:, 1]
    sends = frame.pairing.send[frame.pairing.of_row[ready.posted]]
    pairs = (
        np.stack((frame.completed(messages), frame.start(readers)), axis=1),
        np.stack((frame.start(sends), frame.start(ready.posted)), axis=1),
    )
    stuck = np.asarray([each.row for each in ready.stuck], np.int64)
    return Edges(np.concatenate(pairs), never=read_only(frame.start(stuck)))


def unpicked(frame: Frame, happened: npt.NDArray[np.bool_]) -> dict[int, list[int]]:
    """Return the starts of what ready ranks are left with and cannot pick.

    With each what it waits for: a row of a message that is not complete, or of a receive whose
    message is not posted.
    """
    ready = frame.run.ready
    found: dict[int, list[int]] = {}
    for each in ready.stuck if ready is not None else ():
        start = int(frame.start(np.asarray(each.row)))
        if not happened[start]:
            found[start] = [*each.messages, *each.receives]
    return found
