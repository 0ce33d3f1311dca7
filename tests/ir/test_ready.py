"""What is noted of the picks of a ready rank."""

import numpy as np

from pipeproof.ir.ready import Ready


def test_without_more_said_nobody_is_stuck_and_nothing_was_late() -> None:
    ready = Ready(np.zeros((0, 2), np.int64), np.zeros(0, np.int64))

    assert ready.stuck == ()
    assert not ready.timed
