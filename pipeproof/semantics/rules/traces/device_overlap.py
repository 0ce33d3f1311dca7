"""Two computations of a rank are at work at once in a trace.

A rank has one stream of computations: the next one begins when the one before has ended. Members of
one overlap may be at work together, and messages beside anything.

Why it breaks training: The run does what the schedule does not say: two streams or threads work on
the same weights and buffers, in an order that nothing keeps. What was proved does not hold of it.

Source: Exclusive use of a machine in scheduling; Graham, Lawler, Lenstra and Rinnooy Kan,
Optimization and approximation in deterministic sequencing and scheduling, 1979.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP901",
    name="device-overlap",
    axiom=Empty(Rel("overlapping")),
    message="{why}",
    doc=__doc__,
)
