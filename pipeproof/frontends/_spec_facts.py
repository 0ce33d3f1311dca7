"""What the keys of a spec file must agree on, once stages, ranks and microbatches are known."""

import numpy as np

from pipeproof.errors import Problem
from pipeproof.frontends._spec_faults import check_faults
from pipeproof.frontends._spec_nodes import Items, Node, Scalar, Table, wrong
from pipeproof.ir.operations import Operations
from pipeproof.ir.reading import Mistakes, ReadOptions
from pipeproof.ir.schedule import Schedule
from pipeproof.ir.source import Document
from pipeproof.ir.values import MAX_STAGE, ValueKind, read_value

__all__ = ["check_facts", "highest_stage", "placed"]

_TAKE_TIME = ("F", "B")


def highest_stage(operations: Operations) -> int:
    """Return the highest stage that an operation or a value names; -1 where none does."""
    highest = int(np.max(operations.stage, initial=-1))
    for attributes in operations.attributes.values():
        value = read_value(attributes.get("written", "_"))
        if not isinstance(value, str) and value[0] in (ValueKind.F, ValueKind.B):
            highest = max(highest, value[1])
    return highest


def placed(node: Node | None, schedule: Schedule) -> tuple[int, ...]:
    """Return the rank of each stage as `placement` says it; nothing where it does not stand."""
    stages, ranks = range(schedule.stages), schedule.ranks
    match node:
        case Scalar(text="loop"):
            return tuple(stage % ranks for stage in stages)
        case Scalar():
            return tuple(
                stage % ranks if stage // ranks % 2 == 0 else ranks - 1 - stage % ranks
                for stage in stages
            )
        case Items():
            return tuple(int(each.text) for each in node.nodes if isinstance(each, Scalar))
        case _:
            return schedule.placement


def check_facts(
    root: Table, schedule: Schedule, document: Document, options: ReadOptions, mistakes: Mistakes
) -> None:
    """Check what keys say against the numbers of stages, ranks and microbatches.

    Raises:
        ParseError: there are too many mistakes to go on.
        LimitError: more operations are asked for than the limit `instructions` allows.
    """
    _check_size(root, schedule, document, options)
    _check_placement(root.entries.get("placement"), schedule, mistakes)
    _check_pipelines(root.entries.get("pipelines"), schedule.stages, mistakes)
    check_faults(root.entries.get("faults"), schedule, mistakes)
    gradients = root.entries.get("gradients")
    if isinstance(gradients, Table):
        _check_coefficients(gradients.entries.get("coefficients"), schedule, mistakes)
        for tied in _lists(gradients.entries.get("tied")):
            _check_stages(tied, schedule.stages, mistakes)
    _check_costs(root.entries.get("costs"), mistakes)
    for key in ("costs", "sizes"):
        table = root.entries.get(key)
        for node in table.entries.values() if isinstance(table, Table) else ():
            if isinstance(node, Items) and len(node.nodes) != schedule.stages:
                found = f"a list of {len(node.nodes)} stands here"
                wrong(node, mistakes, f"write one for each of {schedule.stages} stages", found)


def _check_costs(node: Node | None, mistakes: Mistakes) -> None:
    table = node.entries if isinstance(node, Table) else {}
    for kind in _TAKE_TIME:
        said = table.get(kind)
        for each in said.nodes if isinstance(said, Items) else (said,):
            if isinstance(each, Scalar) and not each.text.strip("0."):
                wrong(each, mistakes, f"write a time above 0: every {kind} takes some")


def _check_size(root: Table, schedule: Schedule, document: Document, options: ReadOptions) -> None:
    asked = schedule.stages * schedule.microbatches * schedule.segments * (schedule.steps or 1)
    lines = max(len(schedule.pipelines), 1)
    if asked // lines <= options.limit("instructions") and schedule.stages <= MAX_STAGE:
        return
    found = f"{schedule.stages} stages and {schedule.microbatches} microbatches ask for {asked}"
    place = root.heads.get("stages") or root.heads.get("microbatches") or root
    problem = Problem(document.name, place.line, place.column, f"{found} operations", "")
    raise options.exceeded(problem, "instructions")


def _check_placement(node: Node | None, schedule: Schedule, mistakes: Mistakes) -> None:
    stages, ranks = schedule.stages, schedule.ranks
    if isinstance(node, Items):
        if len(node.nodes) != stages:
            found = f"{len(node.nodes)} ranks stand here"
            wrong(node, mistakes, f"write the rank of each of {stages} stages", found)
        for each in node.nodes:
            if isinstance(each, Scalar) and int(each.text) >= ranks:
                wrong(each, mistakes, f"write a rank below {ranks}")
    elif isinstance(node, Scalar) and node.text == "v" and stages % ranks:
        said = f"write a list: {stages} stages do not fold evenly onto {ranks} ranks"
        wrong(node, mistakes, said)


def _check_pipelines(node: Node | None, stages: int, mistakes: Mistakes) -> None:
    if node is None:
        return
    seen: set[str] = set()
    for line in _lists(node):
        _check_stages(line, stages, mistakes)
        for each in line.nodes:
            if isinstance(each, Scalar):
                if each.text in seen:
                    found = f"stage {each.text} stands here again"
                    wrong(each, mistakes, "write each stage in exactly one pipeline", found)
                seen.add(each.text)
    missing = [stage for stage in range(stages) if str(stage) not in seen]
    if missing:
        found = f"stage {missing[0]} stands in no pipeline"
        wrong(node, mistakes, "write each stage in exactly one pipeline", found)


def _check_coefficients(node: Node | None, schedule: Schedule, mistakes: Mistakes) -> None:
    if isinstance(node, Table):
        node = node.entries.get("tokens")
        _check_tokens(node, mistakes)
    allowed = (schedule.microbatches, schedule.microbatches * schedule.segments)
    if isinstance(node, Items) and len(node.nodes) not in allowed:
        found = f"a list of {len(node.nodes)} stands here"
        said = f"write one for each of {schedule.microbatches} microbatches"
        wrong(node, mistakes, said, found)


def _check_tokens(node: Node | None, mistakes: Mistakes) -> None:
    if not isinstance(node, Items):
        return
    tokens = [int(each.text) for each in node.nodes if isinstance(each, Scalar)]
    if tokens and not any(tokens):
        said = "write a number above 0 for one of them: each has its share of their sum"
        wrong(node, mistakes, said, "the tokens of a step sum to 0")


def _check_stages(line: Items, stages: int, mistakes: Mistakes) -> None:
    for each in line.nodes:
        if isinstance(each, Scalar) and int(each.text) >= stages:
            wrong(each, mistakes, f"write a stage below {stages}")


def _lists(node: Node | None) -> tuple[Items, ...]:
    nodes = node.nodes if isinstance(node, Items) else ()
    return tuple(each for each in nodes if isinstance(each, Items))
