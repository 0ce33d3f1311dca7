"""`pipeproof calibrate`: the costs of operations, from the trace of a real run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from pipeproof.cli._exits import Exit
from pipeproof.cli._options import limit_option, limits
from pipeproof.cli._output import complain, emit, printable_lines
from pipeproof.cli._traces import micros, traced
from pipeproof.errors import UnsupportedFeatureError
from pipeproof.ir.reading import ReadOptions
from pipeproof.ir.recorded import MICROSECOND, micros_text

if TYPE_CHECKING:
    from pipeproof.ir.recorded import Recorded
    from pipeproof.timing.recorded import Samples

__all__ = ["command"]

_ONE_PROCESS = "one process"


class _Values(TypedDict):
    paths: tuple[str, ...]
    unit: str
    skew: str | None
    limit: tuple[str, ...]
    output: str | None


@click.command(name="calibrate", short_help="Write `costs:` from the trace of a real run.")
@click.argument("paths", nargs=-1, required=True, metavar="TRACE...")
@click.option(
    "--unit",
    metavar="US",
    default="1",
    show_default=True,
    help="A unit of time is so many microseconds.",
)
@click.option(
    "--skew",
    metavar="US",
    help="Clocks of ranks differ by so many microseconds at most, so that messages have a time.",
)
@limit_option
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
def command(**values: Unpack[_Values]) -> int:
    """Write what F, B, I, W, R, L and messages took in TRACE, ready to be put into a spec.

    Each is the median of its kind and stage; the number of samples and their spread stand beside
    it. Of several steps the first one, which warms up, is left out. Where a kind is recorded on
    some stages only, nothing is written, and the code is 3.
    """
    from pipeproof.frontends.traces.chrome import together  # noqa: PLC0415  when needed
    from pipeproof.timing.recorded import costs_text, sampled  # noqa: PLC0415

    unit = micros(values["unit"], "--unit") or 0
    if not unit:
        said = "a unit takes some time"
        raise click.BadParameter(said, param_hint="--unit")
    files = traced(values["paths"], ReadOptions(limits=limits(values["limit"])))
    recorded = together(files)
    comparable = recorded.together or micros(values["skew"], "--skew") is not None
    samples = sampled(recorded, comparable=comparable)
    if not samples.of:
        complain("no computation stands in the trace")
        return Exit.NOTHING
    if recorded.counted:
        said = "the times in the trace are numbers of steps: nothing can be measured"
        raise UnsupportedFeatureError(said)
    costs, missing = costs_text(samples, unit)
    if missing:
        said = f"no costs can be written: {missing}"
        raise UnsupportedFeatureError(said)
    head = _head(recorded, samples, unit, comparable=comparable)
    emit(printable_lines("\n".join([*head, *_body(costs, samples, unit)])) + "\n", values["output"])
    return Exit.PROVED


def _head(
    recorded: "Recorded", samples: "Samples", unit: int, *, comparable: bool
) -> Iterator[str]:
    steps = "1 step" if samples.steps == 1 else f"{samples.steps} steps"
    left = "; the first step was left out" if samples.first else ""
    per = "microseconds" if unit == MICROSECOND else f"units of {micros_text(unit)} microseconds"
    yield f"# medians in {per}, of {steps}{left}"
    if recorded.runs_on == _ONE_PROCESS:
        yield "# one process ran all ranks in turn: a span holds what others did meanwhile"
    if samples.shared:
        yield f"# {samples.shared} overlaps could not be taken apart and were left out"
    if "comm" not in samples.kinds:
        yield f"# comm is not measured: {_no_messages(samples, comparable=comparable)}"


def _no_messages(samples: "Samples", *, comparable: bool) -> str:
    if not comparable:
        return "clocks of ranks are not comparable; --skew says that they are"
    if samples.posted:
        return "receives were recorded as they were posted"
    return "no message has both ends in the trace"


def _body(costs: dict[str, tuple[str, ...]], samples: "Samples", unit: int) -> Iterator[str]:
    yield "costs:"
    for kind, row in costs.items():
        said = [_spread(kind, samples.of.get((kind, stage), ()), unit) for stage in range(len(row))]
        yield f"  # {kind} by stage: {'; '.join(said)}"
        yield f"  {kind}: [{', '.join(row)}]"


def _spread(kind: str, took: tuple[int, ...], unit: int) -> str:
    """Return how many samples there are, and between what they lie."""
    if not took:
        return "the sum of I and W" if kind == "B" else "none, so 0"
    least, most = (micros_text(each * MICROSECOND // unit) for each in (took[0], took[-1]))
    return f"{len(took)} samples, {least} to {most}"
