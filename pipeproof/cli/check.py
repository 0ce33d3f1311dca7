"""`pipeproof check`: judges schedules and says which are legal."""

import importlib
from contextlib import nullcontext
from dataclasses import replace
from types import ModuleType
from typing import Unpack

import click

from pipeproof import __version__, engines, reports
from pipeproof.cli._baseline import baseline_option, read_baseline
from pipeproof.cli._budget import budget_option, effort
from pipeproof.cli._cache import Cache, Caching, cache_options, cached
from pipeproof.cli._configured import Configured, config_options, noted
from pipeproof.cli._diagram import Drawing, diagram_option
from pipeproof.cli._exits import Exit, TerminatedError, worst
from pipeproof.cli._frontier import Bookmark, Stop, frontier_option, stopped_once
from pipeproof.cli._inputs import Input
from pipeproof.cli._judge import Judge
from pipeproof.cli._keys import FAILING
from pipeproof.cli._options import (
    Asking,
    asked,
    asking_options,
    read_options,
    reading_options,
)
from pipeproof.cli._output import COLOURS, complain, emit, wants_colour
from pipeproof.cli._progress import Watch, watching
from pipeproof.cli._rooms import Member, names
from pipeproof.cli._seen import NOT_REPRODUCED, confirm_option, witness_of
from pipeproof.cli._sources import Sourced, source_options, sources
from pipeproof.cli._statistics import Counted, statistics_option
from pipeproof.cli._watch import Watching, watch_option, watched
from pipeproof.cli._why import places, why_option
from pipeproof.verdict.result import FileReport, Result

__all__ = ["command", "exit_code", "is_open"]


class _Values(Asking, Sourced, Caching, Watching):
    engine: str
    budget: str | None
    frontier: str | None
    why: tuple[str, ...]
    confirm: bool
    witness: str | None
    diagram: str | None
    format_: str
    output: str | None
    color: str
    fail_on: tuple[str, ...]
    exit_zero: bool
    baseline: str | None
    statistics: bool


@click.command(name="check", cls=Configured, short_help="Judge schedules: legal or not, and why.")
@source_options
@click.option(
    "--engine",
    type=click.Choice([*names(engines), "all"]),
    default="graph",
    show_default=True,
    help="What decides; all of them must agree.",
)
@budget_option
@frontier_option
@why_option
@confirm_option
@diagram_option
@asking_options
@reading_options
@click.option("--format", "format_", type=Member(reports), default="text", show_default=True)
@click.option("-o", "output", metavar="FILE", help="Write the result there, not to stdout.")
@click.option("--color", type=click.Choice(COLOURS), default="auto", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(FAILING),
    multiple=True,
    help="Fail on more: a warning or what is gone of a baseline exits 1, a selected rule that "
    "applied to nothing exits 3. What is refuted or unknown fails always.",
)
@baseline_option
@statistics_option
@click.option("--exit-zero", is_flag=True, help="Exit 0 instead of 1; nothing else changes.")
@cache_options
@watch_option
@config_options
def command(**values: Unpack[_Values]) -> int:
    """Judge every schedule at PATH...

    A path is a spec file, a torch CSV, a case in a file (FILE#3), a folder, a pattern, or - for
    standard input. In place of paths stands --schedule NAME, a known schedule, or --object
    MODULE:CLASS, a schedule class of your own; both with --ranks and --microbatches.
    """
    return watched(values, _checked) if values["watch"] else _checked(values, set())


def _checked(values: _Values, read: set[str]) -> int:
    """Judge once; files that were read besides the paths are added to `read`."""
    options, path = read_options(values), values["frontier"]
    counted = Counted(wanted=values["statistics"], format_=values["format_"])
    baseline = None if values["baseline"] is None else read_baseline(values["baseline"])
    bookmark = None if path is None else Bookmark(path, options)
    witness = witness_of(confirm=values["confirm"], witness=values["witness"])
    report = _report(values["format_"])
    keeps = hasattr(report, "DRAWS")
    cache = _cache(values, keeps=keeps)
    judge = Drawing(options, asked(values, values["engine"]), bookmark, witness, keeps, cache, read)
    judge = replace(judge, places=hasattr(report, "PLACES"))
    found: list[FileReport] = []
    with watching() as watch, nullcontext(Stop()) if path is None else stopped_once() as stop:
        stopped = _judged(_limited(judge, values, watch, stop), values, watch, found) or stop.exit
    if cache is not None:
        cache.close()
    read.update(problem.file for report in found for problem in report.problems)
    result = counted.of(Result(__version__, noted(found)))
    result = result if baseline is None else baseline.of(result)
    code = exit_code(result, values["fail_on"], exit_zero=values["exit_zero"])
    code = code if stopped is None else stopped
    _tell(replace(result, exit_code=code), values)
    if values["diagram"] is not None and stopped is None:
        judge.draw(values["diagram"], effort(values["budget"]), result.files)
    if bookmark is not None:
        bookmark.close(stopped=stopped is not None)
    if stopped is not None:
        complain(f"stopped after {len(found)} schedules")
    return code


