"""`pipeproof slots`: how much storage is live, and how many slots are enough."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

import click

from pipeproof.cli._exits import Exit, worst
from pipeproof.cli._inputs import Input, expand, load
from pipeproof.cli._judge import reported
from pipeproof.cli._options import Asking, asked, read_options, reading_options, transport_option
from pipeproof.cli._output import emit
from pipeproof.cli._progress import counted
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document

if TYPE_CHECKING:
    from pipeproof.api import Asked
    from pipeproof.proofs.slots import SafeSlots
    from pipeproof.verdict.verdict import FileVerdict, Live

__all__ = ["command"]

SCHEMA = "pipeproof.slots/1"
_HANDED_OUT = "stash slots are handed out at run time: `pipeproof check` says whether they suffice"


class _Values(Asking):
    paths: tuple[str, ...]
    format_: str
    output: str | None


@click.command(
    name="slots", short_help="Print how much storage is live, and how many slots suffice."
)
@click.argument("paths", nargs=-1, metavar="PATH...", required=True)
@transport_option
@reading_options
@click.option(
    "--format", "format_", type=click.Choice(["json", "text"]), default="text", show_default=True
)
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
def command(**values: Unpack[_Values]) -> int:
    """Print, for every schedule at PATH..., the most storage live at once and the safe slot counts.

    The most that is live on each rank is over all interleavings. A number of slots is safe if the
    pool with it breaks no rule under any transport asked for; every safe number is told. The exit
    code is 0 if each pool that a file describes is safe as described, else 1; 3 where the runtime
    chooses.
    """
    options, question = read_options(values), asked(values)
    told: list[tuple[str, dict[str, object], Exit]] = []
    for source in counted(list(expand(values["paths"]))):
        told.extend(_file(source, options, question))
    if values["format_"] == "json":
        files = [said for _, said, _ in told]
        emit(json.dumps({"schema": SCHEMA, "files": files}, indent=1) + "\n", values["output"])
    else:
        emit("\n".join(text for text, _, _ in told), values["output"])
    return worst({code for _, _, code in told} or {Exit.NOTHING})


def _file(
    source: Input, options: ReadOptions, question: "Asked"
) -> list[tuple[str, dict[str, object], Exit]]:
    try:
        loaded = load(source, options)
        documents = loaded.documents if loaded is not None else ()
        return [_document(document, question) for document in documents]
    except Exception as error:  # sorted below, and never silent
        report = reported(source.name, error)
        code = Exit(report.failure.exit_code) if report.failure is not None else Exit.INPUT
        if report.unsupported:
            code = Exit.UNKNOWN
        said: dict[str, object] = {"path": source.name, "error": report.unsupported or str(error)}
        return [(f"{source.name}: {said['error']}\n", said, code)]


def _document(document: Document, question: "Asked") -> tuple[str, dict[str, object], Exit]:
    from dataclasses import replace  # noqa: PLC0415  with what judges, imported when needed

    from pipeproof.api import judge, transports_of  # noqa: PLC0415
    from pipeproof.proofs.slots import safe_slots  # noqa: PLC0415

    verdict = judge(document, replace(question, live=True))
    found = safe_slots(document.schedule, transports_of(document, question))
    unsafe = any(_is_unsafe(each) for each in found)
    said: dict[str, object] = {
        "path": document.name,
        "transports": [
            {"name": each.name, "live": [_live(live) for live in each.live]}
            for each in verdict.transports
        ],
        "pools": [_pool(each) for each in found],
    }
    text = _text(verdict, found)
    if _handed_out(document):
        said["undecided"] = _HANDED_OUT
        return f"{text}  {_HANDED_OUT}\n", said, Exit.REFUTED if unsafe else Exit.UNKNOWN
    return text, said, Exit.REFUTED if unsafe else Exit.PROVED


def _handed_out(document: Document) -> bool:
    """Whether slots of the stash go to whoever asks first, so that no count is looked for."""
    storage = document.schedule.described.get("storage")
    stash = storage.get("stash") if isinstance(storage, Mapping) else None
    return isinstance(stash, Mapping) and "take" in stash


def _is_unsafe(slots: "SafeSlots") -> bool:
    count = slots.described
    if count is None:
        return False
    return not (slots.rest if count >= slots.largest else count in slots.safe)


def _live(live: "Live") -> dict[str, object]:
    from pipeproof.reports.json import live_object  # noqa: PLC0415

    return dict(live_object(live))


def _pool(slots: "SafeSlots") -> dict[str, object]:
    return {
        "pool": slots.pool,
        "slot": slots.slot,
        "guard": slots.guard,
        "described": slots.described,
        "safe": list(slots.safe),
        "safe_from": slots.largest if slots.rest else None,
        "text": str(slots),
    }


def _text(verdict: "FileVerdict", found: "tuple[SafeSlots, ...]") -> str:
    from pipeproof.reports._live import live_lines  # noqa: PLC0415

    names = ", ".join(each.name for each in verdict.transports)
    lines = [f"{verdict.path}: under {names}", "  most live at once, in any interleaving:"]
    lines += [f"    {line}" for line in live_lines(verdict)]
    for each in found:
        waits = ", writers wait" if each.guard == "wait" else ""
        asked_for = ""
        if each.described is not None:
            is_wrong = " is not safe" if _is_unsafe(each) else " is safe"
            asked_for = f"; {each.described} as described{is_wrong}"
        lines.append(f"  {each.pool} slots ({each.slot}{waits}): {each}{asked_for}")
    if not found:
        lines.append("  no value goes into a pool")
    return "\n".join(lines) + "\n"
