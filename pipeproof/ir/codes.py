"""The codes of the language's rules and what each is named after; they never change meaning."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["CODES", "OF_TRACES"]

_NAMES = {
    1: "missing-operation duplicate-operation unknown-identity misplaced-operation "
    "unbalanced-transfers diverging-ranks",
    2: "unmatched-message crossed-messages shape-mismatch split-communicator collective-order",
    3: "deadlock depends-on-buffering stranded-message",
    4: "early-forward backward-before-forward early-backward early-weight-gradient early-send "
    "sharded-use",
    5: "read-before-complete overwrite-in-flight overwrite-unread use-after-free wrong-contents "
    "live-bound-exceeded never-freed",
    6: "mixed-version version-policy-broken too-stale version-retired-early "
    "uncommitted-version-read",
    7: "lost-contribution repeated-contribution wrong-coefficient early-reduction "
    "missing-reduction early-update untied-parameter stale-accumulator partial-norm",
    8: "recompute-differs recompute-other-version undrained-checkpoint incomplete-restore",
    9: "device-overlap impossible-makespan trace-diverges",
}
CODES: Mapping[str, str] = MappingProxyType(
    {
        f"PP{family}{number:02}": name
        for family, names in _NAMES.items()
        for number, name in enumerate(names.split(), 1)
    }
)
"""Every code of the language, also of rules that this version does not judge, with its name."""

OF_TRACES = frozenset({"PP901", "PP903"})
"""The codes of rules that traces of real runs break, and no schedule."""
