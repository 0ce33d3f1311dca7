"""Known schedules, and the order in which a training by them runs their operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeproof import api
from pipeproof.execution._events import Events
from pipeproof.execution.witness import Witness, witness
from pipeproof.ir.source import Document, OnePlace
from pipeproof.schedules import generate
from tests.execution.played import document, order

if TYPE_CHECKING:
    from pipeproof.ir.as_run import AsRun
    from pipeproof.ir.transport import Match
    from pipeproof.semantics.model import Model


class Known(NamedTuple):
    """A schedule as run, and the rows of its operations as they begin in one execution."""

    run: AsRun
    match: Match
    rows: tuple[int, ...]

    def model(self, name: str, seed: int = 0) -> Witness:
        """The witness that the schedule trains."""
        schedule = self.run.schedule
        return witness(name, schedule.stages, schedule.microbatches, seed)


def known(name: str, ranks: int = 2, microbatches: int = 4, seed: int = 0) -> Known:
    return ordered(generated(name, ranks, microbatches), seed)


def generated(name: str, ranks: int, microbatches: int) -> Document:
    return Document(name, generate(name, ranks=ranks, microbatches=microbatches), OnePlace())


def written(text: str, seed: int = 0) -> Known:
    return ordered(document(text), seed)


def ordered(read: Document, seed: int) -> Known:
    model: Model | None = api.models(read, api.Asked(transports=("buffered",)))("buffered", 1)
    assert model is not None
    run, match = model.frame.run, model.frame.transport.match
    events = Events(run, match)
    begun = (each for each in order(model, seed) if each < events.ends and each % 2 == 0)
    return Known(run, match, tuple(row for each in begun for row in events.rows[each // 2]))
