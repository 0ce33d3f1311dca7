"""The outcomes of CHOOSE, as certificates name them."""

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from pipeproof.errors import ReplayMismatchError
from pipeproof.ir.actions import Kind
from pipeproof.ir.as_run import AsRun
from pipeproof.ir.operations import NOBODY
from pipeproof.lowering.outcomes import Name, alternatives, chosen, open_receives, unclear
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.model import Model
from pipeproof.verdict.certificate import Outcome

__all__ = ["MOST", "chooses", "every", "is_left_open", "settled", "source"]

MOST = 4096
"""The most outcomes that are certified."""

_DESCRIBED = {"storage", "weights", "bounds", "sizes", "costs"}


def chooses(run: AsRun) -> bool:
    """Whether a CHOOSE stands in a schedule, settled or not."""
    return bool(np.any(run.operations.is_kind(Kind.CHOOSE)))


def is_left_open(run: AsRun) -> bool:
    """Whether a runtime chooses in a schedule what its CHOOSEs, once settled, do not say."""
    ops = run.operations
    if (
        len(open_receives(run))
        or ops.comms[-1] == NOBODY
        or run.schedule.described.keys() - _DESCRIBED
    ):
        return True
    return run.settled != chooses(run)


def every(run: AsRun) -> Iterator[Outcome]:
    """Yield every outcome of the choices of a schedule; none where they are too many or unclear."""
    names = alternatives(run)
    if unclear(run) or prod(map(len, names.values())) > MOST:
        return
    keys = [_key(name) for name in names]
    for picked in product(*names.values()):
        yield tuple(sorted(zip(keys, picked, strict=True)))


def settled(model: Model, outcome: Outcome) -> Model:
    """Return the model of a schedule with its choices settled.

    Raises:
        ReplayMismatchError: the schedule has no such outcome.
    """
    run, transport = model.frame.run, model.frame.transport
    names = {_key(name): name for name in alternatives(run)}
    told = dict(outcome)
    if unclear(run) or told.keys() != names.keys() or len(told) < len(outcome):
        message = "the outcome does not settle each choice of the schedule"
        raise ReplayMismatchError(message)
    several = alternatives(run)
    if any(what not in several[names[key]] for key, what in outcome):
        message = "the outcome is none of the schedule"
        raise ReplayMismatchError(message)
    came = chosen(run, {names[key]: what for key, what in outcome})
    return Model(came, transport, write_in(came, transport.wait))


def source(run: AsRun) -> tuple[int, bytes, bytes]:
    """Return what tells a settled schedule from its other outcomes: what is left of it."""
    return run.copies, run.base.tobytes(), run.copy.tobytes()


def _key(name: Name) -> str:
    turn = f"#{name.turn + 1}" if name.turn else ""
    return f"{name.name}{turn}{f'@{name.copy + 1}' if name.copy else ''}"
