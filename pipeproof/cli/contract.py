"""`pipeproof contract`: says of which weights each update takes the gradient."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

import click

from pipeproof.cli._exits import Exit
from pipeproof.cli._inputs import Input, expand, load
from pipeproof.cli._options import Reading, read_options, reading_options
from pipeproof.cli._output import emit
from pipeproof.errors import ParseError, Problem
from pipeproof.ir.source import Document

if TYPE_CHECKING:
    from pipeproof.verdict.contract import Contract, Part, Update
    from pipeproof.verdict.verdict import TransportVerdict, Violation

__all__ = ["SCHEMA", "command"]

SCHEMA = "pipeproof.contract/1"
_RULES = ("PP6", "PP802")

Json = str | int | None | list["Json"] | dict[str, "Json"]


class _Values(Reading):
    path: str
    format_: str
    output: str | None


@click.command(name="contract", short_help="Say of which weights each update takes the gradient.")
@click.argument("path", metavar="FILE")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option("-o", "output", metavar="FILE", help="Write it there, not to stdout.")
@reading_options
def command(**values: Unpack[_Values]) -> int:
    """Print the contract of the updates in the schedule at FILE, to be logged with an experiment.

    For each update: at which versions of the weights its gradient was evaluated, by stage and
    microbatch, to which version it is applied, and with which delay. Exits 1 if a rule of weight
    versions is broken, 3 if one is undecided, 5 if there is no update at all.
    """
    document = _only(values["path"], values)
    made, verdict = _made(document)
    content = _object(document, made, verdict)
    if values["format_"] == "json":
        emit(_json(content), values["output"])
    else:
        emit("\n".join([*_lines(document, made, verdict, content["digest"]), ""]), values["output"])
    if verdict.outcome.value != "proved":
        return Exit.REFUTED if verdict.violations else Exit.UNKNOWN
    return Exit.PROVED if any(each.kind != "left out" for each in made.updates) else Exit.NOTHING


def _only(path: str, values: Reading) -> Document:
    sources = list(expand([path]))
    if len(sources) != 1:
        said = f"{len(sources)} files stand at {path}; name one"
        raise click.BadParameter(said, param_hint="FILE")
    source: Input = sources[0]
    loaded = load(source, read_options(values))
    documents = loaded.documents if loaded is not None else ()
    if len(documents) != 1:
        found = f"it holds {len(documents)} schedules"
        raise ParseError([Problem(source.name, 1, 1, found, f"name one, as {source.name}#0")])
    return documents[0]


def _lines(
    document: Document, made: "Contract", verdict: "TransportVerdict", digest: Json
) -> Iterator[str]:
    """Yield the contract line by line, for people."""
    policy = made.policy
    yield f"{document.name}: weights {policy.name}, updated every {policy.every}"
    yield f"  rules of weight versions: {verdict.outcome.value}"
    for broken in verdict.violations:
        places = ", ".join(f"r{place.rank}.{place.position}" for place in broken.at)
        yield f"    {broken.rule} {broken.name} at {places}: {broken.message}"
    for open_ in verdict.unknown:
        yield f"    {open_.rule} is undecided: {open_.why}"
    for update in () if verdict.unknown else made.updates:
        implied = " (the step ends with the programs)" if update.implicit else ""
        vector = "one version of all stages" if update.one_vector else "versions differ"
        nothing = update.kind in ("left out", "nothing was added")
        yield f"  update {update.number}{implied}: {update.kind}{'' if nothing else f'; {vector}'}"
        yield from (f"    {_told(part)}" for part in update.parts)
    for stage, microbatches in () if verdict.unknown else made.left:
        yield f"  taken by no update: stage {stage}: microbatches {_counted(microbatches)}"
    yield from (f"  assumed: {each}" for each in made.assumes)
    if made.convergence is not None:
        yield f"  {made.convergence}"
    yield f"  digest: sha256:{digest}"


def _told(part: "Part") -> str:
    name = f" parameter {part.parameter}" if part.parameter else ""
    groups = [
        f"microbatch{'es' if len(each.microbatches) > 1 else ''} {_counted(each.microbatches)} "
        f"at version{'s' if len(each.versions) > 1 else ''} {_counted(each.versions)}"
        for each in part.evaluated
    ]
    said = "; ".join(groups) or "no contribution"
    verb = "left out at" if part.skipped else "applied to"
    return f"stage {part.stage}{name}: {said}; {verb} version {part.applied_to}"


def _counted(numbers: tuple[int, ...]) -> str:
    """Write ascending numbers with runs shortened: 0 to 3, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run))  # noqa: PLR2004
        for run in runs
    )


