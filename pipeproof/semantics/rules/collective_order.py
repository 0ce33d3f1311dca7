"""Ranks wait for each other in collectives only.

Nobody leaves a collective before all its ranks have entered. Entered in another order, or left
out by one, it ends for nobody.

Why it breaks training: Every rank of the group hangs until the watchdog ends the job.

Source: NVIDIA/nccl#522, NVIDIA/nccl#1192.
"""

from pipeproof.semantics.logic import PROGRESS, Acyclic, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP205",
    name="collective-order",
    axiom=Acyclic(PROGRESS, through="collectives"),
    message="{why}",
    doc=__doc__,
)
