"""Schedules that are illegal in one way each, as data of a page."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tests.reports.page.made import Arrow, Json, Made

__all__ = ["CASES", "crossed", "gpipe", "hostile"]

PROGRAMS = (
    "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1",
    "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1",
)
MESSAGES = (((0, 1), (1, 0)), ((0, 3), (1, 4)), ((1, 3), (0, 4)), ((1, 7), (0, 6)))
WAITS = "waits for"
CONTENT = "puts what is read, or was there before"


def crossed() -> Made:
    """Two sends that wait for each other."""
    made = Made(
        PROGRAMS, delays=(0, 1), stops={0: 3, 1: 3}, messages=MESSAGES, title="Crossed sends"
    )
    arrows = (
        Arrow((0, 1), (1, 0), "message", "F0.0"),
        Arrow((0, 0), (0, 1), "next in the program"),
        Arrow((0, 2), (0, 3), CONTENT, "F0.1"),
        Arrow((0, 3), (1, 3), WAITS),
        Arrow((1, 3), (0, 3), WAITS),
    )
    return made.breaks(
        "PP301 deadlock",
        "0SEND_F1 of rank 0 waits for rank 1; 1SEND_B0 of rank 1 waits for rank 0",
        (0, 3),
        (1, 3),
        arrows=arrows,
    )


def gpipe(ranks: int, microbatches: int) -> Made:
    """All forwards, then all backwards, without messages."""
    programs, moments = [], {}
    turn = ranks + microbatches - 1
    for rank in range(ranks):
        forwards = [f"{rank}F{m}" for m in range(microbatches)]
        programs.append(" ".join([*forwards, *(f"{rank}B{m}" for m in range(microbatches))]))
        for m in range(microbatches):
            moments[rank, m] = (rank + m, rank + m + 1)
            late = turn + 2 * (ranks - 1 - rank + m)
            moments[rank, microbatches + m] = (late, late + 2)
    return Made(programs, moments=moments, title=f"GPipe on {ranks} ranks")


def _unmatched() -> Made:
    made = Made(("0F0 0SEND_F0 0SEND_F0 0F1", "1RECV_F0 1F0 1B0"), stops={0: 2}, title="Sent twice")
    extra = [{"id": -2, "rank": 1, "text": "no receive of this", "state": "stands nowhere"}]
    made.breaks(
        "PP201 unmatched-message",
        "0SEND_F0 has no partner: rank 1 has no receive left for it",
        (0, 2),
        arrows=(Arrow((0, 1), (1, 0), "message", "F0.0"), Arrow((0, 2), -2, "message", "F0.0")),
    )
    _slice(made)["extra"] = extra
    return made


def _swapped() -> Made:
    made = Made(("0SEND_F0 0SEND_F1 0F2", "1RECV_F1 1RECV_F0 1F0"), stops={0: 1, 1: 1})
    return made.breaks(
        "PP202 crossed-messages",
        "rank 1 receives F0.0 where it asks for F0.1",
        (0, 0),
        (1, 0),
        arrows=(
            Arrow((0, 0), (1, 0), "taken for another message", "F0.0 as F0.1"),
            Arrow((0, 1), (1, 0), "the message that the receive names"),
        ),
    )


def _early() -> Made:
    made = Made(("0F0 0B0 0SEND_F0 0F1", "1RECV_F0 1F0 1B0 1SEND_B0"), delays=(0, 2))
    return made.breaks(
        "PP401 early-backward",
        "0B0 starts before the gradient that it reads is there",
        (0, 1),
        (1, 3),
        arrows=(
            Arrow((1, 3), (0, 1), "must come first, and nothing ensures it", "B1.0"),
            Arrow((0, 0), (0, 1), CONTENT, "F0.0"),
        ),
    )


def _overwritten() -> Made:
    made = Made(("0F0 0F1 0F2 0F3 0B0 0B1", "1F0 1F1 1F2 1B0 1B1"), delays=(0, 1))
    made.breaks(
        "PP501 overwritten-storage",
        "0F2 writes slot 0 of acts while 0B0 has still to read it",
        (0, 2),
        (0, 4),
        arrows=(
            Arrow((0, 0), (0, 4), CONTENT, "F0.0 in slot 0 of acts"),
            Arrow((0, 4), (0, 2), "must come first, and nothing ensures it", "slot 0 of acts"),
        ),
    )
    _slice(made)["notes"] = [[made.op((0, 2)), "takes slot 0 of acts"]]
    return made


def _stale() -> Made:
    made = Made(("0F0 0F1 0B0 STEP 0B1", "1F0 1B0 STEP 1F1 1B1"), delays=(0, 1))
    return made.breaks(
        "PP601 mixed-versions",
        "0B1 reads version 1 of the weights of stage 0, its forward read version 0",
        (0, 4),
        (0, 1),
        arrows=(Arrow((0, 3), (0, 4), "makes the weights that are read", "version 1"),),
    )


def _missing() -> Made:
    made = Made(("0F0 0F1 0I0 0W0 0I1 STEP", "1F0 1F1 1B0 1B1 STEP"), delays=(0, 1))
    return made.breaks(
        "PP701 missing-gradient",
        "STEP of rank 0 takes no gradient of microbatch 1",
        (0, 5),
        arrows=(Arrow((0, 3), (0, 5), CONTENT, "W0.0"),),
    )


def _twice() -> Made:
    made = Made(("0F0 0F0 0B0", "1F0 1B0"), delays=(0, 1))
    return made.breaks(
        "PP101 repeated-operation",
        "0F0 stands twice",
        (0, 1),
        (0, 0),
        reached=False,
        slice=None,
        own=False,
        note="No execution shows it: this one is of the schedule as it stands.",
    )


def _overlap() -> Made:
    programs = ("UNSHARD 0F0 0F1 1B0 0F2 1B1", "0F0 2F0 2B0 2F1 2B1 STEP")
    moments = {(0, 0): (0, 0), (0, 2): (2, 4), (0, 3): (2, 4), (1, 5): (5, 5)}
    return Made(programs, moments=moments, groups={(0, 2): 7, (0, 3): 7}, title="Overlap")


def _undecided() -> Made:
    made = gpipe(2, 3)
    open_ = [{"rule": "PP503", "why": "too many orders of ready ranks"}]
    made.other = {"verdict": "unknown", "unknown": open_, "steps": None, "no_steps": "No steps."}
    return made


def _too_large() -> Made:
    made = gpipe(2, 2)
    said = "2000000 operations: a page draws up to 1600000"
    made.other = {"grid": None, "no_grid": said, "layouts": [], "steps": None, "no_steps": said}
    return made


def _slice(made: Made) -> dict[str, Json]:
    held = made.rules[0]["slice"]
    assert isinstance(held, dict)
    return held


def hostile(text: str) -> Made:
    """A page that says `text` wherever a file can put it."""
    made = Made((f"0F0 {text.replace(' ', '_')} 0B0", "1F0"), path=text, title=text, transport=text)
    made.breaks(text, text, (0, 1), arrows=(Arrow((0, 0), (0, 1), "message", text),), why=text)
    held = _slice(made)
    held["notes"] = [[1, text]]
    held["extra"] = [{"id": -2, "rank": 1, "text": text, "state": "stands nowhere"}]
    made.other = {"warnings": [{"rule": text, "message": text}], "notes": [text], "engine": text}
    return made


CASES: Mapping[str, Callable[[], Made]] = MappingProxyType(
    {
        "deadlock": crossed,
        "unmatched": _unmatched,
        "swapped": _swapped,
        "early": _early,
        "overwritten": _overwritten,
        "stale": _stale,
        "missing": _missing,
        "twice": _twice,
        "overlap": _overlap,
        "undecided": _undecided,
        "too-large": _too_large,
        "wide": lambda: gpipe(16, 12),
    }
)
