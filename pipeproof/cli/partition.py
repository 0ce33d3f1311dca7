"""`pipeproof partition`: layers to stages, the largest load as small as it can be."""

import json
from fractions import Fraction
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from pipeproof.cli._exits import Exit
from pipeproof.cli._inputs import text_of
from pipeproof.cli._layers import Layers, read_layers
from pipeproof.cli._options import limit_option, limits
from pipeproof.cli._output import emit
from pipeproof.errors import ParseError, Problem, printable
from pipeproof.ir.reading import ReadOptions

if TYPE_CHECKING:
    from pipeproof.timing.partition import Partition

__all__ = ["SCHEMA", "command"]

SCHEMA = "pipeproof.partition/1"
_SAID = (
    "contiguous stages, none empty; no partition has a smaller largest load\n"
    "what layers cost is taken as given: neither transfers nor memory are counted"
)


class _Values(TypedDict):
    layers: str
    stages: int
    limit: tuple[str, ...]
    format_: str
    output: str | None


@click.command(name="partition", short_help="Divide layers into stages of small largest load.")
@click.option(
    "--layers", required=True, metavar="FILE", help="A JSON list of costs, or names to costs."
)
@click.option("--stages", type=int, required=True, metavar="N", help="How many stages.")
@click.option(
    "--format", "format_", type=click.Choice(["json", "text"]), default="text", show_default=True
)
@limit_option
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
def command(**values: Unpack[_Values]) -> int:
    """Print contiguous, non-empty stages whose largest load is the smallest there is.

    FILE holds what each layer costs, in order, in any one unit: a JSON list of numbers, or an
    object from the names of layers to numbers. The split by count stands beside it.
    """
    from pipeproof.timing.partition import balanced, even  # noqa: PLC0415  when needed

    name, text = text_of(values["layers"], ReadOptions(limits=limits(values["limit"])))
    layers, stages = read_layers(text, name), values["stages"]
    try:
        found, by_count = balanced(layers.costs, stages), even(layers.costs, stages)
    except ValueError as error:
        said, _, expected = str(error).partition("; ")
        raise ParseError([Problem(name, 1, 1, said, expected)]) from error
    is_json = values["format_"] == "json"
    told = _object(layers, found, by_count) if is_json else _text(layers, found, by_count)
    emit(told, values["output"])
    return Exit.PROVED


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def _object(layers: Layers, found: "Partition", by_count: "Partition") -> str:
    ideal = sum(layers.costs, Fraction()) / len(found.ends)
    said = {
        "schema": SCHEMA,
        "layers": len(layers.costs),
        "ideal": _number(ideal),
        "partition": _stages(found, layers),
        "even": _stages(by_count, layers),
    }
    return json.dumps(said, indent=1) + "\n"


def _stages(part: "Partition", layers: Layers) -> dict[str, object]:
    stages: list[dict[str, object]] = []
    for each, load in zip(part.ranges, part.loads, strict=True):
        stage: dict[str, object] = {"first": each[0], "last": each[-1], "load": _number(load)}
        if layers.names is not None:
            stage["names"] = [layers.names[each[0]], layers.names[each[-1]]]
        stages.append(stage)
    return {"largest": _number(part.largest), "stages": stages}


def _text(layers: Layers, found: "Partition", by_count: "Partition") -> str:
    rows = [("stage", "layers", "load", "by count", "load")]
    both = zip(found.ranges, found.loads, by_count.ranges, by_count.loads, strict=True)
    rows += [
        (str(s), _shown(a, layers), f"{float(x):.6g}", _shown(b, layers), f"{float(y):.6g}")
        for s, (a, x, b, y) in enumerate(both)
    ]
    ideal = sum(layers.costs, Fraction()) / len(found.ends)
    rows.append(
        ("largest", "", f"{float(found.largest):.6g}", "", f"{float(by_count.largest):.6g}")
    )
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    lines = [
        "  ".join(
            cell.rjust(width) if k in (2, 4) else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.append(f"the mean load is {float(ideal):.6g}; {_gained(found, by_count)}")
    return "\n".join([*lines, _SAID, ""])


def _gained(found: "Partition", by_count: "Partition") -> str:
    if found.largest == by_count.largest:
        return "the split by count is as good"
    less = 1 - found.largest / by_count.largest
    return f"the largest load is {float(100 * less):.3g} % below that of the split by count"


def _shown(stage: range, layers: Layers) -> str:
    first, last = stage[0], stage[-1]
    numbers = f"{first}" if first == last else f"{first}-{last}"
    if layers.names is None:
        return numbers
    ends = dict.fromkeys((layers.names[first], layers.names[last]))
    return f"{numbers} {' to '.join(printable(each, 24) for each in ends)}"
