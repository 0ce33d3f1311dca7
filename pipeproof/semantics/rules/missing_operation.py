"""An operation that training needs stands nowhere.

Every stage runs one forward for every microbatch of its pipeline and, where the schedule has
any backward, one whole backward: B, or I and W. A STEP of some stages leaves out the others.
Totals that balance prove nothing: F0 twice with F1 missing has as many forwards as it should.

Why it breaks training: A lost microbatch is lost gradient: the loss still falls, on less data
than asked for.

Source: torch/distributed/pipelining/schedules.py, _validate_schedule (2.13.0) compares sets and
counts.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP101",
    name="missing-operation",
    axiom=Empty(Rel("missing")),
    message="{op} stands nowhere",
    doc=__doc__,
)
