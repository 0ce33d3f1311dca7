"""`pipeproof test`: compares schedules with what their files say that they must show."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Unpack

import click

from pipeproof.cli._compare import Compared, Task, compared, tasks
from pipeproof.cli._configured import Configured, config_options
from pipeproof.cli._exits import Exit, worst
from pipeproof.cli._options import Reading, read_options, reading_options
from pipeproof.cli._output import emit, printable_lines
from pipeproof.cli._progress import counted
from pipeproof.verdict.expected import Agreement

__all__ = ["command"]


class _Values(Reading):
    paths: tuple[str, ...]
    format_: str
    output: str | None


@click.command(
    name="test", cls=Configured, short_help="Compare schedules with what their files expect."
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@reading_options
@click.option(
    "--format", "format_", type=click.Choice(["json", "text"]), default="text", show_default=True
)
@click.option("-o", "output", metavar="FILE", help="Write the result there, not to stdout.")
@config_options
def command(**values: Unpack[_Values]) -> int:
    """Judge every schedule at PATH... and compare it with `expect` in its file.

    A folder may hold an index.json that says the same of files that cannot, as torch CSVs.
    """
    options = read_options(values)
    found: list[Compared] = []
    for task in counted(list(tasks(values["paths"]))):
        found.extend(compared(task, options) if isinstance(task, Task) else [task])
    write = _json if values["format_"] == "json" else _text
    emit(write(found), values["output"])
    return _exit_code(found)


def _counts(found: Iterable[Compared]) -> Counter[Agreement]:
    return Counter(each.agreement for each in found if each.agreement is not None)


def _exit_code(found: Sequence[Compared]) -> Exit:
    counts = _counts(found)
    codes = {each.failed for each in found if each.failed is not None}
    if counts[Agreement.DIFFER]:
        codes.add(Exit.REFUTED)
    if counts[Agreement.UNKNOWN]:
        codes.add(Exit.UNKNOWN)
    return worst(codes) if codes or counts[Agreement.AGREE] else Exit.NOTHING


def _text(found: Sequence[Compared]) -> str:
    counts = _counts(found)
    lines = [
        f"{each.path}: {each.entry}: {each.agreement}: wanted {each.wanted}; got {each.got}"
        for each in found
        if each.agreement not in (None, Agreement.AGREE)
    ]
    lines += [f"{each.path}: {each.got}" for each in found if each.failed is not None]
    agree, differ, unknown = (counts[each] for each in Agreement)
    lines.append(f"{agree} agree, {differ} differ, {unknown} unknown")
    return "".join(f"{printable_lines(line)}\n" for line in lines)


def _json(found: Sequence[Compared]) -> str:
    counts = _counts(found)
    entries = [
        {
            "path": each.path,
            "entry": each.entry,
            "agreement": each.agreement or "error",
            "wanted": each.wanted,
            "got": each.got,
        }
        for each in found
        if each.agreement is not Agreement.AGREE
    ]
    whole = {"schema": "pipeproof.test/1", **{each.value: counts[each] for each in Agreement}}
    return json.dumps({**whole, "disagreements": entries}, indent=1) + "\n"
