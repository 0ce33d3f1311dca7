"""`pipeproof baseline`: accepts what is found, so that only what is new fails."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import click

from pipeproof import __version__, engines
from pipeproof.cli._baseline import Baseline, read_baseline, today, written
from pipeproof.cli._budget import budget_option, effort
from pipeproof.cli._configured import Configured, config_options
from pipeproof.cli._exits import Exit
from pipeproof.cli._inputs import expand
from pipeproof.cli._judge import Judge
from pipeproof.cli._options import Asking, asked, asking_options, read_options, reading_options
from pipeproof.cli._output import complain, emit, printable_lines
from pipeproof.cli._rooms import names
from pipeproof.cli.check import exit_code, is_open
from pipeproof.verdict.result import Entry, FileReport, Result

__all__ = ["command"]

engine_option = click.option(
    "--engine",
    type=click.Choice([*names(engines), "all"]),
    default="graph",
    show_default=True,
    help="What decides; all of them must agree.",
)
_SURE = (Exit.PROVED, Exit.REFUTED, Exit.UNKNOWN)


class _Values(Asking):
    file: str
    paths: tuple[str, ...]
    engine: str
    budget: str | None
    reason: str | None
    prune: bool


@click.command(
    name="baseline",
    cls=Configured,
    short_help="Accept what is found, each with a reason and a date.",
)
@click.argument("file", metavar="FILE")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--reason", metavar="TEXT", help="Why what is new is accepted.")
@click.option("--prune", is_flag=True, help="Take out what is gone.")
@engine_option
@budget_option
@asking_options
@reading_options
@config_options
def command(**values: Unpack[_Values]) -> int:
    """Judge every schedule at PATH... and write what is refuted into FILE.

    Entries that stand there keep their reasons and dates. `pipeproof check --baseline FILE` then
    exits 1 only on what is new. Unknown is never accepted: it exits 3, here and there. Ask here
    what is asked there: the same transports, rules and profile; the configuration holds for both.
    """
    file, reason = values["file"], (values["reason"] or "").strip()
    known = read_baseline(file) if os.path.lexists(file) else Baseline(file)
    question = replace(asked(values, values["engine"]), effort=effort(values["budget"]))
    judge = Judge(read_options(values), question)
    found = [report for source in expand(values["paths"]) for report in judge.reports(source)]
    result = known.of(Result(__version__, tuple(found)))
    code = exit_code(result)
    if code not in _SURE:
        complain(f"{file}: not written: not everything could be judged")
        return code
    entries, new = _updated(known, result.files, reason, today())
    if new and not reason:
        count = "1 finding is" if len(new) == 1 else f"{len(new)} findings are"
        said = f"{count} new; write --reason TEXT, why that is accepted."
        raise click.UsageError(said)
    if values["prune"]:
        entries = _pruned(known, entries, result)
    emit(written(entries, file), file)
    _tell(known, entries, new, result, kept=not values["prune"])
    return Exit.UNKNOWN if any(is_open(report) for report in found) else Exit.PROVED


def _updated(
    known: Baseline, reports: Sequence[FileReport], reason: str, date: str
) -> tuple[list[Entry], list[Entry]]:
    """Return all entries, and those that are new or speak of more transports than before."""
    from pipeproof.verdict.baseline import findings, plain  # noqa: PLC0415  when asked for

    entries = {entry.fingerprint: entry for entry in known.entries}
    new: dict[str, Entry] = {}
    for report in reports:
        for each in findings(report, known.named(report.path)):
            old = entries.get(each.fingerprint)
            entry = Entry(
                each.fingerprint,
                each.rule,
                each.path,
                each.message,
                plain(reason) if old is None else old.reason,
                date if old is None else old.date,
                tuple(sorted({*each.transports, *(() if old is None else old.transports)})),
                max(each.count, 1 if old is None else old.count),
            )
            same = old is not None and (old.transports, old.count) == (
                entry.transports,
                entry.count,
            )
            if not same:
                new[each.fingerprint] = entry
            entries[each.fingerprint] = entry
    return list(entries.values()), list(new.values())


def _pruned(known: Baseline, entries: Sequence[Entry], result: Result) -> list[Entry]:
    """Leave out entries, and transports of entries, of which nothing is there any more."""
    from pipeproof.verdict.baseline import is_gone, plain  # noqa: PLC0415  when asked for

    gone = set(() if result.baseline is None else result.baseline.gone)
    left: list[Entry] = []
    for entry in entries:
        reports = [each for each in result.files if plain(known.named(each.path)) == entry.path]
        under = [
            name for name in entry.transports if not is_gone(entry, [name], reports, known.named)
        ]
        if entry not in gone and under:
            left.append(replace(entry, transports=tuple(under)))
    return left


def _tell(
    known: Baseline, entries: Sequence[Entry], new: Sequence[Entry], result: Result, *, kept: bool
) -> None:
    said = f"{len(entries)} accepted, {len(new)} of them new"
    gone = 0 if result.baseline is None else len(result.baseline.gone)
    if gone:
        said += f"; {gone} gone" + (", kept: --prune takes them out" if kept else ", taken out")
    emit(printable_lines(f"{known.file}: {said}") + "\n")
    for entry in sorted(new, key=lambda each: (each.path, each.rule, each.fingerprint)):
        head = f"new: {entry.rule} in {entry.path} under {', '.join(entry.transports)}"
        emit(printable_lines(f"  {head}: {entry.message}") + "\n")
