"""`pipeproof show`: a schedule's totals, its timeline, and what its time comes to."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import click

from pipeproof.cli._configured import Configured, config_options
from pipeproof.cli._costs import times_of, with_costs
from pipeproof.cli._exits import Exit, worst
from pipeproof.cli._inputs import Input, load
from pipeproof.cli._judge import reported
from pipeproof.cli._options import Asking, asked, read_options, reading_options, transport_option
from pipeproof.cli._output import complain, emit
from pipeproof.cli._progress import counted
from pipeproof.cli._sources import Sourced, source_options, sources
from pipeproof.errors import PipeproofError, UnsupportedFeatureError
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.source import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeproof.api import Asked
    from pipeproof.reports._timing import Timed
    from pipeproof.verdict.verdict import FileVerdict, TransportVerdict

__all__ = ["SCHEMA", "command"]

SCHEMA = "pipeproof.timing/1"
_CODES = {"proved": Exit.PROVED, "refuted": Exit.REFUTED, "unknown": Exit.UNKNOWN}


class _Values(Asking, Sourced):
    cost: tuple[str, ...]
    compare: bool
    format_: str
    output: str | None


@click.command(
    name="show", cls=Configured, short_help="Print a schedule's timeline, bubble, and totals."
)
@source_options
@click.option(
    "--cost",
    multiple=True,
    metavar="KIND=T[,T...]",
    help="Time of F, B, I, W, R, L or comm, for all stages or one a stage.",
)
@transport_option
@reading_options
@click.option("--compare", is_flag=True, help="One table of all schedules, no timelines.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "png", "svg", "text"]),
    default="text",
    show_default=True,
)
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
@config_options
def command(**values: Unpack[_Values]) -> int:
    """Print totals, timeline, makespan, bubble, and lower bounds of every schedule at PATH...

    Times are in units of `costs`, in the execution in which everything happens as early as it can.
    A schedule that is not legal has none: its time is not comparable. The exit code is that of
    `check`.
    """
    options, question = read_options(values), asked(values)
    costs = times_of(values["cost"], "--cost")
    found: list[Timed] = []
    codes: set[Exit] = set()
    for source in counted(sources(values, options)):
        for document in _documents(source, options, codes):
            try:
                told = list(_shown(with_costs(document, costs, "--cost"), question))
            except click.ClickException:
                raise
            except Exception as error:  # told, and counted as what it is
                codes.add(_failed(document.name, error))
                continue
            found.extend(told)
            codes |= {_CODES[each.word] for each in told}
    _tell(found, values)
    return worst(codes or {Exit.NOTHING})


def _documents(
    source: Input | Document, options: ReadOptions, codes: set[Exit]
) -> tuple[Document, ...]:
    if isinstance(source, Document):
        return (source,)
    try:
        loaded = load(source, options)
    except Exception as error:  # told, and counted as what it is
        codes.add(_failed(source.name, error))
        return ()
    return loaded.documents if loaded is not None else ()


def _failed(name: str, error: Exception) -> Exit:
    report = reported(name, error)
    if report.unsupported:
        complain(f"{name}: {report.unsupported}")
        return Exit.UNKNOWN
    if isinstance(error, PipeproofError) and report.failure is None:
        complain(str(error))
    return Exit(report.failure.exit_code) if report.failure is not None else Exit.INPUT


def _shown(document: Document, question: "Asked") -> "Iterator[Timed]":
    """Yield what is told of a schedule, once for all transports that give it the same timeline."""
    from pipeproof.api import judge, models  # noqa: PLC0415  what judges, when needed

    verdict = judge(document, replace(question, live=True))
    model_of = models(document, question)
    alike: list[Timed] = []
    for each in verdict.transports:
        told = _one(document, verdict, each, model_of(each.name, 1))
        for n, other in enumerate(alike):
            if other.is_like(told):
                alike[n] = other._replace(transports=(*other.transports, each.name))
                break
        else:
            alike.append(told)
    yield from alike


def _one(
    document: Document, verdict: "FileVerdict", each: "TransportVerdict", model: object
) -> "Timed":
    from pipeproof.reports._timing import ILLEGAL, Timed  # noqa: PLC0415
    from pipeproof.semantics.model import Model  # noqa: PLC0415
    from pipeproof.timing.measures import totals  # noqa: PLC0415
    from pipeproof.timing.report import timed  # noqa: PLC0415

    names, word = (each.name,), each.outcome.value
    known = totals(model.frame) if isinstance(model, Model) else ((), ())
    untimed = Timed(document.name, names, word, None, totals=known)
    if word == "refuted":
        first = next((found.rule for found in each.violations if found.first), "")
        return untimed._replace(why=f"{ILLEGAL}: {first}; `pipeproof check` shows it")
    if word == "unknown" or not isinstance(model, Model) or model.unjudged:
        return untimed._replace(word="unknown", why="not known to be legal, not comparable")
    try:
        timing = timed(model)
    except UnsupportedFeatureError as error:
        return untimed._replace(why=str(error))
    held = {live.rank: live.number for live in each.live if live.kind == "versions"}
    return Timed(document.name, names, word, timing, "", held)


def _tell(found: "list[Timed]", values: _Values) -> None:
    from pipeproof.reports._timing import compared, timing_lines, timing_object  # noqa: PLC0415

    match values["format_"]:
        case "json":
            said = {"schema": SCHEMA, "schedules": [timing_object(each) for each in found]}
            emit(json.dumps(said, indent=1) + "\n", values["output"])
        case "text":
            lines = (
                compared(found)
                if values["compare"]
                else (line for each in found for line in timing_lines(each))
            )
            emit("".join(f"{line}\n" for line in lines), values["output"])
        case picture:
            from pipeproof.cli._plot import plot  # noqa: PLC0415  matplotlib, when needed

            plot(found, picture, values["output"])
