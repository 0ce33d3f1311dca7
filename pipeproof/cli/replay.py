"""`pipeproof replay`: replays every counterexample of a result on tensors."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Unpack

import click

from pipeproof.cli._exits import Exit, worst
from pipeproof.cli._options import Reading, read_options, reading_options
from pipeproof.cli._seen import (
    by_fault,
    confirmed,
    is_by_fault,
    models_of,
    needs_torch,
    seen_code,
    witness_option,
)
from pipeproof.cli._single import content, only
from pipeproof.cli._telling import Teller, format_option, verbose_option
from pipeproof.errors import ParseError, Problem, printable
from pipeproof.verdict.verdict import TraceStep

if TYPE_CHECKING:
    from pipeproof.execution.confirm import Claim, Confirmed
    from pipeproof.ir.source import Document
    from pipeproof.verdict.result import Json

__all__ = ["command"]

_SCHEMA = "pipeproof.result/1"


class _Values(Reading):
    result: str
    witness: str
    format_: str
    verbose: bool


class _Told(NamedTuple):
    """A counterexample as a result tells it."""

    path: str
    transport: str
    claim: "Claim"


@click.command(name="replay", short_help="Replay the counterexamples of a result on tensors.")
@click.argument("result", metavar="RESULT.json")
@reading_options
@witness_option
@format_option
@verbose_option
def command(**values: Unpack[_Values]) -> int:
    """Replay every counterexample in RESULT.json, a result of `check --format json`.

    The schedules are read again from their files: name the options that they were judged with.
    The exit code is 1 where all counterexamples are reproduced or no number can show them, 4 where
    one is not reproduced, 5 where there is none, and 2 where something cannot be read.
    """
    needs_torch()
    from pipeproof.execution.provenance import settled  # noqa: PLC0415  torch, when needed

    told = list(_counterexamples(values["result"]))
    teller = Teller("pipeproof.replay/1", values["format_"], verbose=values["verbose"])
    if not told:
        teller.note(f"{values['result']}: no counterexample")
    with settled():
        found = [_replayed(each, values, teller) for each in told]
    teller.close("counterexamples", result=values["result"])
    return worst(seen_code(found)) if told else Exit.NOTHING


def _replayed(told: _Told, values: _Values, teller: Teller) -> "Confirmed":
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.cli._provenance import came_of  # noqa: PLC0415
    from pipeproof.execution.confirm import SEEDS  # noqa: PLC0415  torch, when needed

    question = api.Asked(transports=(told.transport,), profile=values["profile"])
    document = only(told.path, read_options(values))
    _require_transport(told, document, values)
    if is_by_fault(document, question, told.transport, told.claim):
        found = by_fault()
    else:
        models = models_of(document, question, told.transport)
        found = confirmed(((each, told.claim) for each in models), values["witness"])
    places = " ".join(f"r{rank}.{position}" for rank, position in told.claim.places)
    at = f"{told.path}: {told.transport}: {told.claim.rule}" + (f" at {places}" if places else "")
    said: dict[str, Json] = {
        "path": told.path,
        "transport": told.transport,
        "rule": told.claim.rule,
        "at": [{"rank": rank, "position": position} for rank, position in told.claim.places],
        "answer": found.answer.value,
        "why": found.why,
    }
    teller.tell(
        f"{at}: {found.answer.value}: {found.why}",
        said,
        lambda: came_of(document, told.transport, values["witness"], SEEDS),
    )
    return found


def _require_transport(told: _Told, document: "Document", values: _Values) -> None:
    """Check that a schedule can be judged under the transport that a result names.

    Raises:
        ParseError: there is none of this name.
    """
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed
    from pipeproof.ir.transport import NAMED  # noqa: PLC0415

    own = api.transports_of(document, api.Asked(profile=values["profile"]))
    if told.transport not in NAMED and told.transport not in {each.name for each in own}:
        found = f"{printable(told.path)} has no transport {printable(told.transport)}"
        expected = "name the options that it was judged with"
        raise ParseError([Problem(values["result"], 1, 1, found, expected)])


# reading a result


class _Malformed(Exception):  # noqa: N818  never leaves this module
    """Something stands in a result that is not there in any."""


def _counterexamples(path: str) -> Iterator[_Told]:
    """Yield the counterexamples in a result.

    Raises:
        ParseError: it is none.
    """
    try:
        result = _table(json.loads(content(path)))
        _require(result.get("schema") == _SCHEMA)
        for file in _list(result.get("files")):
            yield from _of_file(_table(file))
    except (ValueError, RecursionError, _Malformed) as error:
        found = "it holds no result"
        expected = "name what `pipeproof check --format json` printed"
        raise ParseError([Problem(path, 1, 1, found, expected)]) from error


def _of_file(file: Mapping[str, object]) -> Iterator[_Told]:
    from pipeproof.execution.confirm import Claim  # noqa: PLC0415  torch, when needed

    for transport in map(_table, _list(file.get("transports", []))):
        for violation in map(_table, _list(transport.get("violations"))):
            at = [_table(each) for each in _list(violation.get("at"))]
            claim = Claim(
                _rule(violation.get("rule")),
                tuple((_number(p.get("rank")), _number(p.get("position"))) for p in at),
                tuple(_step(_table(each)) for each in _list(violation.get("trace"))),
                violation.get("reached") is not False,
            )
            yield _Told(_text(file.get("path")), _text(transport.get("name")), claim)


def _step(step: Mapping[str, object]) -> TraceStep:
    return TraceStep(
        _text(step.get("event")),
        _text(step.get("phase")),
        _number(step.get("rank")),
        _number(step.get("position")),
    )


def _require(holds: bool) -> None:  # noqa: FBT001  a condition, as in assert
    if not holds:
        raise _Malformed


def _table(value: object) -> Mapping[str, object]:
    _require(isinstance(value, dict))
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    _require(isinstance(value, list))
    return value if isinstance(value, list) else []


def _rule(value: object) -> str:
    from pipeproof import api  # noqa: PLC0415  what judges is imported when needed

    _require(value in {rule.code for rule in api.rules()})
    return _text(value)


def _text(value: object) -> str:
    _require(isinstance(value, str))
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool))
    return value if isinstance(value, int) else 0
