"""What breaks a rule in programs that a test writes out."""

from pipeproof import api
from tests.semantics.made import text

__all__ = ["broken"]


def broken(*programs: str, **keys: object) -> list[str]:
    """The rules that a fragment breaks, and where, as `PP503 r0.1`, sorted; `?` for an unknown one.

    It has 3 stages and 4 microbatches and moves `under` rendezvous unless `keys` say otherwise.
    """
    under = keys.pop("under", "rendezvous")
    shape: dict[str, object] = {"fragment": True, "stages": 3, "microbatches": 4}
    verdict = api.judge_text(text(*programs, **{**shape, "transport": under, **keys}), "made")
    (only,) = verdict.transports
    found = [
        " ".join([each.rule, *(f"r{place.rank}.{place.position}" for place in each.at)])
        for each in only.violations
    ]
    return sorted([*found, *(f"{each.rule} ?" for each in only.unknown)])
