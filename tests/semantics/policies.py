"""Weight policies as tests write them, and the rules of versions that programs break."""

from pipeproof.semantics.relations import FINDINGS
from tests.semantics.made import frame, places

CODES = {
    "mixed": "PP601",
    "off_policy": "PP602",
    "stale": "PP603",
    "retired": "PP604",
    "uncommitted": "PP605",
    "other_recomputations": "PP802",
}
TWO: dict[str, object] = {"microbatches": 2}
THREE: dict[str, object] = {"microbatches": 3}
STEPS: dict[str, object] = {"steps": 2}
EVERY: dict[str, object] = {"updates": "microbatch"}


def weights(policy: str, **more: object) -> dict[str, object]:
    return {"weights": {"policy": policy, **more}}


STASH = weights("stash", **EVERY)
VERTICAL = weights("vertical", **EVERY)
LATEST = weights("latest", **EVERY)
SPECULATIVE = {**STEPS, **weights("speculative")}


def verdict(*programs: str, **keys: object) -> list[str]:
    """The rules of versions that are broken, with their places."""
    made = frame(*programs, **keys)
    return [
        f"{code} {place}"
        for name, code in CODES.items()
        for place in places(made, FINDINGS[name](made))
    ]


def bound(staleness: int) -> dict[str, object]:
    return {"bounds": {"staleness": staleness}}
