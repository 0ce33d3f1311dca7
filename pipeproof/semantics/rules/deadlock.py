"""Ranks wait for each other and a message or signal is part of it.

Judged in the state in which nothing more can happen. Whether it is reached does not depend on
timing: guards are monotone, so every execution ends there or none does. Where a fault strikes, a
rank that waits for ever is one, unless the policy is to raise.

Why it breaks training: A thousand GPUs hang until the watchdog ends the job, half an hour
later.

Source: pytorch/pytorch#172668, pytorch/pytorch#127332; proof: confluence of monotone guards
(Keller 1975).
"""

from pipeproof.semantics.logic import PROGRESS, Acyclic, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP301",
    name="deadlock",
    axiom=Acyclic(PROGRESS, through="messages"),
    message="{why}",
    doc=__doc__,
)