def _cache(values: _Values, *, keeps: bool) -> Cache | None:
    """Return where verdicts are taken from, where they are verdicts and nothing more is asked."""
    seconds = effort(values["budget"]).seconds if values["budget"] is not None else None
    unless = {
        "--confirm": values["confirm"],
        "--frontier": values["frontier"] is not None,
        f"--format {values['format_']}": keeps,
        "a budget of seconds": seconds is not None,
    }
    return cached(values, unless)


def _limited(judge: Judge, values: _Values, watch: Watch, stop: Stop) -> Judge:
    """Return what judges no further than it may, shows how far it is, and stops when asked to."""
    why = places(values["why"])
    if why is not None:
        judge = replace(judge, asked=replace(judge.asked, why=why))
    if values["budget"] is None and judge.bookmark is None and not watch.shows:
        return judge
    limited = effort(values["budget"])
    watch.states = limited.states
    progress = watch.explored if watch.shows else None
    stopped = None if judge.bookmark is None else stop
    limited = replace(limited, progress=progress, stopped=stopped)
    return replace(judge, asked=replace(judge.asked, effort=limited))


def _judged(judge: Judge, values: _Values, watch: Watch, found: list[FileReport]) -> Exit | None:
    """Add to `found` what becomes of each schedule; return what ended it early, if anything did.

    Raises:
        click.UsageError: it is not said what to judge.
        InputError: there is no such schedule, or several for one frontier.
    """
    found_at = sources(values, judge.options)
    if judge.bookmark is not None:
        judge.bookmark.require_one(len(found_at))
    try:
        for source in watch.counted(found_at):
            found.extend(
                judge.reports(source) if isinstance(source, Input) else [judge.report(source)]
            )
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except TerminatedError:
        return Exit.TERMINATED
    return None


def _report(name: str) -> ModuleType:
    return importlib.import_module(f"{reports.__name__}.{name}")


def _tell(result: Result, values: _Values) -> None:
    report = _report(values["format_"])
    output = values["output"]
    coloured = hasattr(report, "render_in_colour") and wants_colour(values["color"], output)
    emit((report.render_in_colour if coloured else report.render)(result), output)


def exit_code(result: Result, fail_on: tuple[str, ...] = (), *, exit_zero: bool = False) -> Exit:
    """Return how the command ends; `fail_on` may hold `warning`, `zero` and `gone`."""
    codes = {_code(report, fail_on) for report in result.files}
    if "gone" in fail_on and result.baseline is not None and result.baseline.gone:
        codes.add(Exit.REFUTED)
    if exit_zero:
        codes = {Exit.PROVED if code is Exit.REFUTED else code for code in codes}
    code = worst(codes)
    return Exit.NOTHING if code is Exit.PROVED and _nothing(result) else code


def _code(report: FileReport, fail_on: tuple[str, ...]) -> Exit:
    if report.failure is not None:
        return Exit(report.failure.exit_code)
    if report.problems:
        return Exit.INPUT
    if _not_reproduced(report):
        return Exit.DISTRUST
    new = report.word == "refuted" and not report.only_accepted
    if new or ("warning" in fail_on and _warns(report)):
        return Exit.REFUTED
    if is_open(report) or ("zero" in fail_on and _applied_to_nothing(report)):
        return Exit.UNKNOWN
    return Exit.PROVED


def is_open(report: FileReport) -> bool:
    """Whether something was left unknown, in a file that is refuted too."""
    transports = () if report.verdict is None else report.verdict.transports
    return report.word == "unknown" or any(each.unknown for each in transports)


def _not_reproduced(report: FileReport) -> bool:
    transports = report.verdict.transports if report.verdict is not None else ()
    seen = [each.seen for transport in transports for each in transport.violations]
    return any(each is not None and each.answer == NOT_REPRODUCED for each in seen)


def _warns(report: FileReport) -> bool:
    transports = report.verdict.transports if report.verdict is not None else ()
    return any(transport.warnings for transport in transports)


def _instances(report: FileReport) -> dict[str, int]:
    """Return what each selected rule applied to, over all transports."""
    counts: dict[str, int] = {}
    for transport in report.verdict.transports if report.verdict is not None else ():
        for code, n in transport.instances.items():
            counts[code] = counts.get(code, 0) + n
    return counts


def _applied_to_nothing(report: FileReport) -> bool:
    return 0 in _instances(report).values()


def _nothing(result: Result) -> bool:
    """Whether nothing was judged; a refuted or unknown file is something."""
    return not any(
        report.word != "proved" or any(_instances(report).values()) for report in result.files
    )
