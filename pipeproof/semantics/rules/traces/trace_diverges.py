"""A trace is no execution of the schedule.

An operation is missing, stands there that is not of the rank's program, or once more than it must;
a rank runs its program in another order; or an effect has ended before its cause begins, however
the clocks of the ranks are set.

Why it breaks training: The run did something else than what was judged. What is proved of the
schedule says nothing of it.

Source: Lamport, Time, clocks, and the ordering of events in a distributed system, 1978.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP903",
    name="trace-diverges",
    axiom=Empty(Rel("diverging")),
    message="{why}",
    doc=__doc__,
)
