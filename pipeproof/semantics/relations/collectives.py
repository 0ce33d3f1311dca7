"""Collectives that not all ranks enter."""

from pipeproof.semantics.found import Finding, Findings
from pipeproof.semantics.frame import Frame
from pipeproof.semantics.relations._spots import finding
from pipeproof.semantics.relations.running import meetings

__all__ = ["unentered"]


def unentered(frame: Frame) -> Findings:
    """Every rank that a collective asks for enters it."""
    all_meetings = meetings(frame)
    found: list[Finding] = []
    for meeting in all_meetings:
        entered = {int(frame.ops.rank[row]) for row in meeting.entries}
        absent = sorted(set(meeting.ranks) - entered)
        if absent:
            who = ", ".join(map(str, absent))
            found.append(finding(frame, *meeting.entries, why=f"rank {who} never enters it"))
    return Findings(len(all_meetings), found)
