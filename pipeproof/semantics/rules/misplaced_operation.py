"""An operation stands on another rank than its stage.

A stage lives on one rank, and all that is done to it stands in that rank's program. Two stages
of one rank hand over locally; a message between them links a rank to itself.

Why it breaks training: The rank has neither the weights nor what the forward kept; a message to
oneself hangs or fails.

Source: torch/distributed/pipelining/schedules.py, _validate_schedule; pytorch/torchtitan#774.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP104",
    name="misplaced-operation",
    axiom=Empty(Rel("misplaced")),
    message="{op} stands on the wrong rank: {why}",
    doc=__doc__,
)
