"""All that is wrong with the gradients of a schedule that a test writes out."""

from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations import FINDINGS
from tests.semantics.made import frame, places

RELATIONS = {
    "PP501": "reduction_read",
    "PP502": "reduction_overwritten",
    "PP701": "lost_contributions",
    "PP702": "repeated_contributions",
    "PP703": "wrong_coefficients",
    "PP705": "unreduced",
    "PP706": "early_updates",
    "PP707": "untied_parameters",
    "PP708": "stale_accumulators",
    "PP709": "partial_norms",
}


def faults(made: Frame) -> list[str]:
    """All that is wrong with gradients, as `PP701 r0.3`."""
    early = [("PP704", name) for name in ("early_reductions", "wrong_marks")]
    return sorted(
        f"{code} {place}"
        for code, name in [*RELATIONS.items(), *early]
        for place in places(made, FINDINGS[name](made))
    )


def said(relation: str, *programs: str, **keys: object) -> list[dict[str, str]]:
    made = frame(*programs, **keys)
    return [dict(each.facts) for each in FINDINGS[relation](made).found]


def tie(stages: int, lists: list[list[int]], **keys: object) -> dict[str, object]:
    return {
        "stages": stages,
        "gradients": {"tied": [[str(s) for s in line] for line in lists]},
        **keys,
    }
