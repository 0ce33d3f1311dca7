"""An operation reads weights that may still be withdrawn, or are.

From its STEP to its COMMIT or ROLLBACK a version is read by nothing, under the policy `speculative`
by forwards and recomputations only; a version that is withdrawn is read by nothing.

Why it breaks training: A forward can be run again when the step is rolled back; a gradient that was
added or sent on cannot be taken back.

Source: sail-sg/zero-bubble-pipeline-parallelism, optimizer post-validation; its issue #16.
"""

from pipeproof.semantics.logic import Empty, Rel, Rule

__all__ = ["RULE"]

RULE = Rule(
    code="PP605",
    name="uncommitted-version-read",
    axiom=Empty(Rel("uncommitted")),
    message="{op} reads {why}",
    doc=__doc__,
)
