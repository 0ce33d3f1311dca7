"""`pipeproof conform`: whether the trace of a real run is an execution of a schedule."""

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack

import click

from pipeproof.cli._exits import Exit
from pipeproof.cli._options import Asking, asked, read_options, reading_options, transport_option
from pipeproof.cli._output import emit, printable_lines
from pipeproof.cli._single import only
from pipeproof.cli._traces import micros, traced
from pipeproof.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeproof.api import Asked
    from pipeproof.frontends.traces.chrome import Traced
    from pipeproof.ir.recorded import Recorded, Span
    from pipeproof.ir.schedule import Plain
    from pipeproof.ir.source import Document
    from pipeproof.reports._conform import Beside
    from pipeproof.semantics.model import Model
    from pipeproof.semantics.spans.conformity import Conformity
    from pipeproof.timing.recorded import StepTimes

__all__ = ["command"]

_CODES = {
    "conforms": Exit.PROVED,
    "refuted": Exit.REFUTED,
    "unknown": Exit.UNKNOWN,
    "nothing": Exit.NOTHING,
}
_CHOICES = "the runtime chooses in this schedule, so that it has no one program to compare with"


class _Values(Asking):
    paths: tuple[str, ...]
    skew: str | None
    tolerance: str
    unit: str | None
    partial: bool
    format_: str
    output: str | None


@click.command(name="conform", short_help="Tell whether a trace is an execution of a schedule.")
@click.argument("paths", nargs=-1, required=True, metavar="TRACE... FILE")
@transport_option
@reading_options
@click.option(
    "--skew",
    metavar="US",
    help="Clocks of ranks differ by so many microseconds at most; 0: one clock for all.",
)
@click.option(
    "--tolerance",
    metavar="US",
    default="0",
    show_default=True,
    help="Times may be off by so many microseconds.",
)
@click.option("--unit", metavar="US", help="A unit of `costs` is so many microseconds, for PP902.")
@click.option("--partial", is_flag=True, help="The recording may begin late and end early.")
@click.option(
    "--format", "format_", type=click.Choice(["json", "text"]), default="text", show_default=True
)
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
def command(**values: Unpack[_Values]) -> int:
    """Tell whether TRACE, files or folders of Chrome's trace events, is a run of the schedule FILE.

    What torch's profiler, torch's schedule dump and `run --trace` write is read, gzipped too. The
    code is 0 where it conforms under one of the transports, 1 where it is no execution under any
    (PP901, PP902, PP903), 3 where only a part was recorded, 5 where no operation was.
    """
    from pipeproof.frontends.traces.chrome import together  # noqa: PLC0415  when needed
    from pipeproof.semantics.spans.conformity import Asked as Taken  # noqa: PLC0415
    from pipeproof.semantics.spans.conformity import conformity  # noqa: PLC0415

    *traces, path = values["paths"]
    if not traces:
        said = "Name a trace and, last, the file of its schedule."
        raise click.UsageError(said)
    taken = Taken(
        skew=micros(values["skew"], "--skew"),
        tolerance=micros(values["tolerance"], "--tolerance") or 0,
        partial=values["partial"],
        unit=micros(values["unit"], "--unit"),
    )
    options = read_options(values)
    document, question = only(path, options), asked(values)
    files = traced(traces, options)
    recorded = together(files)
    models = _models(document, question)
    found = conformity(recorded, models, taken)
    _tell(found, values, document, files, _beside(found, recorded, document, question))
    return _CODES[found.verdict]


def _models(document: "Document", question: "Asked") -> "Sequence[Model]":
    """Return the schedule under each transport.

    Raises:
        UnsupportedFeatureError: the runtime chooses what it runs.
    """
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.lowering.outcomes import has_choices  # noqa: PLC0415

    model_of = api.models(document, question)
    names = [each.name for each in api.transports_of(document, question)]
    models = [each for name in names if (each := model_of(name, 1)) is not None]
    described = document.schedule.described
    if "faults" in described or "ready" in described or has_choices(models[0].frame.run):
        raise UnsupportedFeatureError(_CHOICES)
    return models


def _beside(
    found: "Conformity", recorded: "Recorded", document: "Document", question: "Asked"
) -> "Beside | None":
    """Return what the model says where operations take as long as in the trace."""
    from dataclasses import replace  # noqa: PLC0415

    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.reports._conform import Beside  # noqa: PLC0415
    from pipeproof.reports._timing import ILLEGAL  # noqa: PLC0415
    from pipeproof.timing.recorded import costs_text, sampled  # noqa: PLC0415
    from pipeproof.timing.report import timed  # noqa: PLC0415

    if found.verdict != "conforms" or recorded.counted:
        return None
    transport = found.under[0]
    costs, missing = costs_text(sampled(recorded, comparable=found.comparable))
    if missing:
        return Beside(transport, None, f"no costs of its own: {missing}")
    if any(len(each) != document.schedule.stages for each in costs.values()):
        return None
    question = replace(question, transports=(transport,))
    verdict = api.judge(document, question)
    if verdict.verdict != "proved":
        word = ILLEGAL if verdict.verdict == "refuted" else "not known to be legal, not comparable"
        return Beside(transport, None, word)
    told: dict[str, Plain] = {**_defaults(), **costs}
    described = {**document.schedule.described, "costs": MappingProxyType(told)}
    costed = replace(
        document, schedule=replace(document.schedule, described=MappingProxyType(described))
    )
    model = api.models(costed, question)(transport, 1)
    try:
        return None if model is None else Beside(transport, timed(model))
    except (UnsupportedFeatureError, ValueError) as error:
        return Beside(transport, None, str(error))


def _defaults() -> dict[str, str]:
    """Return costs of what the trace does not hold: none."""
    from pipeproof.ir.costs import DEFAULT  # noqa: PLC0415  when needed

    return dict.fromkeys(DEFAULT, "0")


def _tell(
    found: "Conformity",
    values: _Values,
    document: "Document",
    files: "tuple[Traced, ...]",
    beside: "Beside | None",
) -> None:
    from pipeproof.reports._conform import (  # noqa: PLC0415
        Told,
        conform_lines,
        conform_object,
    )
    from pipeproof.timing.recorded import step_times  # noqa: PLC0415

    by_name = {file.name: file for file in files}

    def place(span: "Span") -> tuple[int, int]:
        return by_name[span.file].place(span.event)

    times: tuple[StepTimes, ...] = ()
    if found.verdict == "conforms" and not any(file.recorded.counted for file in files):
        times = step_times(found.found, comparable=found.comparable)
    told = Told(document.name, tuple(by_name), found, place, times, beside)
    if values["format_"] == "json":
        said = json.dumps(conform_object(told), indent=1)
    else:
        said = printable_lines("\n".join(conform_lines(told)))
    emit(f"{said}\n", values["output"])
