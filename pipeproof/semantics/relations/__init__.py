"""Relations over events, each made by one function, by the names that rules use."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from pipeproof.semantics.found import Edges, Findings, Holds, Needs
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations import (
    bounds,
    collectives,
    dependencies,
    diverging,
    duplicates,
    faulty,
    gradients,
    holds,
    identity,
    messages,
    moving,
    ongoing,
    ready,
    recomputation,
    reductions,
    restart,
    running,
    sharding,
    storage,
    torch_runtime,
    versions,
)

__all__ = ["EDGES", "ENDINGS", "FINDINGS", "HOLDS", "NEEDS", "OF_PROGRAMS"]

EDGES: Mapping[str, Callable[[Frame], Edges]] = {
    "program": running.program,
    "issue": running.issue,
    "signalled": running.signalled,
    "collective": running.collective,
    "collective_order": running.collective_order,
    "transferred": moving.transferred,
    "met": moving.met,
    "waited": moving.waited,
    "queued": moving.queued,
    "credited": moving.credited,
    "grouped": moving.grouped,
    "entered": moving.entered,
    "guarded": storage.guarded,
    "readiness": ready.readiness,
    "struck": faulty.struck,
}
NEEDS: Mapping[str, Callable[[Frame], Needs]] = {
    "forwards": dependencies.forwards,
    "passes": dependencies.passes,
    "gradients": dependencies.gradients,
    "halves": dependencies.halves,
    "sends": dependencies.sends,
    "unsettled": restart.unsettled,
    "unfinished": storage.unfinished,
    "in_flight": storage.in_flight,
    "freed": storage.freed,
}
ENDINGS: Mapping[str, Callable[[Frame, npt.NDArray[np.bool_]], Findings]] = {
    "diverged": faulty.diverged,
    "waiting": faulty.waiting,
}
"""What is looked for where nothing more can happen, by which events have happened there."""
HOLDS: Mapping[str, Callable[[Frame], Holds]] = {"memory": holds.memory}
FINDINGS: Mapping[str, Callable[[Frame], Findings]] = {
    "missing": identity.missing,
    "unknown": identity.unknown,
    "misplaced": identity.misplaced,
    "duplicated": duplicates.duplicated,
    "diverging": diverging.diverging,
    "unbalanced": messages.unbalanced,
    "unmatched": messages.unmatched,
    "crossed": messages.crossed,
    "misshapen": messages.misshapen,
    "split": messages.split,
    "stranded": messages.stranded,
    "unentered": collectives.unentered,
    "sharded": sharding.sharded,
    "early_reductions": reductions.early_reductions,
    "unreduced": reductions.unreduced,
    "early_updates": reductions.early_updates,
    "wrong_marks": reductions.wrong_marks,
    "reduction_read": ongoing.reduction_read,
    "reduction_overwritten": ongoing.reduction_overwritten,
    "lost_contributions": gradients.lost,
    "repeated_contributions": gradients.repeated,
    "wrong_coefficients": gradients.wrong,
    "untied_parameters": gradients.untied,
    "stale_accumulators": gradients.stale,
    "partial_norms": gradients.unnormed,
    "recomputed_otherwise": recomputation.recomputed_otherwise,
    "undrained": restart.undrained,
    "unrestored": restart.unrestored,
    "given_away": torch_runtime.given_away,
    "losses_elsewhere": torch_runtime.losses_elsewhere,
    "overwritten": storage.overwritten,
    "misread": storage.misread,
    "overfull": bounds.overfull,
    "late_steps": faulty.late_steps,
    "unfreed": bounds.unfreed,
    "mixed": versions.mixed,
    "off_policy": versions.off_policy,
    "stale": versions.stale,
    "retired": versions.retired,
    "uncommitted": versions.uncommitted,
    "other_recomputations": versions.other_recomputations,
}
OF_PROGRAMS = frozenset(
    {
        *("missing", "unknown", "misplaced", "duplicated", "diverging", "sharded", "unentered"),
        *("early_reductions", "unreduced", "early_updates", "given_away", "losses_elsewhere"),
        *("wrong_marks", "reduction_read", "reduction_overwritten", "lost_contributions"),
        *("repeated_contributions", "wrong_coefficients", "untied_parameters"),
        *("stale_accumulators", "partial_norms"),
        *("recomputed_otherwise", "undrained", "unrestored"),
        *("overwritten", "misread", "overfull", "unfreed"),
        *("mixed", "off_policy", "stale", "retired", "uncommitted", "other_recomputations"),
    }
)
"""Findings that hold under every transport alike: they look at programs only."""
