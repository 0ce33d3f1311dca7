"""What is asked of a schedule."""

from pipeproof.engines import graph
from pipeproof.proofs.asked import Asked


def test_what_is_not_asked_is_left_to_the_schedule() -> None:
    asked = Asked()

    assert asked.transports == asked.select == asked.ignore == ()
    assert asked.engine == graph.NAME
