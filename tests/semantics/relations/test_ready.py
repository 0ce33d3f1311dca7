"""What a ready rank waits for before it picks."""

import dataclasses

import numpy as np

from pipeproof.ir.ready import Ready, Stuck
from pipeproof.lowering.waits import write_in
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations.ready import readiness, unpicked
from tests.semantics.made import BUFFERED, events, pairs, run

PROGRAMS = ("0F0; SEND F0.0 to=1", "RECV F0.0 from=0; 1F0")


def frame(ready: Ready | None) -> Frame:
    made = dataclasses.replace(run(*PROGRAMS), ready=ready)
    return Frame(made, BUFFERED, write_in(made, BUFFERED.wait))


def test_without_ready_ranks_nothing_waits() -> None:
    assert not len(readiness(frame(None)).pairs)
    assert unpicked(frame(None), np.zeros(20, np.bool_)) == {}


def test_a_reader_waits_for_its_message_and_a_receive_until_it_is_posted() -> None:
    made = frame(Ready(np.asarray([(2, 3)]), np.asarray([2])))

    assert pairs(made, readiness(made)) == {
        "arrived F0.0 -> start r1.1",
        "start r0.1 -> start r1.0",
    }


def test_what_is_left_never_starts() -> None:
    none = np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
    made = frame(Ready(*none, stuck=(Stuck(2, (), (2,), excused=False),)))

    assert events(made, readiness(made).never) == ["start r1.0"]
    assert unpicked(made, np.zeros(20, np.bool_)) == {4: [2]}
    assert unpicked(made, np.ones(20, np.bool_)) == {}
