"""What is asked of a schedule."""

from pipeproof.engines import graph
from pipeproof.proofs.asked import Asked, Effort


def test_what_is_not_asked_is_left_to_the_schedule() -> None:
    asked = Asked()

    assert asked.transports == asked.select == asked.ignore == ()
    assert asked.engine == graph.NAME
    assert asked.effort == Effort()


def test_no_effort_is_asked_for_as_far_as_it_is_not_said() -> None:
    effort = Effort()

    assert (effort.states, effort.seconds, effort.memory, effort.rlimit) == (None,) * 4
    assert effort.frontiers is None
