"""No execution is over in the time that the file gives it.

With operations as long as `costs` says, one after the other on each rank, the execution in which
everything happens as early as it can ends later than `bounds.makespan`.

Why it breaks training: A step is slower than it was planned to be, on any machine, whatever the
network does.

Source: The earliest times of an event graph; Baccelli, Cohen, Olsder and Quadrat, Synchronization
and Linearity, 1992, section 2.5.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP902",
    name="impossible-makespan",
    axiom=Empty(Rel("overtime")),
    message="{why}",
    doc=__doc__,
)
