"""What breaks a rule in programs that a test writes out."""

from pipeproof import api
from tests.semantics.made import text

__all__ = ["A0_A1", "ON_SECOND", "TAGGED", "broken", "check"]

ON_SECOND: dict[str, object] = {"placement": [1, 0, 1]}
"""Stage 1 on rank 0, the others on rank 1."""

A0_A1 = ("SEND F0.0 to=0; SEND F0.1 to=0",)

TAGGED: dict[str, object] = {
    "completion": "buffered",
    "queue": "none",
    "groups": "independent",
    "wait": "blocking",
    "match": "tag",
    "capacity": 2,
}
"""Two credits a channel, received in any order."""


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


def check(programs: tuple[str, ...], found: str, **keys: object) -> None:
    """Compare what programs break with what is said, separated by commas."""
    assert broken(*programs, **keys) == sorted(each for each in found.split(", ") if each)
