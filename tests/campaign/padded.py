"""Illegal schedules with more around them than what is wrong."""

from dataclasses import replace
from pathlib import Path

from pipeproof.campaign._draft import Draft, draft_of, line_of
from pipeproof.campaign.judged import judged, read
from pipeproof.ir.source import Document, OnePlace

ROOT = Path(__file__).parents[2]
ILLEGAL = ROOT / "specs" / "illegal"


def illegal(name: str) -> Document:
    """Return a schedule of specs/illegal."""
    return read((ILLEGAL / f"{name}.yaml").read_text(encoding="utf-8"), name)


def padded(document: Document) -> Document | None:
    """Return it with two ranks and a microbatch more; None where that breaks another rule first."""
    draft = draft_of(document.schedule)
    draft.fragment = True
    _add_microbatch(draft)
    _add_ranks(draft)
    other = replace(document, schedule=draft.schedule(), places=OnePlace(), expect=())
    before, after = judged(document), judged(other)
    firsts = [each.first for each in before.under]
    return other if any(firsts) and firsts == [each.first for each in after.under] else None


def _add_microbatch(draft: Draft) -> None:
    if draft.steps != 1 or draft.segments != 1 or draft.gradients:
        return
    new = draft.microbatches
    draft.microbatches += 1
    for stage in range(draft.stages):
        rank = draft.rank_of(stage)
        if str(rank) not in draft.described.get("ready", {}):
            draft.programs[rank] += [line_of(f"{stage}F{new}"), line_of(f"{stage}B{new}")]


def _add_ranks(draft: Draft) -> None:
    ranks, stages = len(draft.programs), draft.stages
    draft.placement = [draft.rank_of(stage) for stage in range(stages)] + [ranks, ranks + 1]
    draft.stages += 2
    first = (f"{stages}F0", f"SEND F{stages}.0 to={ranks + 1}", f"RECV pad from={ranks + 1} h=w")
    second = (f"RECV F{stages}.0 from={ranks}", f"{stages + 1}F0", f"SEND pad to={ranks}")
    draft.programs.append([line_of(each) for each in (*first, "WAIT w")])
    draft.programs.append([line_of(each) for each in second])
    for key in ("sizes", "costs"):
        held = draft.described.get(key)
        for each in held.values() if isinstance(held, dict) else ():
            if isinstance(each, list):
                each += [each[-1], each[-1]]


def size(document: Document) -> tuple[int, int, int]:
    """Return ranks, microbatches and instructions."""
    schedule = document.schedule
    return schedule.ranks, schedule.microbatches, len(schedule.operations.first_row)