def _made(document: Document) -> "tuple[Contract, TransportVerdict]":
    """Return the contract, and what the rules of weight versions say: they look at programs.

    Where the runtime chooses, there is a contract for each outcome and none for all: none is told.
    """
    from dataclasses import replace  # noqa: PLC0415  imported when needed

    from pipeproof.api import Asked, judge  # noqa: PLC0415
    from pipeproof.lowering.lower import lower  # noqa: PLC0415
    from pipeproof.lowering.outcomes import alternatives  # noqa: PLC0415
    from pipeproof.verdict.contract import contract  # noqa: PLC0415
    from pipeproof.verdict.verdict import Outcome, Undecided  # noqa: PLC0415

    run = lower(document.schedule)
    asked = Asked(transports=("rendezvous",), select=_RULES)
    verdict = judge(document, asked).transports[0]
    chooses = bool(alternatives(run)) or "ready" in document.schedule.described
    if chooses and not verdict.unknown:
        outcome = Outcome.REFUTED if verdict.violations else Outcome.UNKNOWN
        open_ = (
            Undecided("PP601", "the runtime chooses, and each outcome has updates of its own"),
        )
        verdict = replace(verdict, outcome=outcome, unknown=open_)
    return contract(run), verdict


def _object(document: Document, made: "Contract", verdict: "TransportVerdict") -> dict[str, Json]:
    from pipeproof.ir.canonical import canonical, digest  # noqa: PLC0415  imported when needed

    schedule, policy = document.schedule, made.policy
    content: dict[str, Json] = {
        "schema": SCHEMA,
        "schedule": digest(canonical(schedule)),
        "title": document.title,
        "stages": schedule.stages,
        "ranks": schedule.ranks,
        "microbatches": schedule.microbatches,
        "steps": made.steps,
        "fragment": schedule.fragment,
        "policy": policy.name,
        "updates_every": policy.every,
        "versions_retained": policy.slots,
        "staleness_allowed": policy.staleness,
        "verdict": verdict.outcome.value,
        "violations": [_violation(each) for each in verdict.violations],
        "unknown": [{"rule": each.rule, "why": each.why} for each in verdict.unknown],
        "assumes": list[Json](made.assumes),
        "updates": [] if verdict.unknown else [_update(each) for each in made.updates],
        "left": [
            {"stage": stage, "microbatches": list[Json](own)}
            for stage, own in (() if verdict.unknown else made.left)
        ],
        "convergence": made.convergence,
    }
    content["digest"] = digest(_canonical(content))
    return content


def _violation(violation: "Violation") -> Json:
    at: list[Json] = [f"r{place.rank}.{place.position}" for place in violation.at]
    return {
        "rule": violation.rule,
        "name": violation.name,
        "at": at,
        "message": violation.message,
    }


def _update(update: "Update") -> Json:
    return {
        "update": update.number,
        "implicit": update.implicit,
        "gradient": update.kind,
        "one_vector": update.one_vector,
        "stages": [_part(part) for part in update.parts],
    }


def _part(part: "Part") -> Json:
    evaluated: list[Json] = [
        {"versions": list[Json](each.versions), "microbatches": list[Json](each.microbatches)}
        for each in part.evaluated
    ]
    return {
        "stage": part.stage,
        "parameter": part.parameter or None,
        "rank": part.rank,
        "position": part.position,
        "operation": part.operation,
        "skipped": part.skipped,
        "evaluated_at": evaluated,
        "applied_to": part.applied_to,
        "delay": list[Json](part.delays),
    }


def _canonical(content: dict[str, Json]) -> str:
    import json  # noqa: PLC0415  imported when needed

    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _json(content: dict[str, Json]) -> str:
    import json  # noqa: PLC0415  imported when needed

    return json.dumps(content, indent=1, ensure_ascii=True) + "\n"
